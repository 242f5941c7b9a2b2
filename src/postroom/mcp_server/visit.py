"""One client's visit: what its model was shown, and which later call proves that.

A message that `read` gave out is offered, and handed over once the whole answer was written. A later call of
a tool proves it, if it came in after that: one that was under way by then may have been made by a model that
had seen nothing yet. What nothing proves comes back when the visit ends, or the process of the client.
"""

import asyncio
import itertools
import logging
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from postroom import host
from postroom.errors import MailboxLeased, UsageError
from postroom.model import ids
from postroom.model.ladder import Cause, Evidence, Outcome, State
from postroom.model.message import Mail
from postroom.room import turn
from postroom.room.offer import offer
from postroom.room.settle import see
from postroom.room.sweep import give_back, still
from postroom.room.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager

    from postroom.mcp_server.port import Admit, Caller, Host
    from postroom.room.local import LocalRoom
    from postroom.store.contract import WriteTx

T = TypeVar("T")

ROUTE = "mcp"
_NOT_YET = float("inf")
_log = logging.getLogger("postroom.daemon")


class Visit:
    """What lasts from one call of a client to the next. Calls are made by several threads at once."""

    def __init__(self, name: str, process: str = "") -> None:
        """`process`: the client's own, as `host.identity` names it, where that is known."""
        self.name = name
        self.claimer = f"{host.identity()}.{ids.nonce()}"  # until it was handed over; nobody else's
        self.holder = f"{process or host.identity()}.{name}"  # from then on
        self.count = itertools.count(1)
        self._guard = threading.Lock()
        self._open: dict[str, tuple[str, float]] = {}  # of each claim: whose, and when it was written
        self._known: set[str] = set()  # of whom it was asked what an earlier server has handed over
        self._handing: set[asyncio.Future[None]] = set()

    @property
    def is_holding(self) -> bool:
        """Whether anything that it was shown is not proven yet."""
        return bool(self._open)

    async def handed(self) -> None:
        """Until the store knows of all that was written so far."""
        if self._handing:
            await asyncio.wait(self._handing)

    def claimed(self, mails: list[Mail]) -> None:
        """They are about to be written out."""
        self._note(mails, _NOT_YET)

    def written(self, mails: list[Mail], handing: "asyncio.Future[None]") -> None:
        """They have been, and `handing` tells the store so."""
        self._note(mails, next(self.count))
        self._handing.add(handing)
        handing.add_done_callback(self._done)

    def forget(self, mails: list[Mail]) -> None:
        """They will not be: others may have them."""
        with self._guard:
            for mail in mails:
                self._open.pop(mail.delivery.nonce or "", None)

    def _note(self, mails: list[Mail], when: float) -> None:
        with self._guard:
            for mail in mails:
                self._open[mail.delivery.nonce or ""] = mail.delivery.recipient_id, when

    def _done(self, handing: "asyncio.Future[None]") -> None:
        self._handing.discard(handing)
        if not handing.cancelled() and (exc := handing.exception()):  # it comes back when its lease lapses
            _log.error("a client was shown mail, and the room could not be told", exc_info=exc)

    def prove(self, caller: "Caller", since: float, evidence: Evidence = Evidence.AGENT) -> None:
        """The call of a tool that came in as number `since` proves what was written before."""
        party = caller.agent.id
        with self._guard:
            before = [nonce for nonce, (whose, when) in self._open.items() if whose == party and when < since]
            if party in self._known and not before:
                return
        with Unit(caller.room, prompt=False) as tx:
            for mail in tx.offered(party, self.holder):
                if self._is_before(mail, since):
                    see(tx, mail, evidence=evidence)
        with self._guard:
            self._known.add(party)
            for nonce in before:  # what is not seen now was settled otherwise
                self._open.pop(nonce, None)

    def _is_before(self, mail: Mail, since: float) -> bool:
        if mail.delivery.handed_at is None:  # another call claims it at this moment
            return False
        with self._guard:  # what is not known was written by an earlier server
            return self._open.get(mail.delivery.nonce or "", ("", 0))[1] < since

    def end(self, room: "LocalRoom", *, stays: bool = False) -> None:
        """Nobody is there any more: what nothing has proven waits again. `stays`: the client's process may,
        and keeps what it was handed.
        """
        with self._guard:
            parties = {whose for whose, _ in self._open.values()}
            self._open.clear()
        if not parties:
            return
        with Unit(room, prompt=False) as tx:
            holders = {self.claimer} if stays else {self.claimer, self.holder}
            for party, holder in itertools.product(parties, holders):
                for mail in tx.offered(party, holder):
                    _end(tx, room, mail, Cause.CONTEXT if mail.delivery.handed_at else None)


