"""20 senders and 20 receivers, all processes: send, receive, acknowledge; messages a second."""

from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.crew import Post, crew
from benchmarks.peers.contract import Peer
from benchmarks.result import Column, Result, Row, Values, percentile, spread

SIDE = 20
MILLISECONDS = 1e-6
REFERENCE = "nats"
PEERS = (
    "postroom-listen",
    "postroom-listen-full",
    "nats",
    "nats-always",
    "redis",
    "redis-always",
    "litequeue",
    "sqlite-polled",
)
QUICK_PEERS = ("postroom-listen", "nats", "redis")

COLUMNS = (
    Column("rate", "messages/s"),
    Column("send_p50", "send() p50 ms", 2),
    Column("send_p95", "p95 ms", 2),
    Column("send_p99", "p99 ms", 2),
    Column("ratio", "× NATS", 2),
)


class Burst(NamedTuple):
    rate: float
    spent: list[int]

    def values(self) -> Values:
        return {"rate": self.rate, **spread(self.spent, MILLISECONDS, "send_")}


def run(bench: Bench) -> Result:
    rounds = bench.pick(1, 5)
    peers = bench.peers(QUICK_PEERS if bench.quick else PEERS)
    bursts: dict[str, list[Burst]] = {}
    for number in range(rounds):
        for peer in bench.shuffled(peers):
            bench.say(f"throughput: round {number + 1} of {rounds}, {peer.label}")
            bursts.setdefault(peer.name, []).append(_burst(bench, peer))
    return _result(peers, bursts)


def _burst(bench: Bench, peer: Peer) -> Burst:
    seconds = bench.pick(1.0, 4.0)  # long enough that the start and the end of forty processes do not count
    mailboxes = list(range(SIDE))
    posts = [Post(mailbox=number, receives=True) for number in mailboxes]
    posts += [Post(mailbox=SIDE + number, sends=True) for number in mailboxes]
    with bench.serve(peer, 2 * SIDE) as endpoint, crew(peer.name, endpoint, posts) as workers:
        receivers, senders = workers[:SIDE], workers[SIDE:]
        for receiver in receivers:
            receiver.tell("drain", senders=SIDE)
        for number, sender in enumerate(senders):
            sender.tell("flood", seconds=seconds, mailboxes=mailboxes[number:] + mailboxes[:number])
        sent = [sender.answer() for sender in senders]
        taken = [receiver.answer() for receiver in receivers]
    span = max(each["end"] for each in taken) - min(each["start"] for each in sent)
    count = sum(each["count"] for each in taken)
    return Burst(count / span * 1e9, [spent for each in sent for spent in each["spent"]])


def _result(peers: list[Peer], bursts: dict[str, list[Burst]]) -> Result:
    rounds = {name: [burst.values() for burst in taken] for name, taken in bursts.items()}
    rows = [Row(peer.name, peer.label, _pooled(bursts[peer.name]).values()) for peer in peers]
    note = (
        f"{SIDE} sending, {SIDE} receiving processes; each sender writes to every mailbox in turn, as fast "
        "as its sends are confirmed; the clock runs from the first send to the last acknowledgement. A fresh "
        f"store each round; rounds: {max(map(len, rounds.values()), default=0)}, of 4 s each."
    )
    title = f"{SIDE} senders × {SIDE} receivers"
    return Result("throughput", title, COLUMNS, rows, rounds, (note,)).with_ratios(REFERENCE, "rate")


def _pooled(bursts: list[Burst]) -> Burst:
    rate = percentile([burst.rate for burst in bursts], 0.5)
    return Burst(rate, [spent for burst in bursts for spent in burst.spent])
