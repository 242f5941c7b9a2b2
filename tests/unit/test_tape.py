"""What a child printed, bounded: lines of bounded length, and a tape that says what it has dropped."""

import json

from hypothesis import given
from hypothesis import strategies as st

from postroom.bridges.contract import Heard
from postroom.bridges.process.line import Cut, Splitter
from postroom.bridges.process.tape import Tape
from postroom.model.ladder import Evidence


def test_what_does_not_fit_is_counted_and_the_newest_stays():
    tape = Tape(most=100)
    for n in range(20):
        tape.add(Heard(f"{n:010}"))
    first, *rest = tape.take()
    assert json.loads(first.text) == {"postroom": "left_out", "bytes": 100}
    assert first.stream == "event"
    assert [int(heard.text) for heard in rest] == [*range(10, 20)]
    assert tape.take() == []


def test_a_proof_outlives_the_words_in_which_it_came():
    tape = Tape(most=10)
    tape.add(Heard("x" * 10, proves=Evidence.RUNTIME_ACK))
    tape.add(Heard("y" * 10))
    assert [heard.proves for heard in tape.take()] == [None, Evidence.RUNTIME_ACK, None]


def test_a_proof_that_nobody_has_read_can_be_taken_back():
    tape = Tape()
    tape.add(Heard("seen", proves=Evidence.RUNTIME_ACK))
    tape.doubt()
    assert tape.take() == [Heard("seen")]


def test_the_end_is_told_however_much_was_said():
    tape = Tape(most=10)
    for _ in range(5):
        tape.add(Heard("x" * 50))
    tape.add(Heard(exit_code=3))
    assert tape.take()[-1].exit_code == 3


def test_one_call_gives_no_more_than_a_part():
    tape = Tape()
    for n in range(1000):
        tape.add(Heard(str(n)))
    pieces = [tape.take() for _ in range(4)]
    assert [len(piece) for piece in pieces] == [256, 256, 256, 232]


@given(st.lists(st.binary(max_size=20)))
def test_lines_are_the_same_however_they_arrive(pieces):
    whole = b"".join(pieces)
    splitter = Splitter()
    found = [line for piece in pieces for line in splitter.feed(piece)] + splitter.rest()
    again = Splitter()
    assert found == again.feed(whole) + again.rest()


def test_a_line_that_is_too_long_is_cut_and_says_how_much_is_missing():
    splitter = Splitter(most=4)
    assert splitter.feed(b"abc") == []
    assert splitter.feed(b"defg\nxy\r\n") == [Cut("abcd", 3), Cut("xy")]
