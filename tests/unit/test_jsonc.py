"""Editing JSON in the text its owner wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.setup import jsonc
from postroom.setup.change import elements
from postroom.setup.jsonc import Unreadable, document, merge, parse, remove

THEIRS = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}
OURS = {
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ours"}]}], "Start": [{"hooks": ["ours"]}]}
}


def is_ours(_names: tuple[str, ...], value: object) -> bool:
    return value in ("ours", {"type": "command", "command": "ours"})


@pytest.mark.parametrize("text", ["", "  \n", "{}", "{ }", "{\n}\n", "\n// nothing yet\n{\n  // here\n}\n"])
def test_an_empty_document_takes_an_addition(text: str):
    assert document(merge(text, OURS)) == OURS


@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_was_there_stays_byte_for_byte(indent: int | str | None, newline: str):
    text = json.dumps({"first": 1.50, **THEIRS, "last": "é"}, indent=indent, ensure_ascii=False)
    text = (text + "\n").replace("\n", newline)
    merged = merge(text, OURS)
    assert list(document(merged)) == ["first", "hooks", "last"]
    assert document(merged)["hooks"]["Stop"] == THEIRS["hooks"]["Stop"] + OURS["hooks"]["Stop"]
    assert newline == "\n" or "\n" not in merged.replace("\r\n", "")
    if indent is not None:
        assert remove(merged, is_ours, document(text)) == text
    assert merge(merged, OURS) == merged


def test_comments_and_last_commas_stay_where_they_are():
    text = """\
{
  // the model
  "model": "x", /* of mine */
  "hooks": {
    "Stop": [
      { "hooks": [{"type": "command", "command": "theirs"}] }, // a bell
    ],
  }, // "hooks": no
}
"""
    merged = merge(text, OURS)
    assert document(merged)["hooks"]["Start"] == [{"hooks": ["ours"]}]
    kept = [line for line in merged.splitlines(keepends=True) if line in text]
    assert "".join(kept).startswith(text[:60])
    for comment in ("// the model\n", "/* of mine */\n", "}, // a bell\n", '// "hooks": no\n'):
        assert comment in merged
    assert remove(merged, is_ours, document(text)) == text


def test_a_comment_after_the_last_item_stays_on_its_line():
    merged = merge('{\n  "a": 1 // one\n}\n', {"b": 2})
    assert merged == '{\n  "a": 1, // one\n  "b": 2\n}\n'


def test_a_short_addition_to_one_line_stays_on_it():
    assert merge('{"a": {"b": true}}', {"a": {"c": ["x"]}}) == '{"a": {"b": true, "c": ["x"]}}'


def test_an_indented_file_goes_on_in_its_own_way():
    assert (
        merge('{\n\t"a": {}\n}\n', {"a": {"b": [1]}}) == '{\n\t"a": {\n\t\t"b": [\n\t\t\t1\n\t\t]\n\t}\n}\n'
    )


def test_what_else_its_owner_put_beside_ours_is_kept():
    text = json.dumps(
        {"hooks": {"Stop": [{"matcher": "m", "hooks": [*OURS["hooks"]["Stop"][0]["hooks"], "mine"]}]}}
    )
    assert document(remove(text, is_ours, {})) == {"hooks": {"Stop": [{"matcher": "m", "hooks": ["mine"]}]}}
    alone = json.dumps({"x": 1, "hooks": {"Stop": [{"matcher": "m", "hooks": ["ours"]}]}})
    assert document(remove(alone, is_ours, {})) == {"x": 1}
    assert document(remove(alone, is_ours, {"hooks": {"Stop": []}})) == {"x": 1, "hooks": {"Stop": []}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "line 1, column 2"),
        ('{"a": 1 "b": 2}', "a comma or }"),
        ('{"a"}', "a colon"),
        ("{a: 1}", "double quotes"),
        ('{"a": }', "a value"),
        ('{"a": 1} x', "nothing more"),
        ('{\n "a": nope}', "line 2, column 7"),
        ("[1]", "no JSON object"),
        ("[" * 300, "too deep"),
        ('{"hooks": 5}', "hooks should be an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop should be an array"),
    ],
)
def test_what_cannot_be_edited_is_told_with_its_place(text: str, says: str):
    with pytest.raises(Unreadable, match=says):
        merge(text, document(text) and OURS)


def test_of_a_name_that_is_there_twice_the_last_counts():
    merged = merge('{"hooks": {}, "hooks": {"Stop": []}}', OURS)
    assert document(merged) == OURS


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b", "hooks"]), VALUES, max_size=3)


@given(DOCUMENTS, st.sampled_from([None, 1, 4, "\t"]), st.sampled_from(["\n", "\r\n"]))
def test_any_document_is_read_as_others_read_it(value: dict[str, object], indent: int | None, newline: str):
    text = json.dumps(value, indent=indent).replace("\n", newline)
    assert parse(text).value == value


@given(DOCUMENTS, st.sampled_from([None, 2, "\t"]))
def test_what_is_added_to_any_document_can_be_taken_out_again(
    value: dict[str, object], indent: int | str | None
):
    text = json.dumps(value, indent=indent)
    try:
        merged = merge(text, OURS)
    except Unreadable:
        return
    assert jsonc.covers(document(merged), OURS)
    assert jsonc.covers(document(merged), value)
    if not any(is_ours(*each) for each in elements(value)):
        assert document(remove(merged, is_ours, value)) == value
