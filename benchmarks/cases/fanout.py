"""One message to 100 waiting processes: how long until the last of them has it."""

from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.crew import Post, Worker, crew
from benchmarks.peers.contract import Peer
from benchmarks.result import Column, Result, Row, spread

WAITERS = 100
MILLISECONDS = 1e-6
REFERENCE = "postroom-listen"
PEERS = ("floor", "postroom-listen", "postroom-take", "nats", "redis", "sqlite-polled")
QUICK_PEERS = ("floor", "postroom-listen", "nats")

COLUMNS = (
    Column("first", "first ms", 2),
    Column("half", "half of them ms", 2),
    Column("last", "last ms", 2),
    Column("ratio", "× Postroom listen", 2),
)


class Crowd(NamedTuple):
    peer: Peer
    sender: Worker
    waiters: list[Worker]
    mailboxes: list[int]


class Arrival(NamedTuple):
    first: float
    half: float
    last: float


def run(bench: Bench) -> Result:
    rounds = bench.pick(3, 20)
    arrivals: dict[str, list[Arrival]] = {}
    with ExitStack() as stack:
        crowds = [_gather(bench, stack, peer) for peer in bench.peers(QUICK_PEERS if bench.quick else PEERS)]
        for crowd in crowds:
            _shout(crowd)
        for number in range(rounds):
            bench.say(f"fan-out: round {number + 1} of {rounds}")
            for crowd in bench.shuffled(crowds):
                arrivals.setdefault(crowd.peer.name, []).append(_shout(crowd))
    return _result([crowd.peer for crowd in crowds], arrivals)


def _gather(bench: Bench, stack: ExitStack, peer: Peer) -> Crowd:
    bench.say(f"fan-out: {WAITERS} processes of {peer.label}")
    endpoint = stack.enter_context(bench.serve(peer, WAITERS + 1))
    mailboxes = [0] if peer.broadcasts else list(range(WAITERS))
    posts = [Post(mailbox=WAITERS, sends=True)]
    posts += [
        Post(mailboxes[number % len(mailboxes)], receives=True, member=number) for number in range(WAITERS)
    ]
    sender, *waiters = stack.enter_context(crew(peer.name, endpoint, posts))
    return Crowd(peer, sender, waiters, mailboxes)


def _shout(crowd: Crowd) -> Arrival:
    for waiter in crowd.waiters:
        waiter.tell("hear")
    crowd.sender.tell("shout", mailboxes=crowd.mailboxes, settle=0.2)
    start = crowd.sender.answer()["start"]
    arrived = [(waiter.answer()["arrived"] - start) * MILLISECONDS for waiter in crowd.waiters]
    return Arrival(min(arrived), spread(arrived)["p50"], max(arrived))


def _result(peers: list[Peer], arrivals: dict[str, list[Arrival]]) -> Result:
    rounds = {name: [arrival._asdict() for arrival in taken] for name, taken in arrivals.items()}
    rows = [Row(peer.name, peer.label, _medians(arrivals[peer.name])) for peer in peers]
    note = (
        "NATS and Redis publish once, to one consumer or group for each process; the others send to each "
        "mailbox in turn. Medians over the rounds."
    )
    title = f"Fan-out to {WAITERS} waiting processes"
    return Result("fanout", title, COLUMNS, rows, rounds, (note,)).with_ratios(REFERENCE, "last")


def _medians(arrivals: list[Arrival]) -> dict[str, float]:
    columns = zip(*arrivals, strict=True)
    return {key: spread(column)["p50"] for key, column in zip(Arrival._fields, columns, strict=True)}
