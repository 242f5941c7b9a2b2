"""How an agent is reached that a bridge reaches, in words. Loaded for those only."""

from typing import TYPE_CHECKING

from postroom.cli.kept import does, next_step, typed
from postroom.cli.route import told

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Agent, Session
    from postroom.model.presence import Sight
    from postroom.room.glance import Glance

_DOING = {"idle": "idle", "busy": "at work", "permission": "asks: permission"}  # as its hooks tell it
_MAILBOX = "files"  # by its name: what bridges can do is loaded with them, and a send has no time for that
_WAITS = ("draft", "left_text", "copy_mode", "synchronised", "background", "typing", "unknown_screen")


def text(party: str, session: "Session", sight: "Sight", context: "Context", place: str = "") -> str:
    """What it does, in which terminal, and how mail gets in; `session` is that of its bridge."""
    from postroom.daemon.place import running
    from postroom.room.berth import carrier
    from postroom.room.glance import get
    from postroom.room.seat import BRIDGE

    room = context.room()
    spot, carried = _spot(session, place), carrier(room.store.look(), party) is not None
    is_kept = bool(running(room.home))
    name = _paused(party, context)
    if session.details[BRIDGE] == _MAILBOX and not carried:
        return _by_mailbox(get(room.home, party), name, is_kept=is_kept)
    if carried and name:
        return f"{_DOING.get(sight.presence.value, 'running')} in {spot}; paused: postroom resume {name}"
    if carried:
        return _by_hooks(sight, spot, is_kept=is_kept)
    if not is_kept:
        return f"in {spot}; nothing types there: postroom up"
    if name:
        return f"{_doing(get(room.home, party))} in {spot}; paused: postroom resume {name}"
    seen, how = get(room.home, party), typed(str(session.details[BRIDGE]))
    words = _by_bridge(seen, spot, how, _remedy(seen, party, context))
    return f"{words} ({seen.instead})" if seen and seen.instead else words


def from_afar(agent: "Agent", sights: "list[Sight]", seen: "Glance | None") -> str:
    """The same by what a room elsewhere tells, whose daemon runs: it has answered."""
    from postroom.room.seat import BRIDGE, is_bridged

    session = next(one.session for one in sights if is_bridged(one.session))
    bridge, name = str(session.details[BRIDGE]), _waits_for(agent)
    hooked = next((one for one in sights if not is_bridged(one.session)), None)
    if bridge == _MAILBOX and hooked is None:
        return _by_mailbox(seen, name, is_kept=True)
    spot = f"{titled(session.runtime)} ({told(bridge)})"
    if hooked is not None:
        does = _DOING.get(hooked.presence.value, "running")
        return (
            f"{does} in {spot}; paused: postroom resume {name}"
            if name
            else _by_hooks(hooked, spot, is_kept=True)
        )
    if name:
        return f"{_doing(seen)} in {spot}; paused: postroom resume {name}"
    way = _by_bridge(seen, spot, typed(bridge), "")
    return f"{way} ({seen.instead})" if seen and seen.instead else way


def _by_mailbox(seen: "Glance | None", name: str, *, is_kept: bool) -> str:
    if not is_kept:
        return "by its mailbox; nobody carries: postroom up"
    if name:
        return f"by its mailbox; paused: postroom resume {name}"
    waits = seen is not None and (seen.reason or seen.unsent)
    return f"by its mailbox: {seen.words}" if seen and waits else "by its mailbox"


def _paused(party: str, context: "Context") -> str:
    """The name of an agent whose mail waits until it is told to go on; empty: it is not so."""
    agent = context.room().store.look().agent(party)
    return _waits_for(agent) if agent else ""


def _waits_for(agent: "Agent") -> str:
    from postroom.model.manners import read

    return agent.called if agent.manners and read(agent.manners).paused else ""


def _spot(session: "Session", place: str) -> str:
    """`Aider (tmux work:1.0)`"""
    runtime = str(session.details.get("runtime") or "")
    title = titled(runtime)
    way = "its own server" if session.runtime == runtime else told(session.runtime)
    return f"{title} ({' '.join(filter(None, (way, place)))})"


def titled(runtime: str) -> str:
    """What runs there, as people know it."""
    from postroom.runtimes import NAMES, load

    return load(runtime).title if runtime in NAMES else runtime or "a program"


def last_seen(home: str, agents: dict[str, str]) -> str:
    """What these, by their ids, did when somebody looked last."""
    from postroom.cli.moment import ago
    from postroom.room.glance import last

    seen = [(name, found) for agent, name in agents.items() if (found := last(home, agent))]
    return ", ".join(f"{name} {found.doing} {ago(found.at)}" for name, found in seen)


def _by_hooks(sight: "Sight", spot: str, *, is_kept: bool) -> str:
    """Its hooks carry the mail; a line that is typed wakes it, if its own runtime does not."""
    wakes = "woken" if is_kept else "wakes" if sight.wake else "until its next prompt"
    return {
        "idle": f"idle in {spot}, {wakes}",
        "busy": f"at work in {spot}: after its tool",
        "permission": f"asks: permission in {spot}",
    }.get(sight.presence.value) or f"running in {spot}, {wakes}"


def _remedy(seen: "Glance | None", party: str, context: "Context") -> str:
    """The command that helps where its mail cannot get in; empty: it gets in by itself."""
    from postroom.bridges.manifest import get

    manifest = get(context.room().home, party) if seen and seen.reason else None
    if seen is None or manifest is None:
        return ""
    pane = manifest.pane.partition("@")[0] or None
    facts = {"agent": manifest.address, "pane": pane, "doing": seen.doing, "reason": seen.reason}
    return next_step(facts, manifest, context.room()) or ""


def _by_bridge(seen: "Glance | None", spot: str, how: str, remedy: str) -> str:
    if seen is None:
        return f"running in {spot}: {how} when it is idle"
    doing = _doing(seen)
    if seen.doing == "stuck":
        return f"{doing} in {spot}"
    if seen.doing == "idle" and seen.reason not in _WAITS:
        return f"idle in {spot}, {how}"
    if seen.doing == "processing":
        return f"at work in {spot}: {how} when it is idle"
    if remedy:
        return f"{doing} in {spot}: {remedy}"
    waits = f": waits ({seen.reason})" if seen.reason in _WAITS else ""
    return f"{doing} in {spot}{waits}"


def _doing(seen: "Glance | None") -> str:
    if seen is None:
        return "running"
    return does({"doing": seen.doing, "because": seen.words, "reason": seen.reason, "dialog": _dialog(seen)})


def _dialog(seen: "Glance") -> str:
    """What stands after our own words, all of it: an agent's title may have colons, too."""
    return seen.words.partition(": ")[2] or seen.words


def places(panes: list[str]) -> dict[str, str]:
    """Where these panes are now, as people name it, with the server's socket where there are several.

    One call for each server, and nothing where it fails.
    """
    from postroom.bridges.tmux import candidate
    from postroom.bridges.tmux.server import Server, target
    from postroom.errors import BridgeError

    found: dict[str, str] = {}
    sockets = {target(pane).socket for pane in panes}
    for socket in sockets:
        try:
            there = candidate.places(Server(socket))
        except BridgeError:
            continue
        on = f" on {socket}" if len(sockets) > 1 else ""
        found |= {str(pane): f"{place}{on}" for pane, place in there.items()}
    return {pane: found.get(pane, "") for pane in panes}
