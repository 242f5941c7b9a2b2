"""The types of messages that Postroom brings: one file each under `types/`, read when it is asked for.

The files are written from the classes under `payloads/` by `make fix`, and a test compares.
"""

import json
import os
from typing import Any

Definition = dict[str, Any]  # name, group, direction, meaning, origin, class, schema, example, templates

HERE = os.path.join(os.path.dirname(__file__), "types")
GROUPS = ("work", "talk", "people", "runtime", "continuity", "reactions", "yours")
ALIASES = {
    "custom": "a note whose payload.text is the body",
    "broadcast": "a note to @all",
}

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz")
_REST = _FIRST | frozenset("0123456789_-.")
_LONGEST = 64
_known: dict[str, Definition] = {}  # the built-in types that were asked for


def is_name(name: str) -> bool:
    """Whether a type may be called so: it is also the name of a file."""
    return name[:1] in _FIRST and _REST.issuperset(name) and len(name) <= _LONGEST


def built_in(name: str) -> Definition | None:
    """One of our own types."""
    found = _known.get(name)
    if found is None and is_name(name):
        try:
            with open(os.path.join(HERE, f"{name}.json"), encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            return None
        _known[name] = found
    return found


def names() -> list[str]:
    """Our own types, by name."""
    return sorted(file.removesuffix(".json") for file in os.listdir(HERE) if file.endswith(".json"))
