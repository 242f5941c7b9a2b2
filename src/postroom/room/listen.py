"""Listening: one process holds a mailbox, so that taking its mail is a read.

The lease is exclusive and fenced. A message is *seen* when the program asks for the next one: until
then the program may still die over it, and then it is offered again, labelled.
"""

import os
from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from postroom import host, label
from postroom.errors import StaleClaim
from postroom.model.enclosure import disclose
from postroom.model.ladder import Cause, Priority, State
from postroom.model.message import Mail, first_delivery, make
from postroom.room import one
from postroom.room.deferral import is_deferred
from postroom.room.full_disk import spent
from postroom.room.hand import NOTHING
from postroom.room.offer import claim, context, guard_lease
from postroom.room.rest import keep_resting
from postroom.room.settle import see
from postroom.room.sweep import give_back, is_due, is_offered, reap
from postroom.room.wait import watch_with
from postroom.store.contract import WriteTx

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

_MOST_READ = 8


class Listening(Iterator[Mail]):
    """Mail, one after another. Use it in a `for` loop, or `with` it to end the lease at once."""

    def __init__(
        self, room: "LocalRoom", agent: str | None, timeout: float | None, *, enclosures: bool = True
    ) -> None:
        self._room = room
        who = room.who(agent)
        self.agent, self._name = who.id, who.called
        self._timeout = timeout
        self._pid = os.getpid()
        self._hand = room.hand(self.agent)
        self._in_hand: Mail | None = None
        # What was read with it and comes after it, the next one last. It still does until somebody contests:
        # new mail goes behind it, and what does not, says so. Mail of low priority is not read ahead.
        self._ahead: list[Mail] = []
        self._reads = 1  # messages at a time; more where more wait
        self._looked = 0  # for what has a number up to this, what was enclosed may be out of date
        self.waiter = room.bell.waiter(self.agent, enclosures=enclosures)
        self._closed = True
        try:
            spent(room, self._hand.open)
            self._fence = spent(room, self._take_lease)
            self._closed = False
            self._hand.begin(self._fence)
        except BaseException:
            self.close()  # the lease too, once it is taken
            self._hand.close()
            self.waiter.close()
            raise

    def _take_lease(self) -> int:
        with self._room.write() as tx:
            guard_lease(tx, self.agent, self._room)
            reap(tx, self.agent, self._room.settings)
            lease = tx.lease(self.agent)
            if lease and lease.holder == host.identity():
                from postroom.errors import MailboxLeased  # noqa: PLC0415

                raise MailboxLeased("this process is already listening on this mailbox")
            fence = (lease.fence if lease else 0) + 1
            payload = {"fence": fence, "holder": host.identity(), "context": context()}
            tx.append("lease.taken", self.agent, payload=payload)
            self._looked = tx.next_seq - 1
            return fence

    def __next__(self) -> Mail:
        if self._closed:
            raise StopIteration
        if self._pid != os.getpid():
            raise StaleClaim("the process that this one was forked from is listening, not this one")
        self.settle()
        try:
            mail = watch_with(self._room, self.waiter, self.agent, self.look, self._timeout)
            if mail is not None:
                return mail
        except BaseException:
            self._let_go()  # the program does not get it
            raise
        self.close()
        raise StopIteration

    def look(self) -> Mail | None:
        """The next message, which is now in hand; None when nothing waits."""
        try:
            while True:
                self._hand.reach()
                mail = self._next()
                if mail is not None and self._hand.is_contested():
                    mail = self._ask_again()
                if mail is None:
                    break
                if is_due(mail.delivery.due_at, self._room.store.clock()):
                    self._room.sweep(self.agent)  # it has expired, and nobody had noticed yet
                elif (
                    not one.is_one(mail.message)
                    or (mail := spent(self._room, partial(self._claim, mail))) is not None
                ):
                    break
            self._take_in_hand(mail)
        except BaseException:
            self._let_go()
            raise
        if label.armed and mail is not None:
            label.here("in-hand")
        return mail

    def _take_in_hand(self, mail: Mail | None) -> None:
        seq = NOTHING if mail is None else mail.delivery.seq
        self._hand.hold(seq)
        self._room.in_hand[self.agent] = seq
        self._room.acked = ("", "")  # not this one, yet
        self._looked = max(self._looked, seq)
        self._in_hand = mail

    def _let_go(self) -> None:
        """Nothing was shown; what was read ahead may now begin with what came after that."""
        self._ahead = []
        self._take_in_hand(None)

    def _next(self) -> Mail | None:
        if self._ahead:
            return self._ahead.pop()
        if self.waiter.enclosure and (mail := self._enclosed()):
            return mail
        look = self._room.store.look()
        found = look.ready(self.agent, self._reads, self._name)
        if any(mail.delivery.is_paused for mail in found):
            if is_due(found[0].delivery.due_at, self._room.store.clock()):
                return found[0]  # its pause is over, and nothing has noted that yet
            found = look.pushable(self.agent, self._reads, self._name)
        self._reads = min(self._reads * 2, _MOST_READ) if len(found) == self._reads else 1
        if not found:
            return None
        if len(found) > 1:
            self._ahead = [mail for mail in found[:0:-1] if mail.delivery.priority <= Priority.NORMAL]
        return found[0]

    def _enclosed(self) -> Mail | None:
        """The message that came with the ring.

        One is enclosed only if it found the mailbox empty, so it was next when it was stored; and whoever
        has changed that since then has contested it.
        """
        message = disclose(self.waiter.enclosure)
        self.waiter.enclosure = b""
        if message is None or message.seq <= self._looked:
            return None
        return make(Mail, (message, first_delivery(message, self.agent, self._name)))

    def _ask_again(self) -> Mail | None:
        """The next message under the write lock: nobody can contest it there."""
        self._hand.hold(NOTHING)  # while it waits for the lock
        try:
            tx = self._room.store.begin()
            self._check_fence(tx)
            self._hand.reach()
            self._ahead, self._looked = [], tx.next_seq - 1
            if not self._hand.clear():  # last: who is interrupted before is still contested
                raise StaleClaim("the room was restored: listen again")
            found = tx.ready(self.agent, 1, self._name)
            if found and found[0].delivery.is_paused:
                found = tx.pushable(self.agent, 1, self._name)
            return found[0] if found else None
        finally:
            self._room.store.rollback()

    def _claim(self, mail: Mail) -> Mail | None:
        """For this mailbox alone, of all to whom it was sent; None if another was faster."""
        self._hand.hold(NOTHING)  # while it waits for the lock; then the store knows
        self._ahead = []
        with self._room.write() as tx:
            self._check_fence(tx)
            current = tx.refresh(mail)
            if current is None or current.delivery.state is not State.STORED or current.delivery.held:
                return None
            return claim(tx, current, route="listen", context=context(), handed=True, lease=0)

    def settle(self) -> None:
        """What is in hand has been seen."""
        mail = self._in_hand
        if mail is None:
            return
        if self._room.acked != (self.agent, mail.id):  # or the program has said so itself
            now = self._room.store.look().refresh(mail)
            if now is not None and now.delivery.state in (State.STORED, State.OFFERED):
                spent(self._room, lambda: self._settle(mail))
        self._in_hand = None  # not before: if that failed, it is still what was shown
        self._hand.hold(NOTHING)

    def _settle(self, mail: Mail) -> None:
        with self._room.write() as tx:
            self._check_fence(tx)
            current = tx.refresh(mail)
            if current is None or one.is_taken(current.delivery) or is_deferred(current.delivery):
                return
            if current.delivery.state is State.STORED:
                see(tx, claim(tx, current, route="listen", context=context(), handed=True, lease=0))
            elif is_offered(current) and current.delivery.nonce == mail.delivery.nonce:
                see(tx, current)

    def _check_fence(self, tx: WriteTx) -> None:
        lease = tx.lease(self.agent)
        if lease is None or lease.fence != self._fence or lease.holder != host.identity():
            raise StaleClaim("the lease on this mailbox is no longer held here")

    def close(self) -> None:
        """End the lease. What is still in hand stays unseen, and is offered again, labelled."""
        if self._closed:
            return
        self._closed = True
        try:
            spent(self._room, self._end_lease)
        except StaleClaim:
            pass
        finally:
            self._room.in_hand.pop(self.agent, None)
            self._hand.close()
            self.waiter.close()

    def _end_lease(self) -> None:
        with self._room.write() as tx:
            self._check_fence(tx)
            if self._in_hand is not None:
                self._hand_back(tx, self._in_hand)
            tx.append("lease.ended", self.agent, payload={"fence": self._fence, "clean": True})

    def _hand_back(self, tx: WriteTx, shown: Mail) -> None:
        current = tx.mail(shown.delivery.seq, self.agent)
        if current is None:
            return
        if current.delivery.state is State.STORED and not one.is_taken(current.delivery):
            if current.delivery.shown_before:  # not for the first time: it waits, longer each time
                taken = claim(tx, current, route="listen", context=context(), handed=True, lease=0)
                give_back(tx, taken, self._room.settings, cause=Cause.LET_GO)
                return
            tx.append("delivery.labelled", self.agent, about=current.message, status="stored")
            keep_resting(tx, current)
        elif is_offered(current) and current.delivery.nonce == shown.delivery.nonce:
            give_back(tx, current, self._room.settings, cause=Cause.LET_GO)

    def __enter__(self) -> "Listening":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            try:  # no import: the interpreter may be ending
                self.close()
            except Exception:
                pass
