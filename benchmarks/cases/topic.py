"""One message to a topic that very many follow, against as many messages to one each."""

import time
from collections.abc import Callable
from typing import Any

from benchmarks import product
from benchmarks.bench import Bench
from benchmarks.result import Column, Result, Row, spread

SIZES = (1, 10, 100, 1000)
MILLISECONDS = 1e-6
BODY = "x" * 1024
COLUMNS = (
    Column("p50", "p50 ms", 2),
    Column("p95", "p95 ms", 2),
    Column("each", "µs a recipient", 1),
    Column("ratio", "× one by one", 3),
)


def run(bench: Bench) -> Result:
    if bench.peers(("postroom-take",)) == []:
        return Result("topic", "Topics", COLUMNS, ())
    bench.say(f"topic: {SIZES[-1]:,} subscribers")
    room = _room(bench)
    rounds = bench.pick(5, 30)
    spent: dict[str, list[int]] = {}
    for _ in range(rounds):
        for name, call in bench.shuffled(_calls(room)):
            before = time.monotonic_ns()
            call()
            spent.setdefault(name, []).append(time.monotonic_ns() - before)
    room.close()
    return _result(spent)


def _room(bench: Bench) -> Any:
    import postroom

    home = str(bench.folder / "topic")
    agents = [f"agent{number}" for number in range(SIZES[-1])]
    product.create_room(home, ["sender", *agents])
    room = postroom.open(home, agent="sender", project=product.PROJECT)
    for size in SIZES:
        for agent in agents[:size]:
            room.subscribe(f"of-{size}", agent=agent)
    return room


def _calls(room: Any) -> list[tuple[str, Callable[[], Any]]]:
    calls: list[tuple[str, Callable[[], Any]]] = [
        (f"topic-{size}", lambda size=size: room.send(f"topic:of-{size}", BODY, confirm=True))
        for size in SIZES
    ]
    return [*calls, ("one-by-one", lambda: _one_by_one(room))]


def _one_by_one(room: Any) -> None:
    for number in range(SIZES[-1]):
        room.send(f"agent{number}", BODY)


def _result(spent: dict[str, list[int]]) -> Result:
    labels = {f"topic-{size}": f"a topic of {size:,}" for size in SIZES}
    labels["one-by-one"] = f"{SIZES[-1]:,} messages, one each"
    rows = []
    for name, label in labels.items():
        values = spread(spent[name], MILLISECONDS)
        number = SIZES[-1] if name == "one-by-one" else int(name.rpartition("-")[2])
        rows.append(Row(name, label, {**values, "each": values["p50"] * 1000 / number}))
    rounds = {name: [{"p50": each * MILLISECONDS} for each in taken] for name, taken in spent.items()}
    note = "send() alone: stored for each of them when it returns. 1 KiB bodies; nobody waits."
    title = f"Fan-out to {SIZES[-1]:,} subscribers of a topic"
    return Result("topic", title, COLUMNS, rows, rounds, (note,)).with_ratios("one-by-one", "p50")
