"""The daemon as a process: one for each room, one writer for each pane, and no end of one harms another."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Launch
from postroom.bridges.manifest import Manifest
from postroom.bridges.tmux import bridge
from postroom.daemon import control, instance
from postroom.daemon.ending import Break
from postroom.errors import BridgeError, TerminalTaken
from postroom.model.ladder import State
from postroom.model.message import Json
from postroom.room.local import LocalRoom
from postroom.room.pen import Pen
from tests.clockwork import Clock
from tests.commandline import CommandLine
from tests.conftest import OpenRoom
from tests.process import BOUND, Child
from tests.tui.house import House
from tests.tui.stage import Pane, Role, Stage, patiently


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def house(room: LocalRoom, stage: Stage) -> Iterator[House]:
    with House(room, stage) as house:
        yield house


# ------------------------------------------------------------------------------------ one for a room


@pytest.mark.promise("one-daemon")
def test_a_lock_that_a_killed_daemon_still_has_is_waited_for(home: str):
    """Its first thread is gone before the others are, and the lock goes with the last of them."""
    killed = instance.Instance(home)
    os.pwrite(killed._file, b"1.1.another.1".ljust(100), 0)
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(instance.Instance, home)
        patiently(taken.running)
        killed.close()
        taken.result(BOUND).close()


@pytest.mark.promise("one-daemon")
def test_of_two_daemons_one_wins_and_the_other_says_why(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    first = house.daemon()
    second = house.daemon()
    assert second.process.wait(BOUND) != 0
    assert second.process.stderr is not None
    assert b"has a daemon already" in second.process.stderr.read()
    assert control.ask(house.home, "ping")["process"] == instance.running(house.home)
    assert host.identity_of(first.process.pid) == instance.running(house.home)
    sent = house.room.send("builder", "hello")
    house.seen(sent.id)
    assert len(pane.submitted()) == 1


@pytest.mark.promise("one-daemon")
def test_whoever_asks_for_a_daemon_at_the_same_time_gets_the_same_one(home: str, room: LocalRoom):
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(instance.ensure, [home] * 4))
    process = instance.running(home)
    try:
        assert process
        assert sum(started) >= 1
        assert control.ask(home, "ping")["process"] == process
        assert instance.ensure(home) is False
    finally:
        control.ask(home, "down")
        patiently(lambda: host.is_gone(process))
    assert instance.running(home) == ""
    with pytest.raises(BridgeError, match="does not answer"):
        control.ask(home, "ping")


def test_the_place_of_a_daemon_that_was_killed_is_taken_at_once(house: House):
    first = house.daemon()
    first.kill()
    assert instance.running(house.home) == ""
    assert not control.ping(house.home)
    second = house.daemon()
    assert control.ask(house.home, "ping")["process"] == host.identity_of(second.process.pid)


def test_a_daemon_that_is_told_to_end_ends_and_agents_in_panes_run_on(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    daemon = house.daemon()
    house.seen(house.room.send("builder", "hello").id)
    daemon.end()
    assert daemon.process.returncode == 0
    assert house.notes("ended")
    pane.control("look")


# ----------------------------------------------------------------------------------- one for a pane


def writer(house: House, pane: Pane, text: str, *more: str) -> Child:
    words = (pane.target, host.identity_of(pane.pid), text, *more)
    child = Child(house.home, *words, module="tests.tui.writer")
    assert child.hear() == "ready"
    return child


@pytest.mark.promise("one-writer")
def test_two_who_write_into_one_pane_never_mingle(house: House, stage: Stage):
    pane = stage.agent()
    told: list[str] = []
    with writer(house, pane, "from the first") as one, writer(house, pane, "from the second") as other:
        for _ in range(8):
            one.tell()
            other.tell()
            told += [one.hear()[0], other.hear()[0]]
    assert told.count("proven") == len(pane.submitted()) >= 8
    assert set(pane.submitted()) <= {"from the first", "from the second"}
    assert set(told) <= {"proven", "refused"}


@pytest.mark.promise("one-writer")
def test_a_writer_that_stood_still_has_lost_the_pen_and_does_not_press_enter(house: House, stage: Stage):
    pane = stage.agent()
    with writer(house, pane, "from the first", "300", "typed") as one:
        one.tell()
        pane.until("pasted")
        patiently(lambda: _is_stopped(one.pid))
        with writer(house, pane, "from the second") as other:

            def second() -> list[str]:
                other.tell()
                return other.hear()

            assert second()[:2] in (["refused", "taken"], ["refused", "draft"])
            patiently(lambda: second()[1] == "draft")  # the pen is free by its time, the composer is not
        one.signal(signal.SIGCONT)
        result, _, words, fence = one.hear()
    assert result == "uncertain"
    assert "another has the terminal" in words
    assert pane.log("submitted") == []
    assert b"\r" not in pane.bytes()
    with Pen(house.room, pane.target) as pen:
        assert pen.fence > fence


def _is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


@pytest.mark.promise("one-writer")
def test_a_pen_is_one_writer_s_until_its_time_is_over_and_its_fence_only_rises(
    open_room: OpenRoom, clock: Clock
):
    room = open_room("planner", clock=clock)
    first = Pen(room, "%1")
    assert first.holds()
    with pytest.raises(TerminalTaken):
        Pen(room, "%1")
    Pen(room, "%2").close()
    clock.advance(61)
    assert not first.holds()
    second = Pen(room, "%1")
    assert second.fence == first.fence + 1
    assert second.holds()
    assert not first.holds()
    first.close()
    assert second.holds(), "what is no longer one's own cannot be given away"
    second.close()
    assert Pen(room, "%1").fence == second.fence + 1


def test_the_pen_of_a_process_that_is_gone_is_free(house: House, stage: Stage):
    pane = stage.agent()
    with writer(house, pane, "from the first", "60000", "typed") as one:
        one.tell()
        patiently(lambda: _is_stopped(one.pid))
        with pytest.raises(TerminalTaken):
            Pen(house.room, pane.target)
    Pen(house.room, pane.target).close()


# ---------------------------------------------------------------------------------- what ends or breaks


@pytest.mark.promise("supervision")
def test_an_actor_that_crashes_is_begun_again_ever_more_rarely_and_others_are_unaffected(
    house: House, stage: Stage
):
    pane, broken = stage.agent(), stage.agent()
    house.room.join("tester")
    house.adopt("builder", pane)
    known = house.adopt("tester", broken)
    house.put(known._replace(pane="no pane at all"))
    house.daemon()
    waits = house.room.send("tester", "hello")
    patiently(lambda: len(house.notes("crashed")) >= 3)
    assert [note["again_in"] for note in house.notes("crashed")[:3]] == [0.5, 1.0, 2.0]
    for n in range(5):
        house.room.send("tester", f"a ring {n}")
    house.seen(house.room.send("builder", "hello").id)
    assert len(house.notes("crashed")) <= 5, "whoever rings, it rests"
    said = control.ask(house.home, "ping")
    assert 3 <= said["crashes"] <= 5
    assert said["watchers"] == {"p/builder": "running", "p/tester": "crashed"}
    house.put(known)
    house.seen(waits.id)
    assert control.ask(house.home, "ping")["watchers"]["p/tester"] == "running"


def start(
    house: House, stage: Stage, restart: str, *options: str, details: Json | None = None
) -> tuple[Manifest, Role]:
    """`builder` is started by us in a window of the stage."""
    stage.agent()
    role = stage.child(*options)
    agent = house.room.who("builder")
    told = {"socket": stage.socket} if details is None else details
    launch = Launch(agent.id, agent.address, role.argv, stage.root, stage.env, "", told)
    env = {**stage.env, "PYTHONPATH": os.getcwd()}
    argv = ["env", f"PYTHONPATH={os.getcwd()}", *role.argv]
    berth = bridge.start(launch._replace(command=argv, env=env))
    role.until("started")
    known = Manifest(agent.id, agent.address, "tmux", command=argv, cwd=stage.root, restart=restart).at(berth)
    return house.put(known), role


@pytest.mark.promise("restart")
def test_an_agent_that_is_to_be_started_again_is_once_and_gets_what_waited(house: House, stage: Stage):
    known, role = start(house, stage, "always")
    house.daemon()
    house.seen(house.room.send("builder", "hello").id)
    os.kill(role.pid, signal.SIGKILL)
    os.unlink(vars(role)["_control"])
    sent = house.room.send("builder", "again")
    role.until("started", 2)
    house.seen(sent.id)
    assert len(role.log("started")) == 2
    now = manifests.get(house.home, known.agent)
    assert now is not None
    assert now.process != known.process
    assert len(house.notes("ended")) == 1
    assert len(role.submitted()) == 2


def test_an_agent_is_started_again_only_in_the_tmux_server_in_which_it_ran(
    house: House, stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bridge, "own_socket", lambda: stage.socket)
    _, role = start(house, stage, "always", details={})
    with Stage() as other:
        other.run("cat")
        house.daemon(TMUX=f"{other.socket},1,0", TMUX_TMPDIR=other.root)
        os.kill(role.pid, signal.SIGKILL)
        os.unlink(vars(role)["_control"])
        role.until("started", 2)
        assert len(other.tmux("list-panes", "-a").splitlines()) == 1
        stage.tmux("kill-server")
        patiently(lambda: [one for one in house.notes("ended") if one.get("reason")])
        assert len(other.tmux("list-panes", "-a").splitlines()) == 1
    assert not [name for name in os.listdir(stage.root) if name.startswith("tmux-")]
    with pytest.raises(subprocess.CalledProcessError):
        stage.tmux("list-panes", "-a")
    [last] = [event.payload for event in house.room.events() if event.payload.get("reason")]
    assert (last["again_in"], "the tmux server" in last["reason"]) == (None, True)


def test_of_an_agent_that_has_ended_it_is_said_when_it_is_started_again(house: House, stage: Stage):
    known, role = start(house, stage, "always")
    house.daemon(SEAMS="postroom.bridges.process.restart.SHORTEST=1000")
    os.kill(role.pid, signal.SIGKILL)
    patiently(lambda: house.notes("ended"))
    patiently(lambda: control.ask(house.home, "observe", agents=[known.agent]))
    seen = control.ask(house.home, "observe", agents=[known.agent])[known.agent]
    assert (seen["doing"], seen["reason"]) == ("gone", "offline")
    assert re.fullmatch(r"starts again in \d+ s; ended once(, SIGKILL)?", seen["words"]), "tmux may not know"
    assert control.ask(house.home, "ping")["paused"].keys() == {known.address}
    with pytest.raises(BridgeError, match=r"is not running: it starts again in \d+ s; ended once"):
        control.ask(house.home, "screen", agent=known.agent)
    line = CommandLine(house.home)
    assert "not running: starts again in" in line.ok("agents").out
    [told] = [one for one in line.ok("agents", "--json").json["agents"] if one["address"] == known.address]
    assert told["pause"].startswith("starts again in ")
    assert "it starts again in" in line.ok("screen", "builder").err


@pytest.mark.parametrize(
    ("ends", "code", "says"),
    [(1, 3, "once, exit 3"), (4, 0, "4 times, exit 0"), (2, -9, "2 times, SIGKILL"), (2, None, "2 times")],
)
def test_how_an_agent_ended_that_is_started_again_is_said_in_words(ends: int, code: int | None, says: str):
    assert str(Break(0.0, ends, code)) == f"is being started again; ended {says}"


def test_an_agent_that_is_not_to_be_started_again_is_not(house: House, stage: Stage):
    known, _ = start(house, stage, "never")
    house.daemon()
    house.seen(house.room.send("builder", "hello").id)
    sent = house.room.send("builder", "nothing")
    house.seen(sent.id)
    stage.tmux("kill-pane", "-t", known.pane.partition("@")[0])
    patiently(lambda: house.notes("ended"))
    assert house.notes("ended")[0]["again_in"] is None
    waits = house.room.send("builder", "more")
    house.waits(waits.id, "offline")


def test_an_agent_that_moves_is_reached_where_it_is_now(house: House, stage: Stage):
    first, second = stage.agent(), stage.agent()
    house.adopt("builder", first)
    house.daemon()
    house.seen(house.room.send("builder", "here").id)
    house.adopt("builder", second)
    assert control.ask(house.home, "reload") == 1
    house.seen(house.room.send("builder", "there").id)
    assert (len(first.submitted()), len(second.submitted())) == (1, 1)
    manifests.remove(house.home, house.room.who("builder").id)
    assert control.ask(house.home, "reload") == 0
    sent = house.room.send("builder", "nowhere")
    assert house.delivery(sent.id).state is State.STORED


def test_what_commands_ask_is_done_between_two_steps(house: House, stage: Stage):
    pane = stage.agent("--turn", "-1")
    known = house.adopt("builder", pane)
    house.daemon()
    seen = control.ask(house.home, "observe", agents=[known.agent, "nobody"])
    assert seen[known.agent]["doing"] == "idle"
    assert "nobody" not in seen
    assert "? for shortcuts" in control.ask(house.home, "screen", agent=known.agent)
    typed = control.ask(house.home, "command", agent=known.agent, text="/compact", by="human:ana")
    assert typed["result"] == "proven"
    assert pane.submitted() == ["/compact"]
    done = control.ask(house.home, "interrupt", agent=known.agent, kind="stop", by="human:ana")
    assert done["proven"]
    assert len(pane.log("interrupted")) == 1
    events = [event.type for event in house.room.events()]
    assert {"agent.pushed", "agent.interrupted"} <= set(events)
