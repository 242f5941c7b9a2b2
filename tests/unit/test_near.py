"""What somebody may have meant."""

import pytest

from postroom.near import either, meant, near

NAMES = ["builder", "bouncer", "reviewer", "planner", "builder"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("b", ["builder", "bouncer"]),
        ("BU", ["builder"]),
        ("bulider", ["builder"]),
        ("Plannr", ["planner"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_names_that_begin_so_come_before_names_that_are_alike(wanted: str, found: list[str]):
    assert near(wanted, NAMES) == found


def test_only_a_few_are_named():
    assert near("agent", [f"agent-{n}" for n in range(100)]) == [f"agent-{n}" for n in range(5)]
    assert len(near("xagent", [f"agent{n}" for n in range(100)])) == 3


def test_the_question_is_one_sentence():
    assert [either(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a or b", "a, b or c"]
    assert meant(["a", "b", "c"]) == "Did you mean a, b or c?"
    assert meant([]) == ""
