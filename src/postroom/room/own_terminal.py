"""Finds the terminal that shows a new session, where a server of the runtime hosts the sessions of several.

The server's hooks do not say it. So terminals are left out: those that show another live session, and those
at which nothing was typed lately, as a session begins with a prompt. After `/clear` it is the other way
round: the new session is in a terminal that had one. What is left may be one terminal, or several that agree
on a name. Else it stays open: the session gets no name of theirs, and says which ones it may have.
"""

from typing import TYPE_CHECKING

from postroom.model.context import is_main, own_id
from postroom.room.seat import Around, Seat, Terminal, is_live

if TYPE_CHECKING:
    from postroom.model.message import Agent
    from postroom.store.contract import ReadTx


def in_own_terminal(tx: "ReadTx", seat: Seat) -> Seat:
    """Return the seat with the one terminal that shows it, or with what all that may show it agree on."""
    terminals = seat.around.terminals
    if not terminals or seat.child:
        return seat
    possible = _possible(tx, seat, terminals)
    if len(possible) == 1:
        [own] = possible
        return seat._replace(
            around=Around(own.name, own.token, own.pane, own.label, served=True, clients=(own.process,))
        )
    names = {(one.name, one.token) for one in possible}
    name, token = names.pop() if len(names) == 1 else ("", "")
    return seat._replace(around=seat.around._replace(name=name, token=token, terminals=tuple(possible)))


def _possible(tx: "ReadTx", seat: Seat, terminals: tuple[Terminal, ...]) -> list[Terminal]:
    taken = set[str]()
    for other in tx.sessions_hosted(seat.process):
        clients = tuple(other.details.get("clients") or ())
        if len(clients) != 1 or not is_main(other.id) or not is_live(other):
            continue
        if own_id(other.id) == seat.session:  # its tools have told of the same conversation
            return [one for one in terminals if one.process in clients] or list(terminals)
        taken.update(clients)
    likely = [one for one in terminals if (one.process in taken) == seat.follows] or list(terminals)
    return [one for one in likely if one.is_read] or likely


def names(around: Around) -> list[str]:
    """Return the names that a session may have been meant to bear, where its terminal is not known."""
    return sorted({one.name for one in around.terminals if one.name}) if not around.name else []


def bearer_in_doubt(tx: "ReadTx", project: str, name: str) -> "Agent | None":
    """Return the agent of a live session that may have been meant to bear a name, if there is one."""
    for session in tx.sessions_asking_for(project, name):
        if is_live(session):
            return tx.agent(session.agent)
    return None
