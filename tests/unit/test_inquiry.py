"""What an agent asks, as people are shown it, and the words by which they answer."""

from postroom.bridges.contract import Option
from postroom.bridges.inquiry import MOST, answers, inquiry, labels
from postroom.daemon.questions import refusal

YES, EVER = Option("y", "Yes", "allow_once"), Option("e", "Ever", "allow_always")
NO, NEVER = Option("n", "No", "reject_once"), Option("v", "Never", "reject_always")


def test_what_is_hidden_in_a_question_is_written_out():
    asked = inquiry("1", "run \u202ethis\nand that", "rm \u200b-rf \u202e/\x1b[2J \ud800", [YES])
    assert asked.title == "run this and that"
    assert asked.details == "rm \\u200b-rf \\u202e/\\u001b[2J \\ud800"


def test_a_long_question_says_how_much_of_it_is_not_shown():
    asked = inquiry("1", "t" * 999, "x" * (MOST + 1234), [Option("y", "n" * 999, "")])
    assert "\n… and 1,234 characters more, which are not shown (sha256 of all: " in asked.details
    assert len(asked.title) == len(asked.options[0].name) == 200


def test_two_long_questions_that_differ_at_their_end_are_not_shown_alike():
    one, other = (inquiry("1", "run", "x" * MOST + end, [YES]) for end in ("ls", "rm"))
    assert one.details != other.details


def test_each_answer_has_a_word_of_its_own():
    assert labels((YES, EVER, NO, NEVER)) == {
        "approve": YES,
        "approve-always": EVER,
        "deny": NO,
        "deny-always": NEVER,
    }


def test_of_two_answers_of_a_kind_none_has_the_bare_word():
    all, strange, sly = (
        Option("a", "Yes, to all", "allow_once"),
        Option("s", "Later", ""),
        Option("1", "approve-1", ""),
    )
    assert labels((YES, all, strange, sly)) == {
        "approve-2": YES,
        "approve-3": all,
        "Later": strange,
        "approve-1": sly,
    }
    assert answers((YES, all)) == ["approve-1 = Yes", "approve-2 = Yes, to all"]


def test_an_answer_without_a_name_is_called_by_its_id_on_one_line():
    asked = inquiry("1", "run", "ls", [Option("x\napprove = harmless", "\u200b", "")])
    assert answers(asked.options) == ["x approve = harmless = x approve = harmless"]


def test_nobody_s_answer_is_a_no_for_once_or_none_at_all():
    assert refusal((YES, NEVER, NO)) == "n"
    assert refusal((YES, EVER, NEVER)) == ""
