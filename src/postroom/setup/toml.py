"""Adding a string to an array in a TOML table, or a table, and taking it out again, in the text as its owner
wrote it.

The text is edited by its lines, and the result is read: if it does not say exactly what was wanted, the
edit is refused. So a way of writing that is not understood here costs a line by hand, never a setting.
"""

import json
import re
import tomllib
from collections.abc import Collection
from typing import Any

from postroom.model.message import Json
from postroom.setup.jsonc import as_array, as_object, at, has


class Unreadable(ValueError):
    """It is not TOML, or is written in a way that is not understood here."""


def document(text: str) -> Json:
    try:
        return tomllib.loads(text)
    except ValueError as exc:
        raise Unreadable(str(exc)) from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None


def entry(addition: Json) -> tuple[str, str, str]:
    """Table, key and string of an addition, which has one of each."""
    [(table, inner)] = addition.items()
    [(key, [value])] = inner.items()
    return table, key, value


def line(addition: Json) -> str:
    """The addition as somebody would write it by hand."""
    table, key, value = entry(addition)
    return f"[{table}] {key} = [{json.dumps(value, ensure_ascii=False)}]"


def add(text: str, addition: Json) -> str:
    table, key, value = entry(addition)
    before = document(text)
    inner = as_object(before.get(table, {}))
    values = as_array(inner.get(key, [])) if inner is not None else None
    if inner is None or values is None:
        raise Unreadable(f"{table}.{key} is no array")
    if value in values:
        return text
    after = _added(text, table, key, value)
    wanted = {**before, table: {**inner, key: [*values, value]}}
    return _checked(after, wanted, line(addition))


def _added(text: str, table: str, key: str, value: str) -> str:
    newline, string = "\r\n" if "\r\n" in text else "\n", json.dumps(value, ensure_ascii=False)
    body = _table(text, table)
    if body is None:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}[{table}]{newline}{key} = [{string}]{newline}"
    array = _array(text, *body, key)
    if array is None:
        at = body[0]
        head = "" if text[:at].endswith("\n") else newline
        return f"{text[:at]}{head}{key} = [{string}]{newline}{text[at:]}"
    closing, is_open = array
    rest = text[:closing].rstrip()
    tail = text[len(rest) :]
    if "\n" not in text[len(rest) : closing]:
        return f"{rest}{', ' if is_open else ''}{string}{tail}"
    last = rest[rest.rfind("\n") + 1 :]
    lead = last[: len(last) - len(last.lstrip())]
    after = "," if rest.endswith(",") else ""
    return f"{rest}{',' if is_open else ''}{newline}{lead}{string}{after}{tail}"


def remove(text: str, addition: Json, kept: Json) -> str:
    """The text without that string, and without what is empty then, unless `kept` has it."""
    table, key, value = entry(addition)
    before = document(text)
    inner, was = as_object(before.get(table)), as_object(kept.get(table))
    values = as_array(inner.get(key)) if inner is not None else None
    if inner is None or values is None or value not in values:
        return text
    left = [each for each in values if each != value]
    keep_table, keep_key = was is not None, was is not None and key in was
    wanted_inner: Json = {**inner, key: left}
    body = _table(text, table)
    if not left and not keep_key and body is not None:
        wanted_inner.pop(key)
        after = _without_line(text, *body, key)
    else:
        after = _without_string(text, value)
    wanted = {**before, table: wanted_inner}
    if not wanted_inner and not keep_table:
        wanted.pop(table)
        after = _without_header(after, table)
    return _checked(after, wanted, line(addition))


def put(text: str, names: tuple[str, ...], value: Json) -> str:
    """The text with a table at these names, in the place of what was there."""
    before = document(text)
    if at(before, names) == value:
        return text
    if at(before, names) is not None:
        text = take(text, names, before)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    after = text + gap + newline.join(lines(names, value)) + newline
    above = before
    for name in names[:-1]:
        inner = as_object(above.setdefault(name, {}))
        if inner is None:
            raise Unreadable(f"{name} is no table")
        above = inner
    above[names[-1]] = value
    return _checked(after, before, f"[{'.'.join(names)}]")


def lines(names: tuple[str, ...], value: Json) -> list[str]:
    """A table as somebody would write it by hand."""
    return [f"[{'.'.join(names)}]", *(f"{key} = {_written(each)}" for key, each in value.items())]


def take(text: str, names: tuple[str, ...], kept: Json) -> str:
    """The text without a table, and those in it, and without the one above if `kept` has none."""
    wanted = document(text)
    if at(wanted, names) is None:
        return text
    after = text
    while (shorter := _without_table(after, names, deep=True)) != after:
        after = shorter
    _below(wanted, names[:-1]).pop(names[-1])
    above = names[:-1]
    if not _below(wanted, above) and not has(kept, above):
        after = _without_header(after, ".".join(above))
    if not has(document(after), above):  # it had no header of its own
        _drop(wanted, above)
    return _checked(after, wanted, f"[{'.'.join(names)}]")


