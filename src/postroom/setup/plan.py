"""Setting a runtime up and undoing it: worked out first, shown, then carried out as a whole."""

import os
import shlex
from typing import NamedTuple

from postroom import config, host
from postroom.errors import AlreadySetUp, CannotEdit, UsageError
from postroom.home import at_home
from postroom.hooks import program
from postroom.hooks.stub import stub
from postroom.runtimes import load, wiring
from postroom.runtimes.contract import Runtime
from postroom.runtimes.wiring import Edit, Place, Reviews, Wiring
from postroom.setup import file, installed, record
from postroom.setup.change import Change, combined, entry_in, is_empty, is_entry_of, plan, taken_out
from postroom.setup.record import HOOKS, Kept, Record

SCOPES = {"user": "", "project": " --scope project", "plugin": " --plugin"}  # as options


class Target(NamedTuple):
    """One part of one runtime in one place."""

    runtime: Runtime
    wiring: Wiring
    scope: str  # user, project or plugin
    place: Place
    part: str = HOOKS  # or TOOLS

    @property
    def edits(self) -> list[Edit]:
        return self.wiring.edits(self.place) if self.is_hooks else self.wiring.tools(self.place)

    @property
    def is_hooks(self) -> bool:
        return self.part == HOOKS

    @property
    def mark(self) -> str:
        """What only entries of ours have in them."""
        return self.place.hook if self.is_hooks else self.place.room

    @property
    def record(self) -> Record | None:
        """What was done when it was set up."""
        return record.load(self.place.room, self.runtime.name, self.scope, self.directory, self.part)

    @property
    def blank(self) -> Record:
        return Record(self.runtime.name, self.scope, self.directory, [], self.part)

    @property
    def directory(self) -> str:
        return self.place.plugin or self.place.project

    @property
    def call(self) -> str:
        """How `postroom` is called for its room."""
        return calling(self.place.room)

    @property
    def command(self) -> str:
        """What sets up the same."""
        usual = config.beside(self.place.room, "plugin", self.runtime.name)
        into = f" --into {shlex.quote(self.place.plugin)}" if self.place.plugin not in ("", usual) else ""
        part = "" if self.is_hooks or not self.wiring.has_hooks else " --mcp"
        return f"{self.call} setup {self.runtime.name}{part}{SCOPES[self.scope]}{into}"


class Undoing(NamedTuple):
    """What undoing does to one file."""

    change: Change
    exact: bool  # it becomes what it was; else only our entries are taken out
    directories: list[str]  # to be removed if nothing is in them then

    @property
    def is_left(self) -> bool:
        """Whether it was ours, and its owner has made it another file: that one stays."""
        return not self.change.is_one and isinstance(self.change.content, str)


def calling(home: str) -> str:
    """How `postroom` is called for a room: where it is need be said only if it would not be found."""
    return at_home("postroom ", "" if config.is_usual(home) else home).rstrip()


def target(
    home: str,
    name: str,
    scope: str = "user",
    *,
    plugin: str = "",
    allow: bool = False,
    project: str = "",
    part: str = HOOKS,
) -> Target:
    """Raises `UsageError` for what this runtime does not have."""
    runtime, found = load(name), wiring.of(name)
    directory = (project or config.worktree(os.getcwd())[0]) if scope == "project" else ""
    hook = program.path(home)
    place = Place(
        os.getcwd(), os.path.expanduser("~"), directory, home, hook, commands(runtime, home),
        dict(os.environ), allow, plugin, installed.program(),
    )  # fmt: skip
    one = Target(runtime, found, "plugin" if plugin else scope, place, part)
    without = f"Try: {one.call} setup {name}"
    if plugin and one.edits == one._replace(place=place._replace(plugin="")).edits:
        raise UsageError(f"{runtime.title} has no plugins of ours", hint=without)
    if allow and one.edits == one._replace(place=place._replace(allow=False)).edits:
        raise UsageError(f"what {runtime.title} may run without asking is not set here", hint=without)
    return one


def commands(runtime: Runtime, home: str) -> dict[str, str]:
    """The shell command of each event: the same for every version of Postroom."""
    path = program.path(home)
    return {
        point.event: stub(
            home, point.event, shlex.join([path, runtime.name, point.event]), runtime.key,
            alive=point.is_sign, quiet=not point.is_always, prompt=point.is_prompt, program=path,
            harmless=point.is_question,
        )
        for point in runtime.points
    }  # fmt: skip


def changes(one: Target, after: "list[Undoing] | None" = None, *, replace: bool = False) -> list[Change]:
    """What setting it up does to each file, or will do when others are undone; nothing is written."""
    guard(one)
    instead = {each.change.path: each.change.after for each in after or []}
    return plan(one.edits, one.mark, instead, replace=replace)


def is_wired(one: Target) -> bool:
    """Whether anything of this set-up is there, recorded or not."""
    if one.is_hooks:
        return any(one.place.hook in file.glance(edit.path) for edit in one.edits)
    return any(is_entry_of(entry_in(edit), one.mark) for edit in one.edits)


def guard(one: Target) -> None:
    """Its hooks would run twice if it were set up in two places that both apply."""
    name = one.runtime.name
    for other in record.every(one.place.room) if one.is_hooks else ():
        same = (other.scope, other.directory) == (one.scope, one.directory)
        if (other.runtime, other.part) != (name, HOOKS) or same or other.scope == one.scope == "project":
            continue
        undo = f"{one.call} setup {name}{SCOPES[other.scope]} --undo"
        at = f" (in {other.directory})" if other.directory else ""
        raise AlreadySetUp(
            f"{one.runtime.title} is set up by its {_WORDS[other.scope]}{at}: its hooks would run twice",
            hint=f"Undo that first: {undo}", runtime=name, scope=other.scope,
        )  # fmt: skip


