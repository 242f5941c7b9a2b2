"""Mail for all who are connected: claimed in the transaction that stores it, pushed once that is committed.

What is written by this process is claimed there and then, whichever thread writes it (`take`). For what
others write a bell rings, and then all whose bells rang are looked after in one transaction. All this is done
in the event loop itself, as that takes less time than to have it done by a thread; but where there is a lock
to wait for, or a disk, a thread waits, and with it the sender's answer. The store is the truth: what was
missed is found at the next look.
"""

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from postroom.bell.contract import Waiter
from postroom.bell.polling import SECONDS
from postroom.errors import PostroomError, StoreBusy, StoreFull
from postroom.model.ladder import Evidence
from postroom.model.message import Mail, Message, make
from postroom.room import full_disk
from postroom.room.handout import (
    Claim,
    Cursor,
    Proof,
    Return,
    Want,
    claim_of,
    hand_out,
    hand_out_new,
    is_new,
    lapsed,
    resume,
    settle,
)
from postroom.room.unit import Unit
from postroom.server.connection import HEAVY, WIDEST, Connection
from postroom.server.desk import Desk
from postroom.server.disk import Disk
from postroom.server.presence import Presence

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx

T = TypeVar("T")

_SWEEP = 5.0  # seconds between two looks though nothing rang
_AGAIN = 1.0  # seconds after which is tried again what could not be done
_TOGETHER = 0.1  # seconds: who comes and goes in this time is told at once
_SOON = 0.005  # seconds in which what is proven is put together
_AT_ONCE = 100  # mailboxes, or proofs, in one transaction
_NEW_AT_ONCE = 1000  # mailboxes that get the same new message
_MOST_PROVEN = 1000  # that wait while there is mail to bring
_SLICE = 32  # messages that are read at once, whatever their size
_FEW = 8  # mailboxes of which all is claimed at once, and of more only so much as may be new
_log = logging.getLogger("postroom.daemon")


class Proven(NamedTuple):
    """What a client's word proves."""

    connection: Connection
    claim: Claim
    evidence: Evidence
    noted: Callable[[], None] | None = None  # called once it is stored


class Mailbox:
    """One agent's or person's, while any client of theirs is connected."""

    def __init__(self, waiter: Waiter) -> None:
        self.waiter = waiter
        self.connections: tuple[Connection, ...] = ()  # replaced, never changed: other threads read it


class Taken:
    """What was claimed in one transaction, and for whom."""

    def __init__(self) -> None:
        self.found: list[tuple[Connection, list[Mail]]] = []
        self.is_stored: bool | None = None  # None: nobody knows yet