def _written(value: Any) -> str:
    if (members := as_object(value)) is not None:
        return "{ " + ", ".join(f"{key} = {_written(each)}" for key, each in members.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # strings, numbers and arrays are written alike


def _checked(after: str, wanted: Json, what: str) -> str:
    try:
        if tomllib.loads(after) == wanted:
            return after
    except (ValueError, RecursionError):
        pass
    raise Unreadable(f"it is written in a way that is not understood: {what}")


def _table(text: str, table: str) -> tuple[int, int] | None:
    """Where the lines of a table begin and end."""
    header = rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][ \t\r]*(?:#[^\n]*)?(?:\n|\Z)"
    found = re.search(header, text, re.MULTILINE)
    if found is None:
        return None
    following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, found.end())
    return found.end(), following.start() if following else len(text)


def _key(text: str, start: int, end: int, key: str) -> "re.Match[str] | None":
    return re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[ \t]*\[", re.MULTILINE).search(text, start, end)


def _array(text: str, start: int, end: int, key: str) -> tuple[int, bool] | None:
    """Where the array of a key closes, and whether a comma must come before another element."""
    found = _key(text, start, end, key)
    if found is None:
        return None
    at, is_open = found.end(), False
    while at < len(text) and text[at] != "]":
        if text[at] == "#":
            at = _end_of_line(text, at)
            if is_open:
                raise Unreadable("a comment stands where an element would be added")
        elif text[at] in "\"'":
            at, is_open = _end_of_string(text, at), True
        else:
            is_open = is_open and text[at] != ","
            at += 1
    return at, is_open


def _end_of_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _end_of_string(text: str, at: int) -> int:
    found = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'').match(text, at)
    if found is None:
        raise Unreadable("a string is not understood")
    return found.end()


def _without_line(text: str, start: int, end: int, key: str) -> str:
    """Without a key and its array."""
    found, array = _key(text, start, end, key), _array(text, start, end, key)
    if found is None or array is None:
        return text
    return text[: found.start()] + text[min(len(text), _end_of_line(text, array[0]) + 1) :]


def _without_string(text: str, value: str) -> str:
    string = re.escape(json.dumps(value, ensure_ascii=False))
    literal = re.escape(f"'{value}'")
    for pattern in (rf",[ \t]*(?:{string}|{literal})", rf"(?:{string}|{literal})[ \t]*,?[ \t]*"):
        after = re.sub(pattern, "", text, count=1)
        if after != text:
            return after
    return text


def _without_header(text: str, table: str) -> str:
    """Without a table that has no lines left, and the blank line that set it off."""
    pattern = rf"(?:(?<=\n)\r?\n)?^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][ \t]*(?:\r?\n|\Z)"
    return re.sub(pattern, "", text, count=1, flags=re.MULTILINE)


def without(text: str, parent: tuple[str, ...], names: Collection[str], kept: Json) -> str:
    """The text without these tables, and without the one above them if that is empty then and not in `kept`.

    Tables that are written in a way that is not understood here stay.
    """
    wanted = document(text)
    above = _below(wanted, parent)
    gone = [name for name in names if name in above and name not in _below(kept, parent)]
    after = text
    for name in gone:
        after = _without_table(after, (*parent, name))
        above.pop(name)
    if gone and not above and not has(kept, parent):
        after = _without_header(after, ".".join(parent))
        _drop(wanted, parent)
    try:
        return after if tomllib.loads(after) == wanted else text
    except (ValueError, RecursionError):
        return text


def _below(found: Json, path: tuple[str, ...]) -> Json:
    """The table at a path; an empty one where there is none."""
    for key in path:
        found = as_object(found.get(key)) or {}
    return found


def _drop(found: Json, path: tuple[str, ...]) -> None:
    """Without a table, and those above it that hold nothing else."""
    for end in range(len(path), 0, -1):
        if not _below(found, path[:end]):
            _below(found, path[: end - 1]).pop(path[end - 1], None)


def _without_table(text: str, path: tuple[str, ...], *, deep: bool = False) -> str:
    """Without the lines of a table, or the first in it; and the blank one before it where it is the last."""
    for found in re.compile(r"^[ \t]*\[[^\n]*", re.MULTILINE).finditer(text):
        named = _path(found[0])
        if (named[: len(path)] if deep else named) == path:
            following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, found.end())
            if following:
                return text[: found.start()] + text[following.start() :]
            return re.sub(r"(?<=\n)\r?\n\Z", "", text[: found.start()])
    return text


def _path(header: str) -> tuple[str, ...]:
    """What the header of a table names."""
    try:
        found: Json | None = tomllib.loads(header)
    except ValueError:
        return ()
    names: list[str] = []
    while found:
        [(name, inner)] = found.items()
        names.append(name)
        found = as_object(inner)
    return tuple(names) if found is not None else ()
