"""What may befall a daemon: a room that takes no note, removed files, orphans, a crowd at its door."""

import json
import os
import resource
import shutil
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Attendant, Launch
from postroom.bridges.manifest import Manifest
from postroom.bridges.process import brood, lines
from postroom.daemon import control, instance, keeper, loop
from postroom.daemon.keeper import Keeper
from postroom.daemon.loop import Daemon
from postroom.daemon.place import lock_path, log_path
from postroom.errors import BridgeError, StoreBusy
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.bridged import Record
from tests.process import BOUND, ROOT, environment, eventually
from tests.slow import Slow
from tests.tui.house import House
from tests.tui.stage import Stage, patiently
from tests.yard import Yard


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def house(room: LocalRoom, stage: Stage) -> Iterator[House]:
    with House(room, stage) as house:
        yield house


@pytest.fixture
def yard(home: str) -> Iterator[Yard]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yield yard


def launch(agent: str, address: str, place: object, *command: str) -> Launch:
    return Launch(agent, address, [*command], str(place), environment(PYTHONPATH=ROOT))


# ------------------------------------------------------------------------- a room that takes no note


class Balking:
    """A store that is busy once, when a keeper would begin its nth transaction from now on."""

    def __init__(self, room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begin = room.store.begin
        self.left = 0
        monkeypatch.setattr(room.store, "begin", self)

    def __call__(self, *words: Any, **options: Any) -> Any:
        if "/" in threading.current_thread().name and self.left:
            self.left -= 1
            if not self.left:
                raise StoreBusy
        return self._begin(*words, **options)


class Kept:
    """`builder` as a child of this process that is fed line by line, and its keeper."""

    def __init__(self, room: LocalRoom, *command: str, place: object) -> None:
        agent = room.known("builder")
        self.room = room
        berth = lines.start(launch(agent.id, agent.address, place, *command))
        self.manifest = Manifest(agent.id, agent.address, "lines", command=[*command], cwd=str(place)).at(
            berth
        )
        manifests.put(room.home, self.manifest)
        self.keeper = Keeper(room, self.manifest, {})
        self.keeper.start()

    def is_seen(self, ref: str) -> bool:
        return self.room.receipts(ref).deliveries[0].state is State.SEEN

    def outputs(self) -> list[str]:
        return [event.payload["text"] for event in self.room.events() if event.type == "agent.output"]


@pytest.fixture
def keep(room: LocalRoom, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Kept]]:
    monkeypatch.setattr(keeper, "_FIRST", 0.01)
    kept: list[Kept] = []

    def keeping(*command: str) -> Kept:
        kept.append(Kept(room, *command, place=tmp_path))
        return kept[-1]

    yield keeping
    for one in kept:
        one.keeper.stop()
        assert one.keeper.join(BOUND)


@pytest.mark.promise("supervision")
@pytest.mark.parametrize("nth", range(1, 9))
def test_a_write_that_fails_ends_no_child_loses_nothing_and_doubles_nothing(
    keep: Callable[..., Kept], room: LocalRoom, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, nth: int
):
    record, balking = Record(os.path.join(tmp_path, "record")), Balking(room, monkeypatch)
    kept = keep(sys.executable, "-m", "tests.bridged", "lines", record.path)
    first = room.send("builder", "the first")
    patiently(lambda: kept.is_seen(first.id))
    balking.left = nth
    sent = [room.send("builder", f"number {n}.") for n in range(3)]
    patiently(lambda: all(kept.is_seen(one.id) for one in sent))
    assert kept.keeper.crashes <= 1
    assert not host.is_gone(kept.manifest.process)
    assert ["".join(record.texts()).count(f"number {n}.") for n in range(3)] == [1, 1, 1]


