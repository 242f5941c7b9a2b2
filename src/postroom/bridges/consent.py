"""What a config file may have run and typed into, where a sandboxed agent could have written it.

A config that lies in the room itself is not the user's word alone: what it says of commands, panes and
profiles counts only after a person has agreed to just that. What was agreed to is kept beside the room.
"""

import hashlib
import json
import os
from typing import Any

from postroom import config, host
from postroom.model.message import Json

_NAME = "consent.json"


def is_asked(home: str) -> bool:
    """Whether the config lies where others than the user may write."""
    inside = os.path.realpath(home).rstrip("/") + "/"
    return os.path.realpath(config.config_path(home)).startswith(inside)


def missing(home: str, items: dict[str, Json]) -> dict[str, Json]:
    """Those of these, by their names, that nobody has agreed to as they are now."""
    if not items or not is_asked(home):
        return {}
    known = _read(home)
    return {name: item for name, item in items.items() if _digest(name, item) not in known}


def remember(home: str, items: dict[str, Json]) -> None:
    known = _read(home) | {_digest(name, item) for name, item in items.items()}
    host.private_directory(config.beside(home))
    host.replace(config.beside(home, _NAME), json.dumps(sorted(known)).encode())


def _read(home: str) -> set[str]:
    try:
        with open(config.beside(home, _NAME), encoding="utf-8") as file:
            found: Any = json.load(file)
    except (OSError, ValueError):
        return set()
    return set(map(str, found)) if isinstance(found, list) else set[str]()  # pyright: ignore[reportUnknownArgumentType] - whatever stands there


def _digest(name: str, item: Json) -> str:
    return hashlib.sha256(json.dumps([name, item], sort_keys=True).encode()).hexdigest()
