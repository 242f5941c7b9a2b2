"""Which part of JSON Schema types are written in.

What counts: `type` (one or several), `properties`, `required`, `additionalProperties` (yes, no or a schema),
`items`, `minItems`, `maxItems`, `enum`, `const`, `minLength`, `maxLength`, `minimum`, `maximum`, and `format`
with the value `date-time`. Some more may stand there to tell. Any other keyword is refused when a type is
registered: a rule that is written down and not held would be worse than none. `pattern` is among them,
because the library's regular expressions can take exponential time on a text that a stranger wrote.
"""

from collections.abc import Callable
from typing import Any, cast

from postroom.errors import InvalidSchema
from postroom.protocol.schema import KINDS, Schema

TELLING = ("title", "description", "default", "examples", "deprecated", "$schema", "$id", "$comment")
_DEEPEST = 32


def register(schema: object, path: str = "schema") -> Schema:
    """A schema that may serve a type: all its keywords are held, and it is about an object.

    Raises `InvalidSchema`, naming the keyword by its path.
    """
    found = _checked(schema, path, 0)
    if found.get("type") != "object":
        raise InvalidSchema(f"{path}.type must be 'object': a payload is one", field=f"{path}.type")
    return found


def _checked(schema: object, path: str, depth: int) -> Schema:
    if not isinstance(schema, dict):
        raise InvalidSchema(f"{path} must be an object", field=path)
    if depth > _DEEPEST:
        raise InvalidSchema(f"{path} is nested deeper than {_DEEPEST} levels", field=path)
    found = cast("Schema", schema)
    for keyword, value in found.items():
        where = f"{path}.{keyword}"
        if keyword in TELLING:
            continue
        rule = RULES.get(keyword)
        if rule is None:
            raise InvalidSchema(
                f"{where}: {keyword!r} is not a keyword that types may use",
                hint=f"The keywords are: {', '.join([*RULES, *TELLING])}",
                field=where, keyword=keyword,
            )  # fmt: skip
        wrong = rule(value)
        if wrong:
            raise InvalidSchema(f"{where} must be {wrong}", field=where, keyword=keyword)
    for name, inner in found.get("properties", {}).items():
        _checked(inner, f"{path}.properties.{name}", depth + 1)
    for keyword in ("items", "additionalProperties"):
        if not isinstance(found.get(keyword, True), bool):
            _checked(found[keyword], f"{path}.{keyword}", depth + 1)
    return found


def _type(value: Any) -> str:
    names: list[Any] = [value] if isinstance(value, str) else value
    right = bool(names) and not _strings(names) and KINDS.issuperset(names)
    return "" if right else f"one or several of {', '.join(sorted(KINDS))}"


def _strings(value: Any) -> str:
    right = isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))
    return "" if right else "a list of names"


def _size(value: Any) -> str:
    return "" if type(value) is int and value >= 0 else "a whole number, 0 or more"


def _number(value: Any) -> str:
    return "" if type(value) in (int, float) else "a number"


def _values(value: Any) -> str:
    return "" if isinstance(value, list) and value else "a list of at least one value"


def _object(value: Any) -> str:
    return "" if isinstance(value, dict) else "an object"


def _object_or_bool(value: Any) -> str:
    return "" if isinstance(value, (dict, bool)) else "true, false or a schema"


def _moment(value: Any) -> str:
    return "" if value == "date-time" else "'date-time', the one format that is held"


# What is wrong with a keyword's value: nothing, or what it must be.
RULES: dict[str, Callable[[Any], str]] = {
    "type": _type,
    "properties": _object,
    "required": _strings,
    "additionalProperties": _object_or_bool,
    "items": _object,
    "minItems": _size,
    "maxItems": _size,
    "enum": _values,
    "const": lambda _: "",
    "minLength": _size,
    "maxLength": _size,
    "minimum": _number,
    "maximum": _number,
    "format": _moment,
}
