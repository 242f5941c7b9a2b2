"""Every event that was recorded of a real agent, given to the hook that runs at it, with mail waiting."""

import json
import os
import re

import pytest

from postroom.hooks import journal
from postroom.protocol.schema import check
from postroom.room.local import LocalRoom
from postroom.runtimes import NAMES, load
from postroom.runtimes.contract import Kind, Runtime
from tests.conftest import UNLIMITED
from tests.hooking import run_hook
from tests.recorded import Capture, captures, schema, strings

BODY = 'Mail with "quotes", two\nlines and ünïcode.'
# Our plugin tells the hooks of opencode in its own words what happens; see test_opencode.
CASES = [
    pytest.param(capture, id=f"{name}-{capture.name}")
    for name in NAMES
    if name != "opencode"
    for capture in captures(name)
    if load(name).point(capture.event)
]


def key(runtime: Runtime, capture: Capture) -> str:
    """What the shell makes of the word that names the session."""
    variable = re.search(r"\$\{(\w+)", runtime.key)
    return (capture.env.get(variable[1]) if variable else "") or f"p{os.getpid()}"


@pytest.fixture
def room(scratch: str, monkeypatch: pytest.MonkeyPatch) -> LocalRoom:
    """A room with a message for `backend`."""
    monkeypatch.setenv("POSTROOM_AGENT", "backend")
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    with LocalRoom(os.path.join(scratch, "room"), UNLIMITED, project="p") as room:
        room.join("human:ana")
        room.join("backend")
        room.send("backend", BODY, sender="human:ana")
    return room


@pytest.mark.promise("hook-shape")
@pytest.mark.parametrize("capture", CASES)
def test_a_recorded_event_is_answered_with_what_its_runtime_accepts(
    capture: Capture, room: LocalRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = load(capture.runtime)
    point = runtime.point(capture.event)
    assert point is not None
    for name, value in capture.env.items():
        monkeypatch.setenv(name, value)
    words = [capture.runtime, capture.event, key(runtime, capture)]
    code, out, err = run_hook(room.home, words, json.dumps(capture.stdin))
    assert not os.path.exists(journal.path(room.home)), "a complaint"
    accepted = schema(capture.runtime, capture.event)
    if out:
        assert accepted is not None, f"nothing is passed on, but it said {out}"
        check(json.loads(out), accepted)
    is_child = bool(capture.stdin.get("agent_id"))
    shown = err if point.kind is Kind.WAKE else "\n".join(strings(json.loads(out or "{}")))
    beat = runtime.read(capture.event, capture.stdin)
    passed_on = bool(point.proven_by) and beat.heard and not beat.rests  # no turn follows at an idle prompt
    assert (BODY in shown) == (passed_on and not is_child)
    assert (code, err) == ((2, shown) if point.kind is Kind.WAKE else (0, ""))
