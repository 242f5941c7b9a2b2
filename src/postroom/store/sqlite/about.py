"""What a room's file says of itself, for `postroom status`. Counts, so never on a message's way."""

from typing import NamedTuple

from postroom.store.sqlite.read import ReadTx
from postroom.store.sqlite.statement import Statements

SQL = Statements("about")


class About(NamedTuple):
    """A room's identity and its size in rows."""

    room: str
    version: int
    created_at: int
    messages: int
    events: int
    dead: int


def about(tx: ReadTx) -> About:
    return About._make(tx.connection.execute(SQL["about"], (tx.tenant,)).fetchone())
