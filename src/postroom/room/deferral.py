"""Refuse a message for now: it waits, longer each time, and comes again. After the last refusal it is dead.

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
    """Say when a message that was refused comes again, and after how many refusals it is dead."""

    after: float  # seconds
    attempts: int
    backoff: float  # each pause is so many times as long as the one before

    def pause(self, refusals: int) -> int:
        """Return the milliseconds of the pause after so many refusals."""
        try:
            seconds = self.after * self.backoff ** (refusals - 1)
        except OverflowError:
            seconds = _LONGEST
        return int(min(seconds, _LONGEST) * 1000)


def retry(after: float | None, attempts: int | None, backoff: float | None) -> Retry | None:
    """Return what was asked for, checked; None: the message is refused for good."""
    if after is None:
        for name, value in (("attempts", attempts), ("backoff", backoff)):
            if value is not None:
                raise InvalidValue(
                    f"{name} needs retry_after", field=name, hint="Give retry_after, or leave it out."
                )
        return None
    found = Retry(
        after, ATTEMPTS if attempts is None else attempts, BACKOFF if backoff is None else float(backoff)
    )
    limits = (
        ("retry_after", found.after, 0.001, _LONGEST, "between 1 ms and 300 years"),
        ("attempts", found.attempts, 1, _MOST_ATTEMPTS, f"from 1 to {_MOST_ATTEMPTS}"),
        ("backoff", found.backoff, 1.0, _LARGEST_BACKOFF, f"from 1 to {_LARGEST_BACKOFF:g}"),
    )
    for name, value, least, most, words in limits:
        if not least <= value <= most:  # NaN is not
            raise InvalidValue(f"{name} must be {words}, not {value!r}", field=name)
    return found


def is_deferred(delivery: "Delivery") -> bool:
    """Return True if its recipient has refused it for now, and its time has not come."""
    return delivery.held and delivery.reason == Reason.DEFERRED.value


def defer(
    tx: "WriteTx", mail: "Mail", reason: str, wanted: Retry, role: str, *, in_hand: bool = False
) -> None:
    """Store it again until its next attempt; after the last one it is dead, and its sender is told.

    `in_hand`: a listener of ours has shown it, which the store does not know.
    """
    message, delivery = mail.message, mail.delivery
    if delivery.state not in (State.STORED, State.OFFERED, State.SEEN):
        move(delivery.state, State.BOUNCED)  # refuses: it has ended, and only a person brings it back
    if delivery.state is not State.STORED:
        move(delivery.state, State.STORED)
    refusals = tx.deferrals(delivery.seq, delivery.recipient_id) + 1
    due = min(tx.now + wanted.pause(refusals), LAST)
    if message.expires_at is not None:
        due = min(due, message.expires_at)
    payload: Json = {
        "reason": Reason.DEFERRED.value, "words": reason, "due_at": due, "deferrals": refusals,
        "attempts": wanted.attempts,
        "label": in_hand or delivery.state is State.SEEN or delivery.handed_at is not None,
    }  # fmt: skip
    if delivery.state is State.OFFERED:
        payload |= {"n": delivery.attempts, "outcome": "refused"}
    tx.append(
        "delivery.deferred", delivery.recipient_id, about=message, payload=payload, role=role, status="stored"
    )
    others_may_take_it = one.is_one(message) and one.free(tx, message, delivery.recipient_id)
    if refusals >= wanted.attempts:
        move(State.STORED, State.DEAD)
        times = "once" if refusals == 1 else f"{refusals} times"
        death = f"refused {times}: {reason}"
        tx.append(
            "delivery.dead", delivery.recipient_id, about=message, payload={"reason": death}, role=role,
            status="dead",
        )  # fmt: skip
        if not others_may_take_it:
            bounce(tx, mail, death, refused=True)
