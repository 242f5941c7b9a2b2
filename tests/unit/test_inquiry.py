"""What an agent asks, as people are shown it, and the words by which they answer."""

from postroom.bridges.contract import Option
from postroom.bridges.inquiry import MOST, inquiry
from postroom.daemon.questions import labels, refusal

YES, EVER = Option("y", "Yes", "allow_once"), Option("e", "Ever", "allow_always")
NO, NEVER = Option("n", "No", "reject_once"), Option("v", "Never", "reject_always")


def test_what_is_hidden_in_a_question_is_written_out():
    asked = inquiry("1", "run \u202ethis\nand that", "rm \u200b-rf \u202e/\x1b[2J \ud800", [YES])
    assert asked.title == "run this and that"
    assert asked.details == "rm \\u200b-rf \\u202e/\\u001b[2J \\ud800"


def test_a_long_question_says_how_much_of_it_is_not_shown():
    asked = inquiry("1", "t" * 999, "x" * (MOST + 1234), [Option("y", "n" * 999, "")])
    assert asked.details.endswith("… and 1,234 characters more, which are not shown")
    assert len(asked.title) == len(asked.options[0].name) == 200


def test_each_answer_has_a_word_of_its_own():
    assert labels((YES, EVER, NO, NEVER)) == {
        "approve": YES,
        "approve-always": EVER,
        "deny": NO,
        "deny-always": NEVER,
    }
    again, strange = Option("y2", "Yes, too", "allow_once"), Option("s", "Ask me later", "")
    assert labels((YES, again, strange)) == {"approve": YES, "approve-2": again, "Ask me later": strange}


def test_nobody_s_answer_is_a_no_for_once_or_none_at_all():
    assert refusal((YES, NEVER, NO)) == "n"
    assert refusal((YES, EVER, NEVER)) == ""
