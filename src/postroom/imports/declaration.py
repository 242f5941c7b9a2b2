"""Agents in the room's config: tables that are added at its end, kept on record, and taken out again.

What is there is never changed, so an agent that the config has already stays as it is. The text that was
added is on record beside the room: undoing takes just that out, and nothing if somebody has edited it since.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from postroom import config, host
from postroom.errors import CannotEdit, InvalidValue, NotFound, Refused
from postroom.imports.plan import Agents
from postroom.model.address import parse
from postroom.model.message import Json
from postroom.room import declared
from postroom.setup import file
from postroom.setup.change import Change

_FOLDER = "imports"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Additions(NamedTuple):
    """What an import does to a config."""

    change: Change
    added: dict[str, Json]
    same: list[str]  # are there, just so
    kept: dict[str, Json]  # are there, otherwise; and stay so


def additions(home: str, agents: Agents) -> Additions:
    """What is missing in the config of a room, and the config with it."""
    path = config.config_path(home)
    before = file.read(path)
    text = file.text(path, before)
    there = _there(path, text)
    known = {str(parse(name)): table for name, table in there.items()}
    added = {name: table for name, table in agents.tables.items() if name not in known}
    declared.check(there | added)
    block = _block(added, agents.source, text)
    _check(path, text + block, there | added)
    same = [name for name in agents.tables if name in known and known[name] == agents.tables[name]]
    kept = {name: known[name] for name in agents.tables if name in known and name not in same}
    change = Change(
        path, before, file.encoded(text + block, before) if added else before, agents.kind.value, block
    )
    return Additions(change, added, same, kept)


def _there(path: str, text: str) -> dict[str, Any]:
    try:
        agents: Any = tomllib.loads(text).get("agents", {})
    except (ValueError, RecursionError) as exc:
        raise CannotEdit(f"{path}: {exc}", path=path, hint="Mend that file first.") from None
    if not isinstance(agents, dict):
        raise CannotEdit(f"{path}: agents is no table", path=path, hint="Mend that file first.")
    return cast("dict[str, Any]", agents)


def _check(path: str, text: str, wanted: dict[str, Any]) -> None:
    """Raises unless a config that ends in what is added says just that, whatever stands before it."""
    try:
        if tomllib.loads(text).get("agents", {}) == wanted:
            return
    except ValueError:
        pass
    raise CannotEdit(
        f"{path} does not take what is added", path=path, hint="Write its agents as [agents.NAME]."
    )


def _block(tables: dict[str, Json], source: str, text: str) -> str:
    if not tables:
        return ""
    head = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    lines = [f"{head}# from {' '.join(source.split())}"]
    for name, table in tables.items():
        lines += [f"[agents.{_key(name)}]", *(f"{key} = {_value(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """As TOML writes it, which is as JSON does, but for one character."""
    try:
        return json.dumps(value, ensure_ascii=False).encode().decode().replace("\x7f", "\\u007f")
    except UnicodeEncodeError:
        raise InvalidValue(f"{value!r} is not text", hint="Mend it where it comes from.") from None


# doing it, and undoing it


def write(home: str, agents: Agents) -> Additions:
    """Add what is missing; on record first, so that whatever was written can be taken out again."""
    with _alone(home):
        wanted = additions(home, agents)
        if wanted.added:
            path, change = _record_path(home, agents.source), wanted.change
            file.check(change.path)
            record = _load(path) or {
                "source": agents.source,
                "config": change.path,
                "made": change.before is None or _is_made(home, change.path),
                "blocks": [],
            }
            record["blocks"].append(change.content)
            host.replace(path, json.dumps(record, indent=1).encode())
            assert change.after is not None
            file.write(change.path, change.after)
        return wanted


def undoing(home: str, source: str) -> Change:
    """The config without what was added from a source."""
    record = _load(_record_path(home, source))
    if record is None:
        raise NotFound(
            f"nothing was imported into the config from {source}", hint="Name it as it was named then."
        )
    path = str(record["config"])
    before = file.read(path)
    text = file.text(path, before)
    for block in record["blocks"]:
        text = _without(path, text, str(block))
    gone = record["made"] and not text.strip()
    return Change(path, before, None if gone or before is None else file.encoded(text, before), source, "")


def _without(path: str, text: str, block: str) -> str:
    if block in text:
        return text.replace(block, "", 1)
    tables = re.findall(r"^\[agents\..+\]$", block, re.MULTILINE)
    if any(table in text for table in tables):
        raise CannotEdit(
            f"{path} was changed since, where agents were imported", path=path,
            hint=f"Take out what you do not want yourself: {', '.join(tables)}",
        )  # fmt: skip
    return text  # it never got there, or somebody has taken it out


def undo(home: str, source: str) -> Change:
    """Take out what was added."""
    with _alone(home):
        change = undoing(home, source)
        if change.is_one:
            file.check(change.path)
            if change.after is None:
                file.delete(change.path)
            else:
                file.write(change.path, change.after)
        os.unlink(_record_path(home, source))
        return change


@contextmanager
def _alone(home: str) -> Generator[None]:
    """Within, no other import edits the same config."""
    host.private_directory(config.beside(home, _FOLDER))
    descriptor = os.open(config.beside(home, _FOLDER, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.name == "posix" and not host.lock(descriptor):
            raise Refused("another import is under way", hint="Try again when it has ended.")
        yield
    finally:
        os.close(descriptor)


def _record_path(home: str, source: str) -> str:
    name = hashlib.sha256(source.encode(errors="backslashreplace")).hexdigest()[:16]
    return config.beside(home, _FOLDER, f"{name}.json")


def _is_made(home: str, path: str) -> bool:
    """Whether an earlier import has made a config."""
    folder = config.beside(home, _FOLDER)
    names = [name for name in os.listdir(folder) if name.endswith(".json")]
    records = [_load(os.path.join(folder, name)) for name in names]
    return any(record and record.get("made") and record["config"] == path for record in records)


def _load(path: str) -> Json | None:
    try:
        with open(path, encoding="utf-8") as opened:
            found: Any = json.load(opened)
        return cast("Json", found) if isinstance(found["blocks"], list) and found["config"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
