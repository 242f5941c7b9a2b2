"""An operator's own words in an agent's terminal: as they are, through the gate, and told in the log."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from postroom.bridges.contract import Delivered, Result
from postroom.bridges.manifest import Manifest
from postroom.bridges.terminal.reading import Reading, State
from postroom.daemon import instance, verb
from postroom.room.local import LocalRoom
from tests.commandline import is_told_well
from tests.kept import Kept
from tests.player import Player


def events(kept: Kept, kind: str) -> list[dict[str, Any]]:
    return [one for one in kept.cli.ok("log", "-n", "500", "--json").items if one["type"] == kind]


@pytest.mark.promise("operator")
def test_a_command_reaches_the_agent_as_it_is_and_who_gave_it_is_noted(kept: Kept):
    pane = kept.keep("backend")
    kept.up()
    done = kept.cli.ok("command", "backend", "/compact; keep $HOME & 'quotes'", "--as", "human:ana")
    assert done.out == "proven: the composer held our text, and cleared\n"
    assert pane.submitted() == ["/compact; keep $HOME & 'quotes'"]
    first, last = [one["payload"] for one in events(kept, "agent.pushed")]
    assert (first["what"], first["by"]) == ("command", "human:ana")
    assert first["text"] == "/compact; keep $HOME & 'quotes'"
    assert last["result"] == "proven"


@pytest.mark.promise("operator")
def test_a_command_is_not_typed_into_a_dialog(kept: Kept):
    pane = kept.keep("backend")
    kept.up()
    pane.control("dialog")
    done = kept.cli("command", "backend", "1", "--json")
    assert (done.code, done.json["result"], done.json["reason"]) == (1, "refused", "approval")
    assert pane.approvals() == []
    assert pane.bytes() == b""
    assert events(kept, "agent.pushed") == []


def test_a_command_is_not_typed_over_a_draft(kept: Kept):
    pane = kept.keep("backend")
    kept.up()
    pane.type("half a sentence")
    pane.reads(Reading(State.IDLE, "half a sentence"))
    done = kept.cli("command", "backend", "/compact")
    assert done.code == 1
    assert "(draft)" in done.out
    assert "postroom attach backend" in done.err
    assert pane.submitted() == []


def test_a_command_waits_while_the_agent_works_if_it_is_told_to(kept: Kept):
    pane = kept.keep("backend", "--turn", "-1")
    kept.up()
    pane.control("busy")
    assert "(busy)" in kept.cli("command", "backend", "/compact").out
    with kept.cli.start("command", "backend", "/compact", "--wait", "30s") as waiting:
        pane.control("done")
        assert waiting.wait(30) == 0
    assert pane.submitted() == ["/compact"]


def test_a_command_starts_no_daemon_and_says_how(kept: Kept):
    pane = kept.keep("backend")
    done = kept.cli("command", "backend", "/compact")
    assert (done.code, is_told_well(done)) == (1, True)
    assert "no daemon runs" in done.err
    assert "postroom up" in done.err
    assert instance.running(kept.home) == ""
    assert pane.bytes() == b""


def test_several_lines_are_typed_only_when_they_are_meant(kept: Kept):
    pane = kept.keep("backend")
    kept.up()
    refused = kept.cli("command", "backend", "-", stdin=b"one\ntwo\n")
    assert refused.code == 5
    assert is_told_well(refused)
    kept.cli.ok("command", "backend", "-", "--lines", stdin=b"one\ntwo\n")
    assert pane.submitted() == ["one\ntwo"]


@pytest.mark.parametrize("text", ["", "  ", "a\x1b[201~b", "a\u202eb"])
def test_what_is_no_text_is_refused(kept: Kept, text: str):
    kept.keep("backend")
    assert kept.cli("command", "backend", text).code == 2


def test_an_agent_that_no_bridge_reaches_gets_no_command(kept: Kept):
    kept.room.join("backend")
    result = kept.cli("command", "backend", "/compact")
    assert result.code == 1
    assert "postroom adopt" in result.err


@pytest.fixture
def builder(kept: Kept, cwd: str) -> Iterator[Player]:
    """An agent whose hooks have told of its session."""
    with Player(kept.home, cwd, POSTROOM_AGENT="builder") as player:
        player.hook("SessionStart", source="startup")
        yield player


@pytest.mark.promise("operator")
def test_who_runs_in_an_agents_session_may_not_give_one(kept: Kept, builder: Player):
    pane = kept.keep("backend")
    kept.up()
    assert builder.shell("command", "backend", "/compact").code == 5
    assert builder.shell("command", "backend", "/compact", "--as", "human:ana").code == 5
    assert builder.shell("command", "backend", "/compact", POSTROOM_AGENT="human:ana").code == 5
    assert kept.cli("command", "backend", "/compact", "--as", "builder").code == 5
    assert pane.bytes() == b""


def test_the_daemon_itself_finds_out_who_asks(kept: Kept, builder: Player):
    pane = kept.keep("backend")
    kept.up()
    agent = kept.room.known("backend").id
    script = f"""
from postroom.daemon.control import ask
from postroom.errors import Refused
for verb in ("command", "interrupt"):
    try:
        ask({kept.home!r}, verb, agent={agent!r}, text="/compact", by="human:ana", kind="stop")
    except Refused as exc:
        print(verb, "refused")
"""
    assert builder.python(script).split("\n") == ["command refused", "interrupt refused"]
    assert pane.bytes() == b""


class Withholding:
    """An actor whose terminal changes in the very moment in which something is to be typed."""

    def command(self, text: str, begun: Callable[[], None]) -> Delivered:
        begun()
        return Delivered(Result.REFUSED, "busy", words="its terminal changed in that moment")


@pytest.mark.promise("operator")
def test_a_command_that_had_begun_and_was_withheld_is_told_with_how_it_ended(room: LocalRoom):
    agent = room.who("builder")
    known = Manifest(agent.id, agent.address, "tmux")
    keeper = SimpleNamespace(manifest=known, ask=lambda job: job(Withholding(), None))
    daemon: Any = SimpleNamespace(room=room, keeper=lambda _: keeper)
    words = {"agent": agent.id, "text": "/compact", "by": "human:ana"}
    assert verb._command(daemon, words)["result"] == "refused"
    first, last = [event.payload for event in room.events() if event.type == "agent.pushed"]
    assert first["text"] == "/compact"
    assert (last["result"], last["words"]) == ("refused", "its terminal changed in that moment")
