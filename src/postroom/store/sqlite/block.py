"""What holds for the length of a `with`: a snapshot, a write transaction, a hurry."""

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postroom.store.sqlite.read import ReadTx
    from postroom.store.sqlite.store import SqliteStore
    from postroom.store.sqlite.write import WriteTx


class Hurry:
    """Its thread waits neither for others nor for the disk; what it `owes` is to wait for that."""

    __slots__ = ("_threads", "owes")

    def __init__(self, threads: Any) -> None:
        self._threads = threads
        self.owes = False

    def __enter__(self) -> "Hurry":
        self._threads.hurry = self
        return self

    def __exit__(self, *_: object) -> None:
        del self._threads.hurry


class Reading:
    """A snapshot over several questions."""

    __slots__ = ("_store", "_tx")

    def __init__(self, store: "SqliteStore", tx: "ReadTx") -> None:
        self._store, self._tx = store, tx

    def __enter__(self) -> "ReadTx":
        self._tx.rows("BEGIN")
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self._store.abandon(exc)


class Writing:
    """A write transaction."""

    __slots__ = ("_store",)

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def __enter__(self) -> "WriteTx":
        return self._store.begin()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is None:
            self._store.commit()
            self._store.tidy()
            self._store.make_lasting()
            return
        self._store.abandon(exc)
