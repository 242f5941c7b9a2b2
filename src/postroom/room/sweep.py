"""What the clock and the deaths of others do to deliveries: release, expiry, lapse, return."""

from typing import TYPE_CHECKING

from postroom import host
from postroom.config import Settings
from postroom.model.ladder import Cause, Outcome, Reason, State, move
from postroom.model.message import Json, Mail
from postroom.room import one
from postroom.room.bounce import bounce
from postroom.room.draft import REQUEST
from postroom.room.probe import scope_of
from postroom.room.push_backoff import is_over, next_attempt
from postroom.room.rest import keep_resting, release

if TYPE_CHECKING:
    from postroom.room.failed_request import Conversations
    from postroom.store.contract import WriteTx


def is_due(moment: int | None, now: int) -> bool:
    return moment is not None and moment <= now


def act_on_due(tx: "WriteTx", settings: Settings) -> None:
    """Do everything whose time has come. Runs at the start of whatever transaction comes next."""
    while page := tx.due(tx.now):
        for mail in page:
            _act(tx, mail, settings)
        _tell_expired(tx, page)


def _tell_expired(tx: "WriteTx", mails: list[Mail]) -> None:
    asked = {mail.message.seq: mail.message for mail in mails if mail.message.type == REQUEST}
    for request in asked.values():
        if is_due(request.expires_at, tx.now):
            from postroom.room.unanswered import expire  # noqa: PLC0415 - for requests only

            expire(tx, request)


def _act(tx: "WriteTx", mail: Mail, settings: Settings) -> None:
    message, delivery = mail.message, mail.delivery
    if message.expires_at is not None and message.expires_at <= tx.now:
        expire(tx, mail)
    elif delivery.held:
        if not keep_resting(tx, mail):
            release(tx, mail)
    elif delivery.state is State.STORED:
        release(tx, mail)  # its pause is over
    else:
        give_back(tx, mail, settings, cause=Cause.LAPSED)


def expire(
    tx: "WriteTx", mail: Mail, outcome: Outcome = Outcome.UNPROVEN, cause: Cause | None = None
) -> None:
    move(mail.delivery.state, State.EXPIRED)
    payload = _ended(mail, outcome, cause) if is_offered(mail) else {}
    tx.append(
        "delivery.expired", mail.delivery.recipient_id, about=mail.message, payload=payload, status="expired"
    )
    if one.is_one(mail.message):
        one.expire(tx, mail.message, mail.delivery.recipient_id)


def _ended(mail: Mail, outcome: Outcome, cause: Cause | None) -> Json:
    """How an attempt ended, as its event tells it."""
    told = {"n": mail.delivery.attempts, "outcome": outcome.value}
    return told if cause is None else {**told, "cause": cause.value}


def is_offered(mail: Mail) -> bool:
    return mail.delivery.state is State.OFFERED


def still(tx: "WriteTx", mails: list[Mail]) -> list[Mail]:
    """Those of them that are offered as they were claimed: others may have been settled meanwhile."""
    now = [(mail, tx.refresh(mail)) for mail in mails]
    return [one for mail, one in now if one and is_offered(one) and one.delivery.nonce == mail.delivery.nonce]


