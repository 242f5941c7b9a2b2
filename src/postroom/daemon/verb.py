"""What commands may ask of the daemon, one function each; `run` finds it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Assent, Bridge, Delivered, Kind, Launch, Text
from postroom.bridges.manifest import Manifest
from postroom.bridges.registry import load
from postroom.daemon.actor import Actor
from postroom.daemon.attachment import Attachable, attach
from postroom.daemon.control import Takeover
from postroom.errors import BridgeError, PostroomError, Refused, UsageError
from postroom.model.message import Json
from postroom.room.pen import Pen

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon


def run(daemon: "Daemon", name: str, words: Json, pid: int) -> Any:
    """Do what a caller asks."""
    verb = _VERBS.get(name)
    if verb is None:
        raise UsageError(f"the daemon knows no {name!r}", hint="Is it of another version? postroom down")
    if name in _FOR_PEOPLE and _runs_under_agent(daemon, pid):
        raise Refused(f"only a person may ask for that: {name}", hint="")
    return verb(daemon, words)


def _runs_under_agent(daemon: "Daemon", pid: int) -> bool:
    look = daemon.room.store.look()
    return any(look.sessions_hosted(process) for process in host.lineage(pid))


def _ping(daemon: "Daemon", _: Json) -> Json:
    return {
        "process": host.identity(), "since": daemon.since, "agents": len(daemon.keepers),
        "crashes": sum(keeper.crashes for keeper in daemon.keepers.values()),
    }  # fmt: skip


def _reload(daemon: "Daemon", _: Json) -> int:
    daemon.reconcile()
    return len(daemon.keepers)


def _start(daemon: "Daemon", words: Json) -> Json:
    """Start an agent as a child of ours, and keep it."""
    manifest, env = Manifest(**words["manifest"]), dict(words["env"])
    way = load(manifest.bridge)
    berth = way.start(
        Launch(
            manifest.agent, manifest.address, manifest.command, manifest.cwd, env, manifest.runtime,
            manifest.details,
        )
    )  # fmt: skip
    daemon.environments[manifest.agent] = env
    manifests.put(daemon.home, manifest.at(berth))
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
    keeper = daemon.keeper(words["agent"])
    terminal = keeper.ask(lambda _, bridge: getattr(bridge, "terminal", None))
    if not isinstance(terminal, Attachable):
        raise BridgeError(f"{keeper.manifest.address} has no terminal of its own")
    return Takeover({"address": keeper.manifest.address}, partial(attach, terminal))


def _observe(daemon: "Daemon", words: Json) -> Json:
    seen = daemon.observe([str(agent) for agent in words["agents"]], float(words.get("seconds") or 10.0))
    return {agent: one._asdict() for agent, one in seen.items()}


def _screen(daemon: "Daemon", words: Json) -> str:
    lines = int(words.get("lines") or 0)
    return daemon.keeper(words["agent"]).ask(lambda _, bridge: bridge.screen(lines))


def _interrupt(daemon: "Daemon", words: Json) -> Json:
    """End an agent's turn by its own keys; what was proven is noted."""

    def job(_: Actor, bridge: Bridge) -> Json:
        if not bridge.capabilities().interrupts:
            raise BridgeError(f"the {bridge.name} bridge cannot interrupt")
        with Pen(daemon.room, keeper.manifest.pane or keeper.manifest.agent):
            done = bridge.interrupt()
        payload: Json = {"kind": words["kind"], "by": words["by"], "proven": done.proven, "words": done.words}
        with daemon.room.write() as tx:
            tx.append("agent.interrupted", keeper.manifest.agent, payload=payload)
        return done._asdict()

    keeper = daemon.keeper(words["agent"])
    return keeper.ask(job)


def _command(daemon: "Daemon", words: Json) -> Json:
    """Type an operator's own words, as they are, through the same gate as mail."""

    def job(_: Actor, bridge: Bridge) -> Delivered:
        with Pen(daemon.room, keeper.manifest.pane or keeper.manifest.agent) as pen:
            return bridge.deliver(Text(words["text"], Kind.COMMAND), Assent(note, pen.holds))

    def note() -> None:
        payload: Json = {"what": "command", "text": words["text"], "by": words["by"], "route": bridge_name}
        with daemon.room.write() as tx:
            tx.append("agent.pushed", keeper.manifest.agent, payload=payload, role="human")

    keeper = daemon.keeper(words["agent"])
    bridge_name = keeper.manifest.bridge
    return keeper.ask(job)._asdict()


def _release(daemon: "Daemon", words: Json) -> None:
    """Let go of an agent: one of our own children is ended by that."""
    manifests.remove(daemon.home, words["agent"])
    daemon.environments.pop(words["agent"], None)
    daemon.reconcile()


def _down(daemon: "Daemon", _: Json) -> None:
    daemon.end()


_VERBS: dict[str, Callable[["Daemon", Json], Any]] = {
    "ping": _ping,
    "reload": _reload,
    "start": _start,
    "attach": _attach,
    "observe": _observe,
    "screen": _screen,
    "interrupt": _interrupt,
    "command": _command,
    "release": _release,
    "down": _down,
}
_FOR_PEOPLE = ("start", "attach", "command", "release", "down")
