"""Screens to be kept: as they were captured, without names of this machine, beside what was around them.

The form is that of the screens that the profiles of our runtimes are tested with: a folder for each runtime,
in it `<state>-<n>.ansi`, and `index.json` with the version, the size, and where the cursor was.
"""

import json
import os
import re
from typing import Any, NamedTuple

from postroom.errors import PostroomError
from postroom.model.message import Json

STATES = ("idle", "busy", "draft", "dialog", "unknown")
_INDEX = "index.json"


class Golden(NamedTuple):
    """One screen."""

    state: str
    text: str  # with its colours
    facts: Json  # as the index has them: cursor, cursor_shown, size, alternate, command
    version: str = ""  # of the runtime


def scrubbed(text: str, home: str, *names: str) -> str:
    """Without the user's home and name, and each line as wide as it was."""
    if len(home) > 1:
        text = text.replace(home, _filled("/home/user", len(home)))
    for name in filter(None, names):
        text = re.sub(
            rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", _filled("user", len(name)), text
        )
    return re.sub(
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", lambda found: _filled("user@example.org", len(found[0])), text
    )


def _filled(word: str, width: int) -> str:
    return word[:width].ljust(width, "_")


def keep(folder: str, golden: Golden) -> str:
    """Put a screen into a runtime's folder, under a name that none has yet; the path of its file."""
    try:
        os.makedirs(folder, exist_ok=True)
        index = _index(folder)
        case = _free(folder, golden.state, index["cases"])
        path = os.path.join(folder, f"{case}.ansi")
        with open(path, "x", encoding="utf-8") as file:
            file.write(golden.text)
        index["version"] = index["version"] or golden.version
        other = {} if index["version"] == golden.version else {"version": golden.version}
        index["cases"][case] = {**golden.facts, **other}
        with open(os.path.join(folder, _INDEX), "w", encoding="utf-8") as file:
            json.dump(index, file, indent=2, sort_keys=True)
            file.write("\n")
    except OSError as exc:
        raise PostroomError(f"{exc.filename}: {exc.strerror}", hint="Name a directory: --out DIR") from exc
    return path


def _index(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, _INDEX), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
            return {"version": str(found.get("version", "")), "cases": dict(found["cases"])}
    except FileNotFoundError:
        return {"version": "", "cases": {}}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PostroomError(
            f"{folder}/{_INDEX} is no index of screens", hint="Use another --out DIR"
        ) from None


def _free(folder: str, state: str, cases: Json) -> str:
    n = 1
    while f"{state}-{n}" in cases or os.path.exists(os.path.join(folder, f"{state}-{n}.ansi")):
        n += 1
    return f"{state}-{n}"
