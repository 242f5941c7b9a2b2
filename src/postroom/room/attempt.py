"""The attempts at a delivery, read from its history: every try, how it ended, and on what evidence."""

from postroom.model.ladder import Cause, Evidence, Outcome
from postroom.model.message import Attempt, Deferral, Delivery, Event


def attempts(delivery: Delivery, history: list[Event]) -> list[Attempt]:
    """Fold a delivery's events, oldest first, into its attempts."""
    tries: list[Attempt] = []
    for event in history:
        if event.type == "delivery.offered":
            tries.append(_opened(delivery, event))
        elif tries and tries[-1].outcome is Outcome.OPEN:
            tries[-1] = _continued(tries[-1], event)
    return tries


def deferral(delivery: Delivery, history: list[Event]) -> Deferral | None:
    """Return the latest refusal for now in a delivery's events."""
    for event in reversed(history):
        if event.type == "delivery.deferred":
            p = event.payload
            return Deferral(delivery.recipient_id, p["words"], p["deferrals"], p["attempts"], event.timestamp)
    return None


def _opened(delivery: Delivery, event: Event) -> Attempt:
    p, at = event.payload, event.timestamp
    return Attempt(
        delivery.seq, delivery.recipient_id, p["n"], p["route"], p["context"], p["nonce"], p["claimer"], at,
        at if p["handed"] else None, Outcome.OPEN, None, None,
    )  # fmt: skip


def _continued(attempt: Attempt, event: Event) -> Attempt:
    at = event.timestamp
    if event.type == "delivery.handed":
        return attempt._replace(handed_at=at, missing=event.payload.get("missing", 0))
    if event.type in ("delivery.seen", "delivery.acked"):
        evidence = Evidence(event.payload["evidence"])
        handed = attempt.handed_at or at
        return attempt._replace(outcome=Outcome.PROVEN, evidence=evidence, handed_at=handed, ended_at=at)
    if "outcome" in event.payload:
        cause = Cause(event.payload["cause"]) if "cause" in event.payload else None
        return attempt._replace(outcome=Outcome(event.payload["outcome"]), ended_at=at, cause=cause)
    return attempt
