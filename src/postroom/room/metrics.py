"""How a room does, in numbers: how much, how soon it is seen, what fails. Times are in milliseconds."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from postroom.model.message import Agent
from postroom.model.tally import Flow, percentile

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx

HOUR = 3_600_000
FAILED = ("bounced", "dead", "expired")
_NONE = "none"  # the route of what was seen without one: the agent's own act


class OfHour(NamedTuple):
    """What was stored in an hour, and what became of it since."""

    at: int
    messages: int
    seen: int  # deliveries, as are the next
    acked: int
    failed: int


class OfRoute(NamedTuple):
    """How soon what went by a route was seen."""

    route: str
    seen: int
    p50: int
    p95: int
    p99: int


class Metrics(NamedTuple):
    """Everything that is counted."""

    since: int
    messages: int  # of all time
    unacked: int
    mean: float | None  # from stored to seen
    p95: int | None
    waiting: dict[str, int]  # by address
    hours: list[OfHour]
    failures: dict[str, int]
    routes: list[OfRoute]
    ack_rate: float | None  # of what was seen
    inboxes: dict[str, int]  # by address: all who are here, also those for whom nothing waits


def measure(room: "LocalRoom", hours: int) -> Metrics:
    """Of the last so many hours, and of the whole room where it is about now."""
    now = room.now()
    since = (now // HOUR - hours + 1) * HOUR
    with room.store.read() as tx:
        tally = room.store.tally()
        first = tally.first_since(since)
        flow, written = tally.flow(first), dict(tally.hours(first))
        messages, unacked, waiting = tally.messages(), tally.unacked(), tally.waiting()
        everyone = {agent.id: agent for agent in _everyone(tx)}
    times = _times(flow)
    seen = sum(count for _, count in times)
    acked = sum(one.times for one in flow if one.state == "acked")
    proven = acked + sum(one.times for one in flow if one.state == "seen")
    return Metrics(
        since, messages, unacked,
        sum(ms * count for ms, count in times) / seen if seen else None,
        percentile(times, 0.95),
        {_address(everyone, party): count for party, count in waiting.items()},
        [_hour(at, written, flow) for at in range(since // HOUR, now // HOUR + 1)],
        {state: sum(one.times for one in flow if one.state == state) for state in FAILED},
        _routes(flow),
        acked / proven if proven else None,
        {agent.address: waiting.get(agent.id, 0) for agent in everyone.values() if agent.left_at is None},
    )  # fmt: skip


def _everyone(tx: "ReadTx") -> Iterator[Agent]:
    offset = 0
    while page := tx.agents(offset=offset):
        offset += len(page)
        yield from page


def _address(everyone: dict[str, Agent], party: str) -> str:
    return everyone[party].address if party in everyone else party


def _times(flow: Iterable[Flow]) -> list[tuple[int, int]]:
    return [(one.ms, one.times) for one in flow if one.ms is not None]


def _hour(at: int, written: dict[int, int], flow: list[Flow]) -> OfHour:
    states = Counter[str]()
    for one in flow:
        if one.hour == at:
            states[one.state] += one.times
    failed = sum(states[state] for state in FAILED)
    return OfHour(at * HOUR, written.get(at, 0), states["seen"] + states["acked"], states["acked"], failed)


def _routes(flow: list[Flow]) -> list[OfRoute]:
    found: list[OfRoute] = []
    for route in sorted({one.route for one in flow if one.ms is not None}):
        times = _times(one for one in flow if one.route == route)
        p50, p95, p99 = (percentile(times, share) or 0 for share in (0.5, 0.95, 0.99))
        found.append(OfRoute(route or _NONE, sum(count for _, count in times), p50, p95, p99))
    return found
