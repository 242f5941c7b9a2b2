"""Connections that must get on with it: who sends a request by drops, or reads no answer, is left alone.

What anybody can hold without a token, an open connection, is bounded in time and in number: who has asked
for nothing for longest is closed first when too many do so. More of them may be new: where a thousand come at
once, as when a server is back, all are here before the first of them is listened to.
"""

import asyncio
from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD = 10.0  # seconds in which the head of a request must have come
BODY = 30.0  # seconds for its body, and one more for each `SLOWEST` bytes of it that have come
SLOWEST = 1024
LONGEST = 300.0  # seconds for a body, however large
STALLED = 60.0  # seconds in which somebody must read something of what it is sent
MOST_IDLE, MOST_NEW = 256, 2048  # connections that ask for nothing, and while the oldest of them is new
NEWCOMER = 5.0  # seconds for which one is new

_idle: "WeakKeyDictionary[Any, OrderedDict[Hasty, float]]" = WeakKeyDictionary()  # since when, of each server


class Hasty(H11Protocol):
    """An HTTP connection with its deadlines."""

    _due: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    _latest = 0.0  # to when that can be put off
    _until = 0.0  # when that which is being received must be there; 0: nothing is
    _reads_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._expect(HEAD)
        self._rest()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look(len(data))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look(0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._work()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self._stall or self.loop.call_later(STALLED, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        super().resume_writing()

    def _look(self, size: int) -> None:
        """How far its request is."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._work()
        elif self.conn.their_state is h11.SEND_BODY:
            self._receive(size)
        elif self.conn.their_state is not h11.IDLE or self.conn.our_state is not h11.IDLE:
            self._work()
        elif not self.conn.trailing_data[0]:
            self._work()  # between two requests, where uvicorn's own patience ends
            self._rest()
        elif not self._until:
            self._expect(HEAD)

    def _receive(self, size: int) -> None:
        if not self._reads_body:
            self._work()
            self._reads_body = True
            self._expect(BODY)
            self._latest = self.loop.time() + LONGEST
        else:
            self._until = min(self._until + size / SLOWEST, self._latest)

    def _expect(self, seconds: float) -> None:
        self._until = self.loop.time() + seconds
        self._due = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        left = self._until - self.loop.time()
        if left > 0 or self.flow.read_paused:  # it was faster, or it waits for us
            self._due = self.loop.call_later(max(left, 1.0), self._late)
        else:
            self.transport.abort()

    def _work(self) -> None:
        """All that was expected has come."""
        if self._due is not None:
            self._due.cancel()
        self._due, self._until, self._reads_body = None, 0.0, False
        if (idle := _idle.get(self.config)) is not None:
            idle.pop(self, None)

    def _rest(self) -> None:
        """It asks for nothing; too many who do so are too many."""
        idle, now = _idle.setdefault(self.config, OrderedDict()), self.loop.time()
        idle[self] = now
        while len(idle) > MOST_IDLE:
            other, since = next(iter(idle.items()))
            if now - since < NEWCOMER and len(idle) <= MOST_NEW:
                break
            del idle[other]
            other.transport.abort()
