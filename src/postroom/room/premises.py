"""What a room stands on: the store, the bell, the markers and notes outside the store, and who calls.

The use cases work with it. Whoever uses a room has `LocalRoom`, which is this and the use cases.
"""

import contextlib
import os
import time
from typing import TYPE_CHECKING

from postroom import config, host
from postroom.bell.quiet import LONGEST, QuietMarkers
from postroom.bell.ring import RingFiles
from postroom.clock import Clock, wall
from postroom.errors import StoreError, StoreFull, UnknownMessage, UsageError
from postroom.model import ids
from postroom.model.message import Agent, Message
from postroom.room import directory
from postroom.room.directory import Scope
from postroom.room.seat import is_live
from postroom.room.unit import Courier, Unit
from postroom.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from typing import Self

    from postroom.bell.contract import Bell, Waiter
    from postroom.model.route import Route
    from postroom.room.follower import Adapt, Followers
    from postroom.room.hand import Hand
    from postroom.room.identity import Witness
    from postroom.room.waiter import Waiters
    from postroom.store.contract import ReadTx, Store

_OVERDUE, _OVERDUE_AFTER = 200, 300_000  # events that no journal has; milliseconds since the first of them
_ANSWER = 5_000_000_000  # nanoseconds in which a turn begins after a ring


