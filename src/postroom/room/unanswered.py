"""The request watch: who asked is told, by a letter of the room, that an answer is not to be expected.

A letter says of one who was asked that it has left, that its program has ended, or that it is idle, without
an answer; or of the request, that it has expired. It is written once for each of them (and once more when one
that was idle is gone), never after an answer, and never to an asker who has left. Any answer of somebody who
was asked ends the watch: whoever asks many wants one of them to answer.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from postroom.model.address import ROOM
from postroom.model.ladder import State
from postroom.model.message import Json, Mail, Message
from postroom.room import one
from postroom.room.bounce import post_letter
from postroom.room.draft import REQUEST

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx, WriteTx

KEY = "unanswered"  # of the payload
_OVER = (State.EXPIRED, State.BOUNCED, State.DEAD, State.WITHDRAWN)


class Why(StrEnum):
    """Why an answer is not to be expected."""

    LEFT = "left"
    ENDED = "ended"
    EXPIRED = "expired"
    IDLE = "idle"  # for now: it may still answer


_SAYS = {
    Why.LEFT: "{who} has left without answering",
    Why.ENDED: "the program of {who} has ended without answering",
    Why.EXPIRED: "it expired before {who} read it",
    Why.IDLE: "{who} is idle and has not answered; it may still do so",
}


def say(why: Why, who: str) -> str:
    return _SAYS[why].format(who=who)


def correlated(tx: "ReadTx", request: Message) -> Iterator[Mail]:
    """Whatever came to the asker about a request, oldest first."""
    after = request.seq
    while (mail := tx.answer(request.correlation or request.id, after, request.sender_id)) is not None:
        after = mail.message.seq
        yield mail


def letters(tx: "ReadTx", request: Message) -> Iterator[Mail]:
    """What the room has told about it."""
    return (mail for mail in correlated(tx, request) if is_letter(mail, request))


def is_letter(mail: Mail, request: Message) -> bool:
    ours = mail.message.sender_id == ROOM and mail.message.reply_to == request.id
    return ours and KEY in (mail.payload or {})


def told(letter: Mail) -> str:
    """What a letter says, without its request."""
    about = (letter.payload or {})[KEY]
    return say(Why(about["reason"]), about["recipient"])


def tell(tx: "WriteTx", mail: Mail, why: Why) -> bool:
    """Tell the asker about one who was asked, unless that is known or of no use; whether it was told."""
    request, who = mail.message, mail.delivery.recipient
    if not _is_wanted(tx, request) or _is_told(tx, request, mail.delivery.recipient_id, why):
        return False
    _write(tx, request, why, who, [mail.delivery.recipient_id])
    return True


def expire(tx: "WriteTx", request: Message) -> None:
    """Tell the asker that a request has expired, once it is over for all who were asked."""
    deliveries = tx.deliveries(request.seq)
    if any(delivery.state not in _OVER for delivery in deliveries) or not _is_wanted(tx, request):
        return
    expired = [delivery for delivery in deliveries if delivery.state is State.EXPIRED]
    if any(not _is_told(tx, request, delivery.recipient_id, Why.EXPIRED) for delivery in expired):
        who = expired[0].recipient if len(expired) == 1 else request.to
        _write(tx, request, Why.EXPIRED, who, [delivery.recipient_id for delivery in expired])


def end(tx: "WriteTx", recipient: str, why: Why, claimer: str | None = None) -> None:
    """One who was asked, or one program of its, is gone: its askers are told.

    What was for one of many goes to the others, who may still answer.
    """
    while page := tx.watched(recipient, claimer):
        for mail in page:
            tx.unwatch(recipient, mail.message.seq)
            if one.is_one(mail.message) and mail.delivery.state is State.SEEN:
                one.desert(tx, mail)
            else:
                tell(tx, mail, why)


def _is_wanted(tx: "ReadTx", request: Message) -> bool:
    """Whether somebody still waits for an answer to it."""
    asker = tx.agent(request.sender_id)
    if request.type != REQUEST or asker is None or asker.left_at is not None:
        return False
    asked = {delivery.recipient_id for delivery in tx.deliveries(request.seq)}
    return not any(
        mail.message.sender_id in asked and mail.message.reply_to in (None, request.id)
        for mail in correlated(tx, request)
    )


def _is_told(tx: "ReadTx", request: Message, party: str, why: Why) -> bool:
    """Whether the asker knows that, or worse, of somebody."""
    about = [mail.payload[KEY] for mail in letters(tx, request) if mail.payload]
    known = {letter["reason"] for letter in about if party in letter["parties"]}
    return bool(known if why is Why.IDLE else known - {Why.IDLE.value})


def _write(tx: "WriteTx", request: Message, why: Why, who: str, parties: list[str]) -> None:
    subject = "No answer yet from" if why is Why.IDLE else "No answer from"
    about: Json = {"message": request.id, "recipient": who, "reason": why.value, "parties": parties}
    post_letter(
        tx, request, f"{subject} {who}", f"Your request {request.handle}: {say(why, who)}.", {KEY: about}
    )
