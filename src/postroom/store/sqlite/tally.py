"""Counts over a whole room, for `postroom stats`: each is a pass over its tables, off a message's way."""

from postroom.model.tally import Time, Traffic
from postroom.store.sqlite.read import ReadTx
from postroom.store.sqlite.statement import Statements

SQL = Statements("message", "tally")


class Tally:
    """See `postroom.store.contract.Tally`."""

    def __init__(self, tx: ReadTx) -> None:
        self._tx = tx

    def traffic(self, since: int) -> list[Traffic]:
        rows = self._tx.rows(SQL["tally_traffic"], (self._tx.tenant, since))
        return [Traffic._make(row) for row in rows]

    def bundles(self, since: int) -> list[tuple[str, int, int]]:
        return self._tx.rows(SQL["tally_bundles"], (self._tx.tenant, since))

    def answers(self, since: int) -> list[Time]:
        rows = self._tx.rows(SQL["tally_answers"], (self._tx.tenant, since))
        return [Time._make(row) for row in rows]
