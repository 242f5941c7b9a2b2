"""The metrics as Prometheus reads them, by its own library where that is installed (`postroom[metrics]`)."""

import importlib
import time
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from postroom.protocol.operation import OBSERVE
from postroom.room.metrics import Metrics
from postroom.server.desk import Desk
from postroom.server.guard import credentials

PATH = "/metrics"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HOURS = 24

Sample = tuple[dict[str, str], float]


class Family(NamedTuple):
    """What is measured under one name. Labels are few: nobody's name is among them."""

    name: str
    kind: str  # `gauge` or `counter`
    about: str
    samples: list[Sample]


def route(desk: Desk) -> Route:
    async def metrics(request: Request) -> Response:
        def work() -> list[Family]:
            desk.identify(credentials(request.scope)).check(OBSERVE)
            return families(desk.measured(_HOURS), desk.bridges.facts(), time.monotonic() - desk.began)

        return Response(exposition(await desk.do(work)), headers={"content-type": MEDIA_TYPE})

    return Route(PATH, metrics, methods=["GET"], name="prometheus")


def families(found: Metrics, facts: dict[str, Any], seconds: float) -> list[Family]:
    times = [
        ({"route": one.route, "quantile": share}, ms / 1000)
        for one in found.routes
        for share, ms in (("0.5", one.p50), ("0.95", one.p95), ("0.99", one.p99))
    ]
    failures = [({"how": how}, float(count)) for how, count in found.failures.items()]
    waiting = float(sum(found.waiting.values()))
    watches, trees = facts.get("watches", {}), facts.get("trees", {})
    return [
        _one("postroom_messages", "counter", "Messages that were sent.", found.messages),
        _one("postroom_waiting", "gauge", "Deliveries that wait.", waiting),
        _one("postroom_unacknowledged", "gauge", "Deliveries whose acknowledgement is due.", found.unacked),
        Family("postroom_seen_seconds", "gauge", "From stored to seen, of the last day.", times),
        Family("postroom_failed", "gauge", "Deliveries of the last day that came to nothing.", failures),
        _one("postroom_bridged_agents", "gauge", "Agents that bridges reach.", facts.get("agents", 0)),
        _one("postroom_crashes", "counter", "Crashes of their actors.", facts.get("crashes", 0)),
        _one("postroom_watches", "gauge", "Panes that are watched.", watches.get("count", 0)),
        _one("postroom_watch_crashes", "counter", "Crashes of their watchers.", watches.get("crashes", 0)),
        _one("postroom_mailboxes", "gauge", "File mailboxes that are served.", trees.get("mailboxes", 0)),
        _one("postroom_trees", "gauge", "Trees of mailboxes served as wholes.", trees.get("count", 0)),
        _one("postroom_trees_unseen", "gauge", "Those not looked at.", len(trees.get("trouble", ()))),
        _one("postroom_uptime_seconds", "gauge", "Since the daemon began to serve.", seconds),
    ]


def _one(name: str, kind: str, about: str, value: float) -> Family:
    return Family(name, kind, about, [({}, float(value))])


def exposition(found: list[Family]) -> bytes:
    try:
        core: Any = importlib.import_module("prometheus_client.core")
        write: Any = importlib.import_module("prometheus_client").generate_latest
    except ImportError:
        return "".join(map(_written, found)).encode()
    return write(_Registry([_family(core, one) for one in found]))


class _Registry:
    """What the library collects from."""

    def __init__(self, found: list[Any]) -> None:
        self._found = found

    def collect(self) -> list[Any]:
        return self._found


def _family(core: Any, one: Family) -> Any:
    kind = core.CounterMetricFamily if one.kind == "counter" else core.GaugeMetricFamily
    labels = list(one.samples[0][0]) if one.samples else []
    family = kind(one.name, one.about, labels=labels)
    for said, value in one.samples:
        family.add_metric(list(said.values()), value)
    return family


def _written(one: Family) -> str:
    """A family by hand: no label of ours needs to be escaped."""
    name = f"{one.name}_total" if one.kind == "counter" else one.name
    lines = [f"# HELP {name} {one.about}", f"# TYPE {name} {one.kind}"]
    for said, value in one.samples:
        labels = ",".join(f'{key}="{text}"' for key, text in said.items())
        lines.append(f"{name}{{{labels}}} {value!r}" if labels else f"{name} {value!r}")
    return "\n".join(lines) + "\n"
