"""Facts of tmux, whatever they hold; and words that it must not take for formats or commands."""

import pytest

from postroom.bridges.tmux.format import answer, answers, asking, literal
from postroom.bridges.tmux.server import Target, script, target
from postroom.errors import BridgeError

FACTS = ("pane_id", "@postroom_agent", "pane_title")


def test_facts_are_asked_for_quoted_and_told_as_they_are():
    assert asking(FACTS) == "#{q:pane_id} #{q:@postroom_agent} #{q:pane_title}|"
    said = "\\%0 a\tb\nc\\ \\|\n\\\\ t|\n\\%1  |\n"
    assert answers(said, FACTS) == [
        {"pane_id": "%0", "@postroom_agent": "a\tb\nc |\n\\", "pane_title": "t"},
        {"pane_id": "%1", "@postroom_agent": "", "pane_title": ""},
    ]
    assert answer("\\%0 a b|\nand | more|\n", FACTS)[1] == "and | more|\n"


@pytest.mark.parametrize("said", ["", "%0 a|\n", "%0 a b c|\n", "%0 a b", "%0 a b|", "%0 a b\\|\n"])
def test_something_else_than_facts_is_no_fact(said: str):
    with pytest.raises(ValueError, match="no "):
        answer(said, FACTS)


@pytest.mark.parametrize(
    ("text", "as_format"),
    [
        ("#(rm x)", "##(rm x)"),
        ("#{pane_id}", "##{pane_id#}"),
        ("a#", "a##"),
        ("##", "####"),
        ("#[x", "#[x"),
        ("##[x", "##[x"),
        ("a,b", "a#,b"),
    ],
)
def test_a_text_is_no_format(text: str, as_format: str):
    assert literal(text) == as_format


def test_commands_within_a_command_are_quoted_word_by_word():
    assert script(["a", "it's;"], ["b", "x\n  y"]) == r"'a' 'it'\''s;' ; 'b' 'x'\n'  y'"


@pytest.mark.parametrize(
    "name", ["%1", "%1@/s", "%1;@/s,1.2", "%x@/s,1.2", "@/s,1.2", "%1@,1.2", "%1@/s,", "%1@/s,x.2"]
)
def test_what_names_no_pane_of_a_server_is_refused(name: str):
    with pytest.raises(BridgeError, match="names no pane"):
        target(name)


def test_a_pane_is_named_as_it_was_written():
    where = Target("%1", "/a b,c/s", "12.345")
    assert target(str(where)) == where
