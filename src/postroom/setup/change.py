"""A change to a user's file, worked out before anything is written."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from postroom.errors import AlreadySetUp, CannotEdit
from postroom.model.message import Json
from postroom.runtimes.wiring import Content, Edit, Entry, Reviews
from postroom.setup import file, jsonc, toml

Element = tuple[tuple[str, ...], Any]  # of an array: the names above it, and itself


class Change(NamedTuple):
    """One file before and after; None where there is none."""

    path: str
    before: bytes | None
    after: bytes | None
    why: str
    content: Content  # what is put in, or taken out

    @property
    def is_one(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """As patches are written."""
        from difflib import unified_diff  # noqa: PLC0415

        before, after = (_lines(data) for data in (self.before, self.after))
        old, new = ("/dev/null" if data is None else self.path for data in (self.before, self.after))
        return "".join(unified_diff(before, after, old, new))


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode(errors="replace").replace("\r\n", "\n")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines


def plan(
    edits: Iterable[Edit],
    mark: str,
    instead: Mapping[str, bytes | None] | None = None,
    *,
    replace: bool = False,
) -> list[Change]:
    """What the edits do to the files as they are now; to those in `instead` as they will be then.

    `mark` is in every command of ours. `replace`: somebody else's entry of the same name gives way.
    """
    return [_planned(edit, mark, instead or {}, replace=replace) for edit in combined(edits)]


def combined(edits: Iterable[Edit]) -> list[Edit]:
    """One edit for each file: several of one file are merged into it, and have no key in common."""
    found: dict[str, Edit] = {}
    for edit in edits:
        known = found.get(edit.path)
        if known is not None and isinstance(known.content, dict) and isinstance(edit.content, dict):
            edit = Edit(edit.path, known.content | edit.content, known.purpose | edit.purpose)  # noqa: PLW2901
        found[edit.path] = edit
    return list(found.values())


def _planned(edit: Edit, mark: str, instead: Mapping[str, bytes | None], *, replace: bool) -> Change:
    path, content = edit.path, edit.content
    before = instead[path] if path in instead else file.read(path)
    was = file.text(path, before)
    if isinstance(content, Entry):
        text = _entered(path, content, was, mark, replace=replace)
    else:
        text = _edited(path, content, was, mark)
    return Change(path, before, file.encoded(text, before), edit.purpose.sentence, edit.content)


def _edited(path: str, content: Json | str, text: str, mark: str) -> str:
    if isinstance(content, str):
        if text and "postroom" not in text.lower():
            raise CannotEdit(f"{path} is there already, and is not ours", path=path, hint="Move it away.")
        return content
    try:
        if path.endswith(".toml"):
            return toml.add(text, content)
        jsonc.document(text)
        wanted = list(elements(content))
        text = jsonc.remove(text, lambda names, value: _is_stale(names, value, mark, wanted), {})
        merged = jsonc.merge(text, content)
    except (jsonc.Unreadable, toml.Unreadable) as exc:
        raise CannotEdit(f"{path}: {exc}", path=path, add=content, hint="Mend it.") from None
    if not jsonc.covers(jsonc.document(merged), content):
        raise CannotEdit(f"{path} does not take what is added", path=path, add=content)
    return merged


def _entered(path: str, entry: Entry, text: str, mark: str, *, replace: bool) -> str:
    """With our entry, if what has its name is ours, too, or gives way."""
    form = toml if path.endswith(".toml") else jsonc
    names, value = entry
    try:
        found = jsonc.at(form.document(text), names)
        if found == value:
            return text
        if found is not None and not replace and not is_entry_of(found, mark):
            raise AlreadySetUp(
                f"{path} has an MCP server called {names[-1]} that was not set up for this room",
                hint="Take that one out, or put this one in its place, by the same command with: --replace",
            )
        return form.put(text, names, value)
    except (jsonc.Unreadable, toml.Unreadable) as exc:
        raise CannotEdit(f"{path}: {exc}", path=path, add=entry, hint="Mend it.") from None


def entry_in(edit: Edit) -> Any:
    """What a file has now where an entry of ours belongs; None: nothing that could be read."""
    form = toml if edit.path.endswith(".toml") else jsonc
    if not isinstance(edit.content, Entry):
        return None
    try:
        return jsonc.at(form.document(file.glance(edit.path)), edit.content.names)
    except (jsonc.Unreadable, toml.Unreadable):
        return None


def _left_without(form: Any, text: str, names: tuple[str, ...], was: Json, mark: str) -> str:
    """Without our entry, if that is still ours; with the one whose place it took."""
    if not is_entry_of(jsonc.at(form.document(text), names), mark):
        return text
    theirs = jsonc.at(was, names)
    return form.take(text, names, was) if theirs is None else form.put(text, names, theirs)


def is_entry_of(found: Any, room: str) -> bool:
    """Whether an entry starts the server of a room."""
    own: Any = jsonc.as_object(found) or {}
    env = own.get("env") or own.get("environment")
    return (jsonc.as_object(env) or {}).get("POSTROOM_HOME") == room


def by_hand(path: str, content: Json | Entry) -> str:
    """What somebody would have to write into the file, in one line, or a few."""
    if isinstance(content, Entry):
        names, value = content
        is_toml = path.endswith(".toml")
        return "\n".join(toml.lines(names, value)) if is_toml else json.dumps(jsonc.nested(names, value))
    return toml.line(content) if path.endswith(".toml") else json.dumps(content)


def taken_out(
    path: str, now: bytes, content: Json | Entry, before: bytes | None, mark: str, *, reviews: Reviews | None
) -> bytes:
    """A file without what is ours, and what its runtime keeps of that. What `before` had stays."""
    text, was = file.text(path, now), file.text(path, before)
    try:
        if isinstance(content, Entry):
            form = toml if path.endswith(".toml") else jsonc
            text = _left_without(form, text, content.names, form.document(was), mark)
        elif path.endswith(".toml"):
            kept = toml.document(was)
            text = text if jsonc.covers(kept, content) else toml.remove(text, content, kept)
            if reviews and path == reviews.path:
                text = toml.without(text, reviews.parent, reviews.names, kept)
        else:
            kept = jsonc.document(was)
            theirs = list(elements(kept))
            ours = [each for each in elements(content) if each not in theirs]
            text = jsonc.remove(text, lambda names, value: _is_ours(names, value, mark, ours), kept)
    except (jsonc.Unreadable, toml.Unreadable) as exc:
        hint = "Take what is ours out of it yourself: what names the room's hook program."
        raise CannotEdit(f"{path}: {exc}", path=path, hint=hint) from None
    return file.encoded(text, now)


def is_empty(path: str, data: bytes, content: Json | Entry) -> bool:
    """Whether a file has nothing left but what we wrote around our entries."""
    if isinstance(content, Entry):
        content = jsonc.nested(*content)
    text = file.text(path, data)
    found = toml.document(text) if path.endswith(".toml") else jsonc.document(text)
    return not any(elements(found)) and jsonc.covers(content, found)


def elements(document: Any, names: tuple[str, ...] = ()) -> Iterable[Element]:
    """Every element of every array in it."""
    for key, value in (jsonc.as_object(document) or {}).items():
        yield from elements(value, (*names, key))
    for value in jsonc.as_array(document) or []:
        yield names, value
        yield from elements(value, names)


def _runs_ours(value: Any, mark: str) -> bool:
    texts = (jsonc.as_object(value) or {}).values()
    return any(isinstance(text, str) and mark in text for text in texts)


def _is_stale(names: tuple[str, ...], value: Any, mark: str, wanted: list[Element]) -> bool:
    """Whether it is a command of ours, of another version."""
    return _runs_ours(value, mark) and (names, value) not in wanted


def _is_ours(names: tuple[str, ...], value: Any, mark: str, ours: list[Element]) -> bool:
    return _runs_ours(value, mark) or (names, value) in ours
