"""send() called in one process → message in hand in another, 1 KiB, paced at 200 a second."""

from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.crew import Post, Worker, crew
from benchmarks.peers import MODULES
from benchmarks.peers.contract import Peer
from benchmarks.result import Column, Result, Row, Values, spread

RATE = 200
MICROSECONDS = 1e-3
REFERENCE = "postroom-listen"

COLUMNS = (
    Column("p50", "p50 µs"),
    Column("p95", "p95 µs"),
    Column("p99", "p99 µs"),
    Column("send_p50", "send() p50 µs"),
    Column("ratio", "× Postroom listen", 2),
)


class Pair(NamedTuple):
    """A sender and a receiver of one peer, connected for the whole case."""

    peer: Peer
    sender: Worker
    receiver: Worker


class Samples(NamedTuple):
    latencies: list[int]
    spent: list[int]

    def values(self) -> Values:
        return {
            **spread(self.latencies, MICROSECONDS),
            **spread(self.spent, MICROSECONDS, "send_"),
        }


def run(bench: Bench) -> Result:
    count, rounds = bench.pick(50, 200), bench.pick(3, 10)
    samples: dict[str, list[Samples]] = {}
    with ExitStack() as stack:
        pairs = [_start(bench, stack, peer) for peer in bench.peers(tuple(MODULES))]
        for pair in pairs:
            _exchange(pair, count // 4)
        for number in range(rounds):
            bench.say(f"latency: round {number + 1} of {rounds}")
            for pair in bench.shuffled(pairs):
                samples.setdefault(pair.peer.name, []).append(_exchange(pair, count))
    return _result([pair.peer for pair in pairs], samples, count)


def _start(bench: Bench, stack: ExitStack, peer: Peer) -> Pair:
    endpoint = stack.enter_context(bench.serve(peer, 2))
    posts = [Post(mailbox=1, sends=True), Post(mailbox=0, receives=True)]
    sender, receiver = stack.enter_context(crew(peer.name, endpoint, posts, forked=False))
    return Pair(peer, sender, receiver)


def _exchange(pair: Pair, count: int) -> Samples:
    pair.receiver.tell("collect", count=count)
    pair.sender.tell("pace", count=count, rate=RATE, mailbox=0)
    return Samples(pair.receiver.answer()["latencies"], pair.sender.answer()["spent"])


def _result(peers: list[Peer], samples: dict[str, list[Samples]], count: int) -> Result:
    rows = [Row(peer.name, peer.label, _pooled(samples[peer.name]).values()) for peer in peers]
    rounds = {name: [each.values() for each in taken] for name, taken in samples.items()}
    note = (
        f"1 KiB bodies, {RATE} a second, {count} messages a round; the peers take turns, in another order in "
        f"each of {max(map(len, rounds.values()), default=0)} rounds. Percentiles are over all rounds, the "
        "ratio is the median of the rounds' p50 ratios. Every receiver acknowledges each message once it is "
        "in hand; `take` writes an exclusive claim and its event before that. Postroom's `full` syncs before "
        "`send` returns, not before the receiver may see the message; a claim does not wait for the disk."
    )
    title = "From send() to in hand, across two processes"
    return Result("latency", title, COLUMNS, rows, rounds, (note,)).with_ratios(REFERENCE, "p50")


def _pooled(samples: list[Samples]) -> Samples:
    return Samples(
        [latency for each in samples for latency in each.latencies],
        [spent for each in samples for spent in each.spent],
    )
