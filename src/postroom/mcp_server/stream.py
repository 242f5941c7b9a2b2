"""The tools over one stream of lines, as a program that was started by the client speaks it.

What the client's process was handed stays its own when the stream ends: it may come back on another one, when
this server was ended, or killed.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import anyio
import mcp_types as types
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from postroom.mcp_server import rpc
from postroom.mcp_server.place import EARLY, PASSED
from postroom.mcp_server.visit import Arrival, Visit
from postroom.model import ids
from postroom.model.ladder import Outcome

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from postroom.mcp_server.port import Guest, Host

Write = Callable[[str], Awaitable[None]]
Id = str | int
_CANCELLED = "notifications/cancelled"
_LISTENS = "subscriptions/listen"  # which is answered when it ends
_SUBSCRIBES = "resources/subscribe"
MOST = 64  # requests under way: each that waits has a bell, and each answer may wait to be read
_MOST_EARLY = 1000  # calls that were made before
_MOST_META = 32  # texts that are kept of what requests say of themselves
_LONGEST = 256  # characters of one, and of a number that is a text


class Stream:
    """One of them, from its first line to its last."""

    def __init__(
        self,
        server: "Server[Any]",
        host: "Host",
        guest: "Guest",
        name: str,
        write: Write,
        *,
        confirms: bool = False,
    ) -> None:
        """`name` is the visit's: who comes back with the same is the same. `confirms`: whoever passes the
        lines on tells which answers the client was given.
        """
        self._server = server
        self._host = host
        self._guest = guest
        self.visit = Visit(name, guest.process)
        self._write = write
        self._meta: dict[str, Any] = {}  # what requests say of themselves: not each does, of one conversation
        self._lock = anyio.Lock()
        self._arrivals: dict[Id | None, Arrival] = {}  # by the number, as the protocol's own code knows it
        self._asked: set[Id] = set()  # what is to be answered before the end
        self._answered = anyio.Condition()
        self._confirms = confirms
        self._unconfirmed: dict[Id | None, Arrival] = {}  # whose answers may be on their way
        self._early: set[Id] = set()  # of calls that come next, those made before an earlier server's answers
        self._mark = (
            f"{ids.nonce()}-"  # of what we ask: an answer to an earlier server's question is none to ours
        )

    async def serve(self, lines: AsyncIterator[bytes]) -> None:
        """Until there are no more lines."""
        inward, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        written, outward = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._answer, outward)
                tasks.start_soon(self._read, lines, inward)
                await serve_dual_era_loop(
                    self._server, read, written, lifespan_state={}, session_id=self.visit.name
                )
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for arrival in self._arrivals.values():
                    await arrival.lost(self._host)
                for arrival in self._unconfirmed.values():
                    await arrival.lost(self._host, Outcome.UNPROVEN)
                await self.visit.handed()
                await self._host.do(self.visit.end, self._host.room, stays=bool(self._guest.process))

    async def answered(self) -> None:
        """Until all is answered that was asked so far: for who has said its last, and reads on."""
        async with self._answered:
            while self._asked:
                await self._answered.wait()

    async def _forget(self, number: Id | None) -> None:
        async with self._answered:
            self._asked -= {number}
            self._answered.notify_all()

    async def _read(self, lines: AsyncIterator[bytes], inward: Any) -> None:
        async with inward:
            async for line in lines:
                if not line.strip():
                    continue
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except (ValidationError, ValueError, RecursionError):
                    await self._complain(line)
                    continue
                if isinstance(message, types.JSONRPCNotification):
                    if message.method in (PASSED, EARLY):
                        self._note(message)
                        continue
                    if _has_number(line):
                        await self._complain(line)
                        continue
                elif isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
                    number = str(message.id).removeprefix(self._mark)
                    if number == str(message.id) or not number.isdecimal():
                        continue
                    message.id = int(number)
                elif refusal := self._refusal(message):
                    await self._say(refusal)
                    continue
                await inward.send(SessionMessage(message, metadata=self._noted(message)))
                if isinstance(message, types.JSONRPCNotification):
                    await self._cancel(message)

    def _refusal(self, message: types.JSONRPCRequest) -> bytes | None:
        """Of one that would be too many. Of two by one number nobody could tell the end: each counts as one
        only because no two of them have the same.
        """
        number = coerce_request_id(message.id)
        if number in self._arrivals:
            return rpc.refusal(
                None, rpc.INVALID, f"a request with id {str(number)[:40]!r} is under way already"
            )
        # Who comes back to a new daemon says again at once all that it follows.
        if len(self._arrivals) >= MOST and message.method != _SUBSCRIBES:
            return rpc.refusal(message.id, rpc.BUSY, f"{MOST} requests are under way. Wait for one of them.")
        return None

    def _noted(self, message: Any) -> ServerMessageMetadata | None:
        if not isinstance(message, types.JSONRPCRequest):
            return None
        key = f"{self.visit.name} {json.dumps(message.id)}"
        meta: Any = (message.params or {}).get("_meta")
        if isinstance(meta, dict):
            self._remember(cast("dict[str, Any]", meta))
        admit = partial(self._guest.admit, dict(self._meta))
        if message.method != _LISTENS:
            self._asked.add(message.id)
        number = 0 if message.id in self._early else None
        self._early.discard(message.id)
        arrival = self._arrivals[coerce_request_id(message.id)] = Arrival(self.visit, admit, key, number)
        return ServerMessageMetadata(request_context=arrival)

    def _remember(self, meta: dict[str, Any]) -> None:
        """The texts in it, as far as they could name a conversation."""
        for name, found in meta.items():
            is_short = isinstance(found, str) and len(found) <= _LONGEST >= len(name)
            if is_short and (name in self._meta or len(self._meta) < _MOST_META):
                self._meta[name] = found

    def _note(self, message: types.JSONRPCNotification) -> None:
        """Which answers the client was given; or which calls it had made before that."""
        found: Any = (message.params or {}).get("ids")
        numbers = [one for one in cast("list[Any]", found if isinstance(found, list) else []) if _is_id(one)]
        if message.method == EARLY:
            short = (one for one in numbers if isinstance(one, int) or len(one) <= _LONGEST)
            self._early.update(islice(short, _MOST_EARLY - len(self._early)))
            return
        for number in numbers:
            if arrival := self._unconfirmed.pop(number, None):
                arrival.written(self._host)

    async def _cancel(self, message: types.JSONRPCNotification) -> None:
        """Nobody waits for the answer to a request any more."""
        if message.method == _CANCELLED:
            wanted = (message.params or {}).get("requestId")
            if not _is_id(wanted):
                return
            await self._forget(wanted)
            if arrival := self._arrivals.pop(coerce_request_id(wanted), None):
                await arrival.lost(self._host)
            if arrival := self._unconfirmed.pop(wanted, None):
                await arrival.lost(self._host, Outcome.UNPROVEN)

    async def _complain(self, line: bytes) -> None:
        """What is no message is answered, too."""
        number, _, _ = rpc.read(line)
        await self._say(rpc.refusal(number, rpc.flaw(line) or rpc.INVALID))

    async def _say(self, line: bytes) -> None:
        """Who does not read what it is told is not read either."""
        async with self._lock:
            await self._write(line.decode().rstrip())

    async def _answer(self, outward: Any) -> None:
        async with outward:
            async for sent in outward:
                message = self._marked(sent.message)
                is_last = isinstance(message, (types.JSONRPCResponse, types.JSONRPCError))
                number = coerce_request_id(message.id) if is_last and message.id is not None else None
                arrival = self._arrivals.get(number)
                if arrival is not None and self._confirms and arrival.is_holding:
                    self._unconfirmed[message.id] = self._arrivals.pop(number)
                async with self._lock:
                    await self._write(message.model_dump_json(by_alias=True, exclude_unset=True))
                if arrival is not None and self._arrivals.pop(number, None):
                    arrival.written(self._host)
                if is_last:
                    await self._forget(message.id)

    def _marked(self, message: Any) -> Any:
        """What we ask, and what we do not want to know any more, by numbers that are nobody else's."""
        if isinstance(message, types.JSONRPCRequest):
            return message.model_copy(update={"id": f"{self._mark}{message.id}"})
        if isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            params = {**(message.params or {})}
            params["requestId"] = f"{self._mark}{params.get('requestId')}"
            return message.model_copy(update={"params": params})
        return message


def _is_id(found: Any) -> TypeGuard[Id]:
    return isinstance(found, (str, int))


def _has_number(line: bytes) -> bool:
    """Whether it would be a request if its number were one."""
    try:
        return b'"id"' in line and "id" in json.loads(line)
    except (ValueError, RecursionError):
        return True
