"""Editing JSON as its owner wrote it: comments, order, indentation and line ends stay as they are.

A text is read together with where everything stands in it, and only what must change is inserted or cut out.
Comments and commas before a closing bracket are accepted, because some runtimes do.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from postroom.model.message import Json

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_scan = json.JSONDecoder().raw_decode
_DEEPEST = 200
_LONGEST = 100  # characters of what stays on one line


class Unreadable(ValueError):
    """It is not JSON, or holds something else where an addition belongs."""


class Item(NamedTuple):
    """A member of an object, or an element of an array."""

    key: str | None
    start: int
    node: "Node"
    comma: int  # where the comma after it stands, or -1


class Node(NamedTuple):
    """A value, and where it stands."""

    start: int
    end: int
    value: Any
    items: list[Item]  # of an object or an array

    def item(self, key: str) -> Item | None:
        """The member of that name; of several the last, as all readers take it."""
        return next((item for item in reversed(self.items) if item.key == key), None)


def parse(text: str) -> Node:
    """Raises `Unreadable`, which says where."""
    root = _value(text, _skip(text, 0), 0)
    end = _skip(text, root.end)
    if end != len(text):
        raise _wrong(text, end, "nothing more")
    return root


def document(text: str) -> Json:
    """What a file says; an empty one says nothing."""
    if not text.strip():
        return {}
    value = as_object(parse(text).value)
    if value is None:
        raise Unreadable("it is no JSON object")
    return value


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise Unreadable("it is nested too deep")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    try:
        value, end = _scan(text, at)
    except ValueError:
        raise _wrong(text, at, "a value") from None
    return Node(at, end, value, [])


def _container(text: str, start: int, depth: int) -> Node:
    closing = "}" if text[start] == "{" else "]"
    items: list[Item] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        if items and items[-1].comma < 0:
            raise _wrong(text, at, f"a comma or {closing}")
        first, key = at, None
        if closing == "}":
            key, at = _key(text, at)
        node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else -1
        items.append(Item(key, first, node, comma))
        at = _skip(text, at + 1) if comma >= 0 else at
    value: Any = [item.node.value for item in items]
    if closing == "}":
        value = {item.key: item.node.value for item in items}
    return Node(start, at + 1, value, items)


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _wrong(text, at, "a name in double quotes")
    node = _value(text, at, 0)
    at = _skip(text, node.end)
    if text[at : at + 1] != ":":
        raise _wrong(text, at, "a colon")
    return node.value, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, wanted: str) -> Unreadable:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return Unreadable(f"line {line}, column {column}: {wanted} was expected")


def as_object(value: Any) -> Json | None:
    return cast("Json", value) if isinstance(value, dict) else None


def as_array(value: Any) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) else None


# additions


def covers(have: Any, want: Any) -> bool:
    """Whether all of `want` is in `have`, which may have more."""
    if (members := as_object(want)) is not None:
        there = as_object(have)
        return there is not None and all(k in there and covers(there[k], v) for k, v in members.items())
    if (wanted := as_array(want)) is not None:
        found = as_array(have)
        return found is not None and all(any(covers(one, each) for one in found) for each in wanted)
    return type(have) is type(want) and have == want


def merge(text: str, addition: Json) -> str:
    """The text with what of `addition` is not in it yet: members of objects, elements of arrays."""
    if not text.strip():
        return json.dumps(addition, indent=2, ensure_ascii=False) + "\n"
    style = _Style(text)
    while (changed := _add(text, parse(text), addition, style, ())) is not None:
        text = changed
    return text


def put(text: str, names: tuple[str, ...], value: Json) -> str:
    """The text with a member at these names, in the place of what was there."""
    found = _way(parse(text), names) if text.strip() else []
    if not found:
        return merge(text, nested(names, value))
    node = found[-1][1].node
    return text[: node.start] + _Style(text).value(value, _lead(text, node.start)) + text[node.end :]


def nested(names: tuple[str, ...], value: Any) -> Json:
    """A document that has nothing but a value at these names."""
    for name in reversed(names):
        value = {name: value}
    return value


def at(document: Any, names: tuple[str, ...]) -> Any:
    """What a document has at these names; None: nothing."""
    for name in names:
        document = (as_object(document) or {}).get(name)
    return document


def _way(node: Node, names: tuple[str, ...]) -> list[tuple[Node, Item]]:
    """The containers from the root to a member, each with its item on the way; none where it is missing."""
    found: list[tuple[Node, Item]] = []
    for name in names:
        item = node.item(name)
        if item is None:
            return []
        found.append((node, item))
        node = item.node
    return found


def _add(text: str, node: Node, addition: Any, style: "_Style", path: tuple[str, ...]) -> str | None:
    """One insertion, or None when nothing is missing."""
    members, elements = as_object(addition), as_array(addition)
    if members is not None and isinstance(node.value, dict):
        for key, value in members.items():
            item = node.item(key)
            if item is None:
                return _insert(text, node, f"{json.dumps(key, ensure_ascii=False)}: ", value, style)
            if (changed := _add(text, item.node, value, style, (*path, key))) is not None:
                return changed
        return None
    if elements is not None and isinstance(node.value, list):
        for value in elements:
            if not any(covers(each.node.value, value) for each in node.items):
                return _insert(text, node, "", value, style)
        return None
    if not covers(node.value, addition):
        kind = "an object" if members is not None else "an array" if elements else json.dumps(addition)
        raise Unreadable(f"{'.'.join(path) or 'it'} should be {kind}, and is something else")
    return None


class _Style:
    """How a text is set."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        found = re.search(r"\n([ \t]+)[\"\[{]", text)
        self.indent = found[1] if found else "  "

    def value(self, value: Any, lead: str) -> str:
        lines = json.dumps(value, indent=self.indent, ensure_ascii=False).split("\n")
        return f"{self.newline}{lead}".join(lines)


