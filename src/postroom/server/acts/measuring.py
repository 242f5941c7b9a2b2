"""Operations that count."""

from postroom.clock import iso
from postroom.model.message import Json
from postroom.room.metrics import OfHour
from postroom.server.desk import Call

_HOURS = 24


def metrics(call: Call) -> Json:
    found = call.desk.measured(call.get("hours", _HOURS))
    return {
        "since": iso(found.since),
        "total_messages": found.messages,
        "unacknowledged": found.unacked,
        "avg_latency": None if found.mean is None else round(found.mean, 1),
        "p95_latency": found.p95,
        "inbox_sizes": found.waiting,
        "watcher_health": call.desk.bridges.facts(),
        "messages_per_hour": [_hour(one) for one in found.hours],
        "delivery_failures": found.failures,
        "ack_rate": None if found.ack_rate is None else round(found.ack_rate, 4),
        "routes": [one._asdict() for one in found.routes],
    }


def _hour(one: OfHour) -> Json:
    return {"hour": iso(one.at), **{name: value for name, value in one._asdict().items() if name != "at"}}
