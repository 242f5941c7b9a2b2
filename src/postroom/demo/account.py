"""The account at the end: what became of every message, of each kind, and what was offered again and why."""

from typing import Any

from postroom.model.address import Kind, parse
from postroom.model.ladder import Outcome, State
from postroom.model.message import Attempt, Delivery, Message, Receipts
from postroom.room.local import LocalRoom

_WHY = {
    Outcome.PROVEN: "the agent's own act",
    Outcome.UNPROVEN: "its process ended with the message in hand",
    Outcome.LOST: "it was never handed over",
}
_ARRIVED = (State.SEEN, State.ACKED)


def account(room: LocalRoom) -> dict[str, Any]:
    """Read from the room alone, after everyone has left."""
    messages = {event.refs["message"] for event in room.events() if event.type == "message.sent"}
    receipts = sorted((room.receipts(ref) for ref in messages), key=lambda r: r.message.seq)
    states = [delivery.state for one in receipts for delivery in one.deliveries]
    return {
        "messages": len(receipts),
        "deliveries": len(states),
        "acked": states.count(State.ACKED),
        "withdrawn": states.count(State.WITHDRAWN),
        "lost": sum(map(_lost, receipts)),
        "events": sum(1 for _ in room.events()),
        "groups": [_entry(one) for one in receipts if _kind(one) is Kind.GROUP],
        "topics": [_entry(one) for one in receipts if _kind(one) is Kind.TOPIC],
        "one_of": [_entry(one) for one in receipts if _kind(one) is Kind.ONE],
        "questions": [_question(one, receipts) for one in receipts if one.message.type == "request"],
        "offered_again": [
            _offered_again(one.message, delivery, attempts)
            for one in receipts
            for delivery in one.deliveries
            if len(attempts := _attempts(one, delivery)) > 1
        ],
    }


def _kind(receipts: Receipts) -> Kind:
    return parse(receipts.message.to).kind


def _lost(receipts: Receipts) -> int:
    """How many did not get it who should have: of those of whom one is enough, that one."""
    missed = sum(delivery.state not in _ARRIVED for delivery in receipts.deliveries)
    if _kind(receipts) is Kind.ONE:
        return int(missed == len(receipts.deliveries))
    return missed


def _entry(receipts: Receipts) -> dict[str, Any]:
    message, states = receipts.message, sorted((d.recipient, d.state) for d in receipts.deliveries)
    return {
        "id": message.id,
        "handle": message.handle,
        "sender": message.sender,
        "to": message.to,
        "subject": message.subject,
        "recipients": {name: str(state) for name, state in states},
    }


def _question(asked: Receipts, receipts: list[Receipts]) -> dict[str, Any]:
    answers = [one.message for one in receipts if one.message.reply_to == asked.message.id]
    return _entry(asked) | {
        "answers": [{"id": a.id, "sender": a.sender, "subject": a.subject} for a in answers],
    }


def _attempts(receipts: Receipts, delivery: Delivery) -> list[Attempt]:
    return [one for one in receipts.attempts if one.recipient_id == delivery.recipient_id]


def _offered_again(message: Message, delivery: Delivery, attempts: list[Attempt]) -> dict[str, Any]:
    return {
        "id": message.id,
        "handle": message.handle,
        "to": message.to,
        "recipient": delivery.recipient,
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
