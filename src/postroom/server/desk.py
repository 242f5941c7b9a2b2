"""Where requests meet the room: threads that may wait for a disk, and the room as each caller has it."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from postroom.bell.contract import Waiter
from postroom.errors import NotLoggedIn, RateLimited, UnknownMessage, UnknownToken
from postroom.model.message import Agent, Json, Mail, Message
from postroom.protocol.operation import OBSERVE, Operation
from postroom.room.aio import AsyncRoom
from postroom.room.directory import DEFAULT_PROJECT
from postroom.room.identity import is_of
from postroom.room.local import LocalRoom
from postroom.room.metrics import Metrics, measure
from postroom.room.offer import offer
from postroom.server.login import Links
from postroom.server.port import Bridges
from postroom.server.principal import Credentials, Principal, identify
from postroom.server.rate import Rates

T = TypeVar("T")

_THREADS = 8
_MOST = 500  # rooms as callers have them
_FRESH = 5.0  # seconds
_TRIES = 20  # each second, of callers that nobody knows


def _nothing() -> None:
    pass


class Desk:
    """One for each server."""

    def __init__(self, room: LocalRoom, bridges: Bridges, *, passing: bool = False) -> None:
        self.room = room
        self.bridges = bridges
        self.passing = passing  # whether the room is gone with the server, and nobody can start it again
        self.links = Links(room.home)
        self.began = time.monotonic()
        self.pool = ThreadPoolExecutor(_THREADS, "http")
        self._views: OrderedDict[tuple[str, ...], LocalRoom] = OrderedDict()
        self._measured: dict[int, tuple[Metrics, float]] = {}
        self._strangers = Rates(_TRIES)
        self._guard = threading.Lock()
        self.noted: Callable[..., None] | None = None  # told of each operation, where somebody traces
        self.look: Callable[[], None] = _nothing  # has the agents looked at that bridges reach; never raises
        self.held: dict[str, Any] = {}  # mailboxes that programs elsewhere hold
        self.endings: list[Callable[[], Awaitable[None]]] = []  # what is done before it closes

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Whatever touches the room, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(function, *args, **kwargs))

    def identify(self, brought: Credentials) -> Principal:
        """Who calls. Those of whom that is not known are let try only so often, all together."""
        try:
            return identify(self.room.home, self.room.store.look(), brought)
        except (NotLoggedIn, UnknownToken):
            if (wait := self._strangers.take("")) > 0:
                raise RateLimited("too many have tried", retry_after=wait, hint="Wait a second.") from None
            raise

    def view(self, who: Principal, project: str | None) -> LocalRoom:
        """The room as somebody has it, standing in a project."""
        where = project or who.project or self._only_project()
        key = (who.agent.id if who.agent else "", who.address or "", who.verified, where)
        with self._guard:
            found = self._views.get(key)
            if found is None:
                found = self.room.on_behalf(who.address, where, who.witness)
                self._views[key] = found
                if len(self._views) > _MOST:
                    self._views.popitem(last=False)
            return found

    def _only_project(self) -> str:
        """Where a person stands who does not say so: in the room's project, if it has one and not several."""
        found = self.room.projects()
        return found[0].name if len(found) == 1 else DEFAULT_PROJECT

    def measured(self, hours: int) -> Metrics:
        """How the room does; who asks often is told what was so a moment ago."""
        found, at = self._measured.get(hours, (None, 0.0))
        if found is None or time.monotonic() - at > _FRESH:
            found = measure(self.room, hours)
            self._measured[hours] = found, time.monotonic()
        return found

    async def end(self) -> None:
        """Close in order: what clients left is put away first."""
        for ending in self.endings:
            await ending()
        self.close()

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)


class Call(NamedTuple):
    """One operation that somebody asks for."""

    desk: Desk
    operation: Operation
    who: Principal
    room: LocalRoom  # as who calls has it
    args: Json

    def get(self, name: str, otherwise: Any = None) -> Any:
        found = self.args.get(name)
        return otherwise if found is None else found

    @property
    def patient(self) -> "Patient":
        return Patient(self)

    def agent(self) -> Agent:
        """Somebody that the path names."""
        return self.room.known(self.args["address"])

    def own(self) -> str:
        """The same, if that is the caller, or a child of it; `NotYourName` otherwise."""
        return self.room.who(self.args["address"]).address

    def message(self) -> Message:
        """The message that the path names, if the caller may see it."""
        return self.visible(self.room.message(self.args["ref"]))

    def visible(self, message: Message) -> Message:
        """Who may not observe sees what it wrote or got, and of nothing else whether it is there."""
        me = self.who.agent
        if self.who.has(OBSERVE) or me is None or is_of(message.sender_id, me.id):
            return message
        recipients = self.room.store.look().deliveries(message.seq)
        if any(is_of(delivery.recipient_id, me.id) for delivery in recipients):
            return message
        raise UnknownMessage(f"there is no message {self.args.get('ref')} of yours", message_ref=message.id)


class Patient(AsyncRoom):
    """The room of one call, for what waits: it holds no thread meanwhile, and claims with a lease."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.room, call.desk.pool)
        self._claimer = call.who.claimer
        self._known = partial(call.desk.identify, call.who.brought)

    async def _rung(self, waiter: Waiter, left: float | None, due: int | None) -> None:
        """What comes while it waits is nobody's whose token was revoked meanwhile."""
        await super()._rung(waiter, left, due)
        await self.call(self._known)

    def _take(self, agent: str | None, id: str | None) -> Mail | None:
        return offer(self.room, agent, ref=id, route="http", handed=False, claimer=self._claimer)
