"""Stopping, pausing and cancelling an agent: what was proven is said, and no more."""

from collections.abc import Iterator
from typing import Any

import pytest

from postroom.daemon import instance
from postroom.room.verify import verify
from tests.commandline import is_told_well
from tests.kept import Kept
from tests.player import Player
from tests.tui.stage import Pane, patiently


@pytest.fixture
def backend(kept: Kept) -> Pane:
    pane = kept.keep("backend", "--turn", "-1")
    kept.up()
    return pane


def events(kept: Kept, kind: str) -> list[dict[str, Any]]:
    return [one for one in kept.cli.ok("log", "-n", "500", "--json").items if one["type"] == kind]


# stop


@pytest.mark.promise("interrupt")
def test_a_turn_is_stopped_by_the_agents_own_key_and_that_is_proven(kept: Kept, backend: Pane):
    backend.control("busy")
    done = kept.cli.ok("interrupt", "backend", "--as", "human:ana")
    assert done.out.startswith("proven: Escape was pressed, and ")
    assert done.out.endswith(" s later it was idle\n")
    assert backend.bytes() == b"\x1b"
    [event] = events(kept, "agent.interrupted")
    assert event["payload"]["by"] == "human:ana"
    assert event["payload"]["proven"] is True


def test_where_nothing_runs_nothing_is_pressed(kept: Kept, backend: Pane):
    assert "nothing was pressed" in kept.cli.ok("interrupt", "backend").out
    assert backend.bytes() == b""


@pytest.mark.promise("interrupt")
def test_a_dialog_is_left_to_a_person_and_nothing_is_claimed(kept: Kept, backend: Pane):
    backend.control("dialog")
    done = kept.cli("interrupt", "backend", "--json")
    assert (done.code, done.json["proven"]) == (1, False)
    assert backend.bytes() == b""
    assert backend.approvals() == []


def test_an_agent_that_does_not_stop_is_not_said_to_have(kept: Kept):
    pane = kept.keep("backend", "--turn", "-1", "--stops", "C-c")
    kept.up()
    pane.control("busy")
    done = kept.cli("interrupt", "backend")
    assert done.code == 1
    assert done.out.startswith("not proven: Escape was pressed")


def test_without_a_bridge_it_is_told_by_an_urgent_message(kept: Kept):
    kept.room.join("backend")
    done = kept.cli.ok("interrupt", "backend", "--reason", "wrong branch", "--as", "human:ana", "--json").json
    assert done["proven"] is False
    message = kept.cli.ok("receipts", done["message"], "--json").json["message"]
    assert (message["type"], message["class"], message["priority"]) == ("interrupt", "interrupt", "urgent")
    assert message["payload"] == {"kind": "stop", "reason": "wrong branch"}
    said = kept.cli.ok("interrupt", "backend", "--as", "human:ana").out
    assert said.startswith("stored, not stopped: nothing of it runs; it is told when it reads its mail")
    assert kept.cli("interrupt", "backend").code == 2  # a message has a sender


# pause


@pytest.mark.promise("paused")
def test_the_mail_of_a_paused_agent_waits_even_if_it_is_urgent(kept: Kept, backend: Pane):
    backend.control("busy")
    done = kept.cli.ok("interrupt", "backend", "--kind", "pause", "--as", "human:ana")
    assert "proven: Escape" in done.out
    assert "backend is paused" in done.out
    waits = [kept.cli.sent("backend", "later", *words) for words in ((), ("--priority", "urgent"))]
    assert [kept.delivery(ref)["reason"] for ref in waits] == ["paused", "paused"]
    assert "paused" in kept.cli.ok("agents").out
    assert "it was paused already" in kept.cli.ok("interrupt", "backend", "--kind", "pause").out
    assert backend.submitted() == []
    backend.control("--turn", "0")
    assert kept.cli.ok("resume", "backend").out == "backend goes on: 2 messages let go\n"
    for ref in waits:
        assert kept.reaches(ref, "seen")["evidence"] == "terminal"
    assert kept.cli.ok("resume", "backend").out == "backend was not paused\n"


def test_what_waits_already_when_an_agent_is_paused_waits_on(kept: Kept):
    pane = kept.keep("backend")
    ref = kept.cli.sent("backend", "before")
    paused = kept.cli("interrupt", "backend", "--kind", "pause", "--as", "human:ana")
    assert (paused.code, "no daemon runs" in paused.out, "postroom up" in paused.out) == (1, True, True)
    assert instance.running(kept.home) == ""
    kept.up()
    assert "paused: postroom resume backend" in kept.cli.ok("agents").out
    assert kept.delivery(ref)["reason"] == "paused"
    [event] = events(kept, "agent.manners")
    assert (event["payload"]["by"], event["role"]) == ("human:ana", "human")
    kept.cli.ok("resume", "backend")
    kept.reaches(ref, "seen")
    assert len(pane.submitted()) == 1


# cancel


