"""The account at the end: what became of every message, and what was offered again and why."""

from typing import Any

from postroom.model.ladder import Outcome, State
from postroom.model.message import Attempt, Message
from postroom.room.local import LocalRoom

_WHY = {
    Outcome.PROVEN: "the agent's own act",
    Outcome.UNPROVEN: "its process ended with the message in hand",
    Outcome.LOST: "it was never handed over",
}


def account(room: LocalRoom) -> dict[str, Any]:
    """Read from the room alone, after everyone has left."""
    messages = {event.refs["message"] for event in room.events() if event.type == "message.sent"}
    receipts = sorted((room.receipts(ref) for ref in messages), key=lambda r: r.message.seq)
    deliveries = [delivery for one in receipts for delivery in one.deliveries]
    again = [_offered_again(one.message, one.attempts) for one in receipts if len(one.attempts) > 1]
    return {
        "messages": len(receipts),
        "deliveries": len(deliveries),
        "acked": sum(d.state is State.ACKED for d in deliveries),
        "lost": sum(d.state not in (State.ACKED, State.SEEN) for d in deliveries),
        "events": sum(1 for _ in room.events()),
        "offered_again": again,
    }


def _offered_again(message: Message, attempts: list[Attempt]) -> dict[str, Any]:
    return {
        "id": message.id,
        "handle": message.handle,
        "to": message.to,
        "subject": message.subject,
        "attempts": [
            {
                "n": attempt.n,
                "process": int(attempt.claimer.split(".")[0]),
                "outcome": str(attempt.outcome),
                "why": _WHY.get(attempt.outcome, ""),
            }
            for attempt in attempts
        ],
    }
