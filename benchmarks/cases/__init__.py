"""The cases, one file a promise. Each has `run(bench) -> Result`."""

from collections.abc import Callable
from importlib import import_module

from benchmarks.bench import Bench
from benchmarks.result import Result

NAMES = (
    "latency", "throughput", "fanout", "topic", "ack", "scale", "search", "startup", "idle", "terminal",
    "daemon", "mailbox", "acp", "mcp", "relay", "cost", "page",
)  # fmt: skip


def load(name: str) -> Callable[[Bench], Result]:
    return import_module(f"{__name__}.{name}").run
