"""Mail for all who are connected: one thread claims it, for all in one transaction whenever a bell rings.

The store is the truth: whatever was missed, or could not be done, is found when it is looked for again.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from postroom.bell.contract import Waiter
from postroom.bell.polling import SECONDS
from postroom.errors import PostroomError
from postroom.model.ladder import Evidence
from postroom.model.message import Json, Mail
from postroom.room.handout import Claim, Cursor, Proof, Return, Want, claim_of, hand_out, resume
from postroom.server.connection import WIDEST, Connection
from postroom.server.desk import Desk
from postroom.server.presence import Presence

T = TypeVar("T")

Found = list[tuple[Connection, list[Mail]]]

_SWEEP = 5.0  # seconds between two looks though nothing rang
_AGAIN = 1.0  # seconds after which is tried again what could not be done
_TOGETHER = 0.1  # seconds: who comes and goes in this time is told at once
_AT_ONCE = 250  # mailboxes in one transaction
_FEW = 8  # mailboxes of which all is claimed at once, and of more the first only
_log = logging.getLogger("postroom.daemon")


class Proven(NamedTuple):
    """What a client's word proves."""

    connection: Connection
    claim: Claim
    evidence: Evidence


class Round(NamedTuple):
    """What is to be done at once."""

    rung: set[str]  # whose mailboxes may have something
    proven: list[Proven]
    returns: list[Return]


class Mailbox:
    """One agent's or person's, while any client of theirs is connected."""

    def __init__(self, waiter: Waiter) -> None:
        self.waiter = waiter
        self.connections: tuple[Connection, ...] = ()  # replaced, never changed: another thread reads it


