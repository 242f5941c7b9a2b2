"""An agent of whom only its tools have told: no hook has, so its session begins with the first call of one.

The session is that of the agent's own process, above the program that speaks for it; where that hosts several
conversations, its requests say which. Where hooks tell of a conversation in that process, it counts, and this
one does not.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import host
from postroom.model.context import is_main, session_id
from postroom.model.message import Agent, Json
from postroom.room.directory import Scope
from postroom.room.identity import SESSION, Evidence
from postroom.room.seat import TOOLS, Around, Seat
from postroom.room.session import current
from postroom.runtimes import NAMES, load

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx


class Talk(NamedTuple):
    """A conversation, as its runtime names it in a request, and the process that hosts it."""

    process: str
    runtime: str
    session: str


def talk(pid: int, meta: Json) -> Talk | None:
    """That of a request which comes from `pid`, where its runtime says so."""
    process, runtime = _agents_own(pid)
    name = load(runtime).meta if runtime else ""
    found = meta.get(name) if name else None
    return Talk(process, runtime, found) if isinstance(found, str) and found.isascii() and found else None


def evidence(tx: "ReadTx", one: Talk) -> Evidence | None:
    """Whose conversation it is: as hooks have told, or our tools before."""
    for runtime in (one.runtime, TOOLS):
        session = tx.session(session_id(runtime, one.session))
        if session is not None and session.ended_at is None and session.process == one.process:
            return Evidence.of(session, SESSION)
    return None


def settle_in(
    room: "LocalRoom",
    pid: int,
    cwd: str,
    *,
    name: str = "",
    project: str = "",
    among: Talk | None = None,
    around: Around | None = None,
) -> Agent:
    """Whose process that is above `pid`; begun, and named, if it is not known.

    `name`: what whoever started it calls it, if nobody else is called so. `among`: of several in the process
    it is this one, which has that `around` it.
    """
    process, runtime = _agents_own(pid)
    other = room.on_behalf(None, project or None, None)
    if not project:
        other.scope = Scope(None, cwd if os.path.isdir(cwd) else None)
    own = among.session if among else process
    seat = Seat(TOOLS, own, "", "", process, cwd, {"runtime": runtime}, around or Around(name=name))
    with other.write() as tx:
        return current(other, tx, seat, anew=False)[1]


def may_settle_in(tx: "ReadTx", pid: int) -> bool:
    """Whether a process runs under an agent's own, in which no session is known yet: not under several that
    one process hosts, of which none can be told to be this one.
    """
    if pid < 1:
        return False
    own = _agents_own(pid)[0]
    for process in (host.identity_of(pid), *host.lineage(pid)):
        if any(is_main(session.id) for session in tx.sessions_hosted(process)):
            return False
        if process == own:
            return True
    return False


def _agents_own(pid: int) -> tuple[str, str]:
    """The nearest process above one that is called as an agent's CLI is; else the one that started it."""
    above = host.lineage(pid)
    for process in above:
        if (program := host.program(host.pid_of(process))) in NAMES:
            return process, program
    return (above[0] if above and host.pid_of(above[0]) > 1 else host.identity_of(pid)), ""
