"""What `postroom doctor` finds: of each runtime, and of the room that its hooks reach."""

import os
from collections.abc import Iterator
from contextlib import suppress
from shutil import which
from typing import Any, NamedTuple

from postroom.errors import CannotEdit, PostroomError
from postroom.hooks import journal, program
from postroom.model.message import Json, Session
from postroom.room.call import program_of
from postroom.room.local import LocalRoom
from postroom.room.session import is_live
from postroom.room.trial import Trial, stamp_of, trial
from postroom.room.trial import record as record_trial
from postroom.runtimes import NAMES
from postroom.runtimes.wiring import Purpose
from postroom.setup import file, installed, jsonc, record, toml
from postroom.setup.change import entry_in, is_entry_of, plan
from postroom.setup.neighbour import Neighbour, neighbours, undo_command
from postroom.setup.plan import SCOPES, Target, calling, is_wired, target
from postroom.setup.record import TOOLS


class Problem(NamedTuple):
    """What does not work, and what helps."""

    what: str
    command: str = ""  # to be run as it is
    advice: str = ""  # for a person; before the command, if there is one
    blocks: bool = False  # until then no mail can be shown

    @property
    def next(self) -> str:
        """What helps, in one line."""
        return " ".join(filter(None, [self.advice, self.command]))


class Wired(NamedTuple):
    """One set-up of a runtime."""

    scope: str  # user, project or plugin
    current: bool  # it is as this version would write it
    sandbox: bool | None  # the sandbox lets the room be written; None: there is nothing to set
    trouble: str = ""  # why that cannot be told
    left: tuple[str, ...] = ()  # what its user has still to do


class Served(NamedTuple):
    """One place where a runtime is told of the server of our tools."""

    scope: str  # user or project
    current: bool  # what it starts is there
    ours: bool  # set up by us; else its user has added it


class Examined(NamedTuple):
    """What is known of a runtime."""

    target: Target  # for the user
    path: str  # of its program; empty: it is not on the PATH
    version: str
    wired: list[Wired]
    tools: list[Served]
    trusted: bool | None
    sessions: list[tuple[str, Session]]  # the live ones, each with its agent's address
    proven: Trial | None
    neighbours: list[Neighbour]  # other rooms that it is wired to here
    by_mail: list[str]  # whose sessions have proven it by what they were sent
    finds: bool | None  # whether its tools find `postroom`, where their shell makes a PATH of its own

    @property
    def name(self) -> str:
        return self.target.runtime.name

    @property
    def title(self) -> str:
        return self.target.runtime.title

    @property
    def problems(self) -> list[Problem]:
        return list(_problems(self))

    @property
    def is_proven(self) -> bool:
        """Whether the last trial was of the version that is installed now."""
        return self.proven is not None and self.proven.ok and self.proven.version == self.version

    @property
    def can_be_tried(self) -> bool:
        """Whether there is a session to write to, or the runtime can be run with one prompt."""
        return bool(self.sessions or self.target.wiring.headless)

    @property
    def concerns(self) -> bool:
        """Whether there is anything of it on this machine."""
        return bool(self.path or self.wired or self.tools)


def runtimes(home: str, room: LocalRoom | None, names: list[str]) -> Iterator[Examined]:
    """Of each runtime what is known without running it, but for its version."""
    for name in names or NAMES:
        yield _runtime(home, room, name)


def _runtime(home: str, room: LocalRoom | None, name: str) -> Examined:
    user = target(home, name)
    sessions = list(_sessions(room, name)) if room else []
    path = program_of(user.runtime)
    version = installed.version(path) if path else ""
    wired = [found for one in _targets(home, name) if (found := _wired(one)) is not None]
    return Examined(
        user, path, version, wired, list(_tools(home, name)),
        trusted=user.wiring.trusted(user.place, file.glance) if user.wiring.trusted and wired else None,
        sessions=sessions, by_mail=list(_proven_by_mail(room, sessions)) if room else [],
        proven=_tried(home, name, path, version), neighbours=neighbours(user),
        finds=installed.is_found_at_login() if user.wiring.login_shell and wired else None,
    )  # fmt: skip


def _tried(home: str, name: str, path: str, version: str) -> Trial | None:
    """The last trial. Where the program was only put there anew, senders are told that it still holds."""
    found = trial(home, name)
    if found and path and not found.is_current and found.version == version != "":
        found = found._replace(program=path, stamp=stamp_of(path))
        with suppress(OSError):  # as it is where the room cannot be written
            record_trial(home, name, found)
    return found


def _targets(home: str, name: str) -> Iterator[Target]:
    """Where it may be set up: for the user, for this project, and where the room knows of."""
    yield target(home, name)
    yield target(home, name, "project")
    for each in record.every(home):
        if each.runtime == name and each.scope == "plugin":
            yield target(home, name, plugin=each.directory)


def _tools(home: str, name: str) -> Iterator[Served]:
    for scope in ("user", "project"):
        for edit in target(home, name, scope, part=TOOLS).edits:
            if (found := jsonc.as_object(entry_in(edit))) is None:
                continue
            command = found.get("command")
            words = [*(jsonc.as_array(command) or [command]), *(jsonc.as_array(found.get("args")) or [])]
            is_ours, is_sound = is_entry_of(found, home), words[1:] == ["mcp"] and bool(which(str(words[0])))
            if is_ours or is_sound:
                yield Served(scope, is_sound, is_ours)


