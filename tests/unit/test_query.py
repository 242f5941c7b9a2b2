"""Queries: whatever people type is read, or refused with a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import InvalidQuery
from postroom.model.query import SNIPPET, matches, parse, payload_text, snippet


def says(text: str, query: str) -> bool:
    return matches(parse(query), {"body": text})


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("parser", "Fix the PARSER now", True),
        ("parse", "Fix the parser now", False),
        ("parse*", "Fix the parser now", True),
        ("fix now", "now I fix it", True),
        ('"fix now"', "now I fix it", False),
        ('"fix the pars', "fix the pars", True),
        ("fix -parser", "fix the lexer", True),
        ("fix -parser", "fix the parser", False),
        ('fix -"the parser"', "fix the parser", False),
        ("fix NOT parser", "fix the parser", False),
        ("lexer OR parser", "the parser", True),
        ("fix lexer OR parser", "the parser", False),
        ("fix lexer | parser", "fix the parser", True),
        ("fix AND parser", "fix the parser", True),
        ("T-42", "see T-42.", True),
        ("T-42", "42 T", False),
        ("cafe", "im Café", True),
        ("CAFÉ", "im cafe\u0301 dort", True),
        ("task_id", '{"task_id": 1}', True),
        ("日本*", "日本語", True),
    ],
)
def test_a_query_finds_what_people_expect(query: str, text: str, found: bool):
    assert says(text, query) is found


@pytest.mark.parametrize("query", ["", "   ", '"', '""', "***", "-", "OR", "-only -this", "\0", "NOT x", "—"])
def test_a_query_without_anything_to_find_is_refused(query: str):
    with pytest.raises(InvalidQuery):
        parse(query)


@pytest.mark.parametrize("query", ["x" * 100_000, "x " * 100])
def test_a_query_that_is_too_long_is_refused(query: str):
    with pytest.raises(InvalidQuery):
        parse(query)


@given(st.text(max_size=200))
def test_whatever_is_typed_is_read_or_refused(text: str):
    try:
        query = parse(text)
    except InvalidQuery:
        return
    assert all(word.strip() and '"' not in word for term in query.terms for word in term.words)


@given(st.text(max_size=400), st.sampled_from(["a", "a* OR b", '"a b"', "é"]))
def test_marks_lie_inside_the_snippet_and_do_not_overlap(text: str, asked: str):
    query = parse(asked)
    found = snippet(query, {"subject": "", "body": text})
    assert len(found.text) <= SNIPPET + 2
    assert "\n" not in found.text
    at = 0
    for start, end in found.marks:
        assert at <= start < end <= len(found.text)
        at = end
    assert bool(found.marks) is matches(query, {"body": text})


def test_a_snippet_shows_the_match_and_what_stands_around_it():
    found = snippet(
        parse("needle"), {"subject": "", "body": "hay " * 100 + "the needle\nin it " + "hay " * 100}
    )
    [(start, end)] = found.marks
    assert found.text[start:end] == "needle"
    assert "the needle in it hay" in found.text
    assert found.text.startswith("…hay")
    assert found.text.endswith("…")


def test_a_payload_is_what_it_says_however_deep():
    deep: dict = {"end": True}
    for _ in range(5000):
        deep = {"d": [deep, None]}
    assert payload_text(deep).endswith("end true")
    assert payload_text({"note": "line one\nline two", "n": [1, 2.5]}) == "note line one\nline two n 1 2.5"
    assert payload_text(None) == ""
