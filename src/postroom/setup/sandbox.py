"""What the sandbox of a runtime does to mail: tried inside it where the runtime has a command for that.

The settings say what should be so. Whether it is, only a process in there can tell: it takes the room's write
lock and gives it back, and looks whether a letter could be left in the workspace.
"""

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

from postroom import config
from postroom.errors import PostroomError
from postroom.hooks import program
from postroom.room import spool
from postroom.setup import file
from postroom.setup.examine import Examined, Problem

STORES, SPOOLS, FAILS, UNTRIED = "stores", "spools", "fails", "untried"
_PATIENCE = 10.0  # seconds; it takes a fifth of one
_PYTHON = """\
import sys
sys.path.insert(0, sys.argv[1])
from postroom.setup.sandbox import report
report(sys.argv[2])
"""


class Probed(NamedTuple):
    """What becomes of a message that is sent from inside."""

    verdict: str  # stores, spools, fails or untried; empty: it has no sandbox that we know of
    words: str = ""
    problem: Problem | None = None


def probe(found: Examined) -> Probed:
    """Of a runtime that is set up; nothing is written, and no model is asked."""
    if not found.wired:
        return Probed("")
    place, known = found.target.place, found.target.wiring
    if known.hindrance and (hindered := known.hindrance(place, file.glance)):
        why, remedy = hindered
        return Probed(FAILS, why, Problem(f"in {found.title} {why}", advice=remedy))
    settings = [each.sandbox for each in found.wired if each.sandbox is not None]
    if not settings:
        return Probed("")
    opened = "its settings let it write to the room" if all(settings) else "it may not write to the room"
    if known.confined is None:
        return Probed(UNTRIED, f"{opened}; not tried: {found.title} has no command for that")
    if not found.path or not os.path.exists(os.path.join(place.room, "room.db")):
        return Probed(UNTRIED, f"{opened}; not tried")
    return _judged(found, opened, _run([found.path, *known.confined(place, file.glance)], place.room))


def _run(words: list[str], home: str) -> dict[str, Any] | str:
    """What `report` says in there; or why it says nothing."""
    try:
        done = subprocess.run(
            [*words, sys.executable, "-I", "-S", "-c", _PYTHON, program.source(), home],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        return said[-1][:200] if said else f"it ended with {done.returncode}"


def _judged(found: Examined, opened: str, said: dict[str, Any] | str) -> Probed:
    if isinstance(said, str):
        return Probed(UNTRIED, f"{opened}; it could not be tried: {said}")
    if not said["room"]:
        return Probed(STORES, "tried: what is sent from inside is stored")
    if said["workspace"]:
        return Probed(SPOOLS, f"tried: the room cannot be written ({said['room']}), so mail is spooled")
    what = f"tried: neither the room nor this directory can be written ({said['room']}), so sending fails"
    problem = Problem(f"in the sandbox of {found.title}: {what}")
    if all(each.sandbox for each in found.wired):
        problem = problem._replace(advice=f"Start {found.name} with a sandbox that may write.")
    else:
        problem = problem._replace(command=f"{found.target.call} setup {found.name}")
    return Probed(FAILS, what, problem)


def report(home: str) -> None:
    """What runs inside: prints why the room cannot be written, if so, and whether a letter can be left."""
    from postroom.room.local import LocalRoom  # noqa: PLC0415 - only in there

    problem = ""
    try:
        settings, declared = config.load(home)
        with LocalRoom(home, settings, create=False, declared=declared) as room:
            room.store.begin()
            room.store.rollback()
    except (PostroomError, OSError) as exc:
        problem = exc.code if isinstance(exc, PostroomError) else str(exc)
    sys.stdout.write(json.dumps({"room": problem, "workspace": _can_spool()}) + "\n")
    sys.stdout.flush()
    os._exit(0)


def _can_spool() -> bool:
    return any(os.access(place, os.W_OK) for place in spool.places(os.getcwd()))
