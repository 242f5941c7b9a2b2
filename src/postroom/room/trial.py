"""Which runtimes are known to show mail to their model here: the last trial of each, one file each.

`postroom doctor --live` writes it. Who sends reads it, so it loads nothing but `json`. It says nothing of
another version of the runtime; a program takes long to say its version, so it keeps which file was tried.
"""

import os
from typing import NamedTuple

from postroom import host


class Trial(NamedTuple):
    """What a canary found out."""

    ok: bool  # it was in the model's conversation
    version: str  # of the runtime
    at: str  # when
    evidence: str = ""  # how that is known
    why: str = ""  # it was not
    program: str = ""  # the runtime's
    stamp: str = ""  # which file that was

    @property
    def is_current(self) -> bool:
        """Whether the program is still the file that was tried. Where none is known, it is taken for that."""
        return not self.program or stamp_of(self.program) == self.stamp


def stamp_of(program: str) -> str:
    """What differs when another version was put in its place; empty when there is none."""
    try:
        found = os.stat(program)
    except OSError:
        return ""
    return f"{found.st_ino}.{found.st_size}.{found.st_ctime_ns}"


def _path(home: str, runtime: str) -> str:
    return os.path.join(home, "run", "proven", f"{runtime}.json")


def trial(home: str, runtime: str) -> Trial | None:
    """What is known of a runtime in this room; None: it was never tried."""
    import json  # noqa: PLC0415 - only where somebody runs it

    try:
        with open(_path(home, runtime), encoding="utf-8") as file:
            found = json.load(file)
        return Trial(found["ok"] is True, *(str(found.get(key, "")) for key in Trial._fields[1:]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def record(home: str, runtime: str, found: Trial) -> None:
    import json  # noqa: PLC0415

    path = _path(home, runtime)
    host.private_directory(os.path.dirname(path))
    host.replace(path, json.dumps({"runtime": runtime, **found._asdict()}).encode())