_WORDS = {"user": "user settings", "plugin": "plugin", "project": "project settings"}


def carry_out(one: Target, todo: list[Change]) -> None:
    """Write all of it, or nothing."""
    for change in todo:
        if change.is_one:
            file.check(change.path)
    home = one.place.room
    if one.is_hooks:
        make_ready(home)
    old, reviews = one.record, _reviews(one)
    files = [_kept(change, old, one.mark, reviews) for change in todo]
    _save(one, files)
    done: list[Change] = []
    try:
        for at, change in enumerate(todo):
            if change.is_one:
                made = _replace(change)
                done.append(change)
                files[at].directories.extend(made)
    except CannotEdit:
        for change in done:
            _replace(change._replace(before=change.after, after=change.before))
        if old is not None:
            record.save(home, old)
        else:
            record.forget(home, one.blank)
        raise
    _save(one, files)


def make_ready(home: str) -> None:
    """What hooks of a room run, and where they write."""
    program.install(home)
    host.private_directory(config.beside(home, "life"))
    host.private_directory(os.path.join(home, "run", "quiet"))


def _save(one: Target, files: list[Kept]) -> None:
    record.save(one.place.room, one.blank._replace(files=files))


def _reviews(one: Target) -> Reviews | None:
    known = one.wiring.reviews if one.is_hooks else None
    return known(one.place, file.glance) if known else None


def _kept(change: Change, old: Record | None, mark: str, reviews: Reviews | None) -> Kept:
    """What undoing must know. A file that was set up before is remembered as it was before that."""
    known = next((each for each in old.files if each.path == change.path), None) if old else None
    after = record.digest(change.after or b"")
    if known is None:
        before = change.before
        if before and mark.encode() in before and not isinstance(change.content, str):  # its record is lost
            before = taken_out(change.path, before, change.content, None, mark, reviews=reviews)
        return Kept(change.path, before, after, change.content, [])
    before = known.before
    is_theirs = change.before is not None and record.digest(change.before) != known.after
    if is_theirs and change.before is not None and not isinstance(known.content, str):
        before = taken_out(change.path, change.before, known.content, known.before, mark, reviews=reviews)
        if known.before is None and is_empty(change.path, before, known.content):
            before = None
    return Kept(change.path, before, after, change.content, list(known.directories))


def _replace(change: Change) -> list[str]:
    """Make one change, unless the file is another by now; the directories that were made."""
    if file.read(change.path) != change.before:
        raise CannotEdit(f"{change.path} has changed meanwhile", path=change.path, hint="Try again.")
    if change.after is None:
        file.delete(os.path.realpath(change.path))  # a link to it is the user's, and was there before it
        return []
    return file.write(change.path, change.after)


def undoing(one: Target) -> list[Undoing]:
    """What undoing it does to each file; nothing is written."""
    old, reviews = one.record, _reviews(one)
    if old is None:
        edits = combined(one.edits)
        files = [Kept(edit.path, None, "", edit.content, []) for edit in edits]
    else:
        files = old.files
    if reviews and reviews.path not in [kept.path for kept in files]:  # of a project: it is the user's file
        files = [*files, Kept(reviews.path, b"", "", {}, [])]
    found = [_undone(kept, one.mark, reviews, known=old is not None) for kept in files]
    return [each for each in found if each is not None]


def _undone(kept: Kept, mark: str, reviews: Reviews | None, *, known: bool) -> Undoing | None:
    now = file.read(kept.path)
    if now is None:
        return None
    exact = record.digest(now) == kept.after
    if exact:
        after = kept.before
    elif isinstance(kept.content, str):
        after = None if file.text(kept.path, now) == kept.content else now
    else:
        after = taken_out(kept.path, now, kept.content, kept.before, mark, reviews=reviews)
        exact = known and after == kept.before
        if known and kept.before is None and is_empty(kept.path, after, kept.content):
            after = None
    undone = Undoing(
        Change(kept.path, now, after, "", kept.content), exact, kept.directories if after is None else []
    )
    return undone if undone.change.is_one or (known and undone.is_left) else None


def carry_out_undo(one: Target, todo: list[Undoing]) -> None:
    todo = [each for each in todo if each.change.is_one]
    for each in todo:
        file.check(each.change.path)
    for each in todo:
        _replace(each.change)
    file.remove_directories({directory for each in todo for directory in each.directories})
    gone = one.record
    record.forget(one.place.room, one.blank)
    if gone is not None:
        _tell_others(one.place.room, gone, {each.change.path: each.change for each in todo})


def _tell_others(home: str, gone: Record, done: dict[str, Change]) -> None:
    """A file may have been set up twice, for hooks and for tools: what stays knows it as it would be without
    what is gone, so that undoing that, too, leaves every byte as it was.
    """
    below = {kept.path: kept for kept in gone.files}
    made = [directory for kept in gone.files for directory in kept.directories]
    for other in list(record.every(home)):
        files = [_over(kept, below.get(kept.path), done.get(kept.path), made) for kept in other.files]
        if files != other.files:
            record.save(home, other._replace(files=files))


def _over(kept: Kept, below: Kept | None, change: Change | None, made: list[str]) -> Kept:
    around = [each for each in made if kept.path.startswith(f"{each}/") and each not in kept.directories]
    kept = kept._replace(directories=[*kept.directories, *around])
    if change and record.digest(change.before or b"") == kept.after:
        kept = kept._replace(after=record.digest(change.after or b""))
    if below and kept.before is not None and record.digest(kept.before) == below.after:
        kept = kept._replace(before=below.before)
    return kept
