"""Another tool's config as plain values: objects, lists, texts and None. Nothing in it is ever run.

YAML is read as a graph of nodes and walked here: every scalar stays the text that was written (`0.10` is not
a number, and `on` no truth value), a tag that is not YAML's own is refused, and what stands for another part
of the file is counted each time it does, so that a small file cannot become a large one.
"""

import json
import os
import stat
from typing import Any, cast

from postroom import extra
from postroom.errors import InvalidValue, NotFound
from postroom.model.message import Json

LARGEST = 1 << 18  # bytes: a config, not a book
_MOST = 20_000  # values in it, counted as often as they are meant
_DEEPEST = 50
_CORE = "tag:yaml.org,2002:"
_MERGE, _NULL = f"{_CORE}merge", f"{_CORE}null"
_KINDS = ("map", "seq", "str", "null", "bool", "int", "float", "timestamp", "merge", "value")
_TAGS = frozenset(_CORE + kind for kind in _KINDS)  # that a value has without being given one


def read(path: str) -> Json:
    """The object that a file of YAML or JSON holds; one line says why not."""
    text = _text(path)
    try:
        found = _json(text) if path.endswith(".json") else _yaml(text)
    except RecursionError:
        raise _unreadable(path, "it is nested too deep") from None
    except ValueError as exc:
        raise _unreadable(path, " ".join(str(exc).split())) from None
    if not isinstance(found, dict):
        raise _unreadable(path, "it holds no names with values")
    return cast("Json", found)


def _unreadable(path: str, why: str) -> InvalidValue:
    return InvalidValue(f"{path}: {why}", path=path, hint="Mend that file, or name another.")


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise NotFound(f"there is no {path}", path=path, hint="Name a file or a directory.") from None
    except OSError as exc:
        raise _unreadable(path, f"it cannot be read: {exc.strerror}") from None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unreadable(path, "it is neither a file nor a directory")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _unreadable(path, "it is too large to be a config")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8") from None


def _json(text: str) -> Any:
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def _yaml(text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra, and only who imports YAML has it
    except ImportError:
        raise InvalidValue(
            "reading YAML takes a package that is not installed",
            hint=extra.hint("import"),
        ) from None
    try:
        node = cast("Any", yaml.compose(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    except yaml.YAMLError as exc:
        raise ValueError(f"it is no YAML: {exc}") from None
    except (OverflowError, ValueError):  # of `\\UFFFFFFFF`
        raise ValueError("it is no YAML: it names a character that there is not") from None
    return None if node is None else _Walk().value(node)


class _Walk:
    """From nodes to values. A node is of a class of the package, which has no types."""

    def __init__(self) -> None:
        self._count = 0

    def value(self, node: Any, depth: int = 0) -> Any:
        self._count += 1
        if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        if self._count > _MOST:
            raise ValueError("it means far more than is written there")
        if node.tag not in _TAGS:
            raise ValueError(f"it has a tag, {node.tag}, which is not followed")
        if node.id == "mapping":
            return self._mapping(node, depth)
        if node.id == "sequence":
            return [self.value(each, depth + 1) for each in node.value]
        return None if node.tag == _NULL else node.value

    def _mapping(self, node: Any, depth: int) -> Json:
        found: Json = {}
        merged: Json = {}
        for key, value in node.value:
            inner: Any = self.value(value, depth + 1)
            if key.tag == _MERGE:
                for each in reversed(cast("list[Any]", inner) if isinstance(inner, list) else [inner]):
                    merged |= each if isinstance(each, dict) else {}
                continue
            if key.id != "scalar" or key.tag not in _TAGS:
                raise ValueError("a name in it is no text")
            if key.value in found:
                raise ValueError(f"it says {key.value!r} twice")
            found[key.value] = inner
        return merged | found
