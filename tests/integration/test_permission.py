"""What an agent asks is decided by people, by a real daemon: once, with an end for everything in between."""

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from tests.bridged import Record
from tests.process import eventually
from tests.yard import Yard


class Desk:
    """A room with a person, and an agent that speaks ACP."""

    def __init__(self, yard: Yard, place: str) -> None:
        self.yard, self.line = yard, yard.line
        path = os.path.join(place, "record")
        self.record, self.answers = Record(path), Record(path + ".answers")
        self.command = [sys.executable, "-m", "tests.acting", path]

    def spawn(self, *options: str, **env: str) -> dict[str, Any]:
        words = ("spawn", "builder", "--bridge", "acp", "--json", *options, "--", *self.command)
        return self.yard.ok(*words, env=env).json

    def prompt(self, text: str) -> str:
        return self.line.sent("builder", text)

    def gates(self) -> list[dict[str, Any]]:
        return self.line.ok("gates", "--json").json["gates"]

    def asks(self, count: int = 1) -> list[str]:
        """Wait until so much is asked; the ids of the gates."""
        eventually(lambda: len(self.gates()) == count)
        return [gate["message"]["id"] for gate in self.gates()]

    def decide(self, gate: str, option: str) -> int:
        return self.line("decide", gate, option, "--as", "human:ana").code

    def answered(self, *wanted: str) -> None:
        """Wait until the agent has got these answers, and no others."""
        eventually(lambda: len(self.answers.texts()) > len(wanted))
        assert self.answers.texts()[1:] == list(wanted)

    def closed(self, gate: str) -> str:
        """Wait until nobody can decide a gate any more; why."""
        eventually(lambda: self.line.ok("gates", gate, "--json").json["withdrawn"])
        ended = self.line.ok("gates", gate, "--json").json
        assert ended["decision"] is None
        return ended["withdrawn"]

    def pushed(self) -> list[dict[str, Any]]:
        told = self.line.ok("log", "--json").items
        return [one["payload"] for one in told if one["type"] == "agent.pushed"]


@pytest.fixture
def desk(home: str, tmp_path: os.PathLike[str]) -> Iterator[Desk]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yard.line.ok("join", "human:ana")
        yield Desk(yard, os.fspath(tmp_path))


def test_mail_begins_a_turn_whose_end_proves_it_and_waits_while_one_goes_on(desk: Desk):
    assert desk.spawn()["doing"] == "idle"
    assert desk.yard.seen(desk.prompt("hello"))["evidence"] == "runtime_ack"
    working = desk.prompt("[[work]]")
    eventually(lambda: any("[[work]]" in text for text in desk.record.texts()))
    waiting = desk.line.sent("builder", "at once!", "--priority", "urgent", "--class", "interrupt")
    eventually(lambda: desk.line.receipt(waiting)["reason"] == "busy")
    assert desk.line.receipt(working)["state"] == "offered"
    desk.yard.ok("interrupt", "builder", "--kind", "cancel")
    assert desk.yard.seen(waiting)["evidence"] == "runtime_ack"
    assert desk.line.receipt(working)["reason"] == "uncertain", "it was cancelled before a word was said"
    assert "at once!" in desk.record.texts()[-1]


@pytest.mark.promise("people-decide")
@pytest.mark.parametrize(("option", "answer"), [("approve", "c1 yes"), ("deny", "c1 no")])
def test_what_a_person_decides_is_what_the_agent_is_answered(desk: Desk, option: str, answer: str):
    desk.spawn()
    sent = desk.prompt("[[ask]]")
    [gate] = desk.asks()
    shown = desk.line.ok("gates", gate, "--json").json
    assert shown["options"] == ["approve", "approve-always", "deny"]
    assert (shown["message"]["subject"], shown["asked"]) == ("Run command 1", ["human:ana"])
    assert "rm -rf build1" in shown["message"]["body"]
    eventually(lambda: "asks: Run command 1" in desk.yard.ok("agents").out)
    assert desk.decide(gate, option) == 0
    desk.answered(answer)
    desk.yard.seen(sent)
    assert [one["option"] for one in desk.pushed() if one["what"] == "answer"] == [option]
    assert len(desk.record.texts()) == 1, "the decision is no mail"
    eventually(lambda: desk.line.ok("inbox", "--as", "builder", "--json").json["messages"] == [])
    assert desk.decide(gate, "approve") == 5


@pytest.mark.promise("people-decide")
def test_of_two_answers_of_a_kind_a_person_sees_which_is_which_and_chooses_by_number(desk: Desk):
    desk.spawn()
    desk.prompt("[[ask alike]]")
    [gate] = desk.asks()
    body = desk.line.ok("gates", gate, "--json").json["message"]["body"]
    assert body.startswith("approve-1 = Yes, once\napprove-2 = Yes, and bypass all\ndeny = No\n\n")
    assert desk.decide(gate, "approve") == 2
    assert desk.decide(gate, "approve-1") == 0
    desk.answered("c1 yes")


def test_two_questions_are_two_gates_each_with_its_own_end(desk: Desk):
    desk.spawn()
    desk.prompt("[[ask twice]]")
    desk.asks(2)
    asked = {gate["message"]["subject"]: gate["message"]["id"] for gate in desk.gates()}
    assert desk.decide(asked["Run command 2"], "approve") == 0
    eventually(lambda: "c2 yes" in desk.answers.texts())
    assert desk.decide(asked["Run command 1"], "deny") == 0
    desk.answered("c2 yes", "c1 no")


