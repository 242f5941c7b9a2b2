"""Asking: a request, the wait for its answer, and a watch over whether one can still come."""

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from postroom import host
from postroom.errors import IllegalMove, MailboxLeased, NoAnswer, Refused, StaleClaim, TimedOut
from postroom.model.address import ROOM
from postroom.model.ladder import State, ended
from postroom.model.message import Delivery, Mail, Message, Sent
from postroom.room import asking, unanswered
from postroom.room.draft import GATE
from postroom.room.offer import offer
from postroom.room.one import PROGRAMS
from postroom.room.send import send
from postroom.room.settle import settle
from postroom.room.wait import watch_with

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.room.local import LocalRoom
    from postroom.room.options import SendOptions
    from postroom.store.contract import ReadTx


GLANCE = 2.0  # seconds between two looks at whether whoever was asked still lives
_FEW = 3  # names that a sentence has room for
_EXITS = (State.BOUNCED, State.DEAD, State.EXPIRED)


def ask(
    room: "LocalRoom",
    to: str,
    body: str,
    *,
    sender: str | None,
    timeout: float | None,
    **options: "Unpack[SendOptions]",
) -> Mail:
    """Send a request and wait for its answer, which is then seen.

    Only who was asked can answer; what others write in its name comes to the inbox, and the wait goes on.
    What the room tells about the request meanwhile is seen, too: whoever waits learns it from the error.
    """
    question = Question(room, to, body, sender, options)
    with asking.noted(room, question.sent):
        asking.check_circle(room, question.sent)
        found = _attend(room, question, timeout)
    return question.answered(found, timeout)


class Question:
    """A request that was sent, and what whoever waits for its answer looks at."""

    def __init__(
        self, room: "LocalRoom", to: str, body: str, sender: str | None, options: "SendOptions"
    ) -> None:
        options.setdefault("type", "request")
        options.setdefault("requires_ack", True)
        self._await(room, to, send(room, to, body, sender=sender, **options))

    @classmethod
    def of(cls, room: "LocalRoom", to: str, sent: Sent) -> "Question":
        """One that was sent already."""
        found = cls.__new__(cls)
        found._await(room, to, sent)
        return found

    def _await(self, room: "LocalRoom", to: str, sent: Sent) -> None:
        self._room, self._to, self.sent = room, to, sent
        self._asked = {delivery.recipient_id for delivery in sent.deliveries}

    @property
    def party(self) -> str:
        """Whose bell rings when an answer comes."""
        return self.sent.message.sender_id

    def look(self) -> Mail | None:
        """The answer, once it is there."""
        with self._room.store.read() as tx:  # one moment: an answer between two looks is no refusal
            return _answer(tx, self.sent.message, self._asked)

    def check_hope(self) -> None:
        """Raises `NoAnswer` when none will come: the death of who was asked rings no bell."""
        _check_hope(self._room, self.sent.message, self._asked)

    def despair(self) -> None:
        """After `NoAnswer`: the letter about it is written now, not later as a surprise, and is seen."""
        self._room.sweep(self.party)
        _see_letters(self._room, self.sent.message, bounces=True)

    def answered(
        self, found: Mail | None, timeout: float | None, see: Callable[[Mail], None] | None = None
    ) -> Mail:
        """The answer, seen; or the error that tells why there is none. `see`: what is done to it instead."""
        room, sent = self._room, self.sent
        letters = _see_letters(room, sent.message)
        if found is None:
            raise _timed_out(room, sent.message, self._to, timeout or 0.0, letters)
        if see is None:
            _see(room, found, sent.message.sender_id)
        else:
            see(found)
        if found.payload and is_bounce(found):
            handle, reason = sent.message.handle, found.payload["bounce"]["reason"]
            raise Refused(f"{self._to} did not take {handle}: {reason}", message_ref=sent.id)
        if found.message.sender_id == ROOM and sent.message.type == GATE:
            raise NoAnswer(f"{sent.message.handle} was denied: nobody decided in time", message_ref=sent.id)
        return found


def _attend(room: "LocalRoom", question: Question, timeout: float | None) -> Mail | None:
    """The answer, if one came in time."""
    try:
        return wait_for(room, question, timeout)
    except NoAnswer:
        question.despair()
        raise


def _see_letters(room: "LocalRoom", request: Message, *, bounces: bool = False) -> list[Mail]:
    with room.store.read() as tx:
        letters = [
            mail
            for mail in unanswered.correlated(tx, request)
            if unanswered.is_letter(mail, request) or (bounces and is_bounce(mail))
        ]
    for mail in letters:
        _see(room, mail, request.sender_id)
    return letters


class Awaiting(Protocol):
    """What is waited for: `party` is whose bell rings when it comes."""

    @property
    def party(self) -> str: ...

    def look(self) -> Mail | None: ...

    def check_hope(self) -> None: ...


def wait_for(room: "LocalRoom", question: Awaiting, timeout: float | None) -> Mail | None:
    """The answer; None when time is up. The death of whoever was asked rings no bell: look now and again."""
    waiter = room.waiter(question.party)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        pause = GLANCE if left is None else min(left, GLANCE)
        found = watch_with(room, waiter, question.party, question.look, pause, others=True)
        if found is not None:
            return found
        question.check_hope()
        if left is not None and left <= pause:
            return None


