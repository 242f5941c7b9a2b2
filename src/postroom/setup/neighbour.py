"""Other rooms that a runtime is wired to as well: its hooks would show the mail of both, each to the other's.

A user who has two has as a rule tried one and then made another: so it is said, and one of them is to go.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from postroom.errors import AlreadySetUp
from postroom.hooks import program, stub
from postroom.runtimes import plugin
from postroom.setup import file, jsonc
from postroom.setup.plan import SCOPES, Target, Undoing, calling, target, undoing


class Neighbour(NamedTuple):
    """Another room's set-up of the same runtime."""

    home: str
    scope: str  # user, project or plugin
    path: str  # of the file that has it


def neighbours(one: Target) -> list[Neighbour]:
    """Those whose hooks would run in the same sessions. Of tools, one server is called `postroom`."""
    if not one.is_hooks:
        return []
    found: dict[str, Neighbour] = {}
    for scope, path in _files(one):
        for home in _homes(path, one.runtime.name):
            if home != one.place.room:
                found.setdefault(home, Neighbour(home, scope, path))
    return list(found.values())


def undo_command(name: str, other: Neighbour) -> str:
    """What takes it out."""
    return f"{calling(other.home)} setup {name}{SCOPES[other.scope]} --undo"


def displaced(one: Target, *, replace: bool) -> tuple[Target | None, list[Undoing]]:
    """Another room's set-up that has to go, and what that does to files; refused unless that is wanted.

    A plugin is for its user to uninstall.
    """
    name, found = one.runtime.name, neighbours(one)
    if not found:
        return None, []
    first, is_ours_to_do = found[0], len(found) == 1 and found[0].scope != "plugin"
    if replace and is_ours_to_do:
        other = target(first.home, name, first.scope)
        return other, undoing(other)
    hint = f"Take that one out: {undo_command(name, first)}"
    if is_ours_to_do:
        hint += f"; or put this one in its place: {one.command} --replace"
    raise AlreadySetUp(
        f"{one.runtime.title} is wired to another room, {first.home}, by {first.path};"
        f" with this one, {one.place.room}, it would be shown the mail of both",
        hint=hint, runtime=name, scope=first.scope, room=one.place.room, other_room=first.home,
    )  # fmt: skip


def _files(one: Target) -> Iterator[tuple[str, str]]:
    """What the runtime reads here, each with its scope."""
    place, name = one.place, one.runtime.name
    for scope in ("user", "project"):
        for edit in target(place.room, name, scope).edits:
            yield scope, edit.path
    for path in one.wiring.hook_files(place, file.glance) if one.wiring.hook_files else ():
        yield "plugin", path


def _homes(path: str, name: str) -> Iterator[str]:
    """The rooms whose program a file has a runtime run."""
    for where in _programs(path, name):
        if home := program.home_of(where):
            yield home


def _programs(path: str, name: str) -> Iterator[str]:
    text = file.glance(path)
    if not path.endswith(".json"):
        yield plugin.program_in(text)
        return
    try:
        for command in _strings(jsonc.document(text)):
            yield stub.program_in(command, name)
    except jsonc.Unreadable:
        return


def _strings(value: Any) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(value, str):
        yield value
    for each in (jsonc.as_object(value) or {}).values():
        yield from _strings(each)
    for each in jsonc.as_array(value) or []:
        yield from _strings(each)
