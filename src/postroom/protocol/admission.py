"""What a typed message must be like to be sent. It is lenient in what it reads, and exact in what is stored.

Keys of built-in types may be written in camelCase, and a null stands for a field that is not there; both
are gone when the message is stored. Names from other tools are turned into ours.
"""

from typing import Any, NamedTuple, cast

from postroom.errors import InvalidPayload, InvalidValue
from postroom.protocol import registry
from postroom.protocol.builtin import Definition
from postroom.protocol.schema import check

Json = dict[str, Any]
EVERYBODY = "@all"
_ALL = frozenset(("", "*", "all", EVERYBODY))


class Admitted(NamedTuple):
    """The parts of a message that its type has a say in."""

    to: str
    type: str
    body: str
    payload: Json | None


def admit(to: str, type: str, body: str, payload: Json | None, home: str = "") -> Admitted:
    """The message as it may be stored; raises a `UsageError` that names the type or the field.

    `home` is where the config is that may register further types.
    """
    if type == "custom":
        return _custom(to, body, payload)
    if type == "broadcast":
        return _broadcast(to, body, payload)
    definition = registry.find(type, home)
    given = payload or {}
    try:
        if definition["group"] != "yours":
            given = _normal(given, definition["schema"], "payload")
            _rename(given, definition.get("aliases", {}))
        check(given, definition["schema"])
        if "templates" in definition:
            _check_template(given, definition)
    except InvalidPayload as exc:
        hint = f"See its fields: postroom types show {type}"
        if "near" in exc.facts:
            hint += "; what is your own goes into --metadata"
        raise InvalidPayload(str(exc), hint=hint, type=type, **exc.facts) from None
    return Admitted(to, type, body, None if payload is None else given)


def _custom(to: str, body: str, payload: Json | None) -> Admitted:
    """A note whose text is in the payload."""
    rest = dict(payload or {})
    text = rest.pop("text", body)
    if not isinstance(text, str):
        raise InvalidPayload("payload.text must be a string", field="payload.text", type="custom")
    if body and text != body:
        raise InvalidPayload(
            "there is a body and another text in payload.text", field="payload.text", type="custom",
            hint="Give the text once.",
        )  # fmt: skip
    return Admitted(to, "note", text, rest or None)


def _broadcast(to: str, body: str, payload: Json | None) -> Admitted:
    """A note to everybody. One that names somebody is refused: one of the two was not meant."""
    if not is_everybody(to) and not to.endswith(f"/{EVERYBODY}"):
        raise InvalidValue(
            f"a broadcast goes to {EVERYBODY}, not to {to!r}", field="to",
            hint=f"Send a note to {to}, without --type; or the broadcast to {EVERYBODY}.",
        )  # fmt: skip
    return Admitted(EVERYBODY if is_everybody(to) else to, "note", body, payload)


def is_everybody(to: str) -> bool:
    """Whether that is how one writes to everybody, here or elsewhere."""
    return to in _ALL


def _normal(given: Json, schema: Json, path: str) -> Json:
    """The same with our spelling of the fields that the schema declares, and without those that are null."""
    properties: dict[str, Json] = schema.get("properties", {})
    found: Json = {}
    for name, one in given.items():
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a program may not be checked
            raise InvalidPayload(f"{path}: the name of a field must be text, not {name!r}", field=path)
        ours = name if name in properties else _snake(name)
        if ours not in properties:
            ours = name
        if ours in found:
            raise InvalidPayload(f"{path}.{ours} is given twice", field=f"{path}.{ours}")
        about = properties.get(ours, {})
        if isinstance(one, dict) and "properties" in about:
            found[ours] = _normal(cast("Json", one), about, f"{path}.{ours}")
        elif one is not None or "type" not in about:
            found[ours] = one
    return found


def _rename(given: Json, aliases: dict[str, str]) -> None:
    """Give fields their own names. One field may be given by two names if they say the same."""
    for alias, ours in aliases.items():
        value = given.pop(alias, None)
        if value is None:
            continue
        if given.setdefault(ours, value) != value:
            raise InvalidPayload(
                f"payload.{alias} and payload.{ours} are the same field, and differ",
                field=f"payload.{alias}", same_as=f"payload.{ours}",
            )  # fmt: skip


def _snake(name: str) -> str:
    """`taskId`, or `taskID`, as `task_id`."""
    begins = [c.isupper() and n > 0 and not name[n - 1].isupper() for n, c in enumerate(name)]
    return "".join("_" * begin + c.lower() for begin, c in zip(begins, name, strict=True))


def _check_template(given: Json, definition: Definition) -> None:
    chosen = given.get("template", "standard")
    for name in definition["templates"][chosen]["required"]:
        if not given.get(name):
            field = f"payload.{name}"
            raise InvalidPayload(f"{field} is missing: a {chosen} {definition['name']} needs it", field=field)
