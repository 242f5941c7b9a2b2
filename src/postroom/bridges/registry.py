"""The kinds of bridges there are: our own, and what others have installed under `postroom.bridges`."""

import importlib
from typing import TYPE_CHECKING, cast

from postroom import host
from postroom.bridges.contract import Capabilities, Way
from postroom.errors import BridgeError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "postroom.bridges"
_OURS = {
    "tmux": "postroom.bridges.tmux.bridge",
    "pty": "postroom.bridges.process.pty",
    "lines": "postroom.bridges.process.lines",
    "stream": "postroom.bridges.process.stream",
    "codex": "postroom.bridges.codex.bridge",
    "opencode": "postroom.bridges.opencode.bridge",
    "acp": "postroom.bridges.acp.way",
    "files": "postroom.bridges.files.bridge",
    "claude-team": "postroom.bridges.team.bridge",
}
_WANTED = ("NAME", "ABOUT", "CAPABILITIES", "BY_CALLER", "start", "open", "end")


def names() -> list[str]:
    """Ours first. Nobody else's is loaded by that."""
    return [*_OURS, *(name for name in sorted(_installed()) if name not in _OURS)]


def load(name: str) -> Way:
    """A kind of bridge by its name; ours cannot be replaced."""
    if name in _OURS:
        return cast("Way", importlib.import_module(_OURS[name]))
    point = _installed().get(name)
    if point is None:
        raise _unknown(name)
    try:
        way = point.load()
    except Exception as exc:
        raise BridgeError(f"the bridge {name!r} of {_whose(point)} cannot be loaded: {exc!r}") from exc
    missing = [word for word in _WANTED if not hasattr(way, word)]
    if missing:
        raise BridgeError(f"the bridge {name!r} of {_whose(point)} has no {', '.join(missing)}")
    return way


def capabilities(name: str) -> Capabilities:
    """What a kind of bridge can do; nothing, where it is not there any more."""
    try:
        return load(name).CAPABILITIES
    except BridgeError:
        return Capabilities()


def usual() -> str:
    """The kind that is taken where none is named."""
    return "tmux" if host.on_path("tmux") else "pty"


def _installed() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # noqa: PLC0415 - only where others' bridges are looked for

    return {point.name: point for point in entry_points(group=GROUP)}


def _whose(point: "EntryPoint") -> str:
    return point.dist.name if point.dist else point.value


def _unknown(name: str) -> BridgeError:
    from postroom.near import meant, near  # noqa: PLC0415 - only to word an error

    known = names()
    hint = meant(near(name, known)) or f"There are {', '.join(known)}."
    return BridgeError(f"there is no bridge {name!r}", hint=hint, bridge=name)
