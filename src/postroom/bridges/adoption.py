"""Bringing an agent that runs in a pane already under a bridge, and letting go of it again.

Whose the pane is, is told by the session that its hooks have told of, then by what is known of that very
pane: that it was adopted, or who was reached there last. Whatever runs in a pane can give it a name, so that
a name alone is a claim; it counts where nobody else can be meant. Else the config says whose, or chance.
"""

from typing import NamedTuple

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.contract import Berth
from postroom.bridges.files import tree
from postroom.bridges.files.box import ROUTE
from postroom.bridges.manifest import Manifest
from postroom.bridges.terminal.profile import check
from postroom.bridges.terminal.shell import is_shell
from postroom.bridges.tmux.bridge import NAME, label
from postroom.bridges.tmux.candidate import Candidate
from postroom.bridges.tmux.server import target
from postroom.errors import AlreadyRunning, BridgeError, InvalidAddress, NameTaken, PostroomError, Refused
from postroom.model.address import Address, Kind, parse
from postroom.model.message import Agent, Json, Session
from postroom.room import bearer, berth, directory
from postroom.room.directory import Scope
from postroom.room.local import LocalRoom
from postroom.room.seat import Around, Seat, bears, is_bridged, is_live
from postroom.runtimes import NAMES, load
from postroom.store.contract import ReadTx, WriteTx


class Wish(NamedTuple):
    """What a user says of a pane; the rest is found out."""

    name: str = ""
    runtime: str = ""
    profile: Json = {}  # noqa: RUF012 - read only
    server: bool = True  # whether it may be reached by its own server, where it has one


class Adopted(NamedTuple):
    """What came of it."""

    manifest: Manifest
    is_new: bool  # else it was so before


def adopt(room: LocalRoom, found: Candidate, scope: Scope, wish: Wish) -> Adopted:
    """Have a pane's agent reached by the tmux bridge from now on; whoever keeps bridges is to be told."""
    runtime = wish.runtime or found.runtime
    details: Json = {"place": found.place, "root": host.identity_of(found.root), "program": found.program}
    if wish.profile:
        details["profile"] = wish.profile
    if is_shell(found.process):
        raise Refused(
            f"{found.place} has a shell in front ({found.program}), which would run whatever is typed",
            hint="Start an agent there first, or: postroom spawn NAME -- CMD",
        )
    check(Berth("", found.place, found.process, str(found.target), runtime, details))
    agent = _whose(room, found, scope, wish._replace(runtime=runtime))
    manifest = Manifest(
        agent.id, agent.address, NAME, found.process, str(found.target), runtime,
        {**details, "label": agent.address}, cwd=found.cwd, routes=better(runtime) if wish.server else [],
    )  # fmt: skip
    known = manifests.get(room.home, agent.id)
    if known is not None and known.pane != manifest.pane and known.pane and not host.is_gone(known.process):
        raise _runs_already(agent, f"in pane {known.pane.partition('@')[0]}", found)
    if known is not None and known.is_ours and known.pane == manifest.pane:
        manifest = _still_ours(known, manifest)
    if known is not None and _is_same(known, manifest) and found.label == agent.address:
        return Adopted(known, is_new=False)
    label(found.target, agent.address)
    manifests.put(room.home, manifest)
    occupy(room, agent, manifest)
    return Adopted(manifest, is_new=True)


def _still_ours(known: Manifest, now: Manifest) -> Manifest:
    """What we have started is ours to stop and to start again, also where somebody says how it is read."""
    kept = {key: value for key, value in known.details.items() if key != "profile"}
    return now._replace(
        command=known.command, cwd=known.cwd, restart=known.restart, details={**kept, **now.details}
    )


def _is_same(known: Manifest, now: Manifest) -> bool:
    """Whether nothing is new, but perhaps where on the screen its pane is."""
    if (known.process, known.pane, known.runtime) != (now.process, now.pane, now.runtime):
        return False
    if known.routes != now.routes:
        return False
    return known.details.get("profile") == now.details.get("profile")


def better(runtime: str) -> list[str]:
    """The routes to an agent of that runtime that are better than its terminal."""
    server = load(runtime).server if runtime in NAMES else ""
    return [server] if server else []


def occupy(room: LocalRoom, agent: Agent, manifest: Manifest) -> Session:
    """Note that an agent is reached as its manifest says."""
    return berth.occupy(
        room, agent, manifest.bridge, manifest.process, pane=manifest.pane, cwd=manifest.cwd,
        runtime=manifest.runtime,
    )  # fmt: skip


def release(room: LocalRoom, manifest: Manifest) -> None:
    """Let go of an agent: its pane bears no name, nothing is typed there, and nothing is ended."""
    if manifest.bridge == ROUTE:
        tree.release(room, manifest)
        return
    manifests.remove(room.home, manifest.agent)
    if manifest.pane:
        unlabel(manifest.pane)
    agent = room.store.look().agent(manifest.agent)
    if agent is not None:
        berth.vacate(room, agent)


