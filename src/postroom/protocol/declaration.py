"""The JSON Schema of a dataclass, and what is written down about a type of message."""

import dataclasses
import types
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from postroom.errors import InvalidSchema
from postroom.model.payload import Rule, about, key

Json = dict[str, Any]

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", type(None): "null"}


def definition(cls: type) -> Json:
    """A type as the registry keeps it; the class was declared with `payload_type`."""
    said = about(cls)
    if said is None:
        raise InvalidSchema(f"{cls.__name__} was not declared with payload_type", field=cls.__name__)
    found: Json = {
        "name": said.name,
        "group": said.group,
        "direction": said.direction,
        "meaning": said.meaning,
        "origin": "postroom",
        "class": cls.__name__,
        "schema": schema_of(cls, free=said.free),
        "example": said.example,
    }
    if said.aliases:
        found["aliases"] = dict(said.aliases)
    if said.templates:
        found["templates"] = {
            one.name: {"meaning": one.meaning, "required": list(one.required)} for one in said.templates
        }
    return found


def schema_of(cls: type, *, free: bool = False) -> Json:
    """An object schema with the fields of a dataclass."""
    name = cls.__name__
    if not dataclasses.is_dataclass(cls):
        raise InvalidSchema(f"{name} is not a dataclass", field=name)
    hints = get_type_hints(cls, include_extras=True)
    properties: Json = {}
    required: list[str] = []
    for field in dataclasses.fields(cls):
        about_field = _field(hints[field.name], cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(key(field.name))
        elif field.default not in (None, (), dataclasses.MISSING):
            about_field["default"] = field.default
        properties[key(field.name)] = about_field
    schema: Json = {"title": cls.__name__, "type": "object", "properties": properties}
    if cls.__doc__:
        schema["description"] = cls.__doc__.partition("\n\n")[0]
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": free}


def _field(hint: Any, cls: type) -> Json:
    origin, arguments = get_origin(hint), get_args(hint)
    schema: Json
    if origin is Annotated:
        schema = _field(arguments[0], cls)
        for more in arguments[1:]:
            schema |= {"description": more} if isinstance(more, str) else _keywords(more)
    elif origin is Literal:
        schema = {"type": "string", "enum": list(arguments)}
    elif origin in (list, tuple):
        schema = {"type": "array", "items": _field(arguments[0], cls)}
    elif origin in (Union, types.UnionType):
        schema = _either([_field(one, cls) for one in arguments if one is not type(None)])
    elif dataclasses.is_dataclass(hint):
        schema = schema_of(cast("type", hint))
    elif kind := _PLAIN.get(origin or hint):
        schema = {"type": kind}
    elif hint is Any:
        schema = {}
    else:
        raise InvalidSchema(f"{cls.__name__}: no schema for {hint!r}", field=cls.__name__)
    return schema


def _keywords(more: object) -> Json:
    if not isinstance(more, Rule):
        return {}  # somebody else's
    return {name: _json(value) for name, value in more.keywords}


def _json(value: Any) -> Any:
    return [*cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value


def _either(schemas: list[Json]) -> Json:
    """One schema for values of several kinds: each keyword speaks only of the kind it is about."""
    merged: Json = {}
    for schema in schemas:
        merged |= schema
    kinds = [schema["type"] for schema in schemas]
    return merged | {"type": kinds if len(kinds) > 1 else kinds[0]}
