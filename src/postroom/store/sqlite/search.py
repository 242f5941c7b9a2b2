"""Full text over a room: newest first, one volume of the index after the other, and only as far as needed.

A volume is brought up to date when it is asked, so that an answer is right at any moment and sending costs
nothing. What cannot be indexed (no FTS5, nothing may be written, a full disk) is looked through one by one.
"""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from postroom import errors
from postroom.model.query import Filter, Query, matches
from postroom.store.sqlite import connection as link
from postroom.store.sqlite import volume
from postroom.store.sqlite.read import ReadTx
from postroom.store.sqlite.statement import DEAD, HELD, KEPT, OFFERED, TAKEN, Statements
from postroom.store.sqlite.write import VOLUME_BITS, index_of

SQL = Statements("search", "message")
_WIDTH = 1 << VOLUME_BITS
_SUFFIX = ".words"
_END = 1 << 62  # beyond all numbers
# Where few deliveries lie, by their state: from one place to another.
_PLACES = {
    "stored": ((0, HELD), (TAKEN, KEPT)),
    "offered": ((OFFERED, OFFERED),),
    "dead": ((DEAD, DEAD),),
}
_FEW = 10_000


class Search:
    """See `postroom.store.contract.Search`. For one thread, and for one call."""

    def __init__(self, look: ReadTx, *, readonly: bool) -> None:
        self._look = look
        self._readonly = readonly
        self._directory = os.path.join(os.path.dirname(look.path), "search")
        self._prefix = "".join(c if c.isascii() and c.isalnum() else f"%{ord(c):x}" for c in look.tenant)
        self.is_indexed = volume.is_possible()

    def find(
        self, query: Query, wanted: Filter, limit: int, before: int | None, say: Callable[[int], None]
    ) -> list[int]:
        if not self._readonly:
            self.sweep()
        found: list[int] = []
        above, standing = before or _END, self._standing(wanted.state)
        while len(found) < limit and (last := self._last(above - 1)):
            number = (last - 1) >> VOLUME_BITS
            for page in self._candidates(number, query, wanted, above, say):
                likely = page if standing is None else [seq for seq in page if seq in standing]
                found += self._filtered(likely, wanted, limit - len(found))
                if len(found) >= limit:
                    break
            above = number * _WIDTH + 1
        return found

    def browse(self, wanted: Filter, limit: int, before: int | None, after: int | None) -> list[int]:
        if (standing := self._standing(wanted.state)) is not None:
            within = [seq for seq in standing if (after or 0) < seq < (before or _END)]
            found = self._filtered(within, wanted, len(within))
            return found[:limit] if after is None else found[-limit:]
        name = "browse_back" if after is None else "browse_on"
        if (
            wanted.state is not None
        ):  # of these there are many, or they lie in the one place of what has ended
            name += "_standing" if wanted.state in _PLACES else "_ended"
        rows = self._look.rows(SQL[name], (self._look.tenant, after or 0, *wanted, before or _END, limit))
        return sorted((row[0] for row in rows), reverse=True)

    def sweep(self) -> None:
        """Remove every file from whose stretch something was taken out since it was made."""
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return
        for name in names:
            prefix, number, *_ = [*name.split("."), ""]
            is_ours = prefix == self._prefix and number.isdigit()
            if is_ours and name.partition("-")[0] != self._name(int(number)):
                self._remove(os.path.join(self._directory, name))

    # volumes

    def _last(self, until: int) -> int:
        """The last message up to a number; 0 when there is none."""
        row = self._look.row(SQL["search_last"], (self._look.tenant, until))
        return row[0] if row else 0

    def _name(self, number: int) -> str:
        """With the event that last took something out of this stretch: thereafter it is another file."""
        return f"{self._prefix}.{number}.{self._look.position(index_of(number)) or 0}{_SUFFIX}"

    def _remove(self, path: str) -> None:
        for name in (path, f"{path}-journal"):
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass
            except OSError as exc:
                raise errors.StoreError(
                    f"the search index cannot be removed: {exc}", path=path,
                    hint=f"Remove the directory {self._directory}: the next search makes it anew.",
                ) from exc  # fmt: skip

    def _candidates(
        self, number: int, query: Query, wanted: Filter, above: int, say: Callable[[int], None]
    ) -> Iterator[list[int]]:
        """The messages of a volume that have the words, newest first: from the index as far as that goes."""
        first, end = number * _WIDTH, self._last((number + 1) * _WIDTH)
        kept = self._opened(number, first, end, say) if self.is_indexed else None
        if kept is None:
            yield from self._scanned(query, first, min(end, above - 1))
            return
        below = above
        try:
            stand = kept.stand()
            for page in self._scanned(query, stand.position, min(end, above - 1)):
                yield page
            below = min(above, stand.position + 1)
            if _covers(stand, wanted):
                for page in kept.pages(volume.expression(query, wanted), below):
                    yield page
                    below = page[-1]
        except link.TROUBLE:  # it is damaged: what it has not told yet is looked for without it
            yield from self._scanned(query, first, below - 1)
        finally:
            kept.close()

    def _opened(self, number: int, first: int, end: int, say: Callable[[int], None]) -> volume.Volume | None:
        """A volume, brought up to `end` if that is possible. One that is damaged is made anew, once."""
        path = os.path.join(self._directory, self._name(number))
        for _ in range(2):
            kept: volume.Volume | None = None
            try:
                kept = volume.opened(path, first, readonly=self._readonly)
                if kept is None:
                    return None
                if self._is_ours(kept.stand()):
                    if not self._readonly:
                        kept.fill(self._page(end), end, say)
                    return kept
            except errors.StoreError:
                return None  # there is no place for it
            except link.TROUBLE as exc:
                if _is_passing(exc):
                    return kept
            if kept is not None:
                kept.close()
            if self._readonly:
                return None
            self._remove(path)
        return None

    def _is_ours(self, stand: volume.Stand) -> bool:
        """Whether its last message is the room's: after a restore there may be another."""
        return stand.mark is None or self._look.event_id(stand.mark) == stand.mark_id

    def _page(self, end: int) -> volume.Page:
        def page(after: int) -> list[tuple[Any, ...]]:
            return self._look.rows(SQL["search_page"], (self._look.tenant, after, end, volume.ROWS))

        return page

    # without an index

    def _scanned(self, query: Query, after: int, until: int) -> Iterator[list[int]]:
        while until > after:
            rows = self._look.rows(SQL["search_page_back"], (self._look.tenant, after, until, volume.ROWS))
            if not rows:
                return
            yield [row[0] for row in rows if matches(query, _texts(row))]
            until = rows[-1][0] - 1

    def _standing(self, state: str | None) -> set[int] | None:
        """The messages in a state in which there are few, so that others need not be looked at; else None."""
        if state not in _PLACES:
            return None
        found: set[int] = set()
        for stretch in _PLACES[state]:
            rows = self._look.rows(SQL["search_standing"], (self._look.tenant, *stretch, _FEW))
            found.update(row[0] for row in rows)
        return found if len(found) < _FEW else None

    def _filtered(self, seqs: list[int], wanted: Filter, limit: int) -> list[int]:
        if not seqs:
            return []
        rows = self._look.rows(SQL["search_filter"], (self._look.tenant, json.dumps(seqs), *wanted, limit))
        return [row[0] for row in rows]


def _texts(row: tuple[Any, ...]) -> dict[str, str]:
    return {"subject": row[2], "body": row[3], "payload": volume.said(row[4])}


def _covers(stand: volume.Stand, wanted: Filter) -> bool:
    """Whether anything in a volume can have been written in the time that is asked for."""
    if stand.oldest is None or stand.newest is None:
        return False
    return (wanted.since or stand.newest) <= stand.newest and (
        stand.oldest if wanted.until is None else wanted.until
    ) >= stand.oldest


def _is_passing(exc: Exception) -> bool:
    """Whether the file is sound, and only cannot be written now: another holds it, or the disk is full."""
    full, read_only = 13, 8
    return link.is_busy(exc) or (getattr(exc, "sqlite_errorcode", 0) & 0xFF) in (full, read_only)