class Arrival:
    """One request of a visit, from when it came in until its answer was written."""

    def __init__(
        self,
        visit: Visit,
        admit: "Admit",
        key: str = "",
        number: int | None = None,
        waiting: "Callable[[], AbstractContextManager[None]]" = nullcontext,
    ) -> None:
        """`key`: by which it is known again, where it may be made twice. `number`: as what it came in, if not
        as the latest. `waiting`: what is done within waits for something to happen, and holds up no end.
        """
        self.visit = visit
        self.number = next(visit.count) if number is None else number
        self.key = key
        self.admit = admit
        self._waiting = waiting
        self._gone = asyncio.Event()
        self._mails: list[Mail] = []
        self._missing: list[int] = []
        self._guard = threading.Lock()
        self._is_lost = False

    @property
    def is_holding(self) -> bool:
        """Whether its answer has mail in it."""
        return bool(self._mails)

    def begin(self) -> "Caller":
        """Who calls a tool; what it was shown before is proven by that. Blocks."""
        caller = self.admit()
        self.visit.prove(caller, self.number)
        return caller

    async def until(self, happens: "Coroutine[Any, Any, T]") -> "T":
        """Wait for something, as long as anybody would be told of it."""
        doing, gone = asyncio.ensure_future(happens), asyncio.ensure_future(self._gone.wait())
        try:
            with self._waiting():
                await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            raise UsageError("who asked has gone")
        finally:
            doing.cancel()
            gone.cancel()
            await asyncio.gather(doing, gone, return_exceptions=True)

    def keep(self, room: "LocalRoom", mails: list[Mail], missing: list[int]) -> None:
        """These are claimed, and in the answer, unless nobody waits for that any more. Blocks."""
        with self._guard:
            if not self._is_lost:
                self.visit.claimed(mails)
                self._mails += mails
                self._missing += missing
                return
        _give_back(room, mails)

    def take(self, caller: "Caller", ref: str) -> Mail | None:
        """Claim one by its id, unless it was settled before; None where a program of the agent's has it."""
        try:
            mail = offer(caller.room, None, ref=ref, route=ROUTE, handed=False, claimer=self.visit.claimer)
        except MailboxLeased:
            return None
        if mail is not None and mail.delivery.state is State.OFFERED:
            self.keep(caller.room, [mail], [0])
        return mail

    def written(self, server: "Host") -> None:
        """The whole answer has gone out."""
        if self._mails:
            mails, self._mails = self._mails, []
            handing = server.do(turn.hand_all, server.room, mails, self.visit.holder, self._missing)
            self.visit.written(mails, asyncio.ensure_future(handing))

    async def lost(self, server: "Host", outcome: Outcome = Outcome.LOST) -> None:
        """It has not, and never will: what it held was not shown, unless the `outcome` leaves that open."""
        with self._guard:
            self._is_lost = True
            self._gone.set()
            mails, self._mails = self._mails, []
        if mails:
            self.visit.forget(mails)
            await server.do(_give_back, server.room, mails, outcome)


def _give_back(room: "LocalRoom", mails: list[Mail], outcome: Outcome = Outcome.LOST) -> None:
    with Unit(room, prompt=False) as tx:
        for mail in still(tx, mails):
            _end(tx, room, mail, Cause.LET_GO if outcome is Outcome.UNPROVEN else None)


def _end(tx: "WriteTx", room: "LocalRoom", mail: Mail, cause: Cause | None) -> None:
    """`cause`: what ended an attempt of which nobody knows whether it was shown; None: it was not."""
    give_back(tx, mail, room.settings, Outcome.UNPROVEN if cause else Outcome.LOST, cause=cause)
