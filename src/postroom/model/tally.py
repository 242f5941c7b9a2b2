"""What is counted over a room's messages, and what follows from the counts."""

from collections.abc import Iterable
from typing import NamedTuple


class Traffic(NamedTuple):
    """Deliveries that have all this in common."""

    sender: str
    recipient: str
    type: str
    route: str | None  # of the latest attempt; None where nothing was tried
    ms: int | None  # from stored to acknowledged; None where that did not happen
    messages: int
    handed: int
    characters: int  # of subject, body and payload, of those that were handed over


class Time(NamedTuple):
    """How often an answer took so many milliseconds; None: it has not come yet."""

    sender: str
    recipient: str
    ms: int | None
    times: int


class Flow(NamedTuple):
    """Deliveries that have all this in common."""

    route: str  # of the latest attempt; empty where nothing was tried
    state: str
    hour: int  # since the epoch, in which it was stored
    ms: int | None  # from stored to seen; None where that did not happen
    times: int


class Spread(NamedTuple):
    """How long something takes: exact up to 100 ms, and to two digits beyond."""

    times: int
    p50: int
    p95: int


def spread(times: Iterable[tuple[int | None, int]]) -> Spread | None:
    """Of pairs of a time and how often it took that; None where there is none. Nearest rank."""
    ordered = sorted((ms, count) for ms, count in times if ms is not None)
    total = sum(count for _, count in ordered)
    if not total:
        return None
    return Spread(total, _rank(ordered, -(-total // 2)), _rank(ordered, -(-total * 19 // 20)))


def percentile(times: Iterable[tuple[int, int]], share: float) -> int | None:
    """The time within which such a share of them lies; nearest rank."""
    ordered = sorted(times)
    total = sum(count for _, count in ordered)
    return _rank(ordered, max(1, -int(-total * share // 1))) if total else None


def _rank(ordered: list[tuple[int, int]], rank: int) -> int:
    passed = 0
    for ms, count in ordered:
        passed += count
        if passed >= rank:
            return ms
    raise AssertionError("a rank lies within its total")


class OfAgent(NamedTuple):
    """What one agent, or person, sent and got. Times are in milliseconds."""

    address: str
    sent: int  # deliveries: a message to three counts three times
    received: int
    acked: int  # of what it received
    ack: Spread | None  # from stored to acknowledged
    requests: int  # that it got
    unanswered: int
    answer: Spread | None  # from a request to its answer
    characters: int  # handed over to it


class OfPair(NamedTuple):
    """The same, from one to another."""

    sender: str
    recipient: str
    messages: int
    acked: int
    ack: Spread | None
    requests: int
    unanswered: int
    answer: Spread | None
    characters: int


class Put(NamedTuple):
    """What was put into an agent, by type, sender and route."""

    recipient: str
    type: str
    sender: str
    route: str
    messages: int
    characters: int


class Saved(NamedTuple):
    """What it saved an agent to be offered several messages as one."""

    recipient: str
    messages: int
    offerings: int  # instead of as many as messages
    characters: int  # of frames that were not needed


class Stats(NamedTuple):
    """Everything that was counted, the most first."""

    since: int | None
    messages: int  # deliveries, as everywhere here
    agents: list[OfAgent]
    pairs: list[OfPair]
    put: list[Put]
    digests: list[Saved]