def _wired(one: Target) -> Wired | None:
    """How it is set up there; None: it is not."""
    if not is_wired(one):
        return None
    edits = one.edits
    roots = [edit for edit in edits if Purpose.SANDBOX in edit.purpose]
    sandbox = all(jsonc.covers(_document(edit.path), edit.content) for edit in roots) if roots else None
    left = one.wiring.left_to_do(one.place, file.glance) if one.wiring.left_to_do else []
    try:
        current = not any(change.is_one for change in plan(edits, one.mark))
    except CannotEdit as exc:
        return Wired(one.scope, False, sandbox, str(exc), tuple(left))
    return Wired(one.scope, current, sandbox, left=tuple(left))


def _sessions(room: LocalRoom, name: str) -> Iterator[tuple[str, Session]]:
    with room.store.read() as tx:
        offset = 0
        while page := tx.agents(offset=offset):
            offset += len(page)
            for agent in page:
                for session in tx.sessions(agent.id):
                    if session.runtime == name and is_live(session):
                        yield f"{agent.project}/{agent.name}", session


def _proven_by_mail(room: LocalRoom, sessions: list[tuple[str, Session]]) -> Iterator[str]:
    with room.store.read() as tx:
        for address, session in sessions:
            if tx.has_proven(session.agent, f"{session.id}:"):
                yield address


def _problems(found: Examined) -> Iterator[Problem]:
    name, title, run, known = found.name, found.title, found.target.call, found.target.wiring
    if (found.wired or found.tools) and not found.path:
        what = f"{title} is set up, and is not on your PATH"
        advice = "Install it, or put its directory on your PATH. If it is gone for good:"
        yield Problem(what, f"{run} setup {name} --undo", advice, blocks=True)
    for each in found.wired:
        scope = SCOPES[each.scope]
        if each.trouble:
            yield Problem(each.trouble, f"{run} setup {name}{scope} --dry-run", blocks=True)
        elif not each.current:
            what = f"the set-up of {title} is not complete, or of another version"
            yield Problem(what, f"{run} setup {name}{scope}", blocks=True)
        if each.scope == "plugin" and each.left:
            what = f"the plugin is written, and {title} does not run it yet"
            yield Problem(what, " && ".join(each.left), blocks=True)
    for served in found.tools:
        if not served.current:
            what = f"the MCP server that {title} is told to start is not there any more"
            part = " --mcp" if known.has_hooks else ""
            yield Problem(what, f"{run} setup {name}{part}{SCOPES[served.scope]}")
    if len(found.wired) > 1:
        scopes = " and ".join(each.scope for each in found.wired)
        what = f"{title} is set up twice ({scopes}): its hooks run twice"
        yield Problem(what, f"{run} setup {name} --undo")
    if found.wired and found.trusted is False and known.skips:
        what = f"{title} skips our hooks: they have not been reviewed"
        yield Problem(what, advice=known.trust, blocks=True)
    if found.finds is False:
        yield unfound(found.target)
    for other in found.neighbours if found.wired else ():
        what = f"{title} is wired to another room, too: {other.home}"
        yield Problem(what, undo_command(name, other))
    if found.wired and found.proven and not found.proven.ok and found.proven.version == found.version:
        what = f"mail did not reach the model of {title}: {found.proven.why}"
        yield Problem(what, f"{run} doctor {name} --live")


def unfound(one: Target) -> Problem:
    """The tools of a runtime do not find `postroom`."""
    title = one.runtime.title
    what = f"{title} runs its commands in a login shell, and that does not find postroom: it cannot answer"
    advice = f"Put its directory on the PATH there, then restart {title}:"
    return Problem(what, installed.remedy_at_login(), advice)


def room_problems(home: str, examined: list[Examined]) -> Iterator[Problem]:
    """What is wrong with the room itself, for those that are set up."""
    if not any(each.wired for each in examined):
        return
    run = calling(home)
    if not program.is_current(home):
        word = "of another installation" if os.path.exists(program.path(home)) else "missing"
        yield Problem(f"the program that all hooks run is {word}", f"{run} doctor --fix")
    if installed.own() is None:
        what = "postroom is not on your PATH: an agent could read its mail, and neither send nor answer"
        yield Problem(what, advice=installed.remedy())
    if not os.access(home, os.W_OK):
        yield Problem(f"the room cannot be written: {home}", f"{run} status")


def about_room(home: str, runtimes: list[str]) -> Json:
    """Where it is, what its hooks run, and what they have complained about lately."""
    path = program.path(home)
    state = "current" if program.is_current(home) else "outdated" if os.path.exists(path) else "missing"
    return {
        "home": home,
        "writable": os.access(home, os.W_OK),
        "hook": {"path": path, "state": state},
        "log": [line for name in runtimes or [""] for line in journal.last(home, runtime=name)],
    }


def _document(path: str) -> Any:
    try:
        return (toml if path.endswith(".toml") else jsonc).document(file.glance(path))
    except (ValueError, PostroomError):
        return {}
