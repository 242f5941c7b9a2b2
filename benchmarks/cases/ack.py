"""ack called by the receiver → the sender, who waits for it, knows."""

from contextlib import ExitStack
from itertools import chain
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.crew import Post, Worker, crew
from benchmarks.peers.contract import Peer
from benchmarks.result import Column, Result, Row, spread

RATE = 100
MICROSECONDS = 1e-3
REFERENCE = "postroom-take"
PEERS = ("floor", "postroom-take", "postroom-take-full", "nats", "redis", "litequeue")

COLUMNS = (
    Column("p50", "p50 µs"),
    Column("p95", "p95 µs"),
    Column("p99", "p99 µs"),
    Column("ratio", "× Postroom", 2),
)
NOTES = (
    "Postroom's senders wait for the receipt itself. The peers have no receipts for senders, so there the "
    "receiver does what their users do: it sends a message back.",
)


class Pair(NamedTuple):
    peer: Peer
    asker: Worker
    answerer: Worker


def run(bench: Bench) -> Result:
    count, rounds = bench.pick(30, 100), bench.pick(3, 8)
    samples: dict[str, list[list[int]]] = {}
    with ExitStack() as stack:
        pairs = [_start(bench, stack, peer) for peer in bench.peers(PEERS)]
        for pair in pairs:
            _exchange(pair, 10)
        for number in range(rounds):
            bench.say(f"ack: round {number + 1} of {rounds}")
            for pair in bench.shuffled(pairs):
                samples.setdefault(pair.peer.name, []).append(_exchange(pair, count))
    rows = [
        Row(pair.peer.name, pair.peer.label, spread(chain(*samples[pair.peer.name]), MICROSECONDS))
        for pair in pairs
    ]
    rounds_of = {name: [spread(each, MICROSECONDS) for each in taken] for name, taken in samples.items()}
    title = "From ack() to the waiting sender"
    return Result("ack", title, COLUMNS, rows, rounds_of, NOTES).with_ratios(REFERENCE, "p50")


def _start(bench: Bench, stack: ExitStack, peer: Peer) -> Pair:
    endpoint = stack.enter_context(bench.serve(peer, 2))
    posts = [Post(mailbox=number, sends=True, receives=True) for number in (0, 1)]
    asker, answerer = stack.enter_context(crew(peer.name, endpoint, posts, forked=False))
    return Pair(peer, asker, answerer)


def _exchange(pair: Pair, count: int) -> list[int]:
    pair.answerer.tell("acknowledge", count=count, mailbox=0)
    pair.asker.tell("ask", count=count, rate=RATE, mailbox=1)
    known, called = pair.asker.answer()["known"], pair.answerer.answer()["called"]
    return [after - before for before, after in zip(called, known, strict=True)]