@pytest.mark.promise("supervision")
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_what_a_child_said_last_and_how_it_ended_is_noted_though_a_write_fails(
    keep: Callable[..., Kept], room: LocalRoom, monkeypatch: pytest.MonkeyPatch, nth: int
):
    balking = Balking(room, monkeypatch)
    kept = keep("sh", "-c", "echo one; read line; echo two; echo three; exit 3")
    patiently(lambda: kept.outputs() == ["one"])

    def go(actor: Attendant, _: object) -> None:
        actor.command("go", lambda: None)
        balking.left = nth

    kept.keeper.ask(go)
    patiently(lambda: any(event.type == "agent.ended" for event in room.events()))
    assert kept.outputs() == ["one", "two", "three"]
    [ended] = [event.payload for event in room.events() if event.type == "agent.ended"]
    assert ended["exit_code"] == 3


# ------------------------------------------------------------------------------- files that are removed


@pytest.mark.promise("supervision")
def test_mail_goes_in_though_all_bells_were_removed_and_they_are_hung_anew(house: House, stage: Stage):
    pane = stage.agent()
    known = house.adopt("builder", pane)
    house.daemon()
    house.seen(house.room.send("builder", "before").id)
    shutil.rmtree(house.room.run)
    house.seen(house.room.send("builder", "after").id)
    patiently(
        lambda: (
            os.path.isdir(bells := os.path.join(house.room.run, "bell", known.agent)) and os.listdir(bells)
        )
    )
    assert len(pane.submitted()) == 2


def test_an_agent_is_stopped_though_all_bells_were_removed(yard: Yard):
    yard.ok("spawn", "worker", "--bridge", "lines", "--", "cat")
    known = yard.manifest("worker")
    shutil.rmtree(os.path.join(yard.home, "run"))
    told = yard.ok("stop", "worker", "--json").json
    assert (told["ended"], host.is_gone(known.process)) == (True, True)


