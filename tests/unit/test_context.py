"""How sessions are named."""

import pytest

from postroom.model.context import is_main, is_part, own_id, session_id

CHILDREN = ["main", "~main", "x:main", ":main", "~1main", "~", "a", "~0"]


def test_no_subagent_is_taken_for_its_conversation_or_another():
    named = [session_id("claude", "s1", child) for child in CHILDREN]
    assert len({*named, session_id("claude", "s1")}) == len(CHILDREN) + 1
    assert not any(map(is_main, named))
    assert is_main(session_id("claude", "s1"))


@pytest.mark.parametrize("own", ["s1", "a:b", "main"])
def test_the_runtimes_own_id_is_found_again(own: str):
    assert [own_id(session_id("qwen", own, child)) for child in ("", *CHILDREN)] == [own] * 9


def test_a_subagent_is_part_of_its_own_conversation_alone():
    child = session_id("claude", "s1", "x:main")
    assert is_part(child, session_id("claude", "s1"))
    assert not is_part(child, session_id("claude", "s2"))
    assert not is_part(child, session_id("qwen", "s1"))
