"""What is enclosed with a ring: a message in one datagram, the same at the other end, and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.enclosure import LONGEST, disclose, enclose
from postroom.model.ladder import Priority
from postroom.model.message import NOTHING, Message

LINES = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)
NUMBERS = st.integers(min_value=1, max_value=(1 << 63) - 1)


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
        subject=LINES, body=LINES, thread=LINES, created_at=NUMBERS,
        requires_ack=st.booleans(),
    )
)  # fmt: skip
def test_what_is_disclosed_is_what_was_enclosed(sent: Message):
    got = disclose(enclose(sent))
    assert got == sent
    assert [type(field) for field in got or ()] == [type(field) for field in sent]


def test_it_fits_or_is_empty():
    room_left = LONGEST - len(enclose(message(body="")))
    assert len(enclose(message(body="x" * room_left))) == LONGEST
    for body in ("x" * (room_left + 1), "\N{PILE OF POO}" * (room_left // 4 + 1), "x" * 1_000_000):
        assert enclose(message(body=body)) == b""


@pytest.mark.parametrize(
    "fields",
    [{"priority": Priority.LOW}, {"priority": Priority.HIGH}, {"payload": {}}, {"key": "k"},
     {"expires_at": 1}, {"not_before": 1}, {"redacted": {}}],
)  # fmt: skip
def test_what_is_not_plain_is_not_enclosed(fields: dict[str, Any]):
    assert enclose(message(**fields)) == b""


@given(st.binary(max_size=200))
def test_noise_discloses_nothing(noise: bytes):
    assert disclose(noise) is None


@pytest.mark.parametrize("place", range(18))
def test_a_field_too_many_or_too_few_discloses_nothing(place: int):
    fields = enclose(message()).split(b"\0")
    assert disclose(b"\0".join([*fields[:place], b"", *fields[place:]])) is None
    assert place == len(fields) or disclose(b"\0".join([*fields[:place], *fields[place + 1 :]])) is None


@pytest.mark.parametrize(
    ("place", "field"),
    [(0, b"2"), (0, b""), (1, b"x"), (1, b"0"), (1, b"-1"), (1, str(1 << 63).encode()), (12, b"\xff"),
     (15, b"x"), (16, b"2"), (16, b"")],
)  # fmt: skip
def test_a_field_that_cannot_be_discloses_nothing(place: int, field: bytes):
    fields = enclose(message()).split(b"\0")
    assert disclose(b"\0".join(fields)) is not None
    assert disclose(b"\0".join([*fields[:place], field, *fields[place + 1 :]])) is None
