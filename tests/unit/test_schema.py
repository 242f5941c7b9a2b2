"""The part of JSON Schema we hold: what fits, what does not and how that is told, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import InvalidPayload, InvalidSchema
from postroom.protocol import keyword, schema


def problem(value: Any, wanted: dict[str, Any]) -> InvalidPayload:
    with pytest.raises(InvalidPayload) as refusal:
        schema.check(value, wanted)
    return refusal.value


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ({"type": "string"}, "a"),
        ({"type": "integer"}, 3),
        ({"type": "integer"}, 3.0),
        ({"type": "number"}, 3),
        ({"type": "number"}, 3.5),
        ({"type": ["string", "number"]}, 3),
        ({"type": ["string", "null"]}, None),
        ({"type": "boolean"}, False),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, ["a", "b"]),
        ({"type": "object", "required": ["a"]}, {"a": None}),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"b": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"b": 1}),
        ({"enum": ["a", 1, None, {"x": [1]}]}, {"x": [1.0]}),
        ({"const": True}, True),
        ({"minLength": 2, "maxLength": 2}, "日本"),
        ({"minimum": 0, "maximum": 1}, 1),
        ({"minimum": 5}, "not a number, so the keyword says nothing"),
        ({"format": "date-time"}, "2026-01-31T12:00:00Z"),
        ({"format": "date-time"}, "2026-01-31t12:00:00.123+02:00"),
        ({"title": "t", "description": "d", "default": 1, "examples": [2], "$comment": "c"}, object),
    ],
)
def test_what_fits_is_accepted(wanted: dict[str, Any], value: Any):
    schema.check("anything" if value is object else value, wanted)


@pytest.mark.parametrize(
    ("wanted", "value", "said"),
    [
        ({"type": "string"}, 3, "payload must be a string, not a whole number"),
        ({"type": "integer"}, 3.5, "payload must be a whole number, not a number"),
        ({"type": "integer"}, True, "payload must be a whole number, not true or false"),
        ({"type": "number"}, "3", "payload must be a number, not a string"),
        ({"type": ["string", "null"]}, [], "payload must be a string or null, not a list"),
        ({"type": "object"}, None, "payload must be an object, not null"),
        ({"items": {"type": "string"}}, ["a", 1], "payload[1] must be a string, not a whole number"),
        ({"minItems": 1}, [], "payload must have at least 1 item, not 0"),
        ({"maxItems": 1}, [1, 2], "payload must have at most 1 item, not 2"),
        ({"minLength": 2}, "a", "payload must have at least 2 characters, not 1"),
        ({"maxLength": 2}, "abc", "payload must have at most 2 characters, not 3"),
        ({"enum": ["a", "b"]}, "c", 'payload must be one of "a", "b", not "c"'),
        ({"enum": [1]}, True, "payload must be one of 1, not true"),
        ({"const": False}, 0, "payload must be false, not 0"),
        ({"minimum": 1}, 0, "payload must be at least 1, not 0"),
        ({"maximum": 1}, 1.5, "payload must be at most 1, not 1.5"),
        ({"type": "number"}, float("nan"), "payload must be a finite number, not nan"),
        ({"minimum": 0}, float("inf"), "payload must be a finite number, not inf"),
        ({"required": ["a"]}, {}, "payload.a is missing; expected any value"),
        (
            {"required": ["a"], "properties": {"a": {"type": "string"}}},
            {},
            "payload.a is missing; expected a string",
        ),
        (
            {"properties": {"a": {"properties": {"b": {"type": "string"}}}}},
            {"a": {"b": 1}},
            "payload.a.b must be a string, not a whole number",
        ),
        (
            {"properties": {"task_id": {}}, "additionalProperties": False},
            {"taskid": 1},
            "there is no field payload.taskid; did you mean task_id?",
        ),
        (
            {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
            {"zebra": 1},
            "there is no field payload.zebra; there are: a, b",
        ),
        (
            {"additionalProperties": {"type": "integer"}},
            {"b": "x"},
            "payload.b must be a whole number, not a string",
        ),
        (
            {"format": "date-time"},
            "yesterday",
            'payload must be a date and time with its zone, like 2026-01-31T12:00:00Z, not "yesterday"',
        ),
    ],
)
def test_what_does_not_fit_is_told_by_its_path_and_what_was_expected(
    wanted: dict[str, Any], value: Any, said: str
):
    found = problem(value, wanted)
    assert str(found) == said
    assert found.facts["field"].startswith("payload")


@pytest.mark.parametrize(
    "text",
    ["", "2026-01-31", "2026-01-31T12:00:00", "20260131T120000+00:00", "2026-W05-6T12:00:00Z",
     "2026-02-30T12:00:00Z", "2026-01-31T25:00:00Z", "\uff12026-01-31T12:00:00Z", "2026-01-31_12:00:00Z"],
)  # fmt: skip
def test_a_moment_needs_its_date_its_time_and_its_zone(text: str):
    assert not schema.is_moment(text)


def test_a_long_value_is_cut_where_it_is_shown():
    assert len(str(problem("x" * 100_000, {"enum": ["a"]}))) < 200


def test_a_mistyped_field_is_told_before_the_field_that_is_missing_because_of_it():
    wanted = {"properties": {"task_id": {}}, "required": ["task_id"], "additionalProperties": False}
    assert problem({"task": "T-1"}, wanted).facts["near"] == ["task_id"]


# registering


@pytest.mark.parametrize("word", sorted(keyword.RULES))
def test_a_keyword_that_is_held_must_have_a_sound_value(word: str):
    if word == "const":
        keyword.register({"type": "object", "const": {}})
        return
    for value in (None, -1.5j, "nonsense"):
        with pytest.raises(InvalidSchema) as refusal:
            keyword.register({"type": "object", word: value})
        assert refusal.value.facts["field"] == f"schema.{word}"


@pytest.mark.promise("types")
@pytest.mark.parametrize(
    "word", ["pattern", "oneOf", "anyOf", "allOf", "not", "if", "$ref", "$defs", "patternProperties", "x"]
)
def test_a_keyword_that_is_not_held_is_refused_and_named(word: str):
    inner = {"type": "object", "properties": {"a": {"type": "array", "items": {word: "x"}}}}
    with pytest.raises(InvalidSchema) as refusal:
        keyword.register(inner)
    assert refusal.value.facts["field"] == f"schema.properties.a.items.{word}"
    assert "minLength" in refusal.value.hint


@pytest.mark.parametrize("wanted", [None, [], "object", {}, {"type": "string"}, {"type": ["object", "null"]}])
def test_a_types_schema_is_about_an_object(wanted: Any):
    with pytest.raises(InvalidSchema):
        keyword.register(wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "object", "properties": {"a": 3}},
        {"type": "object", "additionalProperties": {"pattern": "x"}},
        {"type": "object", "required": "a"},
        {"type": "object", "enum": []},
        {"type": ["object", 3]},
        {"type": "object", "minLength": True},
    ],
)
def test_what_is_wrong_inside_a_schema_is_found(wanted: Any):
    with pytest.raises(InvalidSchema):
        keyword.register(wanted)


def test_a_schema_that_never_ends_is_refused():
    deep: dict[str, Any] = {"type": "object"}
    deep["properties"] = {"self": deep}
    with pytest.raises(InvalidSchema, match="nested deeper"):
        keyword.register(deep)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_value_fits_itself_and_its_own_kind(value: Any):
    schema.check(value, {"const": value, "type": schema.kind_of(value), "enum": [value]})


@given(json_values, json_values)
def test_two_values_are_the_same_or_not_whichever_comes_first(one: Any, other: Any):
    assert schema.same(one, other) == schema.same(other, one)


@given(json_values)
def test_any_value_fits_or_is_refused_by_a_sentence_that_can_be_printed(value: Any):
    wanted = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    fits = isinstance(value, dict) and all(k == "a" and isinstance(v, str) for k, v in value.items())
    if fits:
        schema.check(value, wanted)
    else:
        assert "payload" in str(problem(value, wanted))
