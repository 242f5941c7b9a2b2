"""One conversation in two processes: its mail is shown where it was resumed last, and nowhere else."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from postroom.hooks import journal
from postroom.model.ladder import Outcome, State
from postroom.room.local import LocalRoom
from tests.machine import sealed
from tests.player import Player

Terminal = Callable[[], Player]


@pytest.fixture
def terminal(home: str, tmp_path: os.PathLike[str]) -> Iterator[Terminal]:
    """Opens terminals in one directory, all with the same session of `builder`."""
    with ExitStack() as stack:

        def open_one() -> Player:
            player = Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="builder")
            return stack.enter_context(player)

        yield open_one


@pytest.fixture
def first(room: LocalRoom, terminal: Terminal) -> Player:
    player = terminal()
    player.hook("SessionStart", source="startup")
    return player


@pytest.fixture
def second(first: Player, terminal: Terminal) -> Player:
    """The same session, resumed while the first still shows it."""
    player = terminal()
    player.hook("SessionStart", source="resume")
    return player


@pytest.mark.promise("holder")
def test_mail_is_shown_where_the_session_was_resumed_last_and_nowhere_else(
    room: LocalRoom, home: str, first: Player, second: Player
):
    sent = room.send("builder", "mail-1")
    for event in ("UserPromptSubmit", "PostToolBatch", "Stop", "FileChanged"):
        assert first.hook(event, prompt="x").out == ""
    assert first.hook("SubagentStart", agent_id="c1", agent_type="Explore").out == ""
    assert "mail-1" in second.hook("UserPromptSubmit", prompt="x").out
    assert first.hook("PostToolBatch").out == ""
    assert room.receipts(sent.id).deliveries[0].state is State.OFFERED, "another's event proves nothing"
    second.hook("PostToolBatch")
    assert room.receipts(sent.id).deliveries[0].state is State.SEEN
    [line] = journal.last(home)
    assert "claude:s1:main goes on in process " in line


@pytest.mark.promise("holder")
@pytest.mark.parametrize("killed", [False, True])
def test_the_first_has_its_mail_again_when_the_second_has_ended(
    room: LocalRoom, first: Player, second: Player, killed: bool
):
    sent = room.send("builder", "mail-1")
    assert "mail-1" in second.hook("UserPromptSubmit", prompt="x").out
    if killed:
        second.end()
    else:
        second.hook("SessionEnd")
    assert "may have been shown before" in first.hook("PostToolBatch").out, "it has not seen it itself"
    first.hook("Stop")
    assert room.receipts(sent.id).deliveries[0].state is State.SEEN


@pytest.mark.promise("holder")
def test_who_names_the_session_of_another_is_not_shown_its_mail(
    room: LocalRoom, first: Player, terminal: Terminal
):
    other = terminal()
    room.send("builder", "mail-1")
    letter = first.ok("send", "planner", "hi", prefix=sealed(first.home))
    assert other.hook("UserPromptSubmit", prompt="x").out == ""
    assert os.path.exists(letter["path"]), "nor does it vouch for the other's letters"
    told = first.hook("UserPromptSubmit", prompt="x").out
    assert "mail-1" in told
    assert "shown before" not in told


@pytest.mark.promise("holder")
def test_no_number_of_terminals_makes_a_message_dead(
    room: LocalRoom, first: Player, second: Player, terminal: Terminal
):
    sent = room.send("builder", "mail-1")
    assert "mail-1" in second.hook("UserPromptSubmit", prompt="x").out
    others = [terminal() for _ in range(room.settings.max_unproven)]
    for other in others:
        assert "may have been shown before" in other.hook("SessionStart", source="resume").out
    others[-1].hook("Stop")
    receipt = room.receipts(sent.id)
    assert receipt.deliveries[0].state is State.SEEN
    assert {attempt.outcome for attempt in receipt.attempts} == {Outcome.UNCERTAIN, Outcome.PROVEN}


@pytest.mark.promise("holder")
def test_a_process_of_the_agents_own_that_runs_its_hooks_is_no_other_one(room: LocalRoom, first: Player):
    sent = room.send("builder", "mail-1")
    script = """
import json, subprocess, sys
beat = json.dumps({"session_id": "s1", "cwd": "."})
hook = [sys.executable, "-m", "postroom.hooks.main", "claude", "PostToolBatch", "s1"]
sys.stdout.write(subprocess.run(hook, input=beat, text=True, check=True, capture_output=True).stdout)
"""
    assert "mail-1" in first.python(script)
    for event in ("PostToolBatch", "Stop"):  # the first may have begun in the same tick of the clock
        first.hook(event)
    assert room.receipts(sent.id).deliveries[0].state is State.SEEN
    [session] = room.store.look().sessions(room.who("builder").id)
    assert session.epoch == 0, "it is still the same context"
