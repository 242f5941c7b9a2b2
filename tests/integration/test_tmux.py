"""Commands to a tmux server: every word is data, and a pane is meant only on the server that it was on."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from postroom import host
from postroom.bridges.adoption import unlabel
from postroom.bridges.contract import Berth, Launch
from postroom.bridges.tmux import bridge, server
from postroom.bridges.tmux.camera import Camera, Shot, _Ticket
from postroom.bridges.tmux.candidate import candidates, places
from postroom.bridges.tmux.death import exit_code
from postroom.bridges.tmux.pane import Pane
from postroom.bridges.tmux.pipe import Pipe
from postroom.bridges.tmux.place import captured, every
from postroom.bridges.tmux.server import Server, Target, at, target
from postroom.errors import BridgeError, NotFound
from tests.tui.stage import Stage, patiently

NOTES = (
    "import json, os, sys; json.dump([sys.argv[2:], os.getcwd()], open(sys.argv[1], 'w')); sys.stdin.read()"
)
HOSTILE = [
    "y;",
    ";",
    "\\;",
    "a\\",
    "it's",
    '"$HOME"',
    "~",
    "%if",
    "{",
    "}",
    "",
    "é",
    "a\n  b",
    "#{pane_id}",
    "#(touch x)",
]
DIRECTORIES = [
    "semi;",
    "#(touch pwned)",
    "#{pane_id}",
    "##",
    "a#[b",
    "a,b}",
    "it's",
    "$HOME",
    "é",
    "a b\n  c",
]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


# ---------------------------------------------------------------- a server that is another than it was


class Stranger:
    """A pane of a later server on the same socket, that has the id of one that was ours."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        pane = stage.recorder()
        self.ours = target(pane.target)
        self.process = host.identity_of(int(pane.ask("#{pane_pid}")))
        stage.end()
        self.pane = stage.recorder()
        assert (self.pane.id, self.pane.target) != (self.ours.id, str(self.ours))
        assert self.pane.id == self.ours.id
        stage.tmux("set", "-p", "-t", self.pane.id, "@postroom_agent", "p/stranger")
        self.berth = Berth("a1", "p/a", self.process, str(self.ours), "", {"label": "p/a"})

    def is_unharmed(self) -> bool:
        label, dead, piped = self.pane.ask("#{@postroom_agent} #{pane_dead} #{pane_pipe}").split()
        return (label, dead, piped, self.pane.bytes()) == ("p/stranger", "0", "0", b"")


ACTS: dict[str, Callable[[Stranger], object]] = {
    "end": lambda it: bridge.end(it.berth),
    "kill": lambda it: at(it.ours, ["kill-pane", "-t", it.ours.id]),
    "label": lambda it: bridge.label(it.ours, "p/a"),
    "unlabel": lambda it: unlabel(str(it.ours)),
    "press": lambda it: Pane(it.ours, it.process).press("x"),
    "scrollback": lambda it: Pane(it.ours, it.process).scrollback(10),
    "capture": lambda it: captured(it.ours),
    "pipe": lambda it: Pipe(it.ours, f"{it.ours.socket}.fifo").attach(),
    "pipe away": lambda it: Pipe(it.ours, f"{it.ours.socket}.fifo")._run("-t", it.ours.id, "cat"),
    "set up": lambda it: bridge.TmuxBridge(it.berth, None).setup(),  # type: ignore[arg-type] - not read
}


@pytest.mark.promise("own-pane")
@pytest.mark.parametrize("known", [True, False], ids=["known", "in the moment"])
@pytest.mark.parametrize("act", ACTS)
def test_a_pane_of_a_later_server_is_left_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, act: str, known: bool
):
    stranger = Stranger(stage)
    if not known:  # it ends right after it was seen to live
        monkeypatch.setattr(server, "is_over", lambda _: False)
    if act in ("end", "unlabel"):
        ACTS[act](stranger)
    else:
        with pytest.raises((BridgeError, NotFound), match=r"has ended|has been closed"):
            ACTS[act](stranger)
    assert stranger.is_unharmed()


@pytest.mark.promise("own-pane")
def test_a_condition_of_an_earlier_server_holds_no_more(stage: Stage):
    pane = stage.recorder()
    shot = Camera(Server(stage.socket)).look(pane.id)
    stage.end()
    again = stage.recorder()
    now = Camera(Server(stage.socket)).look(again.id)
    facts = now.facts | {"pid": shot.facts["pid"]}
    for condition, says in ((now.condition({}), "yes"), (now._replace(facts=facts).condition({}), "no")):
        assert (
            stage.tmux("if-shell", "-F", "-t", again.id, condition, "display -p yes", "display -p no") == says
        )


def test_places_are_told_of_panes_of_this_server_only(stage: Stage):
    stranger = Stranger(stage)
    found = places(Server(stage.socket))
    assert stranger.ours not in found
    assert found[target(stranger.pane.target)] == "stage:0.0"


# ------------------------------------------------------------------------------------ words as data


def started(stage: Stage, words: list[str], cwd: str, **more: str) -> tuple[Berth, list[str], str]:
    """An agent that notes its words and its directory; what it has noted."""
    notes = os.path.join(stage.root, "notes")
    command = [sys.executable, "-c", NOTES, notes, *words]
    details = {"socket": stage.socket, "session": more.pop("session", "agents")}
    berth = bridge.start(Launch("a1", "p/a", command, cwd, {**os.environ, **more}, "", details))
    stage._has_server = True  # so that it is ended
    patiently(lambda: os.path.exists(notes) and os.path.getsize(notes))
    with open(notes, encoding="utf-8") as file:
        return berth, *json.load(file)


