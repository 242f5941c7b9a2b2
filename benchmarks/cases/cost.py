"""What a message costs the disk: bytes written, syncs, and bytes kept, from send to acknowledgement."""

from pathlib import Path

from benchmarks import proc
from benchmarks.bench import Bench
from benchmarks.crew import Post, Worker, crew
from benchmarks.peers.contract import Peer
from benchmarks.result import Column, Result, Row, Values

RATE = 200
PEERS = (
    "postroom-listen",
    "postroom-listen-full",
    "postroom-take",
    "postroom-take-full",
    "nats",
    "nats-always",
    "redis",
    "redis-always",
    "litequeue",
)
QUICK_PEERS = ("postroom-listen", "postroom-take-full", "nats")

TITLE = "What one message costs the disk"
COLUMNS = (
    Column("written", "KiB written a message", 1),
    Column("syncs", "syncs a message", 2),
    Column("kept", "KiB kept a message", 1),
)
NOTES = (
    "Written: `write_bytes` of `/proc/PID/io` over sender, receiver and server, a page counted each time it "
    "becomes dirty, so a system that syncs often is charged again for a page it appends to. Syncs: fsync and "
    "fdatasync as seen by strace in the same processes. Kept: growth of the peer's files while it runs, logs "
    "ahead of their checkpoint included. 1 KiB bodies, 200 a second, sent, received and acknowledged.",
)


def run(bench: Bench) -> Result:
    if not proc.supported():
        return Result("cost", TITLE, COLUMNS, (), notes=(proc.UNSUPPORTED,))
    rows = [
        Row(peer.name, peer.label, _measure(bench, peer))
        for peer in bench.peers(QUICK_PEERS if bench.quick else PEERS)
    ]
    return Result("cost", TITLE, COLUMNS, rows, notes=NOTES)


def _measure(bench: Bench, peer: Peer) -> Values:
    count = bench.pick(100, 1000)
    bench.say(f"cost: {peer.label}")
    posts = [Post(mailbox=1, sends=True), Post(mailbox=0, receives=True)]
    with (
        bench.serve(peer, 2) as endpoint,
        crew(peer.name, endpoint, posts, forked=False) as (sender, receiver),
    ):
        files = Path(endpoint["files"])
        pids = [sender.pid, receiver.pid, *endpoint["pids"]]
        _exchange(sender, receiver, 20)
        kept, written = _size(files), _written(pids)
        _exchange(sender, receiver, count)
        values = {
            "written": (_written(pids) - written) / count / 1024,
            "kept": (_size(files) - kept) / count / 1024,
        }
        with proc.syncs(pids) as syncs:
            _exchange(sender, receiver, count)
    return values if syncs.count is None else {**values, "syncs": syncs.count / count}


def _exchange(sender: Worker, receiver: Worker, count: int) -> None:
    receiver.tell("collect", count=count)
    sender.tell("pace", count=count, rate=RATE, mailbox=0)
    receiver.answer()
    sender.answer()


def _written(pids: list[int]) -> int:
    return sum(map(proc.written_bytes, pids))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
