"""What may be sent: everything else is refused before any lock is taken, with the field named."""

import math
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.config import Settings
from postroom.errors import InvalidBody, InvalidPayload, InvalidValue, UsageError
from postroom.model.ladder import Priority
from postroom.room.draft import draft

SETTINGS = Settings()


def make(body: Any = "hello", **options: Any) -> Any:
    return draft(options.pop("settings", SETTINGS), "builder", body, **options)


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize("body", ["", "a\0b", "\0", "\ud800", "half \udcff of it"])
def test_a_body_that_is_empty_or_no_text_is_refused(body: str):
    with pytest.raises(InvalidBody) as refusal:
        make(body)
    assert refusal.value.hint


def test_an_empty_body_is_fine_beside_a_subject_or_a_payload():
    assert make("", subject="only this").body == ""
    assert make("", payload={"task": 1}).body == ""


def test_a_body_is_measured_in_bytes_and_not_in_characters():
    settings = Settings(max_body_bytes=10)
    assert make("ü" * 5, settings=settings)
    with pytest.raises(InvalidBody) as refusal:
        make("ü" * 6, settings=settings)
    assert refusal.value.facts == {"size": 12, "limit": 10}


@pytest.mark.promise("bad-input")
def test_a_body_of_ten_megabytes_is_refused_with_its_size():
    with pytest.raises(InvalidBody, match="10,485,760 bytes"):
        make("x" * 10_485_760)


@pytest.mark.parametrize("field", ["subject", "type", "key", "correlation"])
@pytest.mark.parametrize("text", ["two\nlines", "two\rlines", "x" * 1001, "a\0b", "\udcff"])
def test_a_field_of_one_line_is_refused_when_it_is_not(field: str, text: str):
    with pytest.raises(UsageError, match=field):
        make(**{field: text})


@pytest.mark.parametrize("field", ["payload", "metadata"])
@pytest.mark.parametrize(
    "value",
    [
        [],
        "text",
        3,
        {"x": math.nan},
        {"x": math.inf},
        {"x": {1, 2}},
        {"x": b"bytes"},
        {"x": "\ud800"},
        {"\ud800": 1},
        {("a",): 1},
        {"x": "y" * 300_000},
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_small_json_object_is_refused_and_named(field: str, value: Any):
    with pytest.raises(InvalidPayload) as refusal:
        make(**{field: value})
    assert refusal.value.facts["field"] == field


def test_a_payload_that_contains_itself_or_goes_too_deep_is_refused():
    endless: dict[str, Any] = {}
    endless["self"] = endless
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep}
    for payload in (endless, deep):
        with pytest.raises(InvalidPayload):
            make(payload=payload)
    while deep:  # so that taking it apart does not recurse either
        deep = deep.pop("x")


@pytest.mark.parametrize(
    ("word", "priority"),
    [
        ("urgent", Priority.URGENT),
        ("high", Priority.HIGH),
        ("action", Priority.HIGH),
        ("normal", Priority.NORMAL),
        ("medium", Priority.NORMAL),
        ("LOW", Priority.LOW),
        (Priority.LOW, Priority.LOW),
    ],
)
def test_priorities_have_names(word: str | Priority, priority: Priority):
    assert make(priority=word).priority is priority


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize("word", ["", "asap", "0", "-1", "9" * 99, 0, 7, -1, None, 1.5, [], True])
def test_an_absurd_priority_is_refused(word: Any):
    with pytest.raises(InvalidValue) as refusal:
        make(priority=word)
    assert refusal.value.facts["field"] == "priority"


@pytest.mark.parametrize("field", ["after", "expires"])
@pytest.mark.parametrize("seconds", [-1, -0.001, math.nan, math.inf, -math.inf, 1e10, 1e300])
def test_a_moment_in_the_past_or_beyond_all_time_is_refused(field: str, seconds: float):
    with pytest.raises(InvalidValue) as refusal:
        make(**{field: seconds})
    assert refusal.value.facts["field"] == field


@pytest.mark.parametrize("value", ["10m", [], {}, object()])
def test_a_time_that_is_neither_seconds_nor_a_moment_is_refused(value: Any):
    with pytest.raises(InvalidValue, match="seconds or a datetime"):
        make(after=value)


def test_the_format_of_a_body_is_noted_among_the_metadata():
    mine = {"mine": 1}
    assert make(format="markdown", metadata=mine).metadata == {"mine": 1, "format": "markdown"}
    assert mine == {"mine": 1}
    assert make(format="plain").metadata == {"format": "plain"}
    assert make().metadata is None
    with pytest.raises(InvalidValue, match="plain, markdown"):
        make(format="html")


def test_what_would_expire_before_it_is_due_is_refused():
    for after, expires in ((None, 0), (10, 10), (10, 5)):
        with pytest.raises(InvalidValue, match="expire"):
            make(after=after, expires=expires)
    assert make(after=10, expires=11).expires == 11


@pytest.mark.parametrize("cls", ["", "Turn", "page", None])
def test_a_class_that_does_not_exist_is_refused(cls: Any):
    with pytest.raises(InvalidValue):
        make(cls=cls)


def test_an_empty_type_is_refused():
    with pytest.raises(InvalidValue):
        make(type="")


@given(st.text())
def test_any_text_is_a_draft_or_a_usage_error(body: str):
    try:
        assert make(body).body == body
    except UsageError as refusal:
        str(refusal).encode()


@pytest.mark.parametrize("value", [0, False, 3, b"bytes", ["a"]])
@pytest.mark.parametrize("field", ["subject", "type", "key", "correlation"])
def test_what_is_not_text_is_refused_by_name(field: str, value: object):
    if not value and field in ("key", "correlation"):
        return  # as if it had not been given
    with pytest.raises(UsageError) as refusal:
        make("body", **{field: value})
    assert field in str(refusal.value)


@pytest.mark.parametrize("field", ["after", "expires"])
@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.999900+00:00"])
def test_a_moment_that_no_calendar_can_write_is_refused(field: str, moment: str):
    with pytest.raises(InvalidValue, match="the year 9999") as refusal:
        make(**{field: datetime.fromisoformat(moment)})
    assert refusal.value.facts["field"] == field


def test_a_gate_that_would_end_after_the_last_moment_is_refused():
    with pytest.raises(InvalidValue, match="the year 9999"):
        make(
            type="decision_gate",
            payload={"options": ["yes", "no"]},
            after=datetime.fromisoformat("9999-12-31T23:59:59+00:00"),
        )


def test_a_moment_before_all_others_is_one_that_has_passed():
    early = datetime.fromisoformat("0001-01-01T00:00:00+14:00")
    assert make(after=early).after == 0
    with pytest.raises(InvalidValue, match="expire"):
        make(expires=early)
