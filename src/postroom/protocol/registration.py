"""Types that users register: `[types.NAME]` in the config, and the entry points `postroom.types`.

Both are compiled into `types.compiled.json` beside the config. That is used while the config and the schema
files it names have the same size and time; packages are looked through again when it is made anew, when
a type is asked for that is not in it, and by `postroom types --refresh`.
"""

import json
import os
from typing import Any, NamedTuple, cast

from postroom import config
from postroom.errors import InvalidPayload, InvalidSchema, PostroomError
from postroom.protocol import keyword, schema
from postroom.protocol.builtin import ALIASES, Definition, built_in, is_name

GROUP = "postroom.types"
_FORMAT = 1
_KEYS = frozenset(("meaning", "direction", "schema", "example"))

Stamp = list[int] | None


class Registered(NamedTuple):
    """The types users have registered, and what is wrong with those that cannot be used."""

    types: dict[str, Definition]
    problems: dict[str, str]

    def of_packages(self) -> "Registered":
        """Without the types of the config, which may change while a process runs."""
        types = {name: one for name, one in self.types.items() if one["origin"] == "package"}
        return Registered(types, self.problems)


def compiled_path(home: str) -> str:
    return os.path.join(os.path.dirname(config.config_path(home)), "types.compiled.json")


def registered(home: str) -> Registered:
    """What is registered, as compiled; compiled now if what it was made from has changed."""
    try:
        with open(compiled_path(home), encoding="utf-8") as file:
            found = json.load(file)
        made_from: dict[str, Stamp] = found["made_from"]
        if found["format"] == _FORMAT and all(stamp(path) == then for path, then in made_from.items()):
            return Registered(dict(found["types"]), dict(found["problems"]))
    except FileNotFoundError:
        if stamp(config.config_path(home)) is None:
            return Registered({}, {})  # whoever asks for a type by name has the packages looked through
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass  # damaged, or of another version: it counts for nothing
    return refresh(home)


def refresh(home: str) -> Registered:
    """Read the config and look through the installed packages, and keep what is found."""
    path = config.config_path(home)
    made_from: dict[str, Stamp] = {path: stamp(path)}
    found = Registered({}, {})
    for name, value in _from_packages():
        _register(name, value, found, "package")
    for name, value in _from_config(path, made_from):
        _register(name, value, found, "config")
    if found != ({}, {}) or os.path.exists(compiled_path(home)):
        document = {"format": _FORMAT, "made_from": made_from, **found._asdict()}
        config.keep(compiled_path(home), document)
    return found


def stamp(path: str) -> Stamp:
    """Time and size of a file; None if it is not there."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return [about.st_mtime_ns, about.st_size]


def _from_config(path: str, made_from: dict[str, Stamp]) -> list[tuple[str, Any]]:
    tables: Any = config.document(path).get("types", {}) if made_from[path] else {}
    if not isinstance(tables, dict):
        tables = {"types": tables}
    found: list[tuple[str, Any]] = []
    for name, table in cast("dict[str, Any]", tables).items():
        value: Any = table
        if isinstance(table, dict) and isinstance(table.get("schema"), str):  # pyright: ignore[reportUnknownMemberType]
            value = _with_file(cast("dict[str, Any]", table), os.path.dirname(path), made_from)
        found.append((name, value))
    return found


def _with_file(table: dict[str, Any], where: str, made_from: dict[str, Stamp]) -> Any:
    """A table whose schema is in a file, named from where the config is."""
    path = os.path.join(where, os.path.expanduser(table["schema"]))
    made_from[path] = stamp(path)
    try:
        with open(path, encoding="utf-8") as file:
            return {**table, "schema": json.load(file)}
    except (OSError, ValueError, RecursionError) as exc:
        return InvalidSchema(f"{path}: {exc}")


def _from_packages() -> list[tuple[str, Any]]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and never on the mail path

    found: list[tuple[str, Any]] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            found.append((entry.name, entry.load()))
        except Exception as exc:  # whatever a stranger's package does must not stop the mail
            found.append((entry.name, InvalidSchema(f"{entry.value}: {type(exc).__name__}: {exc}")))
    return found


def _register(name: str, value: Any, found: Registered, origin: str) -> None:
    found.types.pop(name, None)  # the config has the last word
    found.problems.pop(name, None)
    try:
        found.types[name] = {**_checked(name, value), "origin": origin}
    except PostroomError as exc:
        found.problems[name] = str(exc)


def _checked(name: str, value: Any) -> Definition:
    """A type that may be used, from a table of four keys or a class declared with `payload_type`."""
    if isinstance(value, PostroomError):
        raise value
    if not is_name(name):
        raise InvalidSchema("a name is lower-case letters, digits, _, - and ., and begins with a letter")
    if name in ALIASES or built_in(name) is not None:
        raise InvalidSchema("that is the name of a built-in type")
    table: Any = value
    if isinstance(value, type):
        from postroom.protocol.declaration import definition  # noqa: PLC0415 - only for classes

        declared = definition(value)
        if declared["name"] != name:
            raise InvalidSchema(f"its class is declared as {declared['name']!r}")
        if "templates" in declared:
            raise InvalidSchema("only built-in types have templates")
        table = {key: declared[key] for key in _KEYS}
    if not isinstance(table, dict):
        raise InvalidSchema("it must be a table with meaning, direction and schema, or a declared class")
    return _definition(name, cast("dict[str, Any]", table))


def _definition(name: str, table: dict[str, Any]) -> Definition:
    try:
        json.dumps(table, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidSchema(f"it cannot be written as JSON: {exc}") from None
    if more := sorted(set(table) - _KEYS):
        raise InvalidSchema(f"there is no key {more[0]!r}; there are: {', '.join(sorted(_KEYS))}")
    for key in ("meaning", "direction"):
        text = table.get(key, "")
        if not isinstance(text, str) or "\n" in text or (key == "meaning" and not text):
            raise InvalidSchema(f"{key} must be one line of text")
    found: Definition = {
        "name": name,
        "group": "yours",
        "direction": table.get("direction") or "anyone → anyone",
        "meaning": table["meaning"],
        "schema": keyword.register(table.get("schema")),
        "example": table.get("example"),
    }
    if found["example"] is not None:
        try:
            schema.check(found["example"], found["schema"], "example")
        except InvalidPayload as exc:
            raise InvalidSchema(str(exc)) from None
    return found
