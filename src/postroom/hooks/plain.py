"""Mail for any runtime that shows its model what a command prints: `postroom hook plain`.

Its context is the process that ran the command. That it runs it once more proves what it was shown the time
before; that it is gone returns that, labelled. Whose process it is rests on a name that it was given, so the
session counts as no evidence of who else calls from there.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom import host
from postroom.hooks import above
from postroom.model.message import Agent, Session
from postroom.protocol.frame import BUDGET
from postroom.room import directory, turn
from postroom.room.local import LocalRoom
from postroom.room.seat import Seat
from postroom.room.session import start
from postroom.room.transcript import Trace
from postroom.room.unit import Unit
from postroom.runtimes.contract import hook_route

if TYPE_CHECKING:
    from postroom.store.contract import WriteTx

RUNTIME = "plain"
ROUTE = hook_route(RUNTIME)


def show(room: LocalRoom, write: Callable[[str], None]) -> bool:
    """Settle what the caller was shown before, and show it what waits, in one text; whether anything did."""
    began = host.started_at()
    with Unit(room, prompt=False) as tx:
        agent = directory.caller(tx, room.agent, room.scope)
        session = _session(room, tx, agent, began)
        offering = turn.offer(room, tx, agent, session, route=ROUTE, budget=BUDGET)
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


def _session(room: LocalRoom, tx: "WriteTx", agent: Agent, began: int) -> Session:
    """The caller's, in which all that was shown before it called again has been seen."""
    process = _process()
    seat = Seat(RUNTIME, process, agent.id, "", process, os.getcwd(), {"key": "", "cwd": os.getcwd()})
    known = tx.session(seat.id)
    if known is None:
        return start(tx, agent, seat)
    points = frozenset((ROUTE,))
    turn.prove(room, tx, known, turn.Proof(points, points, began, _untraced))
    return known


def _untraced(_route: str, _nonce: str, _handed_at: int) -> Trace:
    """Its conversation is nothing that we could read."""
    return Trace.UNREADABLE


def _process() -> str:
    """What reads our output: the nearest process above that is no shell.

    Where that is no agent but what holds a terminal, it is our shell: the other outlives all that asks.
    """
    pid = 0 if os.isatty(1) else above.agent()
    return host.identity_of(pid or os.getppid())