def _answer(tx: "ReadTx", request: Message, asked: Collection[str]) -> Mail | None:
    """What the first of those who were asked has answered; of a gate, what was decided."""
    bounces: list[Mail] = []
    for mail in unanswered.correlated(tx, request):
        if mail.delivery.held or mail.delivery.state is State.WITHDRAWN:
            continue
        if is_bounce(mail):
            bounces.append(mail)
        elif mail.message.sender_id in asked and request.type != GATE:
            return mail
    if request.type == GATE:
        from postroom.room.gate import decided  # noqa: PLC0415 - for gates only

        if (decision := decided(tx, request)) is not None:
            return decision
    if bounces and _have_all_ended(tx, request):
        return bounces[0]  # none of those asked will answer
    _check_exits(tx, request)
    return None


def is_bounce(mail: Mail) -> bool:
    return mail.message.sender_id == ROOM and "bounce" in (mail.payload or {})


def _have_all_ended(tx: "ReadTx", request: Message) -> bool:
    return all(ended(delivery.state) for delivery in tx.deliveries(request.seq))


def _check_exits(tx: "ReadTx", request: Message) -> None:
    """Give up when nobody will be shown it any more. Who refuses it answers with a bounce."""
    states = {d.state for d in tx.deliveries(request.seq)}
    if states and states <= {State.EXPIRED, State.WITHDRAWN}:
        how = " and ".join(sorted(state.value for state in states))
        raise NoAnswer(f"nobody will answer {request.handle}: it is {how}", message_ref=request.id)


def _check_hope(room: "LocalRoom", request: Message, asked: Collection[str]) -> None:
    """Give up when all who were asked have ended without answering."""
    with room.store.read() as tx:
        deliveries = [d for d in tx.deliveries(request.seq) if d.state is not State.WITHDRAWN]
        reasons = [_why_not(tx, delivery) for delivery in deliveries]
        if reasons and all(reasons) and _answer(tx, request, asked) is None:
            raise NoAnswer(f"{'; '.join(map(str, reasons))}: {request.handle}", message_ref=request.id)


def _why_not(tx: "ReadTx", delivery: Delivery) -> str | None:
    """Why one of them will not answer, as far as that is known."""
    agent = tx.agent(delivery.recipient_id)
    if agent is not None and agent.left_at is not None:
        return f"{delivery.recipient} has left without answering"
    ran = delivery.route in PROGRAMS and delivery.claimer is not None
    if ran and delivery.state in (State.SEEN, State.ACKED) and host.is_gone(delivery.claimer or ""):
        return f"{delivery.recipient} has ended without answering"
    return f"{delivery.recipient}: {delivery.state}" if delivery.state in _EXITS else None


def _timed_out(room: "LocalRoom", request: Message, to: str, timeout: float, letters: list[Mail]) -> TimedOut:
    known = dict.fromkeys((*(unanswered.told(mail) for mail in letters), *_counter_questions(room, request)))
    return TimedOut(
        _without_answer(room, request, to, timeout), message_ref=request.id,
        hint=f"It is {'; '.join((state(room, request), *known))}; a late answer comes to your inbox."
        f" See: postroom receipts {request.handle}",
    )  # fmt: skip


def _without_answer(room: "LocalRoom", request: Message, to: str, timeout: float) -> str:
    """Of a group, whoever is in it, unless they are many."""
    found = [d.recipient for d in room.store.look().deliveries(request.seq) if d.state is not State.WITHDRAWN]
    whom = ", ".join(found) if 0 < len(found) <= _FEW else to
    if timeout <= 0:
        return f"question {request.handle} waits for an answer from {whom}"
    return f"question {request.handle} has no answer from {whom} after {timeout:g} s"


def _counter_questions(room: "LocalRoom", request: Message) -> list[str]:
    """Who of those asked waits for the asker instead."""
    look = room.store.look()
    asked = {delivery.recipient_id for delivery in look.deliveries(request.seq)}
    waiting = (mail for mail in look.ready(request.sender_id, 50) if mail.message.sender_id in asked)
    return [f"{m.sender} waits for your answer to {m.handle}" for m in waiting if m.type == request.type]


def _see(room: "LocalRoom", found: Mail, author: str) -> None:
    """The asker has it in hand, unless its mailbox belongs to a listener, who will be shown it too."""
    try:
        agent = room.store.look().agent(author)
        mail = offer(room, agent.address if agent else None, ref=found.id, route="ask")
        if mail and mail.delivery.state is State.OFFERED:
            settle(room, mail)
    except (IllegalMove, MailboxLeased, StaleClaim):
        pass


def state(room: "LocalRoom", request: Message) -> str:
    deliveries = room.store.look().deliveries(request.seq)
    return ", ".join(
        f"{d.state} for {d.recipient}" + (f" ({d.reason})" if d.held else "") for d in deliveries
    )