@pytest.mark.promise("words-are-data")
def test_no_word_of_a_command_is_a_command_of_tmux(stage: Stage):
    injected = os.path.join(stage.root, "injected")
    hostile = [*HOSTILE, "y;", "run-shell", f"touch {injected}", ";"]
    _, words, _ = started(stage, hostile, stage.root, POSTROOM_HOME="/x;", POSTROOM_PROJECT=";")
    assert words == hostile
    assert stage.tmux("list-panes", "-a", "-F", "#{pane_id}") == "%0"
    assert not os.path.exists(injected)


@pytest.mark.promise("words-are-data")
@pytest.mark.parametrize("name", DIRECTORIES)
def test_the_name_of_a_directory_is_only_a_name(stage: Stage, name: str):
    cwd = os.path.join(stage.root, name)
    os.mkdir(cwd)
    _, _, where = started(stage, [], cwd)
    assert where == os.path.realpath(cwd)
    assert [one.cwd for one in candidates(Server(stage.socket))] == [where]
    assert not {"pwned", "x"} & {name for _, _, names in os.walk(stage.root) for name in names}


@pytest.mark.promise("words-are-data")
@pytest.mark.parametrize("session", ["#{pane_id}", "#(touch pwned)", "semi;", "a#[b", "it's"])
def test_the_name_of_a_session_is_only_a_name(stage: Stage, session: str):
    first, _, _ = started(stage, [], stage.root, session=session)
    second, _, _ = started(stage, [], stage.root, session=session)
    assert [first.details["place"], second.details["place"]] == [f"{session}:0.0", f"{session}:1.0"]
    assert [place.name for place in every(Server(stage.socket))] == [f"{session}:0.0", f"{session}:1.0"]


def test_a_label_is_set_as_it_is(stage: Stage):
    pane = target(stage.recorder().target)
    for name in ("p/a;", "#{pane_id}", "it's", "a\tb\n  c", "é"):
        bridge.label(pane, name)
        assert [one.label for one in candidates(Server(stage.socket))] == [name]
    bridge.label(pane, "")
    assert [one.label for one in candidates(Server(stage.socket))] == [""]


def test_how_a_program_ended_is_known_however_often_tmux_misses_it(stage: Stage):
    """tmux 3.3a leaves one in twenty of its children unwaited for, until another one ends."""
    stage.run("cat")
    for _ in range(30):
        berth, _, _ = started(stage, [], stage.root)
        os.kill(host.pid_of(berth.process), signal.SIGKILL)
        patiently(lambda berth=berth: host.is_gone(berth.process))
        assert exit_code(target(berth.pane), berth.process) == -signal.SIGKILL
        os.unlink(os.path.join(stage.root, "notes"))


def test_what_fails_within_a_condition_is_told(stage: Stage):
    pane = target(stage.recorder().target)
    with pytest.raises(BridgeError, match="can't find pane: %99"):
        at(Target("%99", pane.socket, pane.server), ["kill-pane", "-t", "%99"])


# ------------------------------------------------------------------------- what others call themselves


@pytest.mark.parametrize("label", ["x\ty\nz", "|\n%9 1 0", "\\", "a b|", "\n", "p/é"])
def test_a_pane_that_bears_a_strange_name_harms_no_other(stage: Stage, label: str):
    strange, other = (stage.run("sh", "-c", f"printf 'pane {n}.'; exec cat") for n in range(2))
    for kind in (["set", "-p", "-t", strange, "@postroom_agent"], ["select-pane", "-t", strange, "-T"]):
        stage.tmux(*kind, label)
    stage.tmux("rename-window", "-t", strange, "--", label)
    taken = Camera(Server(stage.socket))
    patiently(lambda: "pane 1." in taken.look(other).text)
    patiently(lambda: "pane 0." in taken.look(strange).text)
    calls, ticket = taken.calls, _Ticket(strange)
    vars(taken)["_wanted"].append(ticket)
    assert "pane 1." in taken.look(other).text
    assert isinstance(ticket.shot, Shot)
    assert (ticket.shot.facts["@postroom_agent"], taken.calls - calls) == (label, 1)
    assert [one.label for one in candidates(Server(stage.socket))] == [label, ""]
    assert len(every(Server(stage.socket))) == 2


class Garbled(Server):
    """A server that says something in between when it is asked for one pane."""

    pane = ""

    def run(self, *commands: list[str], given: str = "") -> str:
        said = super().run(*commands, given=given)
        return said.replace("|\n", "") if any(self.pane in words for words in commands) else said


def test_an_answer_that_cannot_be_read_harms_nobody_but_the_pane_it_is_of(stage: Stage):
    strange, first, second = (stage.run("cat") for _ in range(3))
    garbled = Garbled(stage.socket)
    garbled.pane = strange
    found = Camera(garbled)._all([strange, first, second])
    assert [isinstance(found[pane], Shot) for pane in (strange, first, second)] == [False, True, True]


def test_without_a_locale_all_is_read_as_it_is(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("LANG", "C")
    pane = stage.run("sh", "-c", "printf 'größer'; exec cat")
    stage.tmux("set", "-p", "-t", pane, "@postroom_agent", "p/backend")
    stage.tmux("select-pane", "-t", pane, "-T", "größer")
    patiently(lambda: "größer" in Camera(Server(stage.socket)).look(pane).text)
    [one] = candidates(Server(stage.socket))
    assert (one.label, one.title) == ("p/backend", "größer")
    assert [place.target for place in every(Server(stage.socket))] == [one.target]
