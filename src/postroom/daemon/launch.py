"""Starting an agent under a bridge, and ending one that was: the same for every command that does."""

import os
import signal
import time
from contextlib import closing
from typing import NamedTuple

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.adoption import better, occupy, release
from postroom.bridges.manifest import Manifest
from postroom.bridges.process.restart import Policy, restart
from postroom.bridges.registry import capabilities, load
from postroom.daemon import control, instance
from postroom.daemon.place import running
from postroom.errors import BridgeError, PostroomError
from postroom.model.message import Agent, Json
from postroom.room.berth import started
from postroom.room.local import LocalRoom

_TERMINATE, _KILL, _PAUSE = 5.0, 2.0, 0.05  # seconds


class Plan(NamedTuple):
    """What is to be started, and how."""

    bridge: str
    command: list[str]
    cwd: str
    env: dict[str, str]
    runtime: str = ""
    details: Json = {}  # noqa: RUF012 - read only
    restart: str = "never"


def keep(home: str) -> None:
    """See that a daemon keeps what the manifests say now."""
    if not instance.ensure(home):
        control.ask(home, "reload")


def comes_back(manifest: Manifest) -> bool:
    """Whether a daemon that begins starts an agent again that it finds gone, and was a child of the last."""
    policy, is_child = Policy(manifest.restart), capabilities(manifest.bridge).owned
    return is_child and restart(policy, manifest.exit_code, 0.0, is_child=True) is not None


def launch(room: LocalRoom, agent: Agent, plan: Plan) -> tuple[Manifest, str]:
    """Start an agent; how it is reached now, and what is missing for its mail. Its own commands find this
    room, though whoever starts it has named it on the command line.
    """
    if not config.is_usual(room.home):
        plan = plan._replace(env={**plan.env, "POSTROOM_HOME": room.home})
    manifest = Manifest(
        agent.id, agent.address, plan.bridge, runtime=plan.runtime, details=plan.details,
        command=plan.command, cwd=plan.cwd, restart=plan.restart, routes=_routes(plan),
    )  # fmt: skip
    if load(plan.bridge).BY_CALLER:
        return _start(room, agent, manifest, plan.env)
    instance.ensure(room.home)
    patience = control.PATIENCE + float(plan.details.get("opens_in") or 0.0)
    said = control.ask(room.home, "start", patience=patience, manifest=manifest._asdict(), env=plan.env)
    return manifests.get(room.home, agent.id) or manifest, str(said["warning"])


def _routes(plan: Plan) -> list[str]:
    """Its own server may serve what runs in a terminal that outlives us; a child of ours has but one way."""
    can = capabilities(plan.bridge)
    return better(plan.runtime) if can.screen and not can.owned else []


def _start(room: LocalRoom, agent: Agent, manifest: Manifest, env: dict[str, str]) -> tuple[Manifest, str]:
    way = load(manifest.bridge)
    earlier = manifests.get(room.home, agent.id)
    manifest = manifest.at(way.start(manifest.launch(env)))
    manifests.put(room.home, manifest)
    started(room, agent.id, manifest.bridge, manifest.program)
    occupy(room, agent, manifest)
    _clear(earlier)
    warning = _set_up(manifest)
    keep(room.home)
    return manifest, warning


def _clear(known: Manifest | None) -> None:
    """Remove what is left of an earlier run: a pane in which nothing runs any more."""
    if known is not None and known.is_ours and host.is_gone(known.process):
        try:
            load(known.bridge).end(known.berth)
        except BridgeError:
            pass


def _set_up(manifest: Manifest) -> str:
    """What is missing for mail on an agent's way; it runs all the same."""
    try:
        with closing(load(manifest.bridge).open(manifest.berth)) as bridge:
            bridge.setup()
    except PostroomError as exc:
        return str(exc)
    return ""


def let_go(room: LocalRoom, manifest: Manifest) -> None:
    """Nothing is typed there any more; a child of the daemon's ends by that."""
    if running(room.home):
        control.ask(room.home, "release", agent=manifest.agent)  # before anything is changed: it may refuse
    release(room, manifest)


def end(manifest: Manifest) -> str:
    """End an agent that nobody keeps any more, and is no child of ours; what it took, in words."""
    asked = terminate(manifest.process)
    if manifest.is_ours:
        load(manifest.bridge).end(manifest.berth)
    elif not host.is_gone(manifest.process):
        _signal(manifest.process, signal.SIGKILL)
        _until_gone(manifest.process, _KILL)
    if not host.is_gone(manifest.process):
        _until_gone(manifest.process, _KILL)
    return "it ended when it was asked to" if asked else "it did not end when asked to, and was killed"


def end_child(manifest: Manifest) -> str:
    """See that a child that its daemon was told to let go of has ended; by whom, in words."""
    if host.is_gone(manifest.process):
        return "it was ended by the daemon, whose child it was"
    load(manifest.bridge).end(manifest.berth)
    return "no daemon had it any more, so it was ended from here"


def terminate(process: str) -> bool:
    """Ask a process to end; whether it did so in time."""
    if host.is_gone(process):
        return True
    _signal(process, signal.SIGTERM)
    return _until_gone(process, _TERMINATE)


def _signal(process: str, number: int) -> None:
    if host.pid_of(process) < 1:
        return  # it names none, and 0 would be all of our own
    try:
        os.kill(host.pid_of(process), number)
    except (ProcessLookupError, PermissionError):
        pass  # whether it is gone is asked anyway


def _until_gone(process: str, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not host.is_gone(process):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True
