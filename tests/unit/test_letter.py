"""Letters: a message in one datagram, the same at the other end, and nothing else taken for one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.ladder import Priority
from postroom.model.letter import LONGEST, pack, unpack
from postroom.model.message import NOTHING, Message

LINES = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)
NUMBERS = st.integers(min_value=-(1 << 62), max_value=1 << 62)


def message(**fields: Any) -> Message:
    plain = Message(
        7, "id", "local", "p", "a1", "planner", None, "unverified", "builder", "note", "turn", "", "hello",
        "id", 1, Priority.NORMAL, False, *NOTHING,
    )  # fmt: skip
    return plain._replace(**fields)


@given(
    st.builds(
        message,
        seq=NUMBERS, id=LINES, tenant=LINES, project=LINES, sender_id=LINES, sender=LINES,
        sender_role=st.none() | LINES.filter(bool), verified=LINES, to=LINES, type=LINES, cls=LINES,
        subject=LINES, body=LINES, thread=LINES, created_at=NUMBERS, priority=st.sampled_from(Priority),
        requires_ack=st.booleans(),
    )
)  # fmt: skip
def test_what_is_unpacked_is_what_was_packed(sent: Message):
    got = unpack(pack(sent))
    assert got == sent
    assert [type(field) for field in got or ()] == [type(field) for field in sent]


def test_a_letter_fits_its_envelope_or_is_not_written():
    room_left = LONGEST - len(pack(message(body="")))
    assert len(pack(message(body="x" * room_left))) == LONGEST
    for body in ("x" * (room_left + 1), "\N{PILE OF POO}" * (room_left // 4 + 1), "x" * 1_000_000):
        assert pack(message(body=body)) == b""


@pytest.mark.parametrize(
    "fields", [{"payload": {}}, {"key": "k"}, {"expires_at": 1}, {"not_before": 1}, {"redacted": {}}]
)
def test_what_is_not_plain_is_not_written(fields: dict[str, Any]):
    assert pack(message(**fields)) == b""


@given(st.binary(max_size=200))
def test_noise_is_no_letter(noise: bytes):
    assert unpack(noise) is None


@pytest.mark.parametrize("place", range(19))
def test_a_letter_with_a_field_spoiled_added_or_missing_raises_nothing(place: int):
    fields = pack(message()).split(b"\0")
    spoiled = [*fields[:place], b"\xff", *fields[place + 1 :]]
    added = [*fields[:place], b"", *fields[place:]]
    missing = [*fields[:place], *fields[place + 1 :]]
    assert unpack(b"\0".join(spoiled)) is None
    assert unpack(b"\0".join(added)) is None
    assert place == len(fields) or unpack(b"\0".join(missing)) is None


def test_a_letter_of_another_format_is_left_unread():
    assert unpack(b"2" + pack(message())[1:]) is None
