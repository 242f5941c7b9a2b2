"""What Postroom promises of its speed, and what people quote for such systems, held against one run."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from benchmarks.result import Result

Results = Mapping[str, Result]
Measure = Callable[[Results], float | None]


class Target(NamedTuple):
    text: str
    limit: float
    unit: str
    measure: Measure
    at_least: bool = False

    def verdict(self, measured: float | None) -> str:
        if measured is None:
            return "not measured"
        met = measured >= self.limit if self.at_least else measured <= self.limit
        return "ok" if met else "missed"

    def shown(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {amount(self.limit, self.unit)}"


class Verdict(NamedTuple):
    target: Target
    measured: float | None


def judge(results: Results) -> list[Verdict]:
    return [Verdict(target, target.measure(results)) for target in PROMISED + QUOTED]


def amount(value: float, unit: str) -> str:
    digits = 2 if unit == "×" else 3 if value < 1 else 1 if value < 100 else 0
    number = f"{value:.{digits}f}"
    if "." in number and unit != "×":
        number = number.rstrip("0").rstrip(".")
    return f"{number}{unit if unit in '×%' else f' {unit}'}"


def _value(case: str, name: str, key: str, scale: float = 1.0) -> Measure:
    def measure(results: Results) -> float | None:
        value = results[case].value(name, key) if case in results else None
        return None if value is None else value * scale

    return measure


def _latency(text: str, limit: float, name: str, other: str) -> Target:
    """Held against the median of the rounds' ratios of p50."""
    return Target(
        text,
        limit,
        "×",
        lambda results: results["latency"].ratio(name, other, "p50") if "latency" in results else None,
    )


def _tail(text: str, name: str, other: str) -> Target:
    """p99 over all rounds, no worse than the other's: a single round has too few messages for it."""
    return Target(
        text,
        1.0,
        "×",
        lambda results: results["latency"].pooled_ratio(name, other, "p99") if "latency" in results else None,
    )


_TO_MS = 1e-3
_TO_S = 1e-6

PROMISED = (
    _latency("send → take p50, against NATS", 0.9, "postroom-take", "nats"),
    _latency("send → take p50, against Redis everysec", 1.5, "postroom-take", "redis"),
    _latency("send → listen p50, against NATS", 0.6, "postroom-listen", "nats"),
    _latency("send → listen p50, against Redis everysec", 1.0, "postroom-listen", "redis"),
    _latency("full durability: take p50, against NATS sync always", 0.9, "postroom-take-full", "nats-always"),
    _tail("send → take p99, against NATS", "postroom-take", "nats"),
    _tail("send → listen p99, against NATS", "postroom-listen", "nats"),
    Target(
        "20 × 20 throughput, against NATS", 1.2, "×", _value("throughput", "postroom-listen", "ratio"), True
    ),
    Target("send in a full room, against an empty one", 1.3, "×", _value("scale", "send", "ratio")),
    Target("take in a full room, against an empty one", 1.3, "×", _value("scale", "take", "ratio")),
    Target("inbox in a full room, against an empty one", 1.3, "×", _value("scale", "peek", "ratio")),
    *(
        Target(
            f"{name}'s hook after a tool, {what}, against {reference}",
            limit,
            "×",
            _value("startup", f"{name}-{key}", "ratio"),
        )
        for what, key, reference, limit in (
            ("no mail", "quiet", "`sh -c :`", 1.5),
            ("mail", "mail", "`python -I -S`", 2.5),
        )
        for name in ("claude", "codex")
    ),
    Target("`postroom send`, against bare Python", 2.0, "×", _value("startup", "send", "ratio")),
    Target("`postroom inbox`, against bare Python", 2.0, "×", _value("startup", "inbox", "ratio")),
    Target("CPU of 100 idle `postroom wait`", 0.1, "%", _value("idle", "postroom-wait", "cpu")),
    Target("CPU of 100 idle `Room.wait()`", 0.1, "%", _value("idle", "postroom-listen", "cpu")),
    Target("private memory of one `postroom wait`", 10, "MB", _value("idle", "postroom-wait", "private")),
    Target("private memory of one `Room.wait()`", 10, "MB", _value("idle", "postroom-listen", "private")),
    Target(
        "first paint of the page with 100,000 messages, first load, p95",
        500,
        "ms",
        _value("page", "100000-first", "paint_p95"),
    ),
    Target(
        "longest block of the page while 100,000 messages are scrolled through",
        200,
        "ms",
        _value("page", "100000", "block"),
    ),
    Target("send → seen in an idle pane, p95", 1, "s", _value("terminal", "seen", "p95", 1e-3)),
    Target("send → seen over ACP, beyond a bare prompt", 20, "ms", _value("acp", "more", "p50")),
    Target("CPU of the daemon of 100 known agents at rest", 0.5, "%", _value("daemon", "known", "cpu")),
    Target("resident memory of that daemon", 90, "MB", _value("daemon", "known", "resident")),
    Target("CPU of the daemon of 50 panes at rest", 0.5, "%", _value("terminal", "rest", "cpu")),
    Target(
        "send → inbox of a file mailbox p50, against files alone",
        1.5,
        "×",
        _value("mailbox", "inbox", "ratio"),
    ),
    Target("20 mailboxes × 100 files drained", 2, "s", _value("mailbox", "drain", "seconds")),
    Target("one message to 1,000 WebSocket clients, p95", 250, "ms", _value("relay", "fanout", "p95")),
    Target("20 agents × 100 over WebSockets, lost", 0, "messages", _value("relay", "agents", "lost")),
    *(
        Target(
            f"WebSocket send → receive p50, against a bare echo and a commit ({durability})",
            1.5,
            "×",
            _value("relay", f"relay-{durability}", "ratio"),
        )
        for durability in ("full", "normal")
    ),
    *(
        Target(
            f"MCP `send` over HTTP p50 ({era}), against a bare echo",
            3,
            "×",
            _value("mcp", f"send-{era}", "ratio"),
        )
        for era in ("2026-07-28", "legacy")
    ),
    Target(
        "`postroom mcp` to its first answer, against bare Python", 1.5, "×", _value("mcp", "shim", "ratio")
    ),
    Target("resident memory of a daemon with MCP loaded", 160, "MB", _value("mcp", "daemon", "resident")),
    Target("resident memory of the daemon of 50 panes", 150, "MB", _value("terminal", "rest", "resident")),
)

QUOTED = (
    Target("quoted: send, p99", 50, "ms", _value("latency", "postroom-take", "send_p99", _TO_MS)),
    Target("quoted: delivery, p95", 6, "s", _value("latency", "postroom-take", "p95", _TO_S)),
    Target("quoted: ack, p95", 11, "s", _value("ack", "postroom-take", "p95", _TO_S)),
    Target(
        "quoted: over 20 agents", 100, "messages/s", _value("throughput", "postroom-listen", "rate"), True
    ),
    Target("quoted: private memory an agent", 10, "MB", _value("idle", "postroom-wait", "private")),
    Target("quoted: CPU of all watchers", 5, "%", _value("idle", "postroom-wait", "cpu")),
    Target("quoted: one send, p50", 5, "ms", _value("scale", "send", "full", _TO_MS)),
    Target("quoted: one take, p50", 5, "ms", _value("scale", "take", "full", _TO_MS)),
    Target("quoted: one inbox of 50, p50", 5, "ms", _value("scale", "peek", "full", _TO_MS)),
)
