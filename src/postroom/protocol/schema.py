"""Payloads checked against JSON Schema: a documented part of it, in the standard library, on the send path.

Which keywords are held, and that a schema has no others, is the business of `keyword`.
"""

from typing import Any

from postroom.errors import InvalidPayload

Schema = dict[str, Any]


def kind_of(value: object) -> str:
    """The name JSON Schema has for what a value is; a whole number is an `integer`, written `1` or `1.0`."""
    if isinstance(value, float) and value.is_integer():
        return "integer"
    return _KINDS.get(type(value)) or next(name for cls, name in _KINDS.items() if isinstance(value, cls))


_KINDS: dict[type, str] = {
    dict: "object",
    list: "array",
    tuple: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
KINDS = frozenset(_KINDS.values())
_ARTICLES = {
    "object": "an object", "array": "a list", "string": "a string", "boolean": "true or false",
    "integer": "a whole number", "number": "a number", "null": "null",
}  # fmt: skip


def check(value: Any, schema: Schema, path: str = "payload") -> None:
    """Raise `InvalidPayload` about the first thing that is wrong, naming the field and what was expected.

    `schema` must have passed `keyword.register`, and the value must be JSON.
    """
    kind = kind_of(value)
    wanted = schema.get("type")
    if wanted is not None and not _is_kind(kind, wanted):
        raise _wrong(path, _expected_kinds(wanted), _ARTICLES[kind])
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        raise _wrong(path, f"one of {', '.join(map(_shown, schema['enum']))}", _shown(value))
    if "const" in schema and not same(value, schema["const"]):
        raise _wrong(path, _shown(schema["const"]), _shown(value))
    if kind == "object":
        _check_object(value, schema, path)
    elif kind == "array":
        _check_size(len(value), schema, path, "Items", "item")
        if items := schema.get("items"):
            for n, item in enumerate(value):
                check(item, items, f"{path}[{n}]")
    elif kind == "string":
        _check_size(len(value), schema, path, "Length", "character")
        if "format" in schema and not is_moment(value):
            raise _wrong(path, "a date and time with its zone, like 2026-01-31T12:00:00Z", _shown(value))
    elif kind in ("integer", "number"):
        _check_number(value, schema, path)


def _check_number(value: float, schema: Schema, path: str) -> None:
    if value - value != 0:  # NaN would pass every limit; no JSON can say it, nor what is infinite
        raise _wrong(path, "a finite number", str(value))
    if value < schema.get("minimum", value):
        raise _wrong(path, f"at least {schema['minimum']}", _shown(value))
    if value > schema.get("maximum", value):
        raise _wrong(path, f"at most {schema['maximum']}", _shown(value))


def _check_object(value: dict[str, Any], schema: Schema, path: str) -> None:
    properties: dict[str, Schema] = schema.get("properties", {})
    others: Any = schema.get("additionalProperties", True)
    for name, one in value.items():
        if others is True or name in properties:
            continue
        if others is False:
            raise _unknown(name, properties, path)
        check(one, others, f"{path}.{name}")
    for name in schema.get("required", ()):
        if name not in value:
            about = properties.get(name, {})
            expected = _expected_kinds(about.get("type", "any value"))
            raise InvalidPayload(
                f"{path}.{name} is missing; expected {expected}", field=f"{path}.{name}", expected=expected
            )
    for name, about in properties.items():
        if name in value:
            check(value[name], about, f"{path}.{name}")


def _check_size(size: int, schema: Schema, path: str, what: str, noun: str) -> None:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", size)
    if not least <= size <= most:
        expected = f"at least {_count(least, noun)}" if size < least else f"at most {_count(most, noun)}"
        raise InvalidPayload(f"{path} must have {expected}, not {size:,}", field=path, expected=expected)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is 1.0, but true is not 1."""
    kind = kind_of(one)
    if kind != kind_of(other):
        return False
    if kind == "object":
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if kind == "array":
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def is_moment(text: str) -> bool:
    """Whether it is a date and a time of day with its zone, as RFC 3339 writes them."""
    if not text.isascii() or len(text) < 20 or text[4] + text[7] != "--" or text[10] not in "Tt ":
        return False
    from datetime import datetime  # noqa: PLC0415 - most types have no such field

    try:
        return datetime.fromisoformat(text.upper()).tzinfo is not None
    except ValueError:
        return False


def _is_kind(kind: str, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    return kind in names or (kind == "integer" and "number" in names)


def _wrong(path: str, expected: str, found: str) -> InvalidPayload:
    return InvalidPayload(
        f"{path} must be {expected}, not {found}", field=path, expected=expected, found=found
    )


def _unknown(name: str, properties: dict[str, Schema], path: str) -> InvalidPayload:
    from postroom.near import either, near  # noqa: PLC0415 - only for who is refused

    found = near(name, properties)
    meant = f"did you mean {either(found)}?" if found else f"there are: {', '.join(properties) or 'none'}"
    where = f"{path}.{name[:80]}"
    return InvalidPayload(f"there is no field {where}; {meant}", field=where, near=found)


def _expected_kinds(wanted: str | list[str]) -> str:
    names = [wanted] if isinstance(wanted, str) else wanted
    return " or ".join(_ARTICLES.get(name, name) for name in names)


def _shown(value: object) -> str:
    from postroom.text import encode  # noqa: PLC0415 - only for who is refused

    text = encode(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
