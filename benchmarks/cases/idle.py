"""100 processes that wait for mail that does not come: CPU of all together, private memory of each."""

import subprocess
import time
from contextlib import ExitStack
from typing import NamedTuple

from benchmarks import proc, product
from benchmarks.bench import Bench
from benchmarks.crew import Post, crew
from benchmarks.peers.contract import Peer
from benchmarks.result import Column, Result, Row, Values

WAITERS = 100
SCALED_PEERS = ("nats", "redis", "sqlite-polled")
"""A few of these are measured, and their CPU is scaled to 100."""

PEERS = ("postroom-listen", *SCALED_PEERS)
SETTLE = 2.0
START_LIMIT = 60.0
STOP_LIMIT = 5.0
MEGABYTE = 1_000_000

TITLE = f"{WAITERS} idle waiters"
COLUMNS = (
    Column("processes", "processes"),
    Column("cpu", f"CPU of {WAITERS}, % of a core", 3),
    Column("wakes", f"wake-ups/s of {WAITERS}", 1),
    Column("server", "server CPU, % of a core", 3),
    Column("private", "private MB each", 1),
)


class Group(NamedTuple):
    name: str
    label: str
    pids: list[int]
    server_pids: list[int]


class Reading(NamedTuple):
    cpu: int
    server: int
    switches: int


def run(bench: Bench) -> Result:
    seconds = bench.pick(10, 60)
    if not proc.supported():
        return Result("idle", TITLE, COLUMNS, (), notes=(proc.UNSUPPORTED,))
    with ExitStack() as stack:
        groups = [_wait(bench, stack, peer) for peer in bench.peers(PEERS)]
        groups += _wait_in_shell(bench, stack)
        time.sleep(SETTLE)
        bench.say(f"idle: watching {sum(len(group.pids) for group in groups)} processes for {seconds} s")
        before = [_read(group) for group in groups]
        time.sleep(seconds)
        after = [_read(group) for group in groups]
        _check_all_wait(groups)
        rows = [
            Row(group.name, group.label, _values(group, start, end, seconds))
            for group, start, end in zip(groups, before, after, strict=True)
        ]
    return Result("idle", TITLE, COLUMNS, rows, notes=(_note(seconds),))


def _wait(bench: Bench, stack: ExitStack, peer: Peer) -> Group:
    count = bench.pick(5, 20) if peer.name in SCALED_PEERS else WAITERS
    bench.say(f"idle: {count} processes of {peer.label}")
    endpoint = stack.enter_context(bench.serve(peer, count))
    posts = [Post(mailbox=number, receives=True) for number in range(count)]
    workers = stack.enter_context(crew(peer.name, endpoint, posts, forked=False))
    for worker in workers:
        worker.tell("rest")
    return Group(peer.name, _label(peer), [worker.pid for worker in workers], endpoint["pids"])


def _label(peer: Peer) -> str:
    return "`Room.wait()` (Python program)" if peer.name.startswith("postroom") else peer.label


def _wait_in_shell(bench: Bench, stack: ExitStack) -> list[Group]:
    """The command `postroom wait`, started as a user starts it."""
    if not product.command() or not any(name.startswith("postroom") for name in bench.chosen):
        return []
    bench.say(f"idle: {WAITERS} times `postroom wait`")
    home = str(bench.folder / "wait-home")
    agents = [f"agent{number}" for number in range(WAITERS)]
    product.create_room(home, agents)
    processes = [
        subprocess.Popen(
            [product.command(), "wait", "--as", agent],
            env=product.environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for agent in agents
    ]
    for process in processes:
        stack.callback(_end, process)
    _await_quiet([process.pid for process in processes])
    return [Group("postroom-wait", "`postroom wait` (command)", [process.pid for process in processes], [])]


def _await_quiet(pids: list[int]) -> None:
    """Return when they have all come to rest: nothing else tells that a command has finished starting."""
    deadline = time.monotonic() + START_LIMIT
    spent = -1
    while (now := sum(map(proc.cpu_ns, pids))) != spent and time.monotonic() < deadline:
        spent = now
        time.sleep(SETTLE)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(STOP_LIMIT)


def _check_all_wait(groups: list[Group]) -> None:
    for group in groups:
        if not all(map(proc.is_running, group.pids)):
            raise RuntimeError(
                f"{group.label}: some waiters ended instead of waiting; their errors are above"
            )


def _read(group: Group) -> Reading:
    return Reading(
        cpu=sum(map(proc.cpu_ns, group.pids)),
        server=sum(map(proc.cpu_ns, group.server_pids)),
        switches=sum(map(proc.switches, group.pids)),
    )


def _values(group: Group, before: Reading, after: Reading, seconds: float) -> Values:
    scale = WAITERS / len(group.pids)
    percent = 100 / 1e9 / seconds
    values = {
        "processes": len(group.pids),
        "cpu": (after.cpu - before.cpu) * percent * scale,
        "wakes": (after.switches - before.switches) / seconds * scale,
        "private": sum(map(proc.private_bytes, group.pids)) / len(group.pids) / MEGABYTE,
    }
    if group.server_pids:
        values["server"] = (after.server - before.server) * percent
    return values


def _note(seconds: float) -> str:
    return (
        f"All groups wait at the same time, for {seconds} s after {SETTLE:.0f} s of settling. CPU is from "
        "`/proc/PID/task/*/schedstat`, private memory (USS) from `smaps_rollup`. Where fewer processes ran, "
        f"CPU and wake-ups are scaled to {WAITERS}."
    )
