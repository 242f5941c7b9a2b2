"""Mail to an agent that has nothing but files, against files alone; and a backlog of 2,000 of its letters."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any, NamedTuple

from benchmarks import proc, product
from benchmarks.bench import Bench
from benchmarks.result import Column, Result, Row, spread

BOXES, LETTERS = 20, 100
LIMIT = 60.0
MICROSECONDS = 1e-3
BODY = "x" * 1024
NAME, WRITER = "reader", "writer"

TITLE = "File mailboxes"
COLUMNS = (
    Column("p50", "p50 µs"),
    Column("p95", "p95 µs"),
    Column("ratio", "× files alone", 2),
    Column("seconds", "seconds", 2),
)


class Reader(NamedTuple):
    """A program that waits for files."""

    process: "subprocess.Popen[str]"

    def heard(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


def run(bench: Bench) -> Result:
    if not proc.supported():
        return Result("mailbox", TITLE, COLUMNS, (), notes=(proc.UNSUPPORTED,))
    count, rounds = bench.pick(20, 50), bench.pick(3, 10)
    spent = _latency(bench, count, rounds)
    bench.say(f"mailbox: {BOXES} × {LETTERS} files")
    drained = [_drain(bench, number) for number in range(bench.pick(1, 3))]
    rows = [
        Row("bare", "write, fsync, rename → inotify", spread(_all(spent["bare"]), MICROSECONDS)),
        Row("inbox", "send → in an inbox", spread(_all(spent["inbox"]), MICROSECONDS)),
        Row("inbox-full", "the same, durability full", spread(_all(spent["inbox-full"]), MICROSECONDS)),
        Row(
            "drain",
            f"{BOXES} × {LETTERS} files into the room",
            {"seconds": sorted(drained)[len(drained) // 2]},
        ),
    ]
    by_round = {name: [spread(each, MICROSECONDS) for each in taken] for name, taken in spent.items()}
    note = (
        f"1 KiB bodies, one after the other, {count} a round, in {rounds} rounds that take turns. The reader "
        "is another process that sleeps on inotify; mail also goes through the room and its daemon, in a "
        "third one. A room and the letters it writes wait for the disk only with `full`. The backlog lies "
        "there at once, and counts until the room has all of it."
    )
    return Result("mailbox", TITLE, COLUMNS, rows, by_round, (note,)).with_ratios("bare", "p50")


def _all(rounds: list[list[int]]) -> list[int]:
    return [each for one in rounds for each in one]


def _latency(bench: Bench, count: int, rounds: int) -> dict[str, list[list[int]]]:
    from postroom.bridges.files.local import LocalShelf

    bare = str(bench.folder / "mailbox-bare")
    shelf, spent = LocalShelf(bare, NAME), dict[str, list[list[int]]]()
    with ExitStack() as stack:
        os.mkdir(bare)
        shelf.make()
        room, tree = _served(stack, bench, "inbox", [NAME])
        lasting, other = _served(stack, bench, "full", [NAME], "full")
        places = {"bare": bare, "inbox": tree, "inbox-full": other}
        readers = {name: _reader(stack, place) for name, place in places.items()}

        def write(number: int) -> None:
            _write(os.path.join(bare, NAME, "inbox"), f"2-{number:010d}.json")

        def send(_: int) -> None:
            room.send(NAME, BODY, sender=WRITER)

        def send_lasting(_: int) -> None:
            lasting.send(NAME, BODY, sender=WRITER)

        calls: list[tuple[str, Any]] = [("bare", write), ("inbox", send), ("inbox-full", send_lasting)]
        for number in range(rounds + 1):
            bench.say(f"mailbox: round {number} of {rounds}")
            for name, call in bench.shuffled(calls):
                taken = [_timed(call, readers[name], number * count + n) for n in range(count)]
                if number:  # the first one warms up
                    spent.setdefault(name, []).append(taken)
    return spent


def _write(folder: str, name: str) -> None:
    """As the room does it, and nothing else."""
    temporary = os.path.join(folder, f".{name}")
    with open(temporary, "wb", buffering=0) as file:
        file.write(json.dumps({"body": BODY}).encode())
        os.fsync(file.fileno())
    os.rename(temporary, os.path.join(folder, name))


def _timed(call: Any, reader: Reader, number: int) -> int:
    time.sleep(0.005)
    began = time.monotonic_ns()
    call(number)
    return reader.heard() - began


def _reader(stack: ExitStack, tree: str) -> Reader:
    words = [sys.executable, "-m", "benchmarks.reader", tree, NAME]
    process = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    stack.callback(process.kill)
    assert process.stdout is not None
    process.stdout.readline()
    return Reader(process)


def _served(
    stack: ExitStack, bench: Bench, place: str, names: list[str], durability: str = "normal"
) -> tuple[Any, str]:
    """A room whose daemon serves these mailboxes, and their tree."""
    import postroom
    from postroom.bridges.files import tree as trees

    home, tree = (str(bench.folder / f"mailbox-{place}-{what}") for what in ("home", "tree"))
    os.mkdir(tree)
    product.create_room(home, (WRITER,))
    room: Any = stack.enter_context(postroom.open(home, project=product.PROJECT, durability=durability))
    for name in names:
        trees.add(room, tree, name, room.scope)
    limits = {
        "POSTROOM_MAILBOX_RATE": "0",
        "POSTROOM_RECIPIENT_QUOTA": "0",
        "POSTROOM_DURABILITY": durability,
    }
    environment = {**product.environment(home), **limits}
    daemon = subprocess.Popen([sys.executable, "-m", "postroom.daemon", home], env=environment)
    stack.callback(_end, daemon)
    _await(lambda: all(os.path.exists(os.path.join(tree, name, "inbox", ".postroom")) for name in names))
    return room, tree


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(LIMIT)


def _await(condition: Any) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("it never became so")
        time.sleep(0.002)


def _drain(bench: Bench, number: int) -> float:
    """Seconds until the room has all that is put into the outboxes at once."""
    names = [f"box{each}" for each in range(BOXES)]
    with ExitStack() as stack:
        room, tree = _served(stack, bench, f"drain-{number}", names)
        for name in names:
            for each in range(LETTERS):
                letter = {"id": f"msg-{each}", "to": WRITER, "payload": {"text": BODY}}
                with open(os.path.join(tree, name, f"msg-{each}.json"), "w", encoding="utf-8") as file:
                    json.dump(letter, file)
        began = time.monotonic()
        for name in names:
            for each in range(LETTERS):
                os.rename(
                    os.path.join(tree, name, f"msg-{each}.json"),
                    os.path.join(tree, name, "outbox", f"msg-{each}.json"),
                )
        writer = room.who(WRITER).id
        _await(lambda: room.store.look().unread(writer, BOXES * LETTERS) == BOXES * LETTERS)
        return time.monotonic() - began
