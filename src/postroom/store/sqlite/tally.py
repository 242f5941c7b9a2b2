"""Counts over a whole room, for statistics and metrics: each is a pass over its tables."""

from postroom.model.tally import Flow, Time, Traffic
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

    def messages(self) -> int:
        row = self._tx.row(SQL["tally_messages"], (self._tx.tenant,))
        return row[0] if row else 0

    def first_since(self, since: int) -> int:
        """Halves the numbers until the first message of that time is found: nothing is kept by time."""
        low, high = 0, int(self._tx.last_cursor()) + 1
        while low < high:
            middle = (low + high) // 2
            row = self._tx.row(SQL["tally_first"], (self._tx.tenant, middle))
            if row is None or row[0] >= since:
                high = middle
            else:
                low = row[1] + 1
        return low

    def flow(self, first: int) -> list[Flow]:
        return [Flow._make(row) for row in self._tx.rows(SQL["tally_flow"], (self._tx.tenant, first))]

    def hours(self, first: int) -> list[tuple[int, int]]:
        return self._tx.rows(SQL["tally_hours"], (self._tx.tenant, first))

    def unacked(self) -> int:
        row = self._tx.row(SQL["tally_unacked"], (self._tx.tenant,))
        return row[0] if row else 0

    def waiting(self) -> dict[str, int]:
        return dict(self._tx.rows(SQL["tally_waiting"], (self._tx.tenant,)))
