"""What a search costs in a room that holds a million messages, against one that holds a thousand."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import product
from benchmarks.bench import Bench
from benchmarks.filling import fill
from benchmarks.result import Column, Result, Row, Values, percentile, spread

MILLISECONDS = 1e-6
TEMPLATE = 1000
"""Messages lived through the API, then copied."""

AGENTS = tuple(f"agent{number}" for number in range(20))
WORDS, IN_A_BODY = 20_000, 60
VARIED = "body || printf(' n%d m%x', seq + :shift, (seq + :shift) * 40503)"
"""Copies are alike; two words that no other has make the index as large as a real one's."""

RARE, COMMON, SOME = "quokka", "the", "rebase"
"""In one message of the whole room, in every one, and in every hundredth."""

COLUMNS = (
    Column("small", "1,000 messages p50 ms", 2),
    Column("full", "full room p50 ms", 2),
    Column("full_p95", "p95 ms", 2),
    Column("ratio", "full / small", 2),
)


class Operation(NamedTuple):
    name: str
    label: str
    call: Callable[[Any], Any]


def _fresh(room: Any) -> None:
    sent = room.send(AGENTS[1], "a platypus passes", sender=AGENTS[0])
    [found] = room.search("platypus", limit=1)
    assert found.message.id == sent.id


OPERATIONS = (
    Operation("rare", "one word, in one message", lambda room: room.search(RARE, limit=20)),
    Operation("absent", "one word, in none", lambda room: room.search("wombat", limit=20)),
    Operation(
        "some", "two words, in every hundredth", lambda room: room.search(f"{SOME} {COMMON}", limit=20)
    ),
    Operation("common", "one word, in every message", lambda room: room.search(COMMON, limit=20)),
    Operation("phrase", "a phrase", lambda room: room.search(f'"{SOME} {COMMON}"', limit=20)),
    Operation("prefix", "a beginning of two letters", lambda room: room.search("qu*", limit=20)),
    Operation(
        "filtered",
        "a common word, of one sender to one recipient",
        lambda room: room.search(COMMON, sender=AGENTS[3], to=AGENTS[2], limit=20),
    ),
    Operation(
        "stored", "a common word, still waiting", lambda room: room.search(COMMON, state="stored", limit=20)
    ),
    Operation("fresh", "a word just sent (sent first)", _fresh),
)


def run(bench: Bench) -> Result:
    messages = bench.pick(20_000, 1_000_000)
    if bench.peers(("postroom-take",)) == []:
        return Result("search", "Search", COLUMNS, ())
    bench.say(f"search: storing {messages:,} messages")
    rooms = {"small": _filled(bench, "small", TEMPLATE), "full": _filled(bench, "full", messages)}
    took = {name: _index(room) for name, room in rooms.items()}
    bench.say(f"search: indexed in {took['full'][0]:.1f} s")
    spent = _measure(bench, rooms)
    counted = _timed(rooms["full"].stats)
    for room in rooms.values():
        room.close()
    return _result(spent, messages, took["full"], _size(bench.folder / "full"), counted)


def _filled(bench: Bench, name: str, messages: int) -> Any:
    import postroom

    home = bench.folder / name
    product.create_room(str(home), AGENTS)
    room = postroom.open(str(home), agent=AGENTS[0], project=product.PROJECT)
    fill(str(home / product.STORE), messages // TEMPLATE - 1, lambda: _live(room), VARIED)
    room.send(AGENTS[1], f"a {RARE} in the hay", sender=AGENTS[0])
    return room


def _live(room: Any) -> None:
    draw = random.Random(7)
    vocabulary = _vocabulary(draw)
    for number in range(TEMPLATE):
        recipient, sender = AGENTS[number % len(AGENTS)], AGENTS[(number + 1) % len(AGENTS)]
        body = " ".join(
            [COMMON, *draw.choices(*vocabulary, k=IN_A_BODY), *([SOME, COMMON] if number % 100 == 0 else [])]
        )
        sent = room.send(recipient, body, sender=sender, type="request" if number % 10 == 0 else "note")
        if number >= TEMPLATE // 10:
            room.ack(room.take(recipient, id=sent.id))


def _vocabulary(draw: random.Random) -> tuple[list[str], list[float]]:
    """Words as unequal in how often they come as those of a language are."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(3, 10))) for _ in range(WORDS)]
    return words, [1 / (place + 1) for place in range(WORDS)]


def _index(room: Any) -> tuple[float, float]:
    """The first search of all: the seconds until a common word was found, and until all was indexed."""
    common = _timed(lambda: room.search(COMMON, limit=20))
    return _timed(lambda: room.search("wombat", limit=20)), common


def _timed(call: Callable[[], Any]) -> float:
    before = time.monotonic_ns()
    call()
    return (time.monotonic_ns() - before) / 1e9


def _measure(bench: Bench, rooms: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    """Each operation in each room by turns, all in this process. Nanoseconds, by operation and room."""
    spent = {operation.name: {name: list[int]() for name in rooms} for operation in OPERATIONS}
    for _ in range(bench.pick(10, 40)):
        for name in bench.shuffled(tuple(rooms)):
            for operation in OPERATIONS:
                before = time.monotonic_ns()
                operation.call(rooms[name])
                spent[operation.name][name].append(time.monotonic_ns() - before)
    return spent


def _size(home: Path) -> tuple[int, int]:
    index = sum(path.stat().st_size for path in (home / "search").iterdir())
    return (home / product.STORE).stat().st_size, index


def _result(
    spent: dict[str, dict[str, list[int]]],
    messages: int,
    took: tuple[float, float],
    size: tuple[int, int],
    counted: float,
) -> Result:
    rows = [Row(operation.name, operation.label, _values(spent[operation.name])) for operation in OPERATIONS]
    whole, first = took
    note = (
        f"Messages of {IN_A_BODY} words out of {WORDS:,}; the 20 newest hits each time. The first search of "
        f"all in the full room took {first:.1f} s for a word that is everywhere, because only the newest "
        f"volume of the index is needed, and {whole:.0f} s more until all was indexed: "
        f"{messages / (whole + first):,.0f} messages a second. The room has {size[0] >> 20:,} MB, its index "
        f"{size[1] >> 20:,} MB. `postroom stats` over all of it: {counted:.1f} s."
    )
    return Result("search", f"Search in {messages:,} messages", COLUMNS, rows, notes=(note,))


def _values(spent: dict[str, list[int]]) -> Values:
    small, full = spread(spent["small"], MILLISECONDS), spread(spent["full"], MILLISECONDS)
    ratios = [after / before for before, after in zip(spent["small"], spent["full"], strict=True)]
    return {
        "small": small["p50"],
        "full": full["p50"],
        "full_p95": full["p95"],
        "ratio": percentile(ratios, 0.5),
    }
