"""What commands may ask of the daemon, one function each; `run` finds it."""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Attachable, Delivered, Interrupted
from postroom.bridges.manifest import Manifest
from postroom.bridges.registry import capabilities, load
from postroom.daemon import log
from postroom.daemon import watch as watches
from postroom.daemon.attachment import attach
from postroom.daemon.control import EDITION, Takeover
from postroom.daemon.watch import Watch
from postroom.errors import BridgeError, PostroomError, UsageError
from postroom.model.message import Json
from postroom.room import authority
from postroom.room.berth import started

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon

Record = TypeVar("Record")

_PATIENCE = 15.0  # seconds for a watch to begin


def run(daemon: "Daemon", name: str, words: Json, pid: int) -> Any:
    """Do what a caller asks."""
    verb = _VERBS.get(name)
    if verb is None:
        raise UsageError(f"the daemon knows no {name!r}")
    if name not in _FOR_ANYBODY:
        look = daemon.room.store.look()
        steered = look.agent(_text(words, "agent")) if name == "interrupt" else None
        authority.check(
            look, pid, f"ask the daemon for that: {name}", [steered.supervisor] if steered else ()
        )
    return verb(daemon, words)


def do(daemon: "Daemon", name: str, words: Json) -> Any:
    """The same for who has been allowed to already: the daemon's own server asks for it."""
    return _VERBS[name](daemon, words)


def _text(words: Json, name: str) -> str:
    found = words.get(name)
    if not isinstance(found, str):
        raise UsageError(f"{name} must be text, not {found!r}"[:200])
    return found


def _number(words: Json, name: str, usual: float) -> float:
    try:
        return float(words.get(name) or usual)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a number, not {words[name]!r}"[:200]) from None


def _record(kind: Callable[..., Record], words: Json, name: str) -> Record:
    try:
        return kind(**words[name])
    except (KeyError, TypeError) as exc:
        raise UsageError(f"{name} is not as it should be: {exc}") from None


def _ping(daemon: "Daemon", _: Json) -> Json:
    return {
        "process": host.identity(), "edition": EDITION, "since": daemon.since, "agents": len(daemon.keepers),
        "crashes": sum(keeper.crashes for keeper in daemon.keepers.values()),
        "paused": {one.manifest.address: one.pause for one in daemon.keepers.values() if one.pause},
        "instead": {one.manifest.address: one.instead for one in daemon.keepers.values() if one.instead},
        "watchers": {one.manifest.address: word for one in daemon.keepers.values() if (word := one.health)},
        "watches": daemon.watches.facts(), "trees": {**daemon.trees.facts(), "mailboxes": _mailboxes(daemon)},
        "web": daemon.web.facts(), "log": log.facts(), "config": daemon.renewal.facts(),
        "journals": {"problem": daemon.journals.problem or None},
        "spans": {"problem": daemon.spans.problem or None} if daemon.spans else None,
    }  # fmt: skip


def _mailboxes(daemon: "Daemon") -> int:
    return sum(capabilities(one.manifest.bridge).mailbox for one in list(daemon.keepers.values()))


def _reload(daemon: "Daemon", _: Json) -> int:
    daemon.reconcile()
    return len(daemon.keepers)


def _renew(daemon: "Daemon", words: Json) -> Json:
    """Read the config again; a level of the log counts from now on, and stands above the config."""
    if level := words.get("log_level"):
        os.environ[config.environment_name("log_level")] = str(config.checked("log_level", level))
    return daemon.renewal.run()


def _start(daemon: "Daemon", words: Json) -> Json:
    """Start an agent as a child of ours, and keep it."""
    manifest, env = _record(Manifest, words, "manifest"), _record(dict[str, str], words, "env")
    way = load(manifest.bridge)
    berth = way.start(manifest.launch(env))
    daemon.environments[manifest.agent] = env
    manifests.put(daemon.home, manifest.at(berth))
    started(daemon.room, manifest.agent, manifest.bridge, manifest.program)
    daemon.reconcile()
    return {"process": berth.process, "warning": _set_up(daemon, manifest.agent)}


