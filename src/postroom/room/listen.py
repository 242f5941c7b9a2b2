"""Listening: one process holds a mailbox, so that taking its mail is a read.

The lease is exclusive and fenced. A message is *seen* when the program asks for the next one: until
then the program may still die over it, and then it is offered again, labelled.
"""

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from postroom import host, label
from postroom.errors import StaleClaim
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room.offer import claim, context, guard_lease
from postroom.room.settle import see
from postroom.room.wait import watch_with
from postroom.store.contract import WriteTx

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


class Listening(Iterator[Mail]):
    """Mail, one after another. Use it in a `for` loop, or `with` it to end the lease at once."""

    def __init__(self, room: "LocalRoom", agent: str | None, timeout: float | None) -> None:
        self._room = room
        self._agent = room.who(agent).id
        self._timeout = timeout
        self._hand = room.hand(self._agent)
        self._in_hand: Mail | None = None
        self._waiter = room.bell.waiter(self._agent)
        try:
            self._fence = self._take_lease()
        except BaseException:
            self._waiter.close()
            raise
        self._hand.open(self._fence)
        self._closed = False

    def _take_lease(self) -> int:
        with self._room.write() as tx:
            guard_lease(tx, self._agent, self._room)
            lease = tx.lease(self._agent)
            if lease and lease.holder == host.identity():
                from postroom.errors import MailboxLeased  # noqa: PLC0415

                raise MailboxLeased("this process is already listening on this mailbox")
            fence = (lease.fence if lease else 0) + 1
            payload = {"fence": fence, "holder": host.identity(), "context": context()}
            tx.append("lease.taken", self._agent, payload=payload)
            return fence

    def __next__(self) -> Mail:
        if self._closed:
            raise StopIteration
        self.settle()
        mail = self._look() or watch_with(self._room, self._waiter, self._agent, self._look, self._timeout)
        if mail is None:
            self.close()
            raise StopIteration
        self._hand.hold(self._fence, mail.delivery.seq)
        label.here("in-hand")
        self._in_hand = mail
        return mail

    def _look(self) -> Mail | None:
        waiting = self._room.store.look().ready(self._agent, 1)
        return waiting[0] if waiting else None

    def settle(self) -> None:
        """What is in hand has been seen."""
        mail, self._in_hand = self._in_hand, None
        if mail is None:
            return
        with self._room.write() as tx:
            self._check_fence(tx)
            current = tx.mail(mail.delivery.seq, self._agent)
            if current is not None and current.delivery.state is State.STORED:
                taken = claim(tx, current, route="listen", context=context(), handed=True, lease=0)
                see(tx, taken)
        self._hand.hold(self._fence, 0)

    def _check_fence(self, tx: WriteTx) -> None:
        lease = tx.lease(self._agent)
        if lease is None or lease.fence != self._fence or lease.holder != host.identity():
            raise StaleClaim("the lease on this mailbox is no longer held here")

    def close(self) -> None:
        """End the lease. What is still in hand stays unseen, and is offered again, labelled."""
        if self._closed:
            return
        self._closed = True
        try:
            with self._room.write() as tx:
                self._check_fence(tx)
                if self._in_hand is not None:
                    current = tx.mail(self._in_hand.delivery.seq, self._agent)
                    if current is not None and current.delivery.state is State.STORED:
                        tx.append("delivery.labelled", self._agent, about=current.message, status="stored")
                tx.append("lease.ended", self._agent, payload={"fence": self._fence, "clean": True})
        except StaleClaim:
            pass
        finally:
            self._hand.close()
            self._waiter.close()

    def __enter__(self) -> "Listening":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            import contextlib  # noqa: PLC0415

            with contextlib.suppress(Exception):
                self.close()
