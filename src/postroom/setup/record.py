"""What a set-up has changed, kept beside the room: each file as it was, and a hash of what was made of it."""

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from postroom import config, host
from postroom.model.message import Json
from postroom.runtimes.wiring import Content, Entry

HOOKS, TOOLS = "hooks", "mcp"  # the two parts of setting a runtime up


class Kept(NamedTuple):
    """One file."""

    path: str
    before: bytes | None
    after: str  # its hash
    content: Content  # what was put in
    directories: list[str]  # that were made for it, the innermost first


class Record(NamedTuple):
    """One set-up."""

    runtime: str
    scope: str  # user, project or plugin
    directory: str  # of the project, or of the plugin
    files: list[Kept]
    part: str = HOOKS  # or TOOLS


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _path(home: str, runtime: str, scope: str, directory: str, part: str) -> str:
    name = f"{runtime}.{scope}" if part == HOOKS else f"{runtime}.{part}.{scope}"
    if scope == "project":
        name += f".{digest(directory.encode())[:12]}"
    return config.beside(home, "setup", f"{name}.json")


def load(home: str, runtime: str, scope: str, directory: str, part: str = HOOKS) -> Record | None:
    """The record of a set-up; None when there is none, or it cannot be read any more."""
    return _load(_path(home, runtime, scope, directory, part))


def every(home: str) -> Iterator[Record]:
    """All set-ups of a room."""
    try:
        names = sorted(os.listdir(config.beside(home, "setup")))
    except OSError:
        return
    for name in names:
        found = _load(config.beside(home, "setup", name)) if name.endswith(".json") else None
        if found is not None:
            yield found


def _load(path: str) -> Record | None:
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
        files = [
            Kept(
                each["path"], None if each["before"] is None else base64.b64decode(each["before"]),
                each["after"], _content(each["content"]), each["directories"],
            )
            for each in found["files"]
        ]  # fmt: skip
        return Record(found["runtime"], found["scope"], found["directory"], files, found.get("part", HOOKS))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _content(found: Any) -> Content:
    """JSON knows of no entries, only of arrays."""
    if not isinstance(found, list):
        return found
    names, value = cast("tuple[list[str], Json]", found)
    return Entry(tuple(names), value)


def save(home: str, record: Record) -> None:
    path = _path(home, record.runtime, record.scope, record.directory, record.part)
    host.private_directory(os.path.dirname(path))
    files = [
        {**each._asdict(), "before": None if each.before is None else base64.b64encode(each.before).decode()}
        for each in record.files
    ]
    host.replace(path, json.dumps({**record._asdict(), "files": files}, indent=1).encode())


def forget(home: str, record: Record) -> None:
    try:
        os.unlink(_path(home, record.runtime, record.scope, record.directory, record.part))
    except OSError:
        pass