def _insert(text: str, node: Node, name: str, value: Any, style: _Style) -> str:
    """As the last one of a container, on a line of its own."""
    outer = _lead(text, node.start)
    lead = outer + style.indent
    last = node.items[-1] if node.items else None
    if last is not None and text[last.start - len(_lead(text, last.start)) - 1 : last.start].startswith("\n"):
        lead = _lead(text, last.start)
    closing = node.end - 1
    if last is not None and last.comma < 0 and "\n" not in text[node.start : node.end]:
        short = f", {name}{json.dumps(value, ensure_ascii=False)}"
        if node.end - node.start + len(short) <= _LONGEST:
            return text[: last.node.end] + short + text[last.node.end :]
    rest = text[:closing].rstrip()  # behind the last comment, too
    added = f"{style.newline}{lead}{name}{style.value(value, lead)}"
    added += "," if last is not None and last.comma >= 0 else ""
    tail = text[len(rest) : closing]
    tail = tail if "\n" in tail else f"{style.newline}{outer}"
    if last is not None and last.comma < 0:
        rest = f"{rest[: last.node.end]},{rest[last.node.end :]}"
    return rest + added + tail + text[closing:]


def _lead(text: str, at: int) -> str:
    """The blanks at the beginning of the line on which something stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


# removals

IsOurs = Callable[[tuple[str, ...], Any], bool]  # the names above an element, and the element


def remove(text: str, is_ours: IsOurs, kept: Json) -> str:
    """The text without the elements that are ours, and without what is empty then, unless `kept` has it."""
    while text.strip() and (found := _find(parse(text), is_ours, ())) is not None:
        chain = _chain(parse(text), *found)
        assert chain is not None
        text = _cut_upwards(text, chain, kept)
    return text


def take(text: str, names: tuple[str, ...], kept: Json) -> str:
    """The text without a member, and without what is empty then, unless `kept` has it."""
    found = _way(parse(text), names) if text.strip() else []
    return _cut_upwards(text, found, kept) if found else text


def _find(node: Node, is_ours: IsOurs, path: tuple[str, ...]) -> tuple[tuple[str, ...], Any] | None:
    for item in node.items:
        below = path if item.key is None else (*path, item.key)
        if item.key is None and is_ours(path, item.node.value):
            return path, item.node.value
        if (found := _find(item.node, is_ours, below)) is not None:
            return found
    return None


def _cut_upwards(text: str, chain: list[tuple[Node, Item]], kept: Json) -> str:
    """Cut an item out, and then each container around it that has nothing left in it."""
    for at in range(len(chain) - 1, -1, -1):
        container, item = chain[at]
        others = [each for each in container.items if each is not item]
        names = tuple(each.key for _, each in chain[:at] if each.key is not None)
        is_element = at > 0 and chain[at - 1][1].key is None
        nothing_left = not others or (is_element and isinstance(item.node.value, list))
        if at == 0 or not nothing_left or (not is_element and has(kept, names)):
            return _cut(text, container, item)
    return text


def _chain(node: Node, path: tuple[str, ...], value: Any) -> list[tuple[Node, Item]] | None:
    """The containers from the root to an element, each with its item on the way."""
    for item in node.items:
        if item.key is None and not path and item.node.value == value:
            return [(node, item)]
        if item.key is not None and path[:1] != (item.key,):
            continue
        below = _chain(item.node, path if item.key is None else path[1:], value)
        if below is not None:
            return [(node, item), *below]
    return None


def has(document: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        members = as_object(document)
        if members is None or key not in members:
            return False
        document = members[key]
    return True


def _cut(text: str, container: Node, item: Item) -> str:
    """Without one item, its comma, and the line if nothing else is on it."""
    at = container.items.index(item)
    start, end = item.start, item.node.end
    if item.comma >= 0:
        end = item.comma + 1
    elif at:
        comma = container.items[at - 1].comma
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    while text[start - 1] in " \t":
        start -= 1
    while text[end] in " \t":
        end += 1
    if text[start - 1] == "\n" and text[end] in "\r\n":
        end += 2 if text[end] == "\r" else 1
    elif text[start - 1] == "\n" and text[end] in "]}":
        start -= 2 if text[start - 2] == "\r" else 1
    return text[:start] + text[end:]