class Premises:
    """One room in this process, open."""

    def __init__(
        self,
        home: str,
        settings: config.Settings,
        *,
        agent: str | None = None,
        project: str | None = None,
        start: str | None = None,
        create: bool = True,
        clock: Clock = wall,
        declared: config.Declared = config.NOTHING_DECLARED,
        witness: "Witness | None" = None,
    ) -> None:
        self.home = home
        self._follow(settings, declared)
        self.agent = agent
        self.scope = Scope(project, start, witness=witness)
        run = os.path.join(home, "run")
        self.store: Store = SqliteStore(
            os.path.join(home, "room.db"), clock=clock, patience=settings.busy_seconds,
            durability=settings.durability, create=create,
        )  # fmt: skip
        self.bell = _bell(run)
        self.quiet = QuietMarkers(run)
        self.ring = RingFiles(run)
        self.couriers: list[Courier] = []  # who bring mail in this process
        self._waiters: Waiters | None = None
        # When a party's mail (None: everybody's) is swept next, by the monotonic clock; waiters share it.
        self.next_sweeps: dict[str | None, float] = {}
        # Whose delivery, and of which message, was acknowledged here last.
        self.acked: tuple[str, str] = ("", "")
        self.in_hand: dict[str, int] = {}  # what was shown last to who listens here, by mailbox
        self.run = run
        # The events of each transaction that was committed here, from and up to; None: not recorded.
        self.committed: list[tuple[int, int]] | None = None
        self._followers: Followers | None = None
        self.read_up_to: dict[str, tuple[int, int]] = {}  # transcripts that were searched for failures
        self.space: dict[
            str, int
        ] = {}  # how many more go into a mailbox before what waits there is counted anew

    def _follow(self, settings: config.Settings, declared: config.Declared) -> None:
        self.settings = settings
        self.declared = declared
        # Whether there is anything to ask before something is sent, and anything that may hold what was.
        self.is_policed = bool(declared.routes) or settings.is_limiting
        self._is_routed = bool(declared.routes) or settings.routes == "strict"
        self.is_shaped = bool(settings.recipient_rate or settings.digest_seconds)
        self._routes: list[Route] | None = None

    def renew(self, settings: config.Settings, declared: config.Declared) -> None:
        """Go on with another config, here and in all rooms that follow this one. From any thread: a use case
        that runs meanwhile may see some of it.
        """
        self._follow(settings, declared)
        self.store.patience, self.store.durability = settings.busy_seconds, settings.durability
        self.space.clear()
        for other, adapt in self._followers.every() if self._followers else ():
            other.renew(adapt(settings), declared)

    def lead(self, other: "Premises", adapt: "Adapt" = lambda settings: settings) -> None:
        """Have another room follow this one for as long as it is there: its settings are made of ours."""
        if self._followers is None:
            from postroom.room.follower import Followers  # noqa: PLC0415 - only in who lives long

            self._followers = Followers()
        self._followers.add(other, adapt)
        other._follow(adapt(self.settings), self.declared)  # it may have been told of while this was made

    def who(self, agent: str | None = None) -> Agent:
        """The agent or person a call is made for; must exist."""
        return directory.caller(self.store.look(), agent or self.agent, self.scope)

    def on_behalf(
        self,
        agent: str | None,
        project: str | None,
        witness: "Witness | None",
        adapt: "Adapt" = lambda settings: settings,
    ) -> "Self":
        """The same room as another caller has it: its own name, project and evidence, the same files.

        `adapt`: its settings, of ours. For who serves many. `close` what this was made of, and not this.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.agent, other.scope = agent, Scope(project, witness=witness)
        other._waiters, other.acked = None, ("", "")
        other._followers = None
        self.lead(other, adapt)
        return other

    def claim(self, name: str) -> None:
        """Calls are made for whom a caller says it is, unless that contradicts the evidence."""
        self.agent = name
        if self.scope.witness is not None:
            self.scope.witness.inherited = ""

    def known(self, name: str) -> Agent:
        """Somebody a caller names; must exist."""
        return directory.known(self.store.look(), name, self.scope)

    def is_live(self, party: str) -> bool:
        """Whether anything of an agent runs: a session, or a program that listens or waits for mail."""
        look = self.store.look()
        lease = look.lease(party)
        listens = lease is not None and lease.holder is not None and not host.is_gone(lease.holder)
        if listens or self.bell.waiting(party) > 0:
            return True
        return any(map(is_live, look.sessions(party)))

    def project(self) -> str:
        """The project a caller stands in: its agents go by their bare names."""
        return self.scope.find(self.store.look())

    def now(self) -> int:
        """What time it is by the room's clock, in milliseconds."""
        return self.store.clock()

    @property
    def routes(self) -> "list[Route]":
        """Who may write to whom, as the config declares it."""
        if self._routes is None:
            from postroom.room.policy import declared_routes  # noqa: PLC0415 - where there are any

            self._routes = declared_routes(self.declared.routes, self.home)
        return self._routes

    def has_space(self, mailbox: str) -> bool:
        """Whether one more is known to go into a mailbox, and no policy but its quota has to be asked."""
        space = 0 if self._is_routed else self.space.get(mailbox, 0)
        if space > 0:
            self.space[mailbox] = space - 1
        return space > 0

    def write(self) -> Unit:
        return Unit(self)

    def is_claimed(self, party: str | None) -> bool:
        """Whether any process holds a claim (on the mail of one party, or of anybody), or owes an answer."""
        look = self.store.look()
        return bool((look.claimers(party) or look.asked_by(party)) if party else look.recipients_offered())

    def sweep(self, party: str | None = None) -> int:
        """Do what the clock asks, and return what gone processes held (of one party, or of all).

        Who waits for an answer of theirs is told. How many deliveries came back.
        """
        look = self.store.look()
        if self.store.readonly:  # which is known once it has been opened
            return 0
        asked = [party, *look.asked_by(party)] if party else look.recipients_offered()
        claimers = {recipient: look.claimers(recipient) for recipient in asked}
        if ((claimers[party] if party else claimers) or look.refused()) and look.has_sessions():
            from postroom.room.failed_turn import at_risk, notice  # noqa: PLC0415 - where agents hold mail

            notice(self, at_risk(look, party))
        due = look.next_due()
        recipients = [recipient for recipient in asked if any(map(host.is_gone, claimers[recipient]))]
        if not recipients and (due is None or due > self.store.clock()):
            return 0
        from postroom.room.sweep import reap  # noqa: PLC0415 - only when there is something

        try:
            conversations = None
            if recipients:
                from postroom.room.failed_request import read_ahead  # noqa: PLC0415 - after a death only

                conversations = read_ahead(look, recipients)
            with self.write() as tx:
                return sum(reap(tx, recipient, self.settings, conversations) for recipient in recipients)
        except StoreFull:  # who only looks must not be refused for it; the next sweep does it
            return 0

    def hush(self, agent: str | None = None) -> int | None:
        """Promise an agent's hooks quiet, if nothing is due or offered; until when (milliseconds)."""
        party = self.who(agent).id
        tx = self.store.begin()
        try:
            if tx.restless(party):
                return None
            from postroom.room.probe import scope_of  # noqa: PLC0415 - only who promises quiet

            if tx.refusal(scope_of(party)) is not None:
                return None  # any answer of its model ends that, so its hooks look for one
            due = tx.next_due(party)
            if due is not None and not host.boot():
                return None  # without /proc a hook cannot tell when the promise ends
            until = min(tx.now + LONGEST, due or tx.now + LONGEST)
            self.quiet.lower(party, until)
            return until
        except Exception as exc:
            self.store.abandon(exc)
            raise
        finally:
            self.store.rollback()

    def find_message(self, tx: "ReadTx", ref: str) -> Message:
        """A message by id or handle, or a clear error."""
        if not ids.is_uuid(ref) and not ids.is_handle(ref):
            raise UsageError(
                f"{ref!r} is not a message id",
                hint="An id is a UUID or its last 8 digits; see: postroom inbox",
            )
        message = tx.message(ref)
        if message is None:
            raise UnknownMessage(f"there is no message {ref}", message_ref=ref)
        return message

    def rouse(self) -> None:
        """Wake once more whose wake has come to nothing. For who only looks, or waits: nothing is raised."""
        now = time.time_ns()
        if late := [who for who in self.ring.all() if not 0 <= now - who[1] < _ANSWER]:
            from postroom.room.wake import again  # noqa: PLC0415 - where an agent runs

            again(self, late)

    def call(self, parties: list[str]) -> None:
        """Have those called whose runtimes cannot watch a file; see `room/wake.py`."""
        from postroom.room.wake import call  # noqa: PLC0415 - only for who must be called

        call(self, parties)

    def hand(self, party: str) -> "Hand":
        from postroom.room.hand import Hand  # noqa: PLC0415 - only for listeners

        return Hand(os.path.join(self.run, "hand", party))

    def contest(self, tx: "ReadTx", party: str) -> int | None:
        """Before the next message in a mailbox becomes another: make its listener ask again.

        What that has in hand now (see `Hand`); None when nobody listens.
        """
        lease = tx.lease(party)
        if lease is None or lease.holder is None:
            return None
        try:
            return self.hand(party).contest(lease.fence)
        except FileNotFoundError:
            from postroom.room.hand import REACHING  # noqa: PLC0415 - somebody has removed files that are in use

            return None if host.is_gone(lease.holder) else REACHING
        except OSError as exc:
            raise StoreError(f"the listener on that mailbox cannot be told: {exc}", path=self.run) from exc

    def unsettle(self, *, ended: bool = False) -> None:
        """Withdraw all promises made outside the store. Call with the write lock held.

        For whatever changes mail in another than the usual way. `ended`: who listens must begin anew.
        """
        self.quiet.lift_all()
        with contextlib.suppress(FileNotFoundError):
            for party in os.listdir(os.path.join(self.run, "hand")):
                self.hand(party).contest(0, ended=ended)

    def waiter(self, party: str) -> "Waiter":
        """This thread's waiter for a party's bell; stays bound for the next call."""
        if self._waiters is None:
            from postroom.room.waiter import Waiters  # noqa: PLC0415 - only who waits

            self._waiters = Waiters(self.bell)
        return self._waiters.get(party)

    def has_overdue_journals(self) -> bool:
        """Return True if the journals are so far behind that a command writes them where no daemon runs.

        A room that nothing was asked of is not opened for this.
        """
        if not self.store.is_open:
            return False
        behind, since = self.store.look().lag("journal")
        return since is not None and (behind >= _OVERDUE or self.store.clock() - since >= _OVERDUE_AFTER)

    def finish(self) -> None:
        """The end of a short-lived process."""
        self.store.finish()

    def close(self) -> None:
        if self._waiters is not None:
            self._waiters.close()
            self._waiters = None
        self.bell.close()
        self.store.close()


def _bell(run: str) -> "Bell":
    if host.has_unix_sockets():
        from postroom.bell.local import LocalBell  # noqa: PLC0415 - one or the other

        return LocalBell(os.path.join(run, "bell"))
    from postroom.bell.polling import PollingBell  # noqa: PLC0415

    return PollingBell()
