"""Mail for any runtime that shows its model what a command prints: `postroom hook plain`.

Its context is the process that ran the command. That it runs it once more proves what it was shown the time
before; that it is gone returns that, labelled. Whose process it is rests on a name that it was given, so the
session counts as no evidence of who else calls from there.
"""

import os
from collections.abc import Callable

from postroom import config, host
from postroom.hooks.visit import NO_AGENTS, SHELLS
from postroom.model.message import Agent, Session
from postroom.protocol.frame import BUDGET
from postroom.room import directory, turn
from postroom.room.local import LocalRoom
from postroom.room.session import session_id
from postroom.room.unit import Unit
from postroom.store.contract import WriteTx

RUNTIME = "plain"
ROUTE = f"hook:{RUNTIME}"


def show(room: LocalRoom, write: Callable[[str], None]) -> bool:
    """Settle what the caller was shown before, and show it what waits, in one text; whether anything did."""
    began = host.started_at()
    with Unit(room, prompt=False) as tx:
        agent = directory.caller(tx, room.agent, room.scope)
        session = _session(room, tx, agent, began)
        offering = turn.offer(room, tx, agent, session, route=ROUTE, budget=BUDGET, urgent=False)
    if offering is None:
        return False
    try:
        write(offering.frame.text)
    except OSError:
        for mail in offering.mails:
            room.give_up(mail)
        raise
    turn.hand_over(room, offering, session)
    return True


def _session(room: LocalRoom, tx: WriteTx, agent: Agent, began: int) -> Session:
    """The caller's, in which all that was shown before it called again has been seen."""
    process = _process()
    mine = session_id(RUNTIME, process, agent.id)
    known = tx.session(mine)
    if known is not None:
        points = frozenset((ROUTE,))
        turn.prove(room, tx, known, turn.Proof(points, points, began, _untraced))
        return known
    worktree, branch = config.worktree(os.getcwd())
    payload = {
        "id": mine, "runtime": RUNTIME, "process": process, "pane": None, "worktree": worktree,
        "branch": branch or None, "epoch": 0, "details": {"key": "", "cwd": os.getcwd()},
    }  # fmt: skip
    tx.append("session.started", agent.id, payload=payload, role="agent")
    begun = tx.session(mine)
    assert begun is not None
    return begun


def _untraced(_route: str, _nonce: str, _handed_at: int) -> turn.Trace:
    """Its conversation is nothing that we could read."""
    return turn.Trace.UNREADABLE


def _process() -> str:
    """What reads our output: the nearest process above that is no shell.

    Where that is no agent but what holds a terminal, it is our shell: the other outlives all that asks.
    """
    above = host.ancestors()
    pid = next((pid for pid in above if host.program(pid) not in SHELLS), 0)
    is_agent = pid > 1 and not host.program(pid).startswith(NO_AGENTS) and not os.isatty(1)
    return host.identity_of(pid if is_agent else os.getppid())
