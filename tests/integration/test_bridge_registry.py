"""Bridges by name: our own, and those that others have installed."""

import os
import sys

import pytest

from postroom.bridges import registry
from postroom.bridges.contract import Capabilities
from postroom.errors import BridgeError

WAY = """
from postroom.bridges.contract import Capabilities
NAME = "pigeon"
ABOUT = "by air"
CAPABILITIES = Capabilities(output=True)
BY_CALLER = False
def start(launch): ...
def open(berth): ...
def end(berth): ...
"""
OLD = """
NAME = "dove"
ABOUT = "as it was done before"
def start(launch): ...
def open(berth): ...
"""


@pytest.fixture
def plugin(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that somebody has installed, with bridges good and bad."""
    info = os.path.join(tmp_path, "aviary-1.0.dist-info")
    os.mkdir(info)
    points = "pigeon = aviary_pigeon\nbroken = aviary_broken\nhollow = json\n"
    points += "dove = aviary_dove\ntmux = aviary_pigeon\n"
    for path, content in (
        (os.path.join(info, "METADATA"), "Metadata-Version: 2.1\nName: aviary\nVersion: 1.0\n"),
        (os.path.join(info, "entry_points.txt"), f"[{registry.GROUP}]\n{points}"),
        (os.path.join(tmp_path, "aviary_pigeon.py"), WAY),
        (os.path.join(tmp_path, "aviary_dove.py"), OLD),
        (os.path.join(tmp_path, "aviary_broken.py"), "raise RuntimeError('no feathers')"),
    ):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    monkeypatch.syspath_prepend(os.fspath(tmp_path))


@pytest.mark.parametrize("name", ["tmux", "pty", "lines", "stream", "files", "acp", "codex", "opencode"])
def test_each_of_ours_can_be_loaded_and_says_what_it_is(name: str):
    way = registry.load(name)
    assert name == way.NAME
    assert way.ABOUT


def test_one_that_somebody_has_installed_is_found_by_its_name(plugin: None):
    assert registry.names() == [*registry._OURS, "broken", "dove", "hollow", "pigeon"]
    assert registry.load("pigeon").ABOUT == "by air"


def test_nobody_can_take_the_place_of_ours(plugin: None):
    assert registry.load("tmux").NAME == "tmux"


def test_one_that_fails_is_named_with_whose_it_is(plugin: None):
    with pytest.raises(BridgeError, match=r"'broken' of aviary .*no feathers"):
        registry.load("broken")
    with pytest.raises(BridgeError, match="'hollow' of aviary has no NAME, ABOUT, CAPABILITIES, BY_CALLER, "):
        registry.load("hollow")


def test_one_that_lacks_what_came_later_says_what_is_missing(plugin: None):
    with pytest.raises(BridgeError, match=r"'dove' of aviary has no CAPABILITIES, BY_CALLER, end$"):
        registry.load("dove")


def test_what_a_kind_can_do_is_known_before_there_is_a_bridge_and_nothing_of_one_that_is_gone(plugin: None):
    can = {name: registry.capabilities(name) for name in ("tmux", "pty", "lines", "stream", "pigeon")}
    assert [name for name in can if can[name].screen] == ["tmux", "pty"]
    assert [name for name in can if can[name].owned] == ["pty", "lines", "stream"]
    assert [name for name in can if can[name].output] == ["lines", "stream", "pigeon"]
    assert registry.capabilities("broken") == registry.capabilities("no such") == Capabilities()


def test_an_unknown_one_is_refused_with_what_may_have_been_meant(plugin: None):
    with pytest.raises(BridgeError, match="no bridge 'pigoen'") as caught:
        registry.load("pigoen")
    assert "pigeon" in caught.value.hint
    with pytest.raises(BridgeError) as caught:
        registry.load("carrier")
    assert "lines" in caught.value.hint


def test_to_load_one_of_ours_looks_for_no_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)
    assert registry.load("lines").NAME == "lines"