def test_a_keeper_that_does_not_end_is_not_replaced_before_it_has(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    slow, agent = Slow(), room.known("builder")
    monkeypatch.setattr(keeper, "load", lambda _: slow)
    monkeypatch.setattr(loop, "_END", 0.01)
    daemon, known = Daemon(room.home), Manifest(agent.id, agent.address, "slow", host.identity())
    manifests.put(room.home, known)
    daemon.reconcile()
    kept = daemon.keeper(agent.id)
    assert slow.busy.wait(BOUND)
    manifests.put(room.home, known._replace(cwd="/elsewhere"))
    daemon.reconcile()
    assert daemon.keeper(agent.id) is kept
    slow.go.set()
    assert kept.join(BOUND)
    daemon.reconcile()
    assert daemon.keeper(agent.id) is not kept
    daemon.end()
    daemon.run()


@pytest.mark.promise("one-daemon")
def test_a_daemon_whose_lock_was_removed_ends_in_order_and_leaves_the_next_one_alone(
    house: House, tmp_path: Any
):
    agent = house.room.known("builder")
    first = house.daemon()
    manifest = Manifest(agent.id, agent.address, "lines", command=["cat"], cwd=str(tmp_path))
    child = control.ask(house.home, "start", manifest=manifest._asdict(), env=environment())["process"]
    os.rename(config.beside(house.home), tmp_path / "removed")  # at once: it may be writing there
    shutil.rmtree(tmp_path / "removed")
    second = house.daemon()
    first.died()
    assert first.process.returncode == 0
    assert host.is_gone(child)
    assert house.notes("lost its lock, so it ends")
    assert control.ask(house.home, "ping")["process"] == host.identity_of(second.process.pid)
    assert instance.running(house.home) == host.identity_of(second.process.pid)
    assert os.path.exists(lock_path(house.home))


def test_the_log_is_for_our_eyes_only_also_one_that_was_not(house: House):
    os.makedirs(os.path.dirname(log_path(house.home)), exist_ok=True)
    with open(log_path(house.home), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o644)
    house.daemon()
    patiently(lambda: house.notes("began"))
    assert stat.S_IMODE(os.stat(log_path(house.home)).st_mode) == 0o600


# ------------------------------------------------------------------------------------------- orphans

# It hears neither the end of its terminal, nor that of its input, nor a word that asks it to end.
STUBBORN = """trap '' HUP TERM; echo $$ >> "$1"
while :; do if read -r line; then echo '{"postroom": "seen"}'; else sleep 0.05; fi; done"""


Orphaned = Callable[..., tuple[Manifest, str]]


@pytest.fixture
def orphaned(yard: Yard, tmp_path: Any) -> Iterator[Orphaned]:
    """Starts a stubborn child and kills its daemon; where it runs, and where each run leaves its number."""
    pids = os.path.join(tmp_path, "pids")

    def orphan(*words: str) -> tuple[Manifest, str]:
        yard("spawn", "worker", *words, "--", "sh", "-c", STUBBORN, "sh", pids)
        eventually(lambda: os.path.exists(pids))
        known = yard.manifest("worker")
        yard.kill_daemon()
        assert not host.is_gone(known.process)
        return known, pids

    yield orphan
    for one in manifests.every(yard.home):
        brood.end(one.process)


@pytest.mark.promise("children")
@pytest.mark.parametrize(
    "words", [("--bridge", "lines"), ("--bridge", "pty", "--runtime", "claude", "--timeout", "1s")]
)
def test_a_child_that_outlived_its_daemon_is_ended_by_the_next(
    yard: Yard, orphaned: Orphaned, words: tuple[str, ...]
):
    known, _ = orphaned(*words)
    ref = yard.line.sent("worker", "hello")
    yard.ok("up")
    eventually(lambda: host.is_gone(known.process))
    eventually(lambda: yard.line.receipt(ref)["reason"] == "offline")
    assert brood.others(int(known.process.partition(".")[0])) == []


@pytest.mark.promise("children")
def test_a_child_that_outlived_its_daemon_is_started_again_where_that_was_asked_for(
    yard: Yard, orphaned: Orphaned
):
    known, pids = orphaned("--bridge", "lines", "--restart", "always")
    ref = yard.line.sent("worker", "hello")
    yard.ok("up")
    yard.seen(ref)
    assert host.is_gone(known.process)
    with open(pids, encoding="utf-8") as file:
        assert len(file.read().split()) == 2
    assert yard.manifest("worker").process != known.process


@pytest.mark.promise("restart")
@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.parametrize(
    ("bridge", "module"),
    [
        ("lines", ["tests.bridged", "lines"]),
        ("pty", ["tests.bridged", "prompt"]),
        ("acp", ["tests.acting"]),
    ],
)
def test_a_child_that_went_down_with_its_daemon_comes_back_with_the_next_where_that_was_asked_for(
    yard: Yard, tmp_path, bridge: str, module: list[str], is_killed: bool
):
    command = [sys.executable, "-m", *module, os.path.join(tmp_path, "record")]
    yard.ok("spawn", "worker", "--bridge", bridge, "--restart", "on-failure", "--", *command)
    known = yard.manifest("worker")
    yard.kill_daemon() if is_killed else yard.ok("down")
    eventually(lambda: host.is_gone(known.process))
    up = yard.ok("up")
    assert "p/worker: ended with an earlier daemon; it is started again" in up.err
    eventually(lambda: not host.is_gone(yard.manifest("worker").process))
    assert yard.manifest("worker").process != known.process


def test_what_ended_well_stays_ended_with_the_next_daemon_and_what_did_not_is_named(yard: Yard, tmp_path):
    command = [sys.executable, "-m", "tests.bridged", "lines", os.path.join(tmp_path, "record")]
    yard.ok("spawn", "worker", "--bridge", "lines", "--", *command)
    yard("spawn", "done", "--bridge", "lines", "--restart", "on-failure", "--", "sh", "-c", "exit 0")
    eventually(lambda: yard.manifest("done").exit_code == 0)
    was = yard.manifest("done")
    yard.ok("down")
    told = yard.ok("up", "--json").json["ended"]
    again = yard.manifest("worker").again
    assert told == [{"agent": "p/worker", "comes_back": False, "again": again}]
    assert again in yard.ok("up").err
    eventually(lambda: yard.ok("log", "--json").out.count('"agent.ended"') == 3)  # of `done` by both daemons
    assert yard.manifest("done") == was


def test_a_child_that_no_daemon_has_is_stopped_all_the_same(yard: Yard, orphaned: Orphaned):
    known, _ = orphaned("--bridge", "lines")
    stopped = yard.ok("stop", "worker")
    assert "ended; no daemon had it any more, so it was ended from here" in stopped.out
    assert host.is_gone(known.process)


def test_a_process_that_might_be_another_is_not_ended():
    itself = host.identity()
    pid, start, *rest = itself.split(".")
    assert brood.end(".".join((pid, f"{int(start) + 1}", *rest))), "it is gone, whoever has its number now"
    assert not brood.end(".".join((pid, "", *rest))), "its start is not known"


# --------------------------------------------------------------------------------- crowds at its door


def crowd(home: str, count: int) -> list[socket.socket]:
    """Those who begin a line and do not end it."""
    links: list[socket.socket] = []
    for _ in range(count):
        links.append(socket.socket(socket.AF_UNIX))
        links[-1].connect(config.beside(home, "daemon.sock"))
        links[-1].send(b'{"verb":')
    return links


def test_whoever_begins_a_line_and_does_not_end_it_keeps_nobody_out(house: House):
    house.daemon(SEAMS="postroom.daemon.control._LINE=0.2")
    links = crowd(house.home, 200)
    assert control.ask(house.home, "ping", patience=BOUND)["agents"] == 0
    assert "timed out" in json.loads(links[0].makefile().readline())["message"]
    for link in links:
        link.close()


def test_a_daemon_that_had_no_descriptor_left_answers_again_when_it_has(house: House):
    process = house.daemon().process
    used = len(os.listdir(f"/proc/{process.pid}/fd"))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used + 8, used + 8))
    links = crowd(house.home, 40)
    patiently(lambda: len(os.listdir(f"/proc/{process.pid}/fd")) >= used + 8)
    for link in links:
        link.close()
    assert control.ask(house.home, "ping", patience=BOUND)["agents"] == 0


