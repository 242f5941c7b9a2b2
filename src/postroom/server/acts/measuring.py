"""Operations that count."""

from collections import Counter
from typing import Any

from postroom.clock import iso
from postroom.model.message import Json
from postroom.room.metrics import OfHour
from postroom.server.desk import Call

_HOURS = 24


def metrics(call: Call) -> Json:
    found = call.desk.measured(call.get("hours", _HOURS))
    health = call.desk.bridges.facts()
    counts: Json = {
        "total_messages": found.messages,
        "unacknowledged": found.unacked,
        "avg_latency": None if found.mean is None else round(found.mean, 1),
        "p95_latency": found.p95,
    }
    return {
        "since": iso(found.since),
        **counts,
        "inbox_sizes": found.waiting,
        "watcher_health": health,
        "messages_per_hour": [_hour(one) for one in found.hours],
        "delivery_failures": found.failures,
        "ack_rate": None if found.ack_rate is None else round(found.ack_rate, 4),
        "routes": [one._asdict() for one in found.routes],
        # The same for programs that read these names: agents by name.
        "totalMessages": counts["total_messages"],
        "avgLatency": counts["avg_latency"],
        "p95Latency": counts["p95_latency"],
        "inboxSizes": _by_name(found.inboxes),
        "watcherHealth": _by_name(health.get("watchers") or {}),
    }


def _by_name(by_address: dict[str, Any]) -> dict[str, Any]:
    """Return it with bare names. Agents of several projects that share a name keep their addresses."""
    names = Counter(address.rpartition("/")[2] for address in by_address)
    return {
        name if names[name := address.rpartition("/")[2]] == 1 else address: value
        for address, value in by_address.items()
    }


def _hour(one: OfHour) -> Json:
    return {"hour": iso(one.at), **{name: value for name, value in one._asdict().items() if name != "at"}}
