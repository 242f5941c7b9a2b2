"""What the sandbox of a runtime does to mail: tried inside it where the runtime has a command for that.

The settings say what should be so. Whether it is, only a process in there can tell: it takes the room's write
lock and gives it back, and looks whether a letter could be left in the workspace. It runs in the
shell that an agent's command runs in, which first calls `postroom` by its name.
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
from postroom.setup import file, installed
from postroom.setup.examine import Examined, Problem, unfound

STORES, SPOOLS, FAILS, UNTRIED = "stores", "spools", "fails", "untried"
_NOT_FOUND = 127  # what a shell says of a command
_PATIENCE = 10.0  # seconds; it takes a fifth of one
_PYTHON = """\
import sys
sys.path.insert(0, sys.argv[1])
from postroom.setup.sandbox import report
report(sys.argv[2], sys.argv[3])
"""
_SHELL = 'postroom --version >/dev/null 2>&1; exec "$@" $?'


class Probed(NamedTuple):
    """What becomes of a message that is sent from inside."""

    verdict: str  # stores, spools, fails or untried; empty: it has no sandbox that we know of
    words: str = ""
    problem: Problem | None = None


def probe(found: Examined) -> Probed:
    """Of a runtime that is set up; nothing is written, and no model is asked."""
    if not found.wired and not found.tools:
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
    how = "-lc" if known.login_shell else "-c"
    words = [found.path, *known.confined(place, file.glance), installed.shell(), how, _SHELL, "sh"]
    return _judged(found, opened, _run(words, place.room))


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
    if said["command"]:
        what = (
            f"tried: `postroom` cannot be run in there (exit code {said['command']}), so nothing can be sent"
        )
        problem = Problem(
            f"in the sandbox of {found.title}: {what}", advice="Run it there yourself: postroom"
        )
        if said["command"] == _NOT_FOUND:
            problem = None if found.finds is False else unfound(found.target)  # it is told already
        return Probed(FAILS, what, problem)
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


def report(home: str, command: str) -> None:
    """What runs inside: prints why the room cannot be written, if so, and whether a letter can be left.

    And what `postroom` ended with when it was called by its name.
    """
    from postroom.room.local import LocalRoom  # noqa: PLC0415 - only in there

    problem = ""
    try:
        settings, declared = config.load(home)
        with LocalRoom(home, settings, create=False, declared=declared) as room:
            room.store.begin()
            room.store.rollback()
    except (PostroomError, OSError) as exc:
        problem = exc.code if isinstance(exc, PostroomError) else str(exc)
    sys.stdout.write(json.dumps({"room": problem, "workspace": _can_spool(), "command": int(command)}) + "\n")
    sys.stdout.flush()
    os._exit(0)


def _can_spool() -> bool:
    return any(os.access(place, os.W_OK) for place in spool.places(os.getcwd()))
