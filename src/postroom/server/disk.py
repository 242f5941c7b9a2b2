"""The disk, in a room that waits for it: a thread asks it once for all that is committed by then."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Disk:
    """`confirmed` is for the event loop. `harden` waits until all that is committed is on the disk."""

    def __init__(self, harden: Callable[[], None]) -> None:
        self._harden = harden
        self._thread = ThreadPoolExecutor(1, "disk")
        self._next: asyncio.Future[None] | None = None  # of what it has not been asked for yet
        self._asking: asyncio.Task[None] | None = None

    def confirmed(self) -> "asyncio.Future[None]":
        """Done when all that is committed by now is on the disk; it may fail with what `harden` raises."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            self._asking = self._asking or asyncio.create_task(self._ask())
        return self._next

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        while (one := self._next) is not None:
            self._next = None
            try:
                await loop.run_in_executor(self._thread, self._harden)
            except BaseException as exc:
                one.set_exception(exc if isinstance(exc, Exception) else RuntimeError("the server has ended"))
                one.exception()  # nobody need ask for it
                if not isinstance(exc, Exception):
                    raise
            else:
                one.set_result(None)
        self._asking = None

    async def close(self) -> None:
        """Whoever waits hears of it first."""
        if self._asking is not None:
            await self._asking
        self._thread.shutdown(wait=False)
