"""What `postroom doctor` finds: of each runtime, and of the room that its hooks reach."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from postroom.errors import CannotEdit, PostroomError
from postroom.hooks import journal, program
from postroom.model.message import Json, Session
from postroom.room.local import LocalRoom
from postroom.room.proof import Proven, proven
from postroom.room.session import is_live
from postroom.runtimes import NAMES, load
from postroom.runtimes.wiring import SANDBOX
from postroom.setup import jsonc, presence, record, toml
from postroom.setup.change import plan
from postroom.setup.plan import Target, target


class Problem(NamedTuple):
    """What does not work, and the command that helps."""

    what: str
    next: str


class Wired(NamedTuple):
    """One set-up of a runtime."""

    scope: str  # user, project or plugin
    current: bool  # it is as this version would write it
    sandbox: bool | None  # the sandbox lets the room be written; None: there is nothing to set
    trouble: str = ""  # why that cannot be told


class Examined(NamedTuple):
    """What is known of a runtime."""

    name: str
    title: str
    path: str | None  # of its program
    version: str
    wired: list[Wired]
    trusted: bool | None
    sessions: list[tuple[str, Session]]  # the live ones, each with its agent's address
    proven: Proven | None
    remark: str
    asks_trust: bool
    shows: bool  # it passes on to its model what a hook says
    problems: list[Problem]

    @property
    def concerns(self) -> bool:
        """Whether there is anything of it on this machine."""
        return bool(self.path or self.wired)


def runtimes(home: str, room: LocalRoom | None, names: list[str]) -> Iterator[Examined]:
    """Of each runtime what is known without running it, but for its version."""
    for name in names or NAMES:
        yield _runtime(home, room, name)


def _runtime(home: str, room: LocalRoom | None, name: str) -> Examined:
    runtime, path = load(name), presence.program(name)
    targets = list(_targets(home, name))
    wired = [found for one in targets if (found := _wired(one)) is not None]
    user = target(home, name)
    trusted = user.wiring.trusted(user.place, _read) if user.wiring.trusted and wired else None
    found = Examined(
        name, runtime.title, path, presence.version(path) if path else "", wired, trusted,
        list(_sessions(room, name)) if room else [], proven(home, name), runtime.remark,
        user.wiring.trusted is not None, any(point.proven_by for point in runtime.points), [],
    )  # fmt: skip
    found.problems.extend(_problems(found, user))
    return found


def _targets(home: str, name: str) -> Iterator[Target]:
    """Where it may be set up: for the user, for this project, and where the room knows of."""
    yield target(home, name)
    yield target(home, name, "project")
    for each in record.every(home):
        if each.runtime == name and each.scope == "plugin":
            yield target(home, name, plugin=each.directory)


def _wired(one: Target) -> Wired | None:
    """How it is set up there; None: it is not."""
    edits = one.wiring.edits(one.place)
    if not any(one.place.hook in _read(edit.path) for edit in edits):
        return None
    roots = [edit for edit in edits if edit.why == SANDBOX]
    sandbox = all(jsonc.covers(_document(edit.path), edit.content) for edit in roots) if roots else None
    try:
        current = not any(change.is_one for change in plan(edits, one.place.hook))
    except CannotEdit as exc:
        return Wired(one.scope, False, sandbox, str(exc))
    return Wired(one.scope, current, sandbox)


def _sessions(room: LocalRoom, name: str) -> Iterator[tuple[str, Session]]:
    with room.store.read() as tx:
        offset = 0
        while page := tx.agents(offset=offset):
            offset += len(page)
            for agent in page:
                for session in tx.sessions(agent.id):
                    if session.runtime == name and is_live(session):
                        yield f"{agent.project}/{agent.name}", session


def _problems(found: Examined, user: Target) -> Iterator[Problem]:
    name, title = found.name, found.title
    if found.wired and not found.path:
        yield Problem(f"{title} is set up, and is not on your PATH", f"postroom setup {name} --undo")
    for each in found.wired:
        scope = {"user": "", "project": " --scope project", "plugin": " --plugin"}[each.scope]
        if each.trouble:
            yield Problem(each.trouble, f"postroom setup {name}{scope} --dry-run")
        elif not each.current:
            what = f"the set-up of {title} is not complete, or of another version"
            yield Problem(what, f"postroom setup {name}{scope}")
    if len(found.wired) > 1:
        scopes = " and ".join(each.scope for each in found.wired)
        what = f"{title} is set up twice ({scopes}): its hooks run twice"
        yield Problem(what, f"postroom setup {name} --undo")
    if found.wired and found.trusted is False and user.wiring.skips:
        yield Problem(f"{title} skips our hooks: they have not been reviewed", user.wiring.trust)
    if found.wired and found.proven and not found.proven.ok:
        what = f"mail did not reach the model of {title}: {found.proven.why}"
        yield Problem(what, f"postroom doctor {name} --live")


def room_problems(home: str, examined: list[Examined]) -> Iterator[Problem]:
    """What is wrong with the room itself, for those that are set up."""
    if not any(each.wired for each in examined):
        return
    if not program.is_current(home):
        word = "of another installation" if os.path.exists(program.path(home)) else "missing"
        yield Problem(f"the program that all hooks run is {word}", "postroom doctor --fix")
    if not os.access(home, os.W_OK):
        yield Problem(f"the room cannot be written: {home}", "postroom status")


def about_room(home: str) -> Json:
    path = program.path(home)
    state = "current" if program.is_current(home) else "outdated" if os.path.exists(path) else "missing"
    return {
        "home": home,
        "writable": os.access(home, os.W_OK),
        "hook": {"path": path, "state": state},
        "log": journal.last(home),
    }


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _document(path: str) -> Any:
    try:
        return (toml if path.endswith(".toml") else jsonc).document(_read(path))
    except (ValueError, PostroomError):
        return {}
