"""Taking back what lies unread in the inbox of a mailbox that is served no longer: it waits again.

What was moved to `processed` is seen. Of what is neither there nor in the inbox, and of an inbox that cannot
be reached, nobody can tell: that stays `uncertain`, as for every other way to an agent that is let go of.
"""

from postroom.bridges.files.box import ROUTE
from postroom.bridges.files.letter import inbox_name
from postroom.bridges.files.shelf import MARK, Folder, Shelf
from postroom.errors import BridgeError
from postroom.model.context import session_id
from postroom.model.ladder import Evidence
from postroom.model.message import Agent, Mail
from postroom.room import push
from postroom.room.local import LocalRoom
from postroom.room.settle import see
from postroom.room.sweep import give_back, is_offered
from postroom.room.unit import Unit
from postroom.store.contract import WriteTx


def withdraw(room: LocalRoom, agent: Agent, shelf: Shelf) -> int:
    """How many letters wait again. They are labelled: who looks at a file need not have moved it yet.

    The room knows before a letter is removed: one that was removed by us must never count as taken.
    """
    session = room.store.look().session(session_id(ROUTE, agent.id))
    lies = push.handed(room, session, ROUTE) if session is not None and session.ended_at is None else []
    if not lies:
        return 0
    try:
        unread, read = _sorted(shelf, lies)
    except (BridgeError, OSError):
        return 0
    with Unit(room, prompt=False) as tx:
        for mail in _still(tx, read):
            see(tx, mail, evidence=Evidence.AGENT)
        for mail in _still(tx, unread):
            give_back(tx, mail, room.settings)
    for mail in unread:
        try:
            shelf.remove(Folder.INBOX, inbox_name(mail.message))
        except (BridgeError, OSError):
            break  # it may be read there, too; the next one that is shown it is told
    return len(unread)


def _sorted(shelf: Shelf, lies: list[Mail]) -> tuple[list[Mail], list[Mail]]:
    """What lies there unread, and what was read. With an inbox that is gone all of it is gone unread."""
    try:
        names = set(shelf.names(Folder.INBOX))
    except FileNotFoundError:
        return lies, []
    if not names and not shelf.has(Folder.INBOX, MARK):
        return lies, []
    missing = [mail for mail in lies if inbox_name(mail.message) not in names]
    return [mail for mail in lies if mail not in missing], [mail for mail in missing if _is_read(shelf, mail)]


def _still(tx: WriteTx, mails: list[Mail]) -> list[Mail]:
    """Those that lie there still: some may have been acknowledged just now."""
    now = [(mail, tx.refresh(mail)) for mail in mails]
    return [one for mail, one in now if one and is_offered(one) and one.delivery.nonce == mail.delivery.nonce]


def _is_read(shelf: Shelf, mail: Mail) -> bool:
    name = inbox_name(mail.message)
    return shelf.has(Folder.READ, name) or shelf.has(Folder.READ, f"{name}.gz")
