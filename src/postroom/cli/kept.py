"""Agents that bridges reach: what each does, where, and how mail gets to it, in words and as data."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postroom.bridges.manifest import Manifest
    from postroom.cli.context import Context
    from postroom.model.message import Json
    from postroom.room.local import LocalRoom

_BUT = {  # what keeps mail out of a terminal, though its agent is idle
    "draft": "with a draft",
    "typing": "and somebody types",
    "copy_mode": "but scrolled back",
    "synchronised": "but synchronised with other panes",
    "background": "but behind another program",
    "uncertain": "with an earlier text of ours",
}
_RECENT = 100  # events
_PATIENCE = 2.0  # seconds for the daemon to look at all of them


def observed(home: str, agents: "Iterable[str]", seconds: float = _PATIENCE) -> "dict[str, Json]":
    """What the daemon sees of these now; nothing of those it does not keep, or if there is none."""
    from postroom.daemon.place import running

    wanted = list(agents)
    if not wanted or not running(home):
        return {}
    from postroom.daemon.control import ask
    from postroom.errors import PostroomError

    try:
        return ask(home, "observe", agents=wanted, seconds=seconds * 0.8, patience=seconds)
    except PostroomError:
        return {}


def document(room: "LocalRoom", manifest: "Manifest", seen: "Json | None") -> dict[str, Any]:
    """An agent and its bridge, as it is in JSON."""
    from postroom import host
    from postroom.room.berth import carrier, route
    from postroom.room.glance import get

    by_hooks = carrier(room.store.look(), manifest.agent) is not None
    now, glance = route(room.store.look(), manifest.agent) or manifest.bridge, get(room.home, manifest.agent)
    facts: dict[str, Any] = {
        "agent": manifest.address, "bridge": manifest.bridge, "runtime": manifest.runtime or None,
        "title": title(manifest), "pane": manifest.pane.partition("@")[0] or None,
        "place": manifest.details.get("place"), "process": host.pid_of(manifest.process),
        "doing": (seen or {}).get("doing", "unknown"), "because": (seen or {}).get("words", ""),
        "reason": (seen or {}).get("reason") or None, "dialog": (seen or {}).get("dialog") or None,
        "mail": "hooks" if by_hooks else typed(now), "route": now,
        "instead": (glance.instead if glance else "") or None,
    }  # fmt: skip
    return facts | {"next": next_step(facts, manifest, room)}


def typed(bridge: str) -> str:
    """How mail goes in by a bridge: at a screen it is typed."""
    from postroom.bridges.registry import capabilities

    can = capabilities(bridge)
    return "typed" if can.screen else "carried" if can.mailbox else "handed"


def title(manifest: "Manifest") -> str:
    """What runs there, as people know it."""
    from postroom.runtimes import NAMES, load

    if manifest.runtime in NAMES:
        return load(manifest.runtime).title
    otherwise = "a mailbox" if manifest.bridge == "files" else "a program"
    words = manifest.command[:1] or [str(manifest.details.get("program") or otherwise)]
    return manifest.runtime or words[0].rpartition("/")[2]


def gate(room: "LocalRoom", agent: str) -> str:
    """The handle of what a running agent asks people to decide; empty: nothing, or there is nobody."""
    from postroom.room.gate import is_permission

    found = room.store.look().gates(room.now())
    return next((one.handle for one in found if one.sender_id == agent and is_permission(one)), "")


def next_step(facts: dict[str, Any], manifest: "Manifest", room: "LocalRoom") -> str | None:
    """The command that helps, where mail cannot get in."""
    name = facts["agent"]
    reason = str(facts["reason"])
    if facts["doing"] == "asking" and (asked := gate(room, manifest.agent)):
        return f"postroom gates {asked}"
    if reason.startswith("launch_blocked:") or reason == "uncertain" or facts["doing"] == "asking":
        return f"postroom attach {name}"
    if facts["reason"] == "unknown_screen" and _lacks_profile(manifest):
        return f"postroom adopt {facts['pane']} --pattern RE" if facts["pane"] else "postroom help adopt"
    if facts["reason"] == "unknown_screen":
        return f"postroom doctor capture {name}"
    return None


def _lacks_profile(manifest: "Manifest") -> bool:
    """Or has one that was given by hand, and does not fit."""
    from postroom.runtimes import NAMES

    return manifest.runtime not in NAMES and (not manifest.runtime or not manifest.details.get("profile"))


def afterwards(room: "LocalRoom", agent: str, name: str, bridge: str = "") -> str:
    """What there is to see of one that has ended, without a pane that still shows it. By a `bridge` without
    a screen, what it prints is noted, though perhaps not yet.
    """
    from postroom.bridges.registry import capabilities

    events = room.store.look().events_before("", _RECENT, agent)
    noted = any(event.type == "agent.output" for event in events)
    if noted or (bridge and not capabilities(bridge).screen):
        return f"See what it printed: postroom log {name} --json"
    return f"What it printed is gone with its terminal; see how it ended: postroom log {name}"


def does(facts: dict[str, Any]) -> str:
    """What an agent does, in a few words."""
    reason = str(facts["reason"] or "")
    if reason.startswith("launch_blocked:"):
        return reason
    return {
        "idle": f"idle, {_BUT[reason]}" if reason in _BUT else "idle",
        "processing": "at work",
        "stuck": f"stuck: {facts['because']}",
        "asking": f"asks: {facts['dialog'] or 'a person'}",
        "gone": f"not running: {again}" if (again := pause(facts["because"])) else "not running",
    }.get(facts["doing"]) or ("on a screen that is not known" if reason == "unknown_screen" else "running")


def pause(words: str) -> str:
    """When an agent that has ended is started again, if that is what the daemon says of it."""
    return words if words.startswith(("starts again in ", "is being started again")) else ""


def gets(facts: dict[str, Any]) -> str:
    """How its mail gets in, or why it does not."""
    if facts["next"] and facts["doing"] != "gone":
        return f"its mail waits: {facts['next']}"
    if facts["doing"] == "gone" or facts["reason"] in _BUT:
        return "its mail waits"
    return _way_in(facts)


def _way_in(facts: dict[str, Any]) -> str:
    match facts["mail"]:
        case "hooks":
            return "its hooks carry mail, a line wakes it"
        case "carried":
            return "mail is carried"
        case "typed":
            return f"mail is typed: {facts['instead']}" if facts["instead"] else "mail is typed"
        case _ if facts["route"] != facts["bridge"]:
            return "mail is handed to its own server"
        case _:
            return "mail is handed over"


def where(facts: dict[str, Any]) -> str:
    from postroom.cli.route import told

    place = facts["place"] or facts["pane"]
    return f"{told(facts['bridge'])} {place}" if place else told(facts["bridge"])


def line(facts: dict[str, Any], context: "Context", more: str = "") -> str:
    """One agent in one line, or in several where the terminal is narrow; `more` is said of it at its end."""
    name, end = str(facts["agent"]), f" ({more})" if more else ""
    text = f"{name}: {facts['title']} ({where(facts)}), {does(facts)}; {gets(facts)}{end}"
    return context.out.paint(name, "bold") + context.out.fold(text, 2).removeprefix(name) + "\n"
