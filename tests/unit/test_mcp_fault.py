"""What an agent that has nothing but our tools is told of errors."""

from collections.abc import Iterator

import pytest

from postroom import errors
from postroom.errors import PostroomError
from postroom.mcp_server.fault import told
from tests.toolbox import is_next


def kinds(kind: type[PostroomError] = PostroomError) -> Iterator[type[PostroomError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from kinds(each)


@pytest.mark.parametrize("kind", [*kinds()], ids=lambda kind: kind.code)
@pytest.mark.parametrize("hint", [None, "", "Did you mean it? See: postroom groups"])
def test_every_error_says_what_to_do_next_by_the_tools_there_are(kind: type[PostroomError], hint: str | None):
    words = told(kind("what is wrong", hint=hint), "send")
    problem, _, rest = words.partition(". ")
    assert problem == "what is wrong"
    assert is_next(rest), words
    assert rest.startswith("Did you mean it? ") == bool(hint), words


@pytest.mark.parametrize("address", ["topic:x", "@up", "@all"])
def test_who_has_written_to_nobody_is_not_sent_to_look_for_that_among_the_agents(address: str):
    words = told(errors.UnknownRecipient("nobody", address=address, hint="postroom topics"), "send")
    assert is_next(words)
    assert words != told(errors.UnknownRecipient("nobody", address="bob", hint="postroom agents"), "send")


def test_a_person_who_is_not_there_is_left_out():
    assert "Leave `to` out" in told(errors.UnknownRecipient("there is no person 'bob'"), "ask_human")


def test_who_is_waited_for_is_told_what_to_answer_first():
    error = errors.WaitingInCircle("they wait for you", waiting="0190" + 20 * "a" + "12345678")
    assert "`reply` and `id` 12345678" in told(error, "ask")
