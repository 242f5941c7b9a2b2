"""Which runtimes are known to show mail to their model here: what the last canary found, one file each.

`postroom doctor --live` writes it. Who sends reads it, so it loads nothing but `json`.
"""

import os
from typing import NamedTuple

from postroom import host


class Proven(NamedTuple):
    """What a canary found out."""

    ok: bool  # it was in the model's conversation
    version: str  # of the runtime
    at: str  # when
    evidence: str = ""  # how that is known
    why: str = ""  # it was not


def _path(home: str, runtime: str) -> str:
    return os.path.join(home, "run", "proven", f"{runtime}.json")


def proven(home: str, runtime: str) -> Proven | None:
    """What is known of a runtime in this room; None: it was never tried."""
    import json  # noqa: PLC0415 - only where somebody runs it

    try:
        with open(_path(home, runtime), encoding="utf-8") as file:
            found = json.load(file)
        return Proven(found["ok"] is True, *(str(found.get(key, "")) for key in Proven._fields[1:]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def record(home: str, runtime: str, found: Proven) -> None:
    import json  # noqa: PLC0415

    path = _path(home, runtime)
    host.private_directory(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"runtime": runtime, **found._asdict()}, file)
    os.replace(temporary, path)