def unlabel(pane: str) -> None:
    """A pane bears no name any more; one that is gone bears none anyway."""
    try:
        label(target(pane), "")
    except BridgeError:
        pass


def objection(room: LocalRoom, found: Candidate, scope: Scope) -> str:
    """Why the name that a pane bears is not believed; empty: it is, or there is none."""
    tx = room.store.look()
    if _owner(room, tx, found) is not None or not found.label:
        return ""
    try:
        _believed(tx, found, scope)
    except PostroomError as exc:
        return str(exc)
    return ""


def _whose(room: LocalRoom, found: Candidate, scope: Scope, wish: Wish) -> Agent:
    was, room.scope = room.scope, scope
    try:
        with room.write() as tx:
            return _agent(room, tx, found, wish)
    finally:
        room.scope = was


def _agent(room: LocalRoom, tx: WriteTx, found: Candidate, wish: Wish) -> Agent:
    owner = _owner(room, tx, found)
    name = wish.name or (owner.address if owner else _believed(tx, found, room.scope))
    if not name:
        seat = Seat(wish.runtime, "", "", "", found.process, found.cwd, {}, Around(pane=str(found.target)))
        return bearer.find(room, tx, seat)[0]
    agent = directory.find(tx, _of_agent(name), room.scope.find(tx))
    if owner is not None and (agent is None or agent.id != owner.id):
        raise NameTaken(
            f"{found.place} is {owner.address}'s", name=owner.address,
            hint=f"Let go of it first: postroom adopt --release {found.target.id}",
        )  # fmt: skip
    if agent is not None and (other := running(tx, agent, found)):
        raise _runs_already(agent, whereabouts(other), found)
    return directory.join(tx, name, room.scope, {})


def _runs_already(agent: Agent, where: str, found: Candidate) -> AlreadyRunning:
    return AlreadyRunning(
        f"{agent.address} runs already, {where}", agent=agent.address,
        hint=f"Give {found.place} another name: postroom adopt {found.target.id} --as NAME",
    )  # fmt: skip


def _of_agent(name: str) -> Address:
    """An address that something in a pane can have: no person's, and no group's."""
    address = parse(name)
    if address.kind is not Kind.AGENT:
        raise InvalidAddress(
            f"{name!r} is not the address of an agent", address=name, hint="Give it another: --as NAME"
        )
    return address


def _believed(tx: ReadTx, found: Candidate, scope: Scope) -> str:
    """The name that a pane bears, if nobody else can be meant by it: `Refused`."""
    if not found.label:
        return ""
    agent = directory.find(tx, _of_agent(found.label), scope.find(tx))
    if agent is not None and (tx.had_session(agent.id) or tx.unread(agent.id, 1)):
        raise Refused(
            f"{found.place} says that it is {agent.address}, which has been elsewhere or has mail waiting",
            hint=f"If that is so, say it: postroom adopt {found.target.id} --as {agent.address}",
        )
    return found.label


def _owner(room: LocalRoom, tx: ReadTx, found: Candidate) -> Agent | None:
    """The agent that is known to be in that pane.

    Its hooks have told of a session there, which runs; or it was adopted there; or it bears the name of the
    one that was reached there last.
    """
    for session in _told(tx, found):
        if bears(session) and (agent := tx.agent(session.agent)) is not None:
            return agent
    for kept in manifests.every(room.home):
        if kept.pane == str(found.target) and (agent := tx.agent(kept.agent)) is not None:
            return agent
    return _last(tx, found)


def _last(tx: ReadTx, found: Candidate) -> Agent | None:
    for runtime in filter(None, (NAME, found.runtime)):
        for session in tx.sessions_in_pane(runtime, str(found.target))[:1]:
            agent = tx.agent(session.agent)
            if agent is not None and found.label in (agent.address, agent.name):
                return agent
    return None


def _told(tx: ReadTx, found: Candidate) -> list[Session]:
    there = [one for process in _processes(found) for one in tx.sessions_hosted(process)]
    return [*there, *(tx.sessions_in_pane(found.runtime, str(found.target)) if found.runtime else ())]


def _processes(found: Candidate) -> list[str]:
    pid = host.pid_of(found.process)
    return [found.process, *(host.identity_of(each) for each in host.group(host.foreground(pid) or pid))]


def running(tx: ReadTx, agent: Agent, found: Candidate | None = None) -> Session | None:
    """A session of an agent that runs; with a pane, elsewhere than there."""
    here = _processes(found) if found else []
    for session in tx.sessions(agent.id):
        runs = bears(session) or (is_bridged(session) and is_live(session))
        if runs and session.process not in here and (found is None or session.pane != str(found.target)):
            return session
    return None


def whereabouts(session: Session) -> str:
    """Where a session runs, in words."""
    runtime, pid = session.details.get("runtime") or session.runtime, host.pid_of(session.process)
    where = f"in pane {session.pane.partition('@')[0]}" if session.pane else f"in {session.worktree}"
    return f"{runtime} {where} (process {pid})"
