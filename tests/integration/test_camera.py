"""Looks at many panes at once: few calls of tmux, and nobody is harmed by a pane that is gone."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom.bridges.tmux.camera import _MOST, Camera, Shot, _Ticket, camera, places
from postroom.bridges.tmux.server import Server
from postroom.errors import BridgeError
from tests.process import BOUND
from tests.tui.stage import Stage, patiently

PANES = 20


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


def panes(stage: Stage, count: int = PANES) -> list[str]:
    """Panes that show each its own number, and nothing that moves."""
    made = [stage.run("sh", "-c", f"printf 'pane {n}.'; exec cat") for n in range(count)]
    for n, pane in enumerate(made):
        patiently(lambda n=n, pane=pane: f"pane {n}." in stage.tmux("capture-pane", "-p", "-t", pane))
    return made


class Slow(Server):
    """A server whose first answer waits until the test lets it go."""

    def __init__(self, socket: str) -> None:
        super().__init__(socket)
        self.gate = threading.Event()
        self.entered = threading.Event()

    def run(self, *commands: list[str], given: str = "") -> str:
        self.entered.set()
        assert self.gate.wait(BOUND)
        return super().run(*commands, given=given)


@pytest.mark.promise("one-look-for-all")
def test_twenty_who_look_at_once_are_served_by_two_calls(stage: Stage):
    shown = panes(stage)
    slow = Slow(stage.socket)
    taken = Camera(slow)
    with ThreadPoolExecutor(PANES + 1) as pool:
        first = pool.submit(taken.look, shown[0])
        assert slow.entered.wait(BOUND)
        others = [pool.submit(taken.look, pane) for pane in shown]
        patiently(lambda: len(vars(taken)["_wanted"]) == PANES)
        slow.gate.set()
        assert first.result(BOUND).facts["pane_id"] == shown[0]
        for n, look in enumerate(others):
            assert f"pane {n}." in look.result(BOUND).text
    assert taken.calls == 2


def test_everybody_gets_a_picture_of_their_own_pane_however_many_look_again_and_again(stage: Stage):
    shown = panes(stage, 6)
    taken = Camera(Server(stage.socket))

    def look_often(n: int) -> bool:
        return all(f"pane {n}." in taken.look(shown[n]).text for _ in range(40))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(look_often, range(6)))
    assert taken.calls < 6 * 40


@pytest.mark.promise("one-look-for-all")
def test_a_pane_that_is_gone_harms_no_other(stage: Stage):
    shown = panes(stage, 8)
    stage.tmux("kill-pane", "-t", shown[3])
    slow = Slow(stage.socket)
    taken = Camera(slow)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(taken.look, shown[0])
        assert slow.entered.wait(BOUND)
        others = [pool.submit(taken.look, pane) for pane in shown]
        patiently(lambda: len(vars(taken)["_wanted"]) == 8)
        slow.gate.set()
        first.result(BOUND)
        found = [look.exception(BOUND) or look.result() for look in others]
    assert isinstance(found[3], BridgeError)
    assert all(isinstance(shot, Shot) and f"pane {n}." in shot.text for n, shot in enumerate(found) if n != 3)
    assert taken.calls == 4, "one for the first, one that failed, one for who is there, one for those"


def test_more_panes_than_one_call_takes_are_taken_by_several(stage: Stage):
    """tmux takes 16 kB of words: as many as there may be of one pane's, however long its name."""
    [pane] = panes(stage, 1)
    taken = Camera(Server(stage.socket))
    assert len(taken._shoot([pane] * _MOST)) == 1
    tickets = [_Ticket(pane) for _ in range(3)]
    vars(taken)["_wanted"].extend(tickets)
    assert taken.look(pane).facts["pane_id"] == pane
    assert all(isinstance(ticket.shot, Shot) for ticket in tickets)


def test_fifty_panes_are_seen_by_three_calls(stage: Stage):
    shown = panes(stage, 50)
    taken = Camera(Server(stage.socket))
    tickets = [_Ticket(pane) for pane in shown[1:]]
    vars(taken)["_wanted"].extend(tickets)
    assert "pane 0." in taken.look(shown[0]).text
    for n, ticket in enumerate(tickets, 1):
        assert isinstance(ticket.shot, Shot)
        assert f"pane {n}." in ticket.shot.text
    assert taken.calls == 3


def test_a_server_that_is_gone_is_told_to_all_by_one_call(stage: Stage):
    shown = panes(stage, 4)
    taken = Camera(Server(stage.socket))
    stage.tmux("kill-server")
    found = taken._all(shown)
    assert all(isinstance(one, BridgeError) for one in found.values())
    assert taken.calls == 1


def test_a_condition_holds_until_anything_has_changed(stage: Stage):
    [pane] = panes(stage, 1)
    taken = Camera(Server(stage.socket))

    def holds(shot: Shot) -> bool:
        condition = shot.condition(places(shot.text.split("\n")))
        return stage.tmux("if-shell", "-F", "-t", pane, condition, "display -p yes", "display -p no") == "yes"

    shot = taken.look(pane)
    assert holds(shot)
    assert "pane" in shot.condition(places(shot.text.split("\n")))
    stage.tmux("send-keys", "-t", pane, "-l", "x")
    patiently(lambda: "x" in taken.look(pane).text)
    assert not holds(shot)
    shot = taken.look(pane)
    stage.tmux("copy-mode", "-t", pane)
    assert not holds(shot)
    assert not holds(taken.look(pane)._replace(facts=shot.facts))


def test_words_that_moved_on_the_screen_end_a_condition_though_the_cursor_stays(stage: Stage):
    inserted = "\\033[H\\033[Lother words\\033[4;1H"
    script = f"printf 'first words\\nsecond words\\n'; read x; printf '{inserted}'; exec cat"
    pane = stage.run("sh", "-c", script)
    taken = Camera(Server(stage.socket))
    patiently(lambda: "second words" in taken.look(pane).text)
    before = taken.look(pane)
    stage.tmux("send-keys", "-t", pane, "Enter")
    patiently(lambda: "other words" in taken.look(pane).text)
    after = taken.look(pane)
    rows = before.text.split("\n")
    stale = after.condition(places(rows))  # all facts as they are now, and the words where they were
    said = stage.tmux("if-shell", "-F", "-t", pane, stale, "display -p yes", "display -p no")
    assert said == "no"


def test_one_process_has_one_camera_for_a_server(stage: Stage):
    one, same, other = (Server(path) for path in (stage.socket, stage.socket, "/tmp/x"))
    assert camera(one) is camera(same)
    assert camera(one) is not camera(other)


class Silent(Server):
    """A server that says nothing to who asks first, as tmux 3.3 may while a client leaves."""

    said = 0

    def run(self, *commands: list[str], given: str = "") -> str:
        answer = super().run(*commands, given=given)
        self.said += 1
        return answer if self.said > 1 else ""


def test_a_server_that_says_nothing_is_asked_again(stage: Stage):
    [pane] = panes(stage, 1)
    assert "pane 0." in Camera(Silent(stage.socket)).look(pane).text
