"""Letters as other tools write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.bridges.files import dialect
from postroom.errors import InvalidLetter

FIELDS = dialect._FIELDS
WORDS = [word for words in FIELDS.values() for word in words]
NINE = 1772442000000  # 2026-03-02T09:00:00Z


@pytest.mark.parametrize(
    "written",
    ["2026-03-02T09:00:00Z", "2026-03-02T10:00:00+01:00", "2026-03-02 09:00:00", "1772442000", "1772442000.0",
     1772442000, 1772442000.0, 1772442000000, "1772442000000"],
)  # fmt: skip
def test_a_moment_is_read_however_it_is_written(written: Any):
    assert dialect.moment(written) == NINE


@pytest.mark.parametrize("written", [None, True, "", "soon", [], {}, float("inf"), float("nan"), 1e300, "²"])
def test_what_is_no_moment_is_none(written: Any):
    assert dialect.moment(written) is None


CAMEL = {
    "id": "m", "from": "a", "to": "b", "timestamp": "2026-03-02T09:00:00Z", "type": "status",
    "priority": "medium", "payload": {"text": "hi"}, "requiresAck": True, "replyTo": "l", "threadId": "t",
}  # fmt: skip
SNAKE = {
    "message_id": "m", "sender": {"name": "a"}, "recipients": ["b"], "created_at": 1772442000,
    "message_type": "status", "priority": 2, "data": {"text": "hi"}, "ack_required": "true",
    "in_reply_to": "l", "conversation_id": "t",
}  # fmt: skip


@pytest.mark.parametrize("item", [CAMEL, SNAKE])
def test_a_letter_says_the_same_in_every_dialect(item: dict[str, Any]):
    read = dialect.read(item, "file", "owner")
    assert (read.letter.id, read.letter.sender, read.to, read.at) == ("m", "a", ("b",), NINE)
    assert (read.letter.type, read.letter.priority, read.letter.requires_ack) == ("status", "normal", True)
    assert (read.letter.reply_to, read.letter.thread, read.letter.payload) == ("l", "t", {"text": "hi"})
    assert read.rest == {}


@pytest.mark.parametrize(
    ("written", "meant"),
    [("critical", "urgent"), ("P1", "high"), (0, "urgent"), ("HIGH", "high"), ("odd", "normal"),
     (None, "normal"), (9, "normal"), (True, "normal"), ([], "normal")],
)  # fmt: skip
def test_priorities_are_ours_or_the_usual_one(written: Any, meant: str):
    assert dialect.read({"priority": written, "text": "x"}, "f", "o").letter.priority == meant


def test_what_has_no_field_of_ours_is_kept():
    read = dialect.read(
        {"id": 7, "text": "x", "urgency": 9, "timestamp": "soon", "subject": ["no"]}, "f", "o"
    )
    assert read.letter.id == "7"
    assert read.rest == {"urgency": 9, "timestamp": "soon", "subject": ["no"]}


def test_a_letter_without_an_id_is_called_as_its_file_and_one_for_nobody_is_its_owners():
    read = dialect.read({"content": "x"}, "0001-hello", "owner")
    assert (read.letter.id, read.letter.to, read.to) == ("0001-hello", "owner", ())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_whatever_json_holds_is_a_letter_or_is_none_and_no_field_is_lost(item: Any):
    try:
        read = dialect.read(item, "file", "owner")
    except InvalidLetter:
        return
    said = {key: value for key, value in item.items() if value is not None}
    assert read.rest.items() <= said.items()
    assert len(said) - len(read.rest) <= len(FIELDS)
