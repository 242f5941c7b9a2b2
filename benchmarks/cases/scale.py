"""What an operation costs in a room that holds a million messages, against an empty one."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import product
from benchmarks.bench import Bench
from benchmarks.filling import fill
from benchmarks.result import Column, Result, Row, Values, percentile, spread
from benchmarks.task import BODY_BYTES

MICROSECONDS = 1e-3
TEMPLATE = 1000
"""Messages lived through the API, then copied."""

AGENTS = tuple(f"agent{number}" for number in range(20))
LEFT_WAITING = 100
"""Of each thousand, so many wait, shared out among the agents; the others are acknowledged."""

LISTED = 50
BODY = "x" * BODY_BYTES

COLUMNS = (
    Column("empty", "empty room p50 µs"),
    Column("empty_p95", "p95 µs"),
    Column("full", "full room p50 µs"),
    Column("full_p95", "p95 µs"),
    Column("ratio", "full / empty", 2),
)


class Operation(NamedTuple):
    name: str
    label: str
    call: Callable[[Any], Any]


def _send(room: Any) -> Any:
    return room.send(AGENTS[1], BODY, sender=AGENTS[0])


def _take(room: Any) -> Any:
    return room.take(AGENTS[1])


def _peek(room: Any) -> Any:
    return room.peek(AGENTS[2], limit=LISTED)


OPERATIONS = (
    Operation("send", "send", _send),
    Operation("take", "take", _take),
    Operation("peek", f"inbox of {LISTED}", _peek),
)


def run(bench: Bench) -> Result:
    messages = bench.pick(20_000, 1_000_000)
    if bench.peers(("postroom-take",)) == []:
        return Result("scale", "A full room", COLUMNS, ())
    bench.say(f"scale: storing {messages:,} messages")
    rooms = {"empty": _empty(bench), "full": _full(bench, messages)}
    spent = _measure(bench, rooms)
    for room in rooms.values():
        room.close()
    return _result(spent, messages)


def _empty(bench: Bench) -> Any:
    """Empty but for as many waiting messages as one inbox lists, so that both rooms list the same."""
    room = _open(bench, "empty")
    for _ in range(LISTED):
        room.send(AGENTS[2], BODY, sender=AGENTS[0])
    return room


def _full(bench: Bench, messages: int) -> Any:
    room = _open(bench, "full")
    fill(str(bench.folder / "full" / product.STORE), messages // TEMPLATE - 1, lambda: _live(room))
    return room


def _live(room: Any) -> None:
    for number in range(TEMPLATE):
        recipient, sender = AGENTS[number % len(AGENTS)], AGENTS[(number + 1) % len(AGENTS)]
        sent = room.send(recipient, BODY, sender=sender)
        if number >= LEFT_WAITING:
            room.ack(room.take(recipient, id=sent.id))


def _open(bench: Bench, name: str) -> Any:
    import postroom

    home = str(bench.folder / name)
    product.create_room(home, AGENTS)
    return postroom.open(home, agent=AGENTS[0], project=product.PROJECT)


def _measure(bench: Bench, rooms: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    """Each operation in each room by turns, all in this process. Nanoseconds, by operation and room."""
    spent = {operation.name: {name: [] for name in rooms} for operation in OPERATIONS}
    rounds = bench.pick(300, 2000)
    for number in range(rounds):
        if number % 500 == 0:
            bench.say(f"scale: round {number + 1} of {rounds}")
        for name in bench.shuffled(tuple(rooms)):
            taken = _turn(rooms[name], {operation: spent[operation][name] for operation in spent})
            rooms[name].ack(taken)
    return spent


def _turn(room: Any, spent: dict[str, list[int]]) -> Any:
    answers: dict[str, Any] = {}
    for operation in OPERATIONS:
        before = time.monotonic_ns()
        answers[operation.name] = operation.call(room)
        spent[operation.name].append(time.monotonic_ns() - before)
    return answers["take"]


def _result(spent: dict[str, dict[str, list[int]]], messages: int) -> Result:
    rows = [Row(operation.name, operation.label, _values(spent[operation.name])) for operation in OPERATIONS]
    note = (
        f"The full room holds {messages:,} messages of 1 KiB, 10 % of them waiting, the rest acknowledged: "
        f"{TEMPLATE:,} lived through the API and copied row by row. The empty one holds {LISTED}, all "
        "waiting. One process uses both by turns, each operation right after the other."
    )
    return Result("scale", f"A room of {messages:,} messages", COLUMNS, rows, notes=(note,))


def _values(spent: dict[str, list[int]]) -> Values:
    empty, full = spread(spent["empty"], MICROSECONDS), spread(spent["full"], MICROSECONDS)
    ratios = [after / before for before, after in zip(spent["empty"], spent["full"], strict=True)]
    return {
        "empty": empty["p50"],
        "empty_p95": empty["p95"],
        "full": full["p50"],
        "full_p95": full["p95"],
        "ratio": percentile(ratios, 0.5),
    }
