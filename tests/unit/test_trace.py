"""Trace context: what is one is carried, and what is none is not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.trace import PARENT, STATE, Trace, carry, parse

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"00-{TRACE}-{SPAN}-01", Trace(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-00", Trace(TRACE, SPAN, sampled=False)),
        (f"00-{TRACE}-{SPAN}-ff", Trace(TRACE, SPAN)),
        (f"cc-{TRACE}-{SPAN}-01-what-comes", Trace(TRACE, SPAN)),
    ],
)
def test_a_traceparent_is_read(text: str, found: Trace):
    assert parse(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "00", f"00-{TRACE}-{SPAN}", f"00-{TRACE}-{SPAN}-01-more", f"ff-{TRACE}-{SPAN}-01",
     f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE.upper()}-{SPAN}-01",
     f"00-{TRACE[:-1]}-{SPAN}-01", f"00-{TRACE}-{SPAN}-1", f" 00-{TRACE}-{SPAN}-01",
     f"00-{TRACE}-{SPAN}-01\n", f"00-{TRACE}-{SPAN}-0\u0661", "00-" * 100_000, None, 7, ["00"],
     {"traceparent": "x"}],
)  # fmt: skip
def test_what_is_none_is_ignored(text: Any):
    assert parse(text) is None
    assert carry(None, text) is None
    assert carry({"a": 1}, text) == {"a": 1}


@given(st.text())
def test_whatever_is_read_is_written_as_w3c_has_it(text: str):
    found = parse(text)
    assert found is None or parse(str(found)) == found


def test_what_the_sender_says_itself_counts_and_a_state_only_beside_a_parent():
    own, other = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{'1' * 16}-01"
    assert carry({PARENT: own}, other) == {PARENT: own}
    assert carry({"a": 1}, own, "vendor=1") == {"a": 1, PARENT: own, STATE: "vendor=1"}
    assert carry(None, own, "x" * 513) == {PARENT: own}
    assert carry(None, own, "evil\r\nheader: 1") == {PARENT: own}
    assert carry(None, "no", "vendor=1") is None
