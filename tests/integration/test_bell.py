"""Bells between real processes: who waits is woken, costs nothing meanwhile, and a ring may be missed."""

import os
import resource
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from postroom.bell.local import LocalBell
from postroom.config import Settings
from postroom.errors import InvalidValue, StoreError
from postroom.model.ladder import State
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.waiter import Waiters
from tests.conftest import OpenRoom
from tests.process import BOUND, Child

NEVER = Settings(sweep_seconds=3600.0)  # so that only a ring can wake

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="tells of Unix sockets")


def sockets(room: LocalRoom, agent: str) -> list[str]:
    directory = os.path.join(room.home, "run", "bell", room.who(agent).id)
    return sorted(os.listdir(directory)) if os.path.isdir(directory) else []


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process rings no bells."""
    monkeypatch.setattr(LocalBell, "ring", lambda self, parties, enclosures: {})


@pytest.mark.promise("pushed")
def test_a_waiting_process_is_woken_by_a_ring(room: LocalRoom, home: str):
    with Child("wait", home, "builder") as child:
        assert child.hear() == "waiting"
        sent = room.send("builder", "hello")
        assert sent.reach == ["live"]
        assert child.hear(10) == ["hello"]
    assert room.send("builder", "again").reach == ["stored"]


def test_who_is_woken_gets_the_processor_unless_there_are_more_to_ring(
    room: LocalRoom, home: str, monkeypatch: pytest.MonkeyPatch
):
    given: list[float] = []
    clock = [100.0]
    monkeypatch.setattr("postroom.bell.local.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(os, "sched_yield", lambda: given.append(clock[0]), raising=False)
    bell = LocalBell(os.path.join(room.home, "run", "bell"))
    monkeypatch.setattr("postroom.bell.local._AT_REST", -1)  # as if the directories had long been there
    waiter = bell.waiter("somebody")
    bell.ring(("somebody",))  # who is not known yet
    assert given == []
    for moment in (100.0, 100.0005, 100.0008, 200.0):
        clock[0] = moment
        assert bell.ring(("nobody", "somebody")) == {"somebody": 1}
    assert given == [100.0, 200.0]
    assert waiter.drain()
    assert not waiter.drain()
    waiter.close()
    bell.close()


def test_a_timeout_that_others_set_for_all_sockets_ends_no_wait(
    room: LocalRoom, home: str, monkeypatch: pytest.MonkeyPatch
):
    socket.setdefaulttimeout(0.001)
    try:
        waiter = room.bell.waiter("somebody")
    finally:
        socket.setdefaulttimeout(None)
    rung = threading.Timer(0.2, lambda: room.bell.ring(("somebody",)))
    rung.start()
    assert waiter.wait(20.0)
    rung.join()
    for seconds in (0.0, -1.0, 1e-9, 0.01):
        assert not waiter.wait(seconds)
    waiter.close()


def test_signals_do_not_prolong_a_wait(room: LocalRoom):
    waiter, signals = room.bell.waiter("somebody"), list[int]()
    before = signal.signal(signal.SIGALRM, lambda number, _: signals.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        for _ in range(3):
            assert not waiter.wait(0.1)  # each would last for ever if a signal began it anew
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(signals) >= 3
    waiter.close()


def test_threads_that_ring_full_queues_at_once_are_told_what_is_true(room: LocalRoom):
    waiters = [room.bell.waiter("somebody") for _ in range(10)]
    room.bell.ring(("somebody",))  # so that there is a socket to share
    trouble: list[BaseException] = []

    def ring() -> None:
        try:
            for _ in range(300):
                assert room.bell.ring(("somebody",)) == {"somebody": 10}
        except BaseException as exc:
            trouble.append(exc)

    threads = [threading.Thread(target=ring) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for waiter in waiters:
        waiter.close()
    assert trouble == []


def test_a_ring_without_a_descriptor_to_spare_does_not_forget_who_waits(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("postroom.bell.local._AT_REST", -1)  # as if the directories had long been there
    waiter, bell = room.bell.waiter("somebody"), LocalBell(os.path.join(room.home, "run", "bell"))
    assert bell.ring(("nobody",)) == {}  # who has a directory is known now
    assert _without_descriptors(lambda: bell.ring(("somebody",))) == {"somebody": 0}
    assert bell.ring(("somebody",)) == {"somebody": 1}
    waiter.close()
    bell.close()


@pytest.mark.parametrize("wait", ["take", "wait"])
def test_a_timeout_that_is_no_number_is_refused(room: LocalRoom, wait: str):
    with pytest.raises(InvalidValue):
        getattr(room, wait)("builder", timeout=float("nan"))


@pytest.mark.promise("pushed")
def test_every_waiter_of_an_agent_is_woken(room: LocalRoom, home: str):
    with Child("wait", home, "builder") as one, Child("wait", home, "builder") as two:
        assert (one.hear(), two.hear()) == ("waiting", "waiting")
        room.send("builder", "hello")
        assert (one.hear(10), two.hear(10)) == (["hello"], ["hello"])


def test_a_listener_is_woken_by_a_ring(room: LocalRoom, home: str):
    with Child("listen", home, "builder") as child:
        assert child.hear() == "listening"
        child.tell("next")
        room.send("builder", "hello")
        assert child.hear(10)["body"] == "hello"


@pytest.mark.promise("missed-ring")
def test_a_missed_ring_is_made_good_by_the_sweep(room: LocalRoom, home: str, silent):
    with Child("wait", home, "builder", 0.05) as child:
        assert child.hear() == "waiting"
        room.send("builder", "unannounced")
        assert child.hear(10) == ["unannounced"]


@pytest.mark.promise("missed-ring")
def test_a_wiped_run_directory_is_survived(room: LocalRoom, home: str):
    with Child("wait", home, "builder", 0.05) as child:
        assert child.hear() == "waiting"
        shutil.rmtree(os.path.join(home, "run"))
        room.send("builder", "hello")
        assert child.hear(10) == ["hello"]
    with Child("wait", home, "planner") as child:
        assert child.hear() == "waiting"
        room.send("planner", "the bells are back")
        assert child.hear(10) == ["the bells are back"]


@pytest.mark.promise("pushed")
def test_a_sender_that_waits_for_a_rung_is_rung(open_room: OpenRoom, room: LocalRoom, home: str):
    patient = open_room("planner", settings=NEVER)
    with Child("take_waiting", home, "builder") as child:
        assert child.hear() == "waiting"
        sent = patient.send("builder", "hello")
        assert patient.until(sent.id, "offered", timeout=10)[0].state is State.OFFERED
        assert child.hear()["body"] == "hello"
        child.tell("settle")
        assert patient.until(sent.id, "seen", timeout=10)[0].state is State.SEEN
        assert child.hear() == "settled"


def test_waiting_for_a_rung_ends_when_it_can_no_longer_be_reached(room: LocalRoom):
    sent = room.send("builder", "hello")
    room.withdraw(sent.id)
    assert room.until(sent.id, "seen", timeout=10)[0].state is State.WITHDRAWN


def test_waiting_for_a_rung_in_vain_ends_with_the_time(room: LocalRoom):
    sent = room.send("builder", "hello")
    assert room.until(sent.id, "seen", timeout=0.05)[0].state is State.STORED


@pytest.mark.promise("never-stuck")
@pytest.mark.parametrize("scene", ["wait", "take_waiting"])
def test_what_a_dead_process_held_wakes_who_waits(room: LocalRoom, home: str, scene: str):
    """A death rings no bell: the sweep has to find it."""
    room.send("builder", "held")
    with Child("take", home, "builder") as holder:
        assert holder.hear()["body"] == "held"
        with Child(scene, home, "builder", 0.05) as waiter:
            assert waiter.hear() == "waiting"
            holder.kill()
            said = waiter.hear(10)
    if scene == "wait":
        assert said == ["held"]
    else:
        assert (said["body"], said["shown_before"]) == ("held", True)


@pytest.mark.promise("scheduled")
def test_scheduled_mail_wakes_who_waits_at_its_moment(room: LocalRoom, home: str):
    with Child("wait", home, "builder") as child:
        assert child.hear() == "waiting"
        room.send("builder", "later", after=0.2)
        assert child.hear(10) == ["later"]


def test_the_socket_of_a_killed_waiter_is_removed_by_the_next_ring(room: LocalRoom, home: str):
    with Child("wait", home, "builder") as child:
        assert child.hear() == "waiting"
        child.kill()
    assert len(sockets(room, "builder")) == 1
    assert room.send("builder", "hello").reach == ["stored"]
    assert sockets(room, "builder") == []


def test_the_sockets_of_earlier_boots_are_removed_by_the_next_waiter(room: LocalRoom):
    directory = os.path.join(room.home, "run", "bell", room.who("builder").id)
    os.makedirs(directory)
    for name in ("00000000-aaaaaaaaaaaa", "11111111-bbbbbbbbbbbb"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as old:
            old.bind(f"{directory}/{name}") if len(directory) < 80 else open(
                f"{directory}/{name}", "w"
            ).close()
    room.wait("builder", timeout=0.001)
    assert [name for name in sockets(room, "builder") if name[8:] in ("-aaaaaaaaaaaa", "-bbbbbbbbbbbb")] == []


def test_a_listener_leaves_no_socket_behind(room: LocalRoom):
    listening = room.listen("builder")
    assert len(sockets(room, "builder")) == 1
    listening.close()  # type: ignore[attr-defined]
    assert sockets(room, "builder") == []


def test_a_room_that_is_closed_leaves_no_socket_behind(open_room: OpenRoom, room: LocalRoom):
    other = open_room("builder")
    for _ in range(3):
        other.wait(timeout=0.001)
    assert len(sockets(room, "builder")) == 1
    other.close()
    assert sockets(room, "builder") == []


def test_a_thread_that_ends_leaves_no_socket_behind(room: LocalRoom):
    thread = threading.Thread(target=lambda: room.wait("builder", timeout=0.001))
    thread.start()
    thread.join(20)
    assert sockets(room, "builder") == []


def test_a_full_queue_holds_nobody_up(room: LocalRoom):
    waiter = room.waiter(room.who("builder").id)
    for n in range(300):
        assert room.send("builder", str(n)).reach == ["live"]
    assert waiter.wait(0)
    waiter.drain()
    assert not waiter.wait(0)
    assert len(room.peek("builder", limit=500)) == 300


@pytest.mark.promise("told-after-commit")
@pytest.mark.parametrize("known", [False, True])
def test_without_a_descriptor_to_spare_what_was_stored_is_still_told(
    open_room: OpenRoom, room: LocalRoom, known: bool
):
    """The ring comes after the commit: if it failed loudly, the sender would send again."""
    sender = open_room("planner")
    builder = room.who("builder").id
    waiter = room.waiter(builder)
    if known:  # where the bells are, from an earlier ring
        os.utime(os.path.join(room.home, "run", "bell", builder), (1, 1))
    assert sender.send("builder", "one").reach == ["live"]
    waiter.drain()
    sender.bell.close()
    sent = _without_descriptors(lambda: sender.send("builder", "two"))
    assert sent.deliveries[0].state is State.STORED
    assert not waiter.wait(0)
    assert [mail.body for mail in room.peek("builder")] == ["one", "two"]


def test_without_a_descriptor_to_spare_waiting_still_ends(open_room: OpenRoom, room: LocalRoom):
    waiter = open_room("builder")
    waiter.peek()
    assert _without_descriptors(lambda: waiter.wait(timeout=0.01)) == []


def test_without_a_descriptor_to_spare_opening_a_room_says_so(open_room: OpenRoom, room: LocalRoom):
    other = open_room("builder")
    with pytest.raises(StoreError):
        _without_descriptors(other.peek)
    assert other.peek() == []


def _without_descriptors(act: Callable[[], Any]) -> Any:
    assert Waiters  # has been imported: that, too, takes a descriptor
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = os.dup(0)
    os.close(highest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
    taken: list[int] = []
    try:
        try:
            while True:
                taken.append(os.dup(0))  # fill the gaps below the limit
        except OSError:
            pass
        return act()
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.promise("long-paths")
def test_a_home_with_a_path_too_long_for_a_socket_still_rings(tmp_path, open_room: OpenRoom):
    home = str(tmp_path / ("x" * 90) / ("y" * 90))
    assert len(home) > 150
    room = open_room("planner", home=home)
    room.join("builder")
    with Child("wait", home, "builder") as child:
        assert child.hear() == "waiting"
        assert room.send("builder", "far away").reach == ["live"]
        assert child.hear(10) == ["far away"]
    assert [status.reach for status in room.agents()] == ["stored", "stored"]


def test_no_socket_address_is_longer_than_the_shortest_platform_allows():
    from postroom.bell import local

    assert local._LONGEST_PATH < 104


def test_who_is_waited_for_is_shown_as_live_without_being_woken(room: LocalRoom, home: str):
    with Child("wait", home, "builder") as child:
        assert child.hear() == "waiting"
        live = {status.agent.name: status.reach for status in room.agents()}
        assert live == {"builder": "live", "planner": "stored"}
        room.send("builder", "now")
        assert child.hear(10) == ["now"]


@pytest.mark.promise("idle-costs-nothing")
@pytest.mark.alone
def test_a_waiting_process_uses_no_cpu(room: LocalRoom, home: str):
    with Child("wait_idle", home, "builder", 1.5) as child:
        cost = child.hear()
    assert cost["found"] == 0
    assert cost["cpu"] <= 0.02  # two ticks of the system's clock


def test_a_listener_gets_what_is_next_whatever_rang(room: LocalRoom, home: str):
    room.join("builder")
    listening = iter(room.listen("builder", timeout=5))
    assert isinstance(listening, Listening)
    room.send("builder", "one", priority="low")
    room.send("builder", "two", priority="urgent")
    first = next(listening)
    assert first.body == "two", "what was stored before it looked goes by priority, whatever rang"
    room.ack(first)
    room.send("builder", "three", priority="urgent")  # rings while it is busy
    second = next(listening)
    assert second.body == "three"
    room.withdraw(room.send("builder", "four").id)  # its ring lies in the socket, its delivery is gone
    assert next(listening).body == "one"
    listening.close()


def test_what_was_withdrawn_before_the_listener_looked_is_not_shown(room: LocalRoom):
    room.join("builder")
    listening = iter(room.listen("builder", timeout=0.05))
    room.withdraw(room.send("builder", "never mind").id)
    assert next(listening, None) is None


@pytest.mark.promise("withdraw")
@pytest.mark.parametrize("scene", ["listen", "take_waiting"])
@pytest.mark.parametrize("act", ["withdraw", "ack"])
def test_who_was_stopped_is_not_shown_what_came_to_an_end_meanwhile(
    room: LocalRoom, home: str, scene: str, act: str
):
    """The ring waits in its socket; the store knows better."""
    with Child(scene, home, "builder") as child:
        if scene == "listen":
            child.hear()
            child.tell("sleep")
        assert child.hear() == "waiting"
        child.signal(signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        sent = room.send("builder", "too late")
        if act == "withdraw":
            assert room.withdraw(sent.id)[0].state is State.WITHDRAWN
        else:
            assert room.ack(sent.id, agent="builder").state is State.ACKED
        child.signal(signal.SIGCONT)
        room.send("builder", "in time")
        assert child.hear(10)["body"] == "in time"


def test_who_rings_in_the_same_process_tells_who_attends_without_a_socket(room: LocalRoom):
    party, told = room.who("builder").id, list[str]()
    waiter = room.bell.waiter(party)
    room.bell.attend(waiter, lambda: told.append(party))
    assert room.send("builder", "hi").reach == ["live"]
    assert told == [party]
    assert not waiter.drain()
    waiter.close()
    assert room.send("builder", "hi").reach == ["stored"]
    assert told == [party]


def test_another_process_rings_the_socket_of_who_attends(room: LocalRoom, open_room: OpenRoom):
    party, told = room.who("builder").id, list[str]()
    waiter = room.bell.waiter(party)
    room.bell.attend(waiter, lambda: told.append(party))
    open_room("planner").send("builder", "hi")  # it has a bell of its own, as another process has
    assert waiter.wait(BOUND)
    assert told == []
    waiter.close()