@pytest.mark.promise("people-decide")
def test_an_agent_cannot_allow_itself_anything(desk: Desk):
    desk.spawn()
    desk.prompt("[[cheat]]")
    [gate] = desk.asks()
    eventually(lambda: desk.answers.texts()[1:] == ["cheat 5", "cheat 5"])
    assert desk.asks() == [gate], "it is as open as before"
    assert desk.decide(gate, "deny") == 0
    desk.answered("cheat 5", "cheat 5", "c1 no")


@pytest.mark.promise("people-decide")
@pytest.mark.parametrize("end", ["expiry", "withdrawal"])
def test_where_nobody_decides_the_answer_is_no(desk: Desk, end: str):
    desk.yard.configure(f"gate_seconds = {3 if end == 'expiry' else 3600}\n")
    desk.spawn()
    desk.prompt("[[ask]]")
    [gate] = desk.asks()
    if end == "withdrawal":
        desk.line.ok("withdraw", gate, "--as", "builder")
    desk.answered("c1 no")
    assert desk.decide(gate, "approve") == 5
    eventually(lambda: desk.line.ok("inbox", "--as", "builder", "--json").json["messages"] == [])
    assert len(desk.record.texts()) == 1


def test_a_gate_is_closed_when_its_agent_ends_and_no_yes_is_left_for_the_next(desk: Desk):
    desk.spawn()
    desk.prompt("[[ask]]")
    [gate] = desk.asks()
    desk.line.ok("read", gate, "--as", "human:ana")
    os.kill(host.pid_of(desk.yard.manifest("builder").process), signal.SIGKILL)
    assert "ended" in desk.closed(gate)
    assert desk.decide(gate, "approve") == 5
    assert desk.gates() == []


def test_what_was_decided_while_the_daemon_was_dead_is_nothing_to_the_next_run(desk: Desk):
    desk.spawn("--restart", "always")
    desk.prompt("[[ask]]")
    [first] = desk.asks()
    desk.yard.kill_daemon()
    assert desk.decide(first, "approve") == 0
    desk.yard.ok("up")
    eventually(lambda: len(desk.record.texts()) == 2)
    [second] = desk.asks()
    assert second != first, "the text is shown again, and what it asks is asked anew"
    assert "may have been shown" in desk.record.texts()[-1]
    assert not any("approve" in text for text in desk.record.texts())
    assert desk.answers.texts()[1].startswith("load "), "the session goes on"
    assert desk.decide(second, "deny") == 0
    eventually(lambda: desk.answers.texts()[-1] == "c1 no")


def test_a_gate_of_a_daemon_that_died_is_closed_by_the_next(desk: Desk):
    desk.spawn("--restart", "always")
    desk.prompt("[[ask]]")
    [first] = desk.asks()
    desk.yard.kill_daemon()
    desk.yard.ok("up")
    assert "the run of the agent" in desk.closed(first)


def test_an_agent_that_takes_long_to_start_again_holds_up_nobody_and_can_be_stopped(desk: Desk):
    desk.spawn("--restart", "always")
    hold = desk.record.path + ".hold"
    with open(hold, "w", encoding="utf-8"):
        pass
    before = desk.yard.manifest("builder").process
    os.kill(host.pid_of(before), signal.SIGKILL)
    eventually(lambda: "is being started again; ended once, SIGKILL" in desk.yard.ok("agents").out)
    with desk.yard.start("stop", "builder") as stopping:
        eventually(lambda: manifests.every(desk.yard.home) == [])
        os.unlink(hold)
        assert stopping.wait(30) == 0
    assert desk.record.texts() == []
    eventually(lambda: "at work" not in desk.yard.ok("agents").out)
    assert manifests.every(desk.yard.home) == [], "nobody has it back"


def test_what_was_decided_waits_for_nobody_though_somebody_looked_while_it_was_open(desk: Desk):
    desk.spawn()
    desk.prompt("[[ask]]")
    [gate] = desk.asks()
    assert f"postroom gates {gate[-8:]}" in desk.yard.ok("agents").out
    assert desk.decide(gate, "approve") == 0
    desk.answered("c1 yes")
    assert "Nothing waits for a decision." in desk.yard.ok("gates").err
    eventually(lambda: "asks" not in desk.yard.ok("send", "builder", "more", "--as", "planner").out)


def test_where_there_is_nobody_to_ask_the_question_waits_for_somebody(home: str, tmp_path):
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        desk = Desk(yard, os.fspath(tmp_path))
        desk.spawn()
        desk.prompt("[[ask]]")
        eventually(lambda: "asks: Run command 1" in yard.ok("agents").out)
        assert desk.gates() == []
        assert "p/builder: asks, and nobody is here to decide: postroom join" in yard.ok("gates").err
        yard.line.ok("join", "human:ana")
        [gate] = desk.asks()
        assert f"postroom gates {gate[-8:]}" in yard.ok("agents").out
        assert desk.decide(gate, "deny") == 0
        desk.answered("c1 no")


def test_what_nobody_decided_before_its_turn_was_stopped_is_said_to_be_withdrawn(desk: Desk):
    desk.spawn()
    desk.prompt("[[ask]]")
    [gate] = desk.asks()
    desk.line.ok("interrupt", "builder", "--as", "human:ana")
    why = desk.closed(gate)
    assert f"Withdrawn: {why}." in desk.line.ok("gates", gate).out
    told = [one["type"] for one in desk.line.ok("log", "--json").items]
    assert "gate.withdrawn" in told
    assert "gate.decided" not in told
    late = desk.line("decide", gate, "approve", "--as", "human:ana")
    assert late.code == 5
    assert "was withdrawn" in late.err
    desk.line.ok("verify")