class Exchange:
    """One for each server."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._thread = ThreadPoolExecutor(1, "relay")
        self._mailboxes: dict[str, Mailbox] = {}
        self._projects: dict[str, Presence] = {}
        self._telling: set[Presence] = set()
        self._next = Round(set(), [], [])
        self._rang: set[str] = set()  # for whom this process has rung; any thread adds to it
        self._again: set[str] = set()  # who got something, and may get more
        self._is_told = False  # whether the loop knows that it has
        self._worker: threading.Thread | None = None
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        desk.endings.append(self.close)

    def presence(self, project: str) -> Presence:
        """Who is connected there."""
        return self._projects.setdefault(project, Presence())

    def connections(self) -> Iterable[Connection]:
        return (one for mailbox in self._mailboxes.values() for one in mailbox.connections)

    async def enter(self, one: Connection, upto: Cursor | None = None) -> None:
        """From now on it gets its mail. `upto`: what it had got at an earlier connection."""
        if upto is not None:
            for other in [old for old in self.connections() if old.stand.id == upto.stand]:
                self.leave(other)
            await self._settled()
            await self._off(resume, self._desk.room, one.agent.id, upto)
        party = one.agent.id
        if party not in self._mailboxes:
            self._mailboxes[party] = self._opened(party)
        mailbox = self._mailboxes[party]
        mailbox.connections = (*mailbox.connections, one)
        if one.presence.enter(one.agent.address):
            self._tell(one.presence)
        one.tell_presence()
        self._ring(party)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def leave(self, one: Connection) -> None:
        """What it has not proven goes back: labelled, if it was written out."""
        if one.closed.is_set():
            return
        one.closed.set()
        mailbox = self._mailboxes[one.agent.id]
        mailbox.connections = tuple(other for other in mailbox.connections if other is not one)
        if not mailbox.connections:
            self._closed(one)
        if one.presence.leave(one.agent.address):
            self._tell(one.presence)
        self._next.returns.extend(
            Return(claim, handed=number <= one.handed) for number, claim in one.open.items()
        )
        one.open.clear()
        self._due.set()

    def prove(self, one: Connection, claims: Iterable[Claim], evidence: Evidence = Evidence.AGENT) -> None:
        self._next.proven.extend(Proven(one, claim, evidence) for claim in claims)
        self._ring(one.agent.id)

    async def do(self, act: Callable[[], Json]) -> Json:
        """Something that may send mail; whoever is connected here gets it before who asked gets an answer."""
        result, found = await self._off(self._done, act)
        self._distribute(found)
        if self._rang or self._again:
            self._due.set()
        return result

    async def close(self) -> None:
        """Take back what nobody has proven, and end."""
        await self._settled()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._thread.shutdown(wait=False)

    # In the thread of its own

    def _done(self, act: Callable[[], Json]) -> tuple[Json, Found]:
        self._worker = threading.current_thread()
        result = act()
        rung = self._rang_here()
        try:
            found = self._handed_out(Round(rung, [], []), 1 if len(rung) > _FEW else WIDEST) if rung else []
        except PostroomError:
            found = []  # it is stored, and will be looked for
            self._again.update(rung)
        if len(rung) > _FEW:
            self._again.update(rung)  # there may be more of it, and nobody waits for that
        return result, found

    def _rang_here(self) -> set[str]:
        """For whom this process has rung since; not so many that others wait for the lock for long."""
        rang: set[str] = set()
        while self._rang and len(rang) < _AT_ONCE:
            rang.add(self._rang.pop())
        return rang

    def _handed_out(self, work: Round, most: int = WIDEST) -> Found:
        for one in work.proven:
            one.connection.unproven -= 1
        takers = [
            one
            for party in work.rung
            if (mailbox := self._mailboxes.get(party)) is not None
            for one in mailbox.connections
            if one.unproven < one.window
        ]
        wants = [Want(one.stand, min(most, one.window - one.unproven), one.numbered) for one in takers]
        try:
            proofs = [Proof(one.claim, one.evidence) for one in work.proven]
            found = hand_out(self._desk.room, wants, proofs, work.returns)
        except BaseException:
            for one in work.proven:
                one.connection.unproven += 1
            raise
        for one, mails in zip(takers, found, strict=True):
            one.numbered += len(mails)
            one.unproven += len(mails)
        return [(one, mails) for one, mails in zip(takers, found, strict=True) if mails]

    # In the event loop

    async def _off(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)

    async def _run(self) -> None:
        while True:
            try:
                pause = SECONDS if self._desk.room.bell.polls else _SWEEP
                await asyncio.wait_for(self._due.wait(), pause if self._mailboxes else None)
            except TimeoutError:
                self._next.rung.update(self._mailboxes)
            await self._settled()

    async def _settled(self) -> None:
        """Do what there is to do."""
        self._due.clear()
        self._is_told = False
        work, self._next = self._next, Round(set(), [], [])
        work.rung.update(self._rang_here() or self._again)
        self._again -= work.rung
        if not any(work):
            return
        try:
            self._distribute(await self._off(self._handed_out, work))
            if self._rang or self._again:
                self._due.set()
        except PostroomError as exc:
            _log.warning("mail is handed out later", extra={"facts": {"error": str(exc)}})
            self._next.rung.update(work.rung)
            self._next.proven.extend(work.proven)
            self._next.returns.extend(work.returns)
            asyncio.get_running_loop().call_later(_AGAIN, self._due.set)

    def _distribute(self, found: Found) -> None:
        texts: dict[int, str] = {}
        for one, mails in found:
            if one.closed.is_set():
                self._next.returns.extend(Return(claim_of(mail), handed=False) for mail in mails)
                self._due.set()
            else:
                one.push(mails, texts)

    def _ring(self, party: str) -> None:
        self._next.rung.add(party)
        self._due.set()

    def _opened(self, party: str) -> Mailbox:
        """With a bell of its own, by which others see that the agent is here."""
        waiter = self._desk.room.bell.waiter(party)

        def rung() -> None:
            waiter.drain()
            self._ring(party)

        loop = asyncio.get_running_loop()

        def rung_here() -> None:
            """In whatever thread rings; the loop is told once, and not by the one that sees to it itself."""
            self._rang.add(party)
            if not self._is_told and threading.current_thread() is not self._worker:
                self._is_told = True
                loop.call_soon_threadsafe(self._due.set)

        if waiter.fileno() >= 0:
            loop.add_reader(waiter.fileno(), rung)
        self._desk.room.bell.attend(waiter, rung_here)
        return Mailbox(waiter)

    def _closed(self, one: Connection) -> None:
        mailbox = self._mailboxes.pop(one.agent.id)
        if mailbox.waiter.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(mailbox.waiter.fileno())
        mailbox.waiter.close()

    def _tell(self, presence: Presence) -> None:
        """Those of a project who came and went, a moment later and together."""
        if presence not in self._telling:
            self._telling.add(presence)
            asyncio.get_running_loop().call_later(_TOGETHER, self._told, presence)

    def _told(self, presence: Presence) -> None:
        self._telling.discard(presence)
        for one in self.connections():
            if one.presence is presence:
                one.tell_presence()
