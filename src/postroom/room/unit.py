"""One use case: one transaction, then the bells. Everything that writes to a room goes through here.

Order matters, and is what the crash tests kill at: the promises made outside the store (quiet markers, what
listeners believe to be next) are withdrawn inside the transaction, the bells ring after the commit, and the
disk is waited for last of all. A courier claims what it can bring in the transaction that stored it, and
brings it once that is committed.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Any

from postroom import errors, label
from postroom.errors import StoredBut, of_file
from postroom.model.address import ROOM
from postroom.model.enclosure import enclose

if TYPE_CHECKING:
    from postroom.model.message import Message
    from postroom.model.presence import Sight
    from postroom.room.premises import Premises
    from postroom.store.contract import WriteTx

if not TYPE_CHECKING:
    Protocol = object  # a real one costs every start half a millisecond a class
else:
    from typing import Protocol

EVERYONE = "_events"  # the bell of those who follow the events themselves


class Courier(Protocol):
    """Somebody in this process who brings mail to readers that are here now; any thread calls it."""

    def take(self, tx: "WriteTx") -> Any:
        """Claim for them of what has become due, in the transaction that ends; None: nothing."""
        ...

    def bring(self, taken: Any, *, is_stored: bool) -> None:
        """What was taken is committed, or has come to nothing. Must neither raise nor block."""
        ...


class Unit:
    """`with room.write() as tx`, or `Unit(room, …)` where the defaults do not fit.

    After it, `is_stored` says whether it was committed, whatever failed then; `reached` how many waiters each
    ring woke, and `woken` who has a session that was rung.

    What the clock asks for is done first. `prompt=False`: the use case sees to that itself, or leaves it to
    the next one that reads. `lasting=False`: nobody is promised that it survives a power cut. `mailbox`: see
    `Store.begin`. `announced`: the message to enclose with the ring for that mailbox. `parts`: what this
    thread does with the room in here is committed, and told of, at its end (`Store.gather`). What that
    answers is not true before.
    """

    __slots__ = (
        "_lasting", "_mailbox", "_parts", "_prompt", "_room", "_tx", "announced", "is_stored", "reached",
        "woken",
    )  # fmt: skip

    def __init__(
        self,
        room: "Premises",
        *,
        prompt: bool = True,
        lasting: bool = True,
        mailbox: str = "",
        parts: bool = False,
    ) -> None:
        self._room = room
        self._mailbox = mailbox
        self._prompt = prompt
        self._lasting = lasting
        self._parts = parts
        self.announced: Message | None = None
        self.is_stored = False
        self.reached: dict[str, int] = {}
        self.woken: dict[str, bool] = {}

    def __enter__(self) -> "WriteTx":
        if label.armed:
            label.here("before-begin")
        store = self._room.store
        self._tx = tx = store.gather() if self._parts else store.begin(self._mailbox, joins=True)
        if self._prompt:
            try:
                if (due := tx.next_due()) is not None and due <= tx.now:
                    from postroom.room.sweep import act_on_due  # noqa: PLC0415 - rarely needed

                    act_on_due(tx, self._room.settings)
            except BaseException as exc:
                store.abandon(exc)
                raise
        return tx

    def ways(self) -> "dict[str, Sight]":
        """How those can be reached who have a session."""
        from postroom.room.reach import ways  # noqa: PLC0415 - for those only

        return ways(self._room, list(self.woken))

    def ways_after(self, message: "Message") -> "dict[str, Sight]":
        """Return `ways` for a message that is stored; a failure says that it is."""
        try:
            return self.ways()
        except Exception as exc:
            raise stored_but(message, exc) from exc

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        room, store, tx = self._room, self._room.store, self._tx
        if kind is not None:
            store.abandon(exc)
            return
        if not tx.wrote:
            store.rollback()
            return
        if tx.is_part:
            store.commit()
            return
        taken: list[tuple[Courier, Any]] = []
        try:
            if tx.stirred:
                for courier in room.couriers:
                    taken.append((courier, courier.take(tx)))
                tx.complete()
                room.quiet.lift(tx.stirred)
            for party in tx.unsettled:
                room.contest(tx, party)
            if label.armed:
                label.here("before-commit")
            store.commit()
        except BaseException as cause:
            _bring(taken, is_stored=False)
            store.abandon(cause)
            if isinstance(cause, OSError):
                raise of_file(cause, f"a promise cannot be withdrawn: {cause}", path=room.home) from cause
            raise
        self.is_stored = True
        if room.committed is not None:
            room.committed.append((tx.first_seq, tx.next_seq))
        try:
            self._finish(tx, taken)
        except Exception as cause:
            posted = tx.posted if tx.posted is not None and tx.posted.sender_id != ROOM else None
            raise stored_but(posted, cause) from cause

    def _finish(self, tx: "WriteTx", taken: "list[tuple[Courier, Any]]") -> None:
        """Tell those who wait; what fails from here on does not undo what is stored."""
        store = self._room.store
        _bring(taken, is_stored=True)
        if label.armed:
            label.here("after-commit")
        self._ring(tx)
        if label.armed:
            label.here("after-ring")
        store.tidy()
        if self._lasting:
            store.make_lasting()

    def _ring(self, tx: "WriteTx") -> None:
        room = self._room
        enclosures = {} if self.announced is None else {self._mailbox: enclose(self.announced)}
        self.reached = room.bell.ring((*tx.stirred, *(tx.touched - tx.stirred), EVERYONE), enclosures)
        if tx.stirred and (woken := room.ring.touch(tx.stirred)):
            self.woken = woken
            if called := [party for party, must_be_called in woken.items() if must_be_called]:
                room.call(called)


def stored_but(message: "Message | None", cause: Exception) -> StoredBut:
    """Return the error for a failure after a commit: it has the id of the message that is stored."""
    if message is None:
        return cause if isinstance(cause, StoredBut) else errors.stored_but("the change is stored", cause)
    return errors.stored_but(f"message {message.handle} is stored", cause, message.id)


def _bring(taken: list[tuple[Courier, Any]], *, is_stored: bool) -> None:
    for courier, what in taken:
        if what is not None:
            courier.bring(what, is_stored=is_stored)