def test_what_was_asked_and_not_answered_goes_back_to_who_asked(kept: Kept, backend: Pane):
    kept.room.join("planner")
    backend.control("busy")  # else what is sent may be typed before it is read
    asked = kept.cli.sent("backend", "which port?", "--type", "request")
    told = kept.cli.sent("backend", "do it", "--type", "dispatch", "--payload", '{"task_id": "t1"}')
    note = kept.cli.sent("backend", "by the way")
    for ref in (asked, told, note):
        kept.cli.ok("read", ref, "--as", "backend")
    unread = kept.cli.sent("backend", "and later?", "--type", "request", "--after", "1h")
    done = kept.cli.ok(
        "interrupt", "backend", "--kind", "cancel", "--reason", "new plan", "--as", "human:ana"
    )
    assert "cancelled: 2 messages went back to who asked" in done.out
    for ref in (asked, told):
        assert kept.delivery(ref)["state"] == "bounced"
        assert kept.delivery(ref)["reason"] == "cancelled by human:ana: new plan"
    assert kept.delivery(note)["state"] == "seen"
    assert kept.delivery(unread)["state"] == "stored"
    letters = kept.cli.ok("inbox", "--as", "planner", "--json").json["messages"]
    assert [one["payload"]["bounce"]["message"] for one in letters] == [asked, told]
    again = kept.cli.ok("interrupt", "backend", "--kind", "cancel", "--as", "human:ana", "--json").json
    assert again["cancelled"] == []
    assert verify(kept.room).problems == []


def test_who_waits_for_an_answer_hears_that_it_was_cancelled(kept: Kept, backend: Pane):
    kept.room.join("planner")
    with kept.cli.start("ask", "backend", "which port?", "--timeout", "30", "--as", "planner") as asking:
        backend.until("submitted")
        kept.cli.ok("interrupt", "backend", "--kind", "cancel", "--as", "human:ana")
        out, err = asking.communicate(timeout=30)
    assert asking.returncode == 5
    assert b"cancelled by human:ana" in out + err


# who may


@pytest.fixture
def lead(kept: Kept, cwd: str) -> Iterator[Player]:
    with Player(kept.home, cwd, POSTROOM_AGENT="lead") as player:
        player.hook("SessionStart", source="startup")
        yield player


@pytest.mark.parametrize("kind", ["stop", "pause", "cancel"])
def test_its_supervisor_may_and_another_agent_may_not(kept: Kept, lead: Player, kind: str):
    theirs, others = (
        kept.keep("backend", "--turn", "-1", supervisor="lead"),
        kept.keep("other", "--turn", "-1"),
    )
    kept.up()
    for pane in (theirs, others):
        pane.control("busy")
    done = lead.ok("interrupt", "backend", "--kind", kind)
    assert (done["proven"], done["by"]) == (True, "p/lead")
    refused = lead.shell("interrupt", "other", "--kind", kind)
    assert refused.code == 5
    assert is_told_well(refused)
    assert others.bytes() == b""
    assert lead.shell("resume", "other").code == 5


def test_a_name_alone_makes_nobody_a_supervisor(kept: Kept):
    kept.room.join("lead")
    pane = kept.keep("backend", "--turn", "-1", supervisor="lead")
    kept.up()
    pane.control("busy")
    assert kept.cli("interrupt", "backend", "--as", "lead").code == 5
    assert pane.bytes() == b""


# what is uncertain


def test_what_is_uncertain_is_listed_and_typed_again_only_by_a_persons_word(kept: Kept, lead: Player):
    pane = kept.keep("backend", "--dialog-after", "paste:0")
    ref = kept.cli.sent("backend", "did you get this?")
    kept.up()
    patiently(lambda: kept.delivery(ref)["reason"] == "uncertain")
    [found] = kept.cli.ok("dead", "list", "--json").json["uncertain"]
    assert (found["id"], found["reason"], found["recipient"]) == (ref, "uncertain", "backend")
    assert "uncertain" in kept.cli.ok("dead").out
    told = kept.cli.ok("receipts", ref).out
    assert "it was typed once, and nobody can tell what became of it\n" in told
    look, again = "postroom screen backend", f"postroom dead retry {ref[-8:]}"
    assert f"look: {look}; have it typed again: {again}\n" in told
    assert "1 (1 uncertain)" in kept.cli.ok("agents").out
    told = kept.cli.ok("status").out
    assert "uncertain, and not handed over again: 1; see: postroom dead list" in told
    assert "0, and 1 uncertain" in told
    assert "is paused" in kept.cli("interrupt", "backend", "--kind", "pause", "--as", "human:ana").out
    assert kept.delivery(ref)["reason"] == "paused"
    kept.cli.ok("resume", "backend", "--as", "human:ana")
    assert kept.delivery(ref)["reason"] == "uncertain"
    assert lead.shell("dead", "retry", ref).code == 5
    assert pane.approvals() == []
    pane.control("--dialog-after", "")
    pane.press("Escape")
    pane.press("C-u")
    kept.cli.ok("dead", "retry", ref, "--as", "human:ana")
    assert kept.reaches(ref, "seen")["attempts"] == 2
    assert "an earlier attempt may have shown it already" in kept.cli.ok("receipts", ref).out
    assert verify(kept.room).problems == []
