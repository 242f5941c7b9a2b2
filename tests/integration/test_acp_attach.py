"""A person attached to an agent that speaks ACP: sees the conversation, writes, answers, stops, leaves."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.bridged import Record
from tests.commandline import COMMAND
from tests.process import environment, eventually
from tests.tui.person import Person
from tests.yard import Yard


class Seat:
    """An agent, and a person who sits at its conversation."""

    def __init__(self, yard: Yard, place: str) -> None:
        self.yard = yard
        path = os.path.join(place, "record")
        self.record, self.answers = Record(path), Record(path + ".answers")
        command = [sys.executable, "-m", "tests.acting", path]
        yard.ok("spawn", "builder", "--bridge", "acp", "--", *command)
        env = environment(**yard.line.environment, **{**yard.env, "TERM": "xterm-256color"})
        self.person = Person([*COMMAND, "attach", "builder"], env, (120, 40))
        self.shows("it has begun a session")

    def shows(self, text: str) -> None:
        eventually(lambda: text.encode() in self.person.seen)

    def type(self, keys: str) -> None:
        self.person.type(keys)

    def gates(self) -> list[str]:
        found = self.yard.line.ok("gates", "--json").json["gates"]
        return [gate["message"]["id"] for gate in found]


@pytest.fixture
def seat(home: str, tmp_path: os.PathLike[str]) -> Iterator[Seat]:
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        yard.line.ok("join", "human:ana")
        seat = Seat(yard, os.fspath(tmp_path))
        try:
            yield seat
        finally:
            seat.person.leave()


def test_a_person_sees_the_conversation_writes_a_prompt_and_leaves(seat: Seat):
    sent = seat.yard.line.sent("builder", "mail of another")
    seat.shows("mail of another")
    seat.yard.seen(sent)
    seat.type("say hellp\x7fo\x1b[D\r")
    seat.shows("I have read 9 characters.")
    assert seat.record.texts()[-1] == "say hello"
    seat.type("\x1d")
    seat.shows("which runs on")
    assert seat.person.process.wait(30) == 0
    assert "idle" in seat.yard.ok("agents").out


def test_what_is_written_while_it_works_goes_in_when_its_turn_has_ended(seat: Seat):
    seat.type("[[work]]\r")
    eventually(lambda: seat.record.texts() == ["[[work]]"])
    seat.type("and then this\r")
    seat.shows("goes in when its turn has ended")
    assert seat.record.texts() == ["[[work]]"]
    seat.type("\x03")
    eventually(lambda: seat.record.texts() == ["[[work]]", "and then this"])


def test_a_number_answers_what_it_asks_and_closes_its_gate(seat: Seat):
    seat.type("[[ask twice]]\r")
    eventually(lambda: len(seat.gates()) == 2)
    seat.shows("  6) deny = No")
    gates = seat.gates()
    seat.type("1x\r")
    seat.shows("goes in when its turn has ended")
    seat.type("1\r")
    seat.shows("answered: Yes, once")
    eventually(lambda: len(seat.gates()) == 1)
    seat.type("1\r")
    seat.shows("1 is no answer to what it asks now")
    assert seat.answers.texts()[1:] == ["c1 yes"], "a number is used once"
    [left] = seat.gates()
    seat.yard.line.ok("decide", left, "deny", "--as", "human:ana")
    eventually(lambda: seat.answers.texts()[1:] == ["c1 yes", "c2 no"])
    over = [gate for gate in gates if gate != left]
    assert seat.yard.line("decide", *over, "deny", "--as", "human:ana").code == 5


def test_what_an_agent_says_moves_no_cursor(seat: Seat):
    seat.type("[[bad]] \x1b]0;title\x07\r")
    seat.shows("no JSON at all")
    seat.yard.line.sent("builder", "red \x1b[31malert\x1b[0m and \u202ehidden")
    seat.shows("red alert and hidden")
    assert b"\x1b[31m" not in seat.person.seen
    assert b"\x1b]0;" not in seat.person.seen


def test_who_is_at_no_terminal_is_shown_what_it_says_as_it_comes(seat: Seat):
    with seat.yard.start("attach", "builder") as following:
        assert following.stdout is not None
        seat.yard.line.sent("builder", "hello")
        for line in following.stdout:
            if b"I have read" in line:
                return
    raise AssertionError("it was not shown")
