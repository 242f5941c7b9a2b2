"""The config of agentcomms: its agents, as tables of ours.

Three ways of writing it are about: agents as an object by their names, with what concerns them beside it or
under `config`; and as a list with `id`, `tmux_session` and `tmux_pane`, where the channels stand elsewhere.
"""

from typing import Any, cast

from postroom.bridges.files import naming
from postroom.errors import InvalidValue
from postroom.imports.plan import Agents, Kind, LeftOut
from postroom.imports.program import runtime_of, words
from postroom.model.message import Json

_KNOWN = (
    "id",
    "name",
    "type",
    "session",
    "tmux_session",
    "pane",
    "tmux_pane",
    "command",
    "args",
    "channel",
    "config",
)
_NO_CHANNEL = "no chat is served here yet, so its accounts and tokens are of no use"
_ELSEWHERE = {
    "chat": _NO_CHANNEL,
    "discord": _NO_CHANNEL,
    "telegram": _NO_CHANNEL,
    "whatsapp": _NO_CHANNEL,
    "slack": _NO_CHANNEL,
    "voice": "there are no calls here",
    "webhook": "webhooks are not taken over; programs call the HTTP API of the daemon: postroom up",
    "daemon": "the daemon here finds its room by itself: postroom up",
    "server": "the daemon here finds its room by itself: postroom up",
    "database": "a room is a file of its own: postroom status",
    "logging": "the daemon has one log: postroom status says where",
    "log_level": "the daemon has one log: postroom status says where",
    "version": "",
}


def looks_so(document: Json) -> bool:
    return isinstance(document.get("agents"), (dict, list))


def plan(document: Json, source: str, renamed: dict[str, str]) -> Agents:
    """The agents of such a config, and what of it has no counterpart."""
    agents = _listed(document.get("agents"))
    names = naming.addresses([name for name, _ in agents], (), renamed)
    channels = _channels(document)
    left: list[LeftOut] = []
    tables: dict[str, Json] = {}
    for name, said in agents:
        table = _table(name, said, left)
        if table and (channel := _text(said.get("channel") or channels.pop(name, ""))):
            table["channel"] = channel
        if table:
            tables[names[name]] = table
    left += [
        LeftOut(f"channel {channel}", f"there is no agent {name!r}") for name, channel in channels.items()
    ]
    left += [
        LeftOut(key, _ELSEWHERE.get(key, "it has no counterpart here"))
        for key in document
        if key != "agents" and _ELSEWHERE.get(key, "?")
    ]
    return Agents(Kind.AGENTCOMMS, source, tables, naming.changed(names), left)


def _listed(agents: Any) -> list[tuple[str, Json]]:
    """Each agent with all that is said of it, wherever that stands."""
    if isinstance(agents, dict):
        pairs = list(cast("dict[str, Any]", agents).items())
    else:
        pairs = [(_text(one.get("id") or one.get("name")), one) for one in _objects(agents)]
    found: list[tuple[str, Json]] = []
    for name, said in pairs:
        if not name or not isinstance(said, dict):
            raise InvalidValue(
                f"agents: {name or 'one of them'} is no agent", hint="Each has a name and a type."
            )
        about = cast("Json", said)
        inner = about.get("config")
        found.append((name, {**about, **(cast("Json", inner) if isinstance(inner, dict) else {})}))
    return found


def _objects(values: Any) -> list[Json]:
    return [cast("Json", one) if isinstance(one, dict) else {} for one in cast("list[Any]", values)]


def _channels(document: Json) -> dict[str, str]:
    """Which channel belongs to which agent, where that stands apart."""
    chat: Any = document.get("chat")
    listed: Any = cast("Json", chat).get("channels") if isinstance(chat, dict) else None
    pairs = [(_text(one.get("agent_id")), _text(one.get("channel_id"))) for one in _objects(listed or [])]
    return {agent: channel for agent, channel in pairs if agent and channel}


def _table(name: str, said: Json, left: list[LeftOut]) -> Json:
    """One agent's table; empty if nothing here could run it."""
    left += [
        LeftOut(f"agents.{name}.{key}", "it has no counterpart here") for key in said if key not in _KNOWN
    ]
    kind = _text(said.get("type")) or "tmux"
    if kind == "tmux":
        return _in_tmux(name, said, left)
    if kind == "process":
        return _as_child(name, said, left)
    left.append(LeftOut(f"agents.{name}", f"there is no way to reach an agent of type {kind!r}"))
    return {}


def _in_tmux(name: str, said: Json, left: list[LeftOut]) -> Json:
    session = _text(said.get("session") or said.get("tmux_session"))
    pane = _text(said.get("pane") or said.get("tmux_pane")) or "0"
    if not session:
        left.append(LeftOut(f"agents.{name}", "it says no session of tmux"))
        return {}
    table: Json = {"bridge": "tmux", "session": session, "pane": _place(session, pane)}
    if command := words(said.get("command"), said.get("args")):
        table["command"] = command
    return table


def _place(session: str, pane: str) -> str:
    """`-t SESSION:PANE`, as agentcomms types it, means a window by its number, or `window.pane`."""
    if pane.startswith("%"):
        return pane
    return f"{session}:{pane}" if "." in pane else f"{session}:{pane}.0"


def _as_child(name: str, said: Json, left: list[LeftOut]) -> Json:
    command = words(said.get("command"), said.get("args"))
    if not command:
        left.append(LeftOut(f"agents.{name}", "it says no command"))
        return {}
    runtime = runtime_of(command[0])
    return {"bridge": "pty" if runtime else "lines", "command": command}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
