"""Refusing a message for now: it waits, longer each time, and comes again. After the last attempt it is dead.

`nack` with a time to retry. The count of refusals is part of the delivery, and its event says it too.
"""

from typing import TYPE_CHECKING, NamedTuple

from postroom.clock import LAST
from postroom.errors import InvalidValue
from postroom.model.ladder import Reason, State, move
from postroom.room import one
from postroom.room.bounce import bounce

if TYPE_CHECKING:
    from postroom.model.message import Delivery, Json, Mail
    from postroom.store.contract import WriteTx

ATTEMPTS, BACKOFF = 3, 2.0
_MOST_ATTEMPTS, _LARGEST_BACKOFF = 100, 100.0
_LONGEST = 1e10  # seconds


class Retry(NamedTuple):
    """When a message that was refused comes again, and how often it is tried in all."""

    after: float  # seconds
    attempts: int
    backoff: float  # each pause is so many times as long as the one before

    def pause(self, refusals: int) -> int:
        """Milliseconds after so many refusals."""
        try:
            seconds = self.after * self.backoff ** (refusals - 1)
        except OverflowError:
            seconds = _LONGEST
        return int(min(seconds, _LONGEST) * 1000)


def retry(after: float | None, attempts: int | None, backoff: float | None) -> Retry | None:
    """What was asked for, checked; None: the message is refused for good."""
    if after is None:
        for name, value in (("attempts", attempts), ("backoff", backoff)):
            if value is not None:
                raise InvalidValue(
                    f"{name} says how to retry, and retry_after is not given",
                    field=name,
                    hint="Give retry_after too.",
                )
        return None
    found = Retry(
        after, ATTEMPTS if attempts is None else attempts, BACKOFF if backoff is None else float(backoff)
    )
    limits = (
        ("retry_after", found.after, 0.001, _LONGEST, "seconds"),
        ("attempts", found.attempts, 1, _MOST_ATTEMPTS, "a number of attempts"),
        ("backoff", found.backoff, 1.0, _LARGEST_BACKOFF, "a factor"),
    )
    for name, value, least, most, what in limits:
        if not least <= value <= most:  # NaN is not
            raise InvalidValue(f"{name} must be {what} from {least:g} to {most:g}, not {value!r}", field=name)
    return found


def is_deferred(delivery: "Delivery") -> bool:
    """Whether its recipient has refused it for now, and its time has not come."""
    return delivery.held and delivery.reason == Reason.RETRY.value


def defer(
    tx: "WriteTx", mail: "Mail", reason: str, wanted: Retry, role: str, *, in_hand: bool = False
) -> None:
    """Store it again until its next attempt; after the last one it is dead, and its sender is told.

    `in_hand`: a listener of ours has shown it, which the store does not know.
    """
    message, delivery = mail.message, mail.delivery
    if delivery.state is not State.STORED:
        move(delivery.state, State.STORED)
    refusals = tx.deferrals(delivery.seq, delivery.recipient_id) + 1
    due = min(tx.now + wanted.pause(refusals), LAST)
    if message.expires_at is not None:
        due = min(due, message.expires_at)
    payload: Json = {
        "reason": reason, "why": Reason.RETRY.value, "due_at": due, "deferrals": refusals,
        "attempts": wanted.attempts,
        "label": in_hand or delivery.state is State.SEEN or delivery.handed_at is not None,
    }  # fmt: skip
    if delivery.state is State.OFFERED:
        payload |= {"n": delivery.attempts, "outcome": "refused"}
    tx.append(
        "delivery.deferred", delivery.recipient_id, about=message, payload=payload, role=role, status="stored"
    )
    is_last = refusals >= wanted.attempts
    if one.is_one(message) and one.free(tx, message, delivery.recipient_id) and is_last:
        return  # others may take it
    if is_last:
        move(State.STORED, State.DEAD)
        times = "once" if refusals == 1 else f"{refusals} times"
        death = f"refused {times}: {reason}"
        tx.append(
            "delivery.dead", delivery.recipient_id, about=message, payload={"reason": death}, role=role,
            status="dead",
        )  # fmt: skip
        bounce(tx, mail, death, refused=True)
