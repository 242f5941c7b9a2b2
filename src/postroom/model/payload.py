"""Payloads as typed objects: dataclasses, what is said about each, and how one is read from JSON."""

import dataclasses
import types
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from postroom.errors import InvalidPayload

T = TypeVar("T")


class Rule(NamedTuple):
    """Keywords of JSON Schema that a field's values are held to."""

    keywords: tuple[tuple[str, Any], ...]


def rule(**keywords: Any) -> Rule:
    """For `Annotated`: `Annotated[str, rule(minLength=1), "the task's id"]`."""
    return Rule(tuple(keywords.items()))


class Template(NamedTuple):
    """One of several forms a type may take, and which fields it cannot do without."""

    name: str
    meaning: str
    required: tuple[str, ...]


class About(NamedTuple):
    """What is said about a type of message."""

    name: str
    group: str
    direction: str  # who writes it to whom
    meaning: str
    example: dict[str, Any]
    free: bool = False  # whether fields that are not declared are welcome
    templates: tuple[Template, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()  # other names of its fields, which are read and not stored


_ABOUT: dict[type, About] = {}


def payload_type(
    name: str,
    *,
    direction: str,
    meaning: str,
    example: dict[str, Any],
    group: str = "yours",
    free: bool = False,
    templates: tuple[Template, ...] = (),
    aliases: dict[str, str] | None = None,
) -> Callable[[type[T]], type[T]]:
    """Declare a dataclass to be the payload of a type of message.

    Its fields make the schema: a field with a default may be left out, and of `Annotated[...]` a text is
    the field's description and a `rule` gives further keywords. A trailing `_` is not part of a name.
    `aliases` maps names that other tools use to those of the fields.
    """

    def declare(cls: type[T]) -> type[T]:
        _ABOUT[cls] = About(
            name, group, direction, meaning, example, free, templates, tuple((aliases or {}).items())
        )  # fmt: skip
        return cls

    return declare


def about(cls: type) -> About | None:
    """What was declared about a class; nothing if it was not."""
    return _ABOUT.get(cls)


def read(cls: type[T], payload: dict[str, Any] | None, type_: str) -> T:
    """A message's payload as an object of `cls`, any dataclass.

    Raises `InvalidPayload` when the message is of another type than the class is for, or does not fit it.
    """
    said = about(cls)
    if said is not None and said.name != type_:
        raise InvalidPayload(
            f"this message is of type {type_!r}, and {cls.__name__} is for {said.name!r}", field="type",
            hint=f"Look at the message's type before you read its payload as {cls.__name__}.",
        )  # fmt: skip
    return _built(cls, payload or {}, "payload")


def key(field: str) -> str:
    """A field's name in JSON: Python's own words have a `_` behind them."""
    return field.rstrip("_")


def _built(cls: type[T], document: dict[str, Any], path: str) -> T:
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cast("Any", cls)):
        where, value = f"{path}.{key(field.name)}", document.get(key(field.name))
        if value is not None:
            values[field.name] = _converted(value, hints[field.name], where)
        elif _is_required(field):
            raise InvalidPayload(f"{where} is missing", field=where)
    return cls(**values)


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _converted(value: Any, hint: Any, path: str) -> Any:
    """A JSON value as the annotation wants it; raises when it cannot be that."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or (origin is Literal and value in arguments):
        return value
    if origin in (Union, types.UnionType):
        return _first(value, arguments, path)
    if origin in (list, tuple):
        items = cast("list[Any]", value) if isinstance(value, list) else [value]  # one may stand for a list
        found = [_converted(item, arguments[0], f"{path}[{n}]") for n, item in enumerate(items)]
        return tuple(found) if origin is tuple else found
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return _built(cast("type[Any]", hint), cast("dict[str, Any]", value), path)
    plain: Any = origin or hint
    if plain is float and type(value) is int:
        return float(value)
    if isinstance(plain, type) and isinstance(value, plain) and (plain is not int or type(value) is not bool):
        return value
    raise InvalidPayload(f"{path} does not fit: {value!r:.60}", field=path)


def _first(value: Any, hints: tuple[Any, ...], path: str) -> Any:
    for hint in hints:
        try:
            return _converted(value, hint, path)
        except InvalidPayload as exc:
            if exc.facts["field"] != path:
                raise  # it was meant, and is wrong inside
    raise InvalidPayload(f"{path} does not fit: {value!r:.60}", field=path)