def test_a_daemon_has_files_for_a_thousand_clients_where_processes_are_given_few(house: House):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        pid = house.daemon().process.pid
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (min(8192, hard), hard)


def test_who_finds_the_queue_full_waits_for_a_place(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    home, waits = os.path.join(tmp_path, "home"), threading.Event()
    os.makedirs(config.beside(home))
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(config.beside(home, "daemon.sock"))
        door.listen(0)
        crowd(home, 1)[0].close()
        with pytest.raises(BridgeError, match="does not answer"):
            control.ask(home, "ping", patience=0.2)
        monkeypatch.setattr(control.time, "sleep", lambda _: waits.set())
        answers = threading.Thread(target=lambda: waits.wait(BOUND) and _answer_one(door))
        answers.start()
        assert control.ask(home, "ping", patience=BOUND) == "yes"
        answers.join(BOUND)


def _answer_one(door: socket.socket) -> None:
    """Who has gone gets no answer, the first who has asked does."""
    while True:
        link, _ = door.accept()
        with link, link.makefile() as words:
            if words.readline().endswith("\n"):
                link.send(b'{"ok": "yes"}\n')
                return


def test_a_daemon_that_does_not_answer_is_ended_by_a_signal(yard: Yard):
    yard.ok("up")
    process = instance.running(yard.home)
    os.unlink(config.beside(yard.home, "daemon.sock"))
    assert "the daemon has ended" in yard.ok("down").out
    assert host.is_gone(process)