def give_back(
    tx: "WriteTx",
    mail: Mail,
    settings: Settings,
    outcome: Outcome = Outcome.UNPROVEN,
    reason: Reason | None = None,
    *,
    cause: Cause | None = None,
) -> None:
    """Return an offered delivery to the queue; after too many unproven attempts it is dead instead.

    An attempt by a connection that ended does not count towards that: the delivery waits, longer each time.
    It is labelled "may have been shown before" unless the attempt is known to have failed. What expired
    meanwhile does not come back. `reason`: why it waits from now on, unless nothing proved it; `cause`: what
    ended the attempt.
    """
    if mail.message.expires_at is not None and mail.message.expires_at <= tx.now:
        expire(tx, mail, outcome, cause)
        _tell_expired(tx, [mail])
        return
    delivery, unproven = mail.delivery, outcome is Outcome.UNPROVEN
    if unproven and delivery.unproven + 1 >= settings.max_unproven and is_over(tx, mail, settings):
        move(delivery.state, State.DEAD)
        death = f"unproven after {delivery.unproven + 1} attempts"
        payload = {**_ended(mail, outcome, cause), "reason": death}
        tx.append("delivery.dead", delivery.recipient_id, about=mail.message, payload=payload, status="dead")
        if not one.is_one(mail.message) or not one.free(tx, mail.message, delivery.recipient_id):
            bounce(tx, mail, death)
        return
    move(delivery.state, State.STORED)
    why = Reason.UNPROVEN if unproven else reason
    payload = {
        **_ended(mail, outcome, cause),
        "label": outcome not in (Outcome.LOST, Outcome.REFUSED),
        "reason": why.value if why else None,
        "expires_at": mail.message.expires_at,
    }
    if unproven and delivery.unproven and (again := next_attempt(tx, mail)) is not None:
        payload.update(reason=Reason.UNACKNOWLEDGED.value, due_at=again)
    tx.append(
        "delivery.returned", delivery.recipient_id, about=mail.message, payload=payload, status="stored"
    )
    keep_resting(tx, mail)
    if one.is_one(mail.message):
        one.free(tx, mail.message, delivery.recipient_id)


def reap(
    tx: "WriteTx", recipient: str, settings: Settings, conversations: "Conversations | None" = None
) -> int:
    """Return what processes that are gone hold of a recipient's mail; how many came back.

    Who waits for an answer of theirs is told. `conversations`: those that were read before the transaction.
    """
    returned = 0
    for claimer in tx.claimers(recipient):
        if host.is_gone(claimer):
            if conversations is None:
                from postroom.room.failed_request import Conversations  # noqa: PLC0415 - after a death only

                conversations = Conversations()
            returned += _give_back_all(tx, recipient, claimer, settings, conversations)
            returned += _free_all(tx, recipient, claimer, settings)
            _end_watch(tx, recipient, claimer)
    return returned


def _free_all(tx: "WriteTx", recipient: str, claimer: str, settings: Settings) -> int:
    """What is held for a recipient because a process that is gone claimed it for another."""
    freed = 0
    while page := tx.taken(recipient, claimer):
        for held in page:
            theirs = one.taker(tx, held)
            if theirs is None:
                one.free(tx, held.message, "")
            elif is_offered(theirs):
                give_back(tx, theirs, settings, cause=Cause.GONE)
            else:
                one.desert(tx, theirs)
        freed += len(page)
    return freed


def _end_watch(tx: "WriteTx", recipient: str, claimer: str) -> None:
    if tx.watched(recipient, claimer):
        from postroom.room.unanswered import Why, end  # noqa: PLC0415 - rarely

        end(tx, recipient, Why.ENDED, claimer)


def _give_back_all(
    tx: "WriteTx", recipient: str, claimer: str, settings: Settings, conversations: "Conversations"
) -> int:
    returned = 0
    while page := tx.offered(recipient, claimer):
        for mail in page:
            if not _has_failed(tx, mail, settings, conversations):
                give_back(tx, mail, settings, cause=Cause.GONE)
        returned += len(page)
    return returned


def _has_failed(tx: "WriteTx", mail: Mail, settings: Settings, conversations: "Conversations") -> bool:
    """Return True if no model answered the request that had it, and its process ended: it waits again."""
    failure = conversations.failure(tx, mail)
    if failure is None:
        return False
    known = tx.refusal(scope_of(mail.delivery.recipient_id))
    if known is None or known.at <= (mail.delivery.handed_at or 0):
        from postroom.room.refusal import refused  # noqa: PLC0415

        refused(tx, mail.delivery.recipient_id, failure)
    refuse(tx, mail, settings)
    return True


def refuse(tx: "WriteTx", mail: Mail, settings: Settings) -> None:
    """Let a message wait for the next attempt: the request that had it brought no answer."""
    give_back(tx, mail, settings, Outcome.REFUSED, Reason.API_ERROR, cause=Cause.API_ERROR)