def _set_up(daemon: "Daemon", agent: str) -> str:
    """What is missing for mail on an agent's way; it runs all the same."""
    try:
        daemon.keeper(agent).ask(lambda _, bridge: bridge.setup())
    except PostroomError as exc:
        return str(exc)
    return ""


def _attach(daemon: "Daemon", words: Json) -> Takeover:
    """Let somebody see the terminal of a child of ours, and type there."""
    keeper = daemon.keeper(_text(words, "agent"))
    terminal: Attachable | None = keeper.ask(lambda _, bridge: bridge.terminal())
    if terminal is None:
        raise BridgeError(f"{keeper.manifest.address} has no terminal of its own")
    return Takeover({"address": keeper.manifest.address}, partial(attach, terminal))


def _observe(daemon: "Daemon", words: Json) -> Json:
    agents = words.get("agents")
    if not isinstance(agents, list):
        raise UsageError("agents must be a list of their ids")
    seen = daemon.observe([str(agent) for agent in agents], _number(words, "seconds", 10.0))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - whatever stands there
    return {agent: one._asdict() for agent, one in seen.items()}


def _screen(daemon: "Daemon", words: Json) -> str:
    lines = int(_number(words, "lines", 0))
    return daemon.keeper(_text(words, "agent")).ask(lambda _, bridge: bridge.screen(lines))


def _interrupt(daemon: "Daemon", words: Json) -> Json | None:
    """End an agent's turn by its own keys; what was proven is noted. None: its bridge cannot do that."""
    keeper = daemon.keeper(_text(words, "agent"))
    kind, by = _text(words, "kind"), _text(words, "by")
    done: Interrupted | None = keeper.ask(lambda actor, _: actor.interrupt())
    if done is None:
        return None
    payload: Json = {
        "kind": kind, "by": by, "reason": words.get("reason") or "", "proven": done.proven,
        "words": done.words,
    }  # fmt: skip
    with daemon.room.write() as tx:
        tx.append(
            "agent.interrupted", keeper.manifest.agent, payload=payload, role=words.get("role", "human")
        )
    return done._asdict()


def _command(daemon: "Daemon", words: Json) -> Json:
    """Type an operator's own words, as they are; who said what is noted before, and what came of it after."""
    keeper, text = daemon.keeper(_text(words, "agent")), _text(words, "text")
    about: Json = {"what": "command", "by": _text(words, "by"), "route": keeper.manifest.bridge}

    noted: list[Json] = []

    def note(**facts: str) -> None:
        noted.append({**about, **facts})
        with daemon.room.write() as tx:
            tx.append("agent.pushed", keeper.manifest.agent, payload=noted[-1], role="human")

    done: Delivered = keeper.ask(lambda actor, _: actor.command(text, lambda: note(text=text)))
    if noted:  # it had begun, though its terminal may have withheld all of it
        note(result=done.result.value, words=done.words)
    return done._asdict()


def _watch(daemon: "Daemon", words: Json) -> None:
    """Mail what a pane prints and matches, from now on."""
    daemon.watches.add(_record(Watch, words, "watch"), _PATIENCE)


def _unwatch(daemon: "Daemon", words: Json) -> None:
    watches.remove(daemon.home, _text(words, "id"))
    daemon.watches.reconcile()


def _release(daemon: "Daemon", words: Json) -> None:
    """Let go of an agent: one of our own children is ended by that."""
    agent = _text(words, "agent")
    manifests.remove(daemon.home, agent)
    daemon.environments.pop(agent, None)
    daemon.reconcile()


def _page(daemon: "Daemon", words: Json) -> Json:
    """A link that logs a person in, once."""
    return {"url": daemon.web.link(_text(words, "person"))}


def _down(daemon: "Daemon", _: Json) -> None:
    daemon.end()


_VERBS: dict[str, Callable[["Daemon", Json], Any]] = {
    "ping": _ping,
    "reload": _reload,
    "renew": _renew,
    "start": _start,
    "attach": _attach,
    "observe": _observe,
    "screen": _screen,
    "interrupt": _interrupt,
    "command": _command,
    "watch": _watch,
    "unwatch": _unwatch,
    "release": _release,
    "page": _page,
    "down": _down,
}
_FOR_ANYBODY = ("ping", "reload", "observe", "screen")  # what changes nothing; all else is for people
