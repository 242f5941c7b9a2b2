"""The library's connection to a child: an event loop in a thread of its own, between its input and output.

Of what the child prints the library gets what is sound: a line of another kind could end the connection.
"""

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar, cast

from acp import connect_to_agent
from acp.client import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.interfaces import Client

from postroom.room.draft import is_shallow

_Result = TypeVar("_Result")
_CONNECTS, _CLOSES = 5.0, 2.0  # seconds
_BEHIND = 1 << 24  # bytes that may wait to be read
_CYCLES = 10  # of the loop, in which all that has come in is read


def sound(line: str) -> bool:
    """Whether the library can take a line: an object that is not too deep, whose id and error are of the sort
    they must be.
    """
    if not line.startswith("{"):
        return False
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    sorts = {"id": (str, int, float), "error": (dict,)}
    return is_shallow(said) and all(
        isinstance(said.get(key), (*kinds, type(None))) for key, kinds in sorts.items()
    )


class Wire:
    """Made by whoever has started the child; `heard` is called by the child's thread."""

    def __init__(
        self,
        name: str,
        descriptor: int,
        client: object,
        sent: Callable[[str], None],
        lost: Callable[[], None],
    ) -> None:
        """`descriptor`: the child's input, which is closed with this. `sent`: called on the loop with the
        method of each request, when all of it was written; `lost`: there, too, when nobody reads that input.
        """
        self._loop = asyncio.new_event_loop()
        self._sent, self._lost = sent, lost
        self._guard = threading.Lock()
        self._space = threading.Condition()
        self._unread = 0  # bytes; guarded by that
        self._is_closed = self._is_stopped = False  # guarded: nothing is put on a loop that is
        self._thread = threading.Thread(target=self._run, name=f"acp-{name}", daemon=True)
        self._thread.start()
        self.agent = self.call(self._connect(descriptor, cast("Client", client)), _CONNECTS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(_end_all())
        self._loop.close()

    async def _connect(self, descriptor: int, client: Client) -> ClientSideConnection:
        self._reader = asyncio.StreamReader()
        apart = asyncio.StreamReader()  # else the end of its input would be the end of its output
        self._input, protocol = await self._loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(apart), os.fdopen(descriptor, "wb", buffering=0)
        )
        self._input.set_write_buffer_limits(high=0)  # what is drained is in the pipe
        writer = asyncio.StreamWriter(self._input, protocol, None, self._loop)
        self._watching = self._loop.create_task(self._watch(apart))
        return connect_to_agent(client, writer, self._reader, observers=[self._observe])

    async def _watch(self, end: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            await end.read()
        if not self._is_closed:
            self._lost()

    def _observe(self, event: StreamEvent) -> None:
        if event.direction is StreamDirection.OUTGOING and "method" in event.message:
            self._sent(str(event.message["method"]))

    def submit(self, coroutine: Coroutine[Any, Any, _Result]) -> "Future[_Result]":
        """Have something done on the loop, without waiting; `ConnectionError` if there is none any more."""
        with self._guard:
            if not self._is_stopped:
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        raise ConnectionError("it was let go of")

    def call(self, coroutine: Coroutine[Any, Any, _Result], seconds: float) -> _Result:
        """Have something done on the loop; `TimeoutError` if that takes longer."""
        answer = self.submit(coroutine)
        try:
            return answer.result(seconds)
        except CancelledError:  # the loop was stopped meanwhile
            raise ConnectionError("it was let go of") from None
        except BaseException:
            answer.cancel()
            raise

    def later(self, seconds: float, job: Callable[[], None]) -> asyncio.TimerHandle:
        """For who is on the loop."""
        return self._loop.call_later(seconds, job)

    def soon(self, job: Callable[..., None], *words: object) -> None:
        """Have something done on the loop next, if it still runs."""
        with self._guard:
            if not self._is_stopped:
                self._loop.call_soon_threadsafe(job, *words)

    def feed(self, line: str) -> None:
        """A sound line. Who says much more than can be read has to wait."""
        data = line.encode() + b"\n"
        with self._space:
            self._space.wait_for(lambda: self._unread < _BEHIND or self._is_stopped, _CLOSES)
            self._unread += len(data)
        self.soon(self._fed, data)

    def _fed(self, data: bytes) -> None:
        self._reader.feed_data(data)
        with self._space:
            self._unread -= len(data)
            self._space.notify_all()

    def finish(self) -> None:
        """No more will come. Returns when what has come was read."""
        self.soon(self._reader.feed_eof)
        with contextlib.suppress(TimeoutError, ConnectionError):
            self.call(_breathe(), _CLOSES)

    def close(self) -> None:
        """Let go of the child's input. Twice does no harm."""
        with self._guard:
            if self._is_closed:
                return
            self._is_closed = True
        with contextlib.suppress(TimeoutError):
            self.call(self._disconnect(), 2 * _CLOSES)
        with self._guard:
            self._is_stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSES)

    def hang_up(self) -> None:
        """Let the child hear the end of its input. For who is on the loop."""
        if not self._input.is_closing():
            self._input.abort()

    async def _disconnect(self) -> None:
        self.hang_up()
        with contextlib.suppress(TimeoutError, OSError):  # it may have been lost before
            await asyncio.wait_for(self.agent.close(), _CLOSES)


async def _end_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def _breathe() -> None:
    for _ in range(_CYCLES):
        await asyncio.sleep(0)
