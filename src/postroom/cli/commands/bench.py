"""`postroom bench`."""

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.room.local import LocalRoom

HELP = """\
Measure this installation, on this disk: what one send, one take with its settling and one ack cost in a
scratch room beside yours. How that compares with other systems is measured by `make bench` in the source."""
EXAMPLES = """\
  postroom bench
  postroom bench --count 5000 --json
  POSTROOM_DURABILITY=full postroom bench"""

_BODY = "x" * 1024


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--count", metavar="N", type=int, default=1000, help="how many of each (1000)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.errors import InvalidValue

    if not 10 <= args.count <= 1_000_000:
        raise InvalidValue(f"--count must lie between 10 and 1,000,000, not {args.count}")
    from tempfile import TemporaryDirectory

    from postroom.config import home

    beside = home(args.home)
    while not os.path.isdir(beside):
        beside = os.path.dirname(beside)
    with TemporaryDirectory(prefix=".postroom-bench-", dir=beside) as scratch:
        from postroom import config
        from postroom.room.local import LocalRoom

        settings = config.settings(scratch)._replace(sender_rate=0, recipient_quota=0)
        room = LocalRoom(scratch, settings, agent="sender", project="bench")
        try:
            spent = _measure(room, args.count)
        finally:
            room.close()
        durability = room.settings.durability
    _show(spent, args.count, durability, beside, context)
    return 0


def _measure(room: "LocalRoom", count: int) -> dict[str, list[float]]:
    room.join("receiver")
    spent: dict[str, list[float]] = {"send": [], "take": [], "ack": []}

    def timed(what: str, action: "Callable[[], object]") -> None:
        start = time.perf_counter()
        action()
        spent[what].append(time.perf_counter() - start)

    def take() -> None:
        mail = room.take("receiver")
        assert mail is not None
        room.settle(mail)
        taken.append(mail.id)

    taken: list[str] = []
    for _ in range(count):
        timed("send", lambda: room.send("receiver", _BODY))
        timed("take", take)
        timed("ack", lambda: room.ack(taken[-1], agent="receiver"))
    return spent


def _show(spent: dict[str, list[float]], count: int, durability: str, where: str, context: "Context") -> None:
    figures = {what: _figures(times) for what, times in spent.items()}
    if context.json:
        context.put_json({"count": count, "durability": durability, "directory": where, "seconds": figures})
        return
    names = {"send": "send (1 KiB)", "take": "take and settle", "ack": "ack"}
    rows = [
        (names[what], *(f"{f[p] * 1000:.3f} ms" for p in ("p50", "p99")), f"{1 / f['mean']:,.0f} a second")
        for what, f in figures.items()
    ]
    context.put_table(rows, ("bold", "green", "", "dim"), ("", "P50", "P99", "ONE AFTER ANOTHER"))
    context.note(f"{count:,} of each in {where}, durability {durability}.")


def _figures(times: list[float]) -> dict[str, float]:
    times.sort()
    return {
        "p50": times[len(times) // 2],
        "p99": times[len(times) * 99 // 100],
        "mean": sum(times) / len(times),
    }
