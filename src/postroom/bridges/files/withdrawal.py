"""Taking back what lies unread in the inbox of a mailbox that is served no longer: it waits again.

What was moved to `processed` is seen. Of what is neither there nor in the inbox, and of an inbox that cannot
be reached, nobody can tell: that stays `uncertain`, as for every other way to an agent that is let go of.
"""

import contextlib

from postroom.bridges.files.box import ROUTE
from postroom.bridges.files.letter import inbox_name, is_raw, numbered
from postroom.bridges.files.letter import names as known_as
from postroom.bridges.files.mark import Mark
from postroom.bridges.files.shelf import Folder, Shelf, is_read
from postroom.errors import BridgeError, MailboxUnreachable
from postroom.model.context import session_id
from postroom.model.ladder import Evidence, Outcome, State
from postroom.model.message import Agent, Mail
from postroom.room import push
from postroom.room.local import LocalRoom
from postroom.room.settle import see
from postroom.room.sweep import give_back, reap, still
from postroom.room.unit import Unit
from postroom.store.contract import ReadTx

_OPEN = (State.OFFERED, State.SEEN, State.ACKED)  # whatever is in any other state lies there for nobody


def withdraw(room: LocalRoom, agent: Agent, shelf: Shelf) -> int:
    """How many letters wait again. They are labelled: who looks at a file need not have moved it yet. But
    nothing has failed, so no such attempt brings a message nearer to its death.

    The room knows before a letter is removed: one that was removed by us must never count as taken.
    """
    session = room.store.look().session(session_id(ROUTE, agent.id))
    lies = push.handed(room, session, ROUTE) if session is not None and session.ended_at is None else []
    try:
        names = _names(shelf)
        unread, read = _sorted(shelf, Mark(room.home, agent.id, shelf), lies, set(names))
    except (BridgeError, OSError):
        return 0
    with Unit(room, prompt=False) as tx:
        reap(tx, agent.id, room.settings)  # of who was killed, and did not note any more what it had written
        for mail in still(tx, read):
            see(tx, mail, evidence=Evidence.AGENT)
        for mail in still(tx, unread):
            give_back(tx, mail, room.settings, Outcome.UNCERTAIN)
    _clear(room.store.look(), agent, shelf, names)
    raw = {name for mail in unread if is_raw(mail.message) for name in known_as(mail.message)[1:]}
    for name in raw.intersection(names):
        with contextlib.suppress(BridgeError, OSError):
            shelf.remove(Folder.INBOX, name)
    return len(unread)


def clear(room: LocalRoom, agent: Agent, shelf: Shelf) -> None:
    """The same for one that was let go of while its inbox was out of reach: all of it waits already."""
    _clear(room.store.look(), agent, shelf, _names(shelf))


def _names(shelf: Shelf) -> list[str]:
    try:
        return shelf.names(Folder.INBOX)
    except FileNotFoundError:
        return []


def _sorted(shelf: Shelf, mark: Mark, lies: list[Mail], names: set[str]) -> tuple[list[Mail], list[Mail]]:
    """What nobody has read, and what was read. With an inbox that is gone, or whose place another has taken,
    all that lay in it is gone unread.
    """
    missing = [mail for mail in lies if names.isdisjoint(known_as(mail.message))]
    read = [mail for mail in missing if any(is_read(shelf, name) for name in known_as(mail.message))]
    lost = [] if mark.is_same() else [mail for mail in missing if mail not in read]
    return [mail for mail in lies if mail not in missing or mail in lost], read


def _clear(look: ReadTx, agent: Agent, shelf: Shelf, names: list[str]) -> None:
    """Remove the letters that wait in the room, or are for nobody any more. One that cannot be removed may be
    read there, too: the next one that is shown it is told.
    """
    for name in names:
        number = numbered(name)
        mail = look.mail(number, agent.id) if number is not None else None
        if mail is None or inbox_name(mail.message) != name or mail.delivery.state in _OPEN:
            continue
        try:
            shelf.remove(Folder.INBOX, name)
        except MailboxUnreachable:
            return  # each of the others would take as long
        except (BridgeError, OSError):
            pass  # somebody made a directory of it, say
