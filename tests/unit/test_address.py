"""The grammar of addresses: what is one, what is none, and that reading and writing agree."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import InvalidAddress, InvalidName
from postroom.model.address import Kind, name, parse

part = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)
names = st.lists(part, min_size=1, max_size=2).map(".".join)


@given(part, names)
def test_an_agents_address_reads_back_as_it_was_written(project: str, agent: str):
    assert parse(f"{project}/{agent}") == (Kind.AGENT, project, agent, False)
    assert str(parse(f"{project}/{agent}")) == f"{project}/{agent}"
    assert parse(agent) == (Kind.AGENT, "", agent, False)
    assert str(parse(agent)) == agent


@pytest.mark.parametrize(
    ("text", "kind", "written"),
    [
        ("human:ana", Kind.HUMAN, "human:ana"),
        ("topic:frontend", Kind.TOPIC, "topic:frontend"),
        ("#frontend", Kind.TOPIC, "topic:frontend"),
        ("@builders", Kind.GROUP, "@builders"),
        ("@Builders:LIVE", Kind.GROUP, "@builders:live"),
        ("one:@reviewers", Kind.ONE, "one:@reviewers"),
        ("one:@reviewers:live", Kind.ONE, "one:@reviewers:live"),
    ],
)
def test_a_prefix_says_what_an_address_names(text: str, kind: Kind, written: str):
    assert parse(text).kind is kind
    assert str(parse(text)) == written


def test_names_do_not_depend_on_case():
    assert parse("Shop/Backend") == parse("shop/backend")
    assert parse("human:Ana") == parse("human:ana")
    assert name("BackEnd.Child") == "backend.child"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a b",
        "-a",
        "_a",
        ".a",
        "a.",
        "a..b",
        "a/",
        "/a",
        "a/b/c",
        "a\n",
        "ü",
        "İ",
        "a\0",
        "a:b",
        "human:",
        "human:p/ana",
        "topic:",
        "#",
        "../etc",
        "a/..",
        "x" * 65,
        "\ud800",
        "\u0661",
    ],
)
def test_what_is_no_address_is_refused_and_named(text: str):
    with pytest.raises(InvalidAddress) as refusal:
        parse(text)
    assert refusal.value.facts["address"] == text
    str(refusal.value).encode()  # the message itself can be printed
    assert refusal.value.hint


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_a_clear_refusal(text: str):
    try:
        address = parse(text)
    except InvalidAddress:
        return
    if address.kind in (Kind.AGENT, Kind.HUMAN, Kind.TOPIC):
        allowed = set(string.ascii_lowercase + string.digits + "-_.")
        assert set(address.name) <= allowed
        assert parse(str(address)) == address


@given(st.text(max_size=80))
def test_a_name_is_safe_as_a_file_name_or_refused(text: str):
    try:
        found = name(text)
    except InvalidName:
        return
    assert "/" not in found
    assert not found.startswith(".")
    assert len(found.encode()) <= 255


def test_a_name_of_64_is_the_longest():
    assert name("x" * 64) == "x" * 64
    with pytest.raises(InvalidName):
        name("x" * 65)
