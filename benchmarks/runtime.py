"""How a worker's coroutines are driven: straight through, or on asyncio.

Every task is written once, as a coroutine. A peer whose client is synchronous never suspends, so `plain`
runs it with one `send(None)`: no event loop, no asyncio import, under a microsecond of overhead. A peer
whose client is asyncio runs the same task on its natural loop.
"""

import os
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

Task = Callable[[], Coroutine[Any, Any, None]]


class Runtime(Protocol):
    def run(self, task: Task) -> None: ...

    async def sleep(self, seconds: float) -> None: ...

    async def read(self, fd: int) -> bytes:
        """What arrives next on `fd`; empty at its end. Background work of the client goes on meanwhile."""
        ...


class Plain:
    def run(self, task: Task) -> None:
        try:
            task().send(None)
        except StopIteration:
            return
        raise RuntimeError("a task of a synchronous peer suspended")

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def read(self, fd: int) -> bytes:
        return os.read(fd, 65536)


class Asyncio:
    def run(self, task: Task) -> None:
        import asyncio

        asyncio.run(task())

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    async def read(self, fd: int) -> bytes:
        import asyncio

        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(fd, ready.set_result, None)
        try:
            await ready
        finally:
            loop.remove_reader(fd)
        return os.read(fd, 65536)