class Exchange:
    """One for each server; a courier of its room."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._thread = ThreadPoolExecutor(1, "relay")
        self._disk = Disk(desk.room.store.harden)
        self._mailboxes: dict[str, Mailbox] = {}
        self._projects: dict[str, Presence] = {}
        self._telling: set[Presence] = set()
        self._rung: set[str] = set()  # whose mailboxes may have something; any thread adds to it
        self._proven: deque[Proven] = deque()
        self._returns: deque[Return] = deque()
        self._taken: deque[Taken] = deque()  # in the order of their transactions
        self._guard = threading.Lock()  # over what is counted for connections
        self._due = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._home = 0  # its thread
        self._task: asyncio.Task[None] | None = None
        desk.room.couriers.append(self)
        desk.endings.append(self.close)

    def presence(self, project: str) -> Presence:
        """Who is connected there."""
        return self._projects.setdefault(project, Presence())

    def connections(self) -> Iterable[Connection]:
        return (one for mailbox in self._mailboxes.values() for one in mailbox.connections)

    async def enter(self, one: Connection, upto: Cursor | None = None) -> None:
        """From now on it gets its mail. `upto`: what it had got at an earlier connection."""
        self._loop, self._home = asyncio.get_running_loop(), threading.get_ident()
        if upto is not None:
            before = self._mailboxes.get(one.agent.id)
            for other in [old for old in before.connections if old.stand.id == upto.stand] if before else ():
                self.leave(other)
            await self._settled()
            await self._soon(partial(resume, self._desk.room, one.agent.id, upto))
        party = one.agent.id
        if party not in self._mailboxes:
            self._mailboxes[party] = self._opened(party)
        mailbox = self._mailboxes[party]
        mailbox.connections = (*mailbox.connections, one)
        if one.presence.enter(one.agent.address):
            self._tell(one.presence)
        one.tell_presence()
        one.eased = partial(self._ring, party)
        self._ring(party)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def leave(self, one: Connection) -> None:
        """What it has not proven goes back: labelled, if it was written out."""
        mailbox = self._mailboxes.get(one.agent.id)
        if mailbox is None or one not in mailbox.connections:
            return  # it has left, or never come in
        one.closed.set()
        mailbox.connections = tuple(other for other in mailbox.connections if other is not one)
        if not mailbox.connections:
            self._closed(one)
        if one.presence.leave(one.agent.address):
            self._tell(one.presence)
        self._returns.extend(Return(claim, handed=number <= one.handed) for number, claim in one.open.items())
        one.open.clear()
        self._due.set()

    def prove(
        self,
        one: Connection,
        claims: Iterable[Claim],
        evidence: Evidence = Evidence.AGENT,
        noted: Callable[[], None] | None = None,
    ) -> None:
        """Stored a moment later, with what others prove by then; mail goes first.

        `noted`: called then; somebody waits for it, and there is a claim.
        """
        proven = [Proven(one, claim, evidence) for claim in claims]
        if noted is not None:
            proven[-1] = proven[-1]._replace(noted=noted)
            self._due.set()
        elif not self._proven:
            asyncio.get_running_loop().call_later(_SOON, self._due.set)
        self._proven.extend(proven)

    def at_once(self, act: Callable[[], T]) -> "tuple[T, asyncio.Future[None] | None]":
        """Something that is one transaction, here and now; `StoreBusy`: it was not done, others write.

        Whoever is connected gets the mail that it sends before who asked gets an answer. Also gives what must
        be waited for before that may say that it is stored, if anything.
        """
        with self._desk.room.store.hurried() as hurry:
            result = act()
        return result, self._disk.confirmed() if hurry.owes else None

    async def do(self, act: Callable[[], T]) -> T:
        """The same for what may have to wait."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)

    async def _soon(self, act: Callable[[], T]) -> T:
        try:
            result, confirmed = self.at_once(act)
        except StoreBusy:
            return await self.do(act)
        if confirmed is not None:
            await asyncio.shield(confirmed)
        return result

    async def close(self) -> None:
        """Note what was proven, take back what was not, and end."""
        if self._task is not None:
            self._task.cancel()
            self._task = None  # nothing is claimed any more
        while self._proven or self._returns:
            self._rung.clear()
            if not await self._settled():
                break  # whoever looks next finds that this process is gone
        await self._disk.close()
        self._thread.shutdown(wait=False)

    # As a courier, in whatever thread writes

    def take(self, tx: "WriteTx") -> Taken | None:
        parties = list(self._mailboxes.keys() & tx.stirred)
        if not parties or self._task is None:
            return None
        taken = Taken()
        try:
            if (message := is_new(tx)) is not None:
                parties = self._take_new(tx, message, parties, taken)
            else:
                tx.complete()
            if parties:
                self._rung.update(parties[_AT_ONCE:])
                self._take(tx, parties[:_AT_ONCE], taken)
            self._taken.append(taken)
        except BaseException:
            self.bring(taken, is_stored=False)
            raise
        return taken

    def bring(self, taken: Taken, *, is_stored: bool) -> None:
        if not is_stored:
            for one, mails in taken.found:
                self._count(one, -len(mails))
        taken.is_stored = is_stored
        assert self._loop is not None
        if threading.get_ident() == self._home:
            self._distribute()
        else:
            with contextlib.suppress(RuntimeError):  # it has ended, and what it claimed comes back
                self._loop.call_soon_threadsafe(self._distribute)

    def _take_new(self, tx: "WriteTx", message: Message, parties: list[str], taken: Taken) -> list[str]:
        """One new message, which is the usual case and takes a fraction of that; who needs more than that."""
        others, takers = parties[_NEW_AT_ONCE:], list[Connection]()
        with self._guard:
            for party in parties[:_NEW_AT_ONCE]:
                for one in self._at(party):
                    if one.unproven < one.width:
                        takers.append(one)
                        break
                    one.is_full = True
                else:
                    others.append(party)
        mails = hand_out_new(tx, message, [make(Want, (one.stand, 1, one.numbered)) for one in takers])
        with self._guard:
            for one, mail in zip(takers, mails, strict=True):
                if mail is None:
                    others.append(one.agent.id)
                    continue
                taken.found.append((one, [mail]))
                one.numbered += 1
                one.unproven += 1
                one.is_full = one.unproven >= one.width
        return others

    def _take(self, tx: "WriteTx", parties: list[str], taken: Taken) -> None:
        """With the write lock held, so that nobody else claims for the same connections."""
        most = WIDEST if len(parties) <= _FEW else 2
        for party in parties:
            left, size = most, 0
            for one in self._at(party):
                while left and (room := self._left(one)):
                    want = Want(one.stand, min(left, room, _SLICE), one.numbered)
                    mails = hand_out(tx, self._desk.room, want)
                    self._give(taken, one, mails)
                    size += sum(map(_weight, mails))
                    left = left - len(mails) if size <= HEAVY else 0  # the next round sees how much was read
                    if len(mails) < want.most:
                        break
            if not left:
                self._rung.add(party)  # there may be more of it, and nobody waits for that

    def _give(self, taken: Taken, one: Connection, mails: list[Mail]) -> None:
        if mails:
            taken.found.append((one, mails))
            one.numbered += len(mails)
            self._count(one, len(mails))

    def _left(self, one: Connection) -> int:
        """How many more it has room for; who has none is looked after when it proves something."""
        with self._guard:
            left = max(0, one.width - one.unproven)
            one.is_full = not left
        return left

    def _count(self, one: Connection, mails: int) -> None:
        with self._guard:
            one.unproven += mails
            one.is_full = one.is_full or one.unproven >= one.width

    # In the event loop

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        swept = loop.time()
        while True:
            pause = SECONDS if self._desk.room.bell.polls else _SWEEP
            left = max(0.0, swept + pause - loop.time()) if self._mailboxes else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._due.wait(), left)
            if loop.time() - swept >= pause:
                self._rung.update(self._mailboxes)
                self._renew()
                swept = loop.time()
            await self._settled()
            await asyncio.sleep(0)  # whoever else has something to do

    async def _settled(self) -> bool:
        """Do what there is to do, some of it at a time, mail first; whether it was done."""
        self._due.clear()
        rung = _some(self._rung.pop, self._rung)
        can_wait = self._rung and len(self._proven) < _MOST_PROVEN
        proven = [] if can_wait else _some(self._proven.popleft, self._proven)
        returns = list(self._returns)
        self._returns.clear()
        if not (rung or proven or returns):
            return True
        act = partial(self._round, rung, proven, returns)
        try:
            try:
                gone = await self._soon(act)
            except StoreFull:  # what is claimed, seen or given back needs little, and is worth the reserve
                gone = await self.do(partial(full_disk.spent, self._desk.room, act))
        except Exception as exc:
            if isinstance(exc, PostroomError):
                _log.warning("mail is handed out later", extra={"facts": {"error": str(exc)}})
            else:
                _log.error("unexpected", exc_info=exc, extra={"facts": {"error": exc}})
            self._rung.update(rung)
            self._proven.extendleft(reversed(proven))
            self._returns.extend(returns)
            asyncio.get_running_loop().call_later(_AGAIN, self._due.set)
            return False
        for one in proven:
            self._count(one.connection, -1)
            if one.connection.is_full:
                self._ring(one.connection.agent.id)
            if one.noted is not None:
                one.noted()
        for connection, claims in gone:
            self._count(connection, -connection.drop(claims))
            self._ring(connection.agent.id)
        if self._rung or self._proven or self._returns:
            self._due.set()
        return True

    def _round(
        self, rung: list[str], proven: list[Proven], returns: list[Return]
    ) -> list[tuple[Connection, list[Claim]]]:
        """Who has no room for more, because of what was settled by another door; and that."""
        room, taken = self._desk.room, Taken()
        unit = Unit(room, prompt=False)
        try:
            with unit as tx:
                settle(tx, room.settings, (Proof(one.claim, one.evidence) for one in proven), returns)
                self._take(tx, rung, taken)
                self._taken.append(taken)
                full = [one for party in rung for one in self._at(party) if one.is_full]
                looked = ((one, lapsed(tx, tuple(one.open.values()))) for one in full)
                return [(one, claims) for one, claims in looked if claims]
        finally:
            self.bring(taken, is_stored=unit.is_stored)

    def _at(self, party: str) -> tuple[Connection, ...]:
        mailbox = self._mailboxes.get(party)
        return mailbox.connections if mailbox else ()

    def _distribute(self) -> None:
        """Push what is stored, in the order in which it was claimed."""
        texts: dict[int, str] = {}
        while self._taken and self._taken[0].is_stored is not None:
            taken = self._taken.popleft()
            for one, mails in taken.found if taken.is_stored else ():
                if one.closed.is_set():
                    self._returns.extend(Return(claim_of(mail), handed=False) for mail in mails)
                else:
                    for mail in mails:
                        self._push(one, mail, texts)
        if self._rung or self._returns:
            self._due.set()

    def _push(self, one: Connection, mail: Mail, texts: dict[int, str]) -> None:
        try:
            one.push(mail, texts)
        except Exception as exc:  # it was not written, and who wrote or gets others has done nothing wrong
            _log.error("unexpected", exc_info=exc, extra={"facts": {"error": exc}})
            self._count(one, -1)
            self._returns.append(Return(claim_of(mail), handed=False))

    def _ring(self, party: str) -> None:
        self._rung.add(party)
        self._due.set()

    def _renew(self) -> None:
        """Bind again the bells whose sockets were removed."""
        for party, mailbox in self._mailboxes.items():
            if mailbox.waiter.is_lost():
                self._unbound(mailbox.waiter)
                mailbox.waiter = self._bound(party)

    def _opened(self, party: str) -> Mailbox:
        """With a bell of its own, by which others see that the agent is here."""
        return Mailbox(self._bound(party))

    def _bound(self, party: str) -> Waiter:
        waiter = self._desk.room.bell.waiter(party)

        def rung() -> None:
            waiter.drain()
            self._ring(party)

        def rung_here() -> None:
            """Who rings in this process has taken what there is."""

        if waiter.fileno() >= 0:
            asyncio.get_running_loop().add_reader(waiter.fileno(), rung)
        self._desk.room.bell.attend(waiter, rung_here)
        return waiter

    def _closed(self, one: Connection) -> None:
        self._unbound(self._mailboxes.pop(one.agent.id).waiter)

    def _unbound(self, waiter: Waiter) -> None:
        if waiter.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(waiter.fileno())
        waiter.close()

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


def _weight(mail: Mail) -> int:
    """Characters, more or less."""
    payload = mail.message.payload
    return len(mail.message.body) + (len(repr(payload)) if payload else 0)


def _some(pop: Callable[[], T], left: Iterable[Any]) -> list[T]:
    """Not so many that others wait for the lock for long."""
    found: list[T] = []
    while left and len(found) < _AT_ONCE:
        found.append(pop())
    return found
