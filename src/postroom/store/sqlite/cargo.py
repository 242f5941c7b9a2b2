"""What a backup carries besides the room: the files that its messages name, in a table of their own.

Only a file that nobody else has open is given one; no room in use has it.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

from postroom.store.sqlite import connection as link
from postroom.store.sqlite.statement import Statements

SQL = Statements("cargo")


def load(path: str, files: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Put files into a copy of a room: each a name, and its content piece by piece. The caller syncs."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            connection.execute(SQL["cargo_reset"])
            connection.execute(SQL["cargo_make"])
            for name, content in files:
                connection.executemany(SQL["cargo_put"], ((name, *piece) for piece in enumerate(content)))
            connection.execute("COMMIT")
    except sqlite3.Error as exc:
        raise link.explain(exc, path) from exc


def unload(path: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The files in a copy of a room, in order; each must be read before the next is asked for."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if connection.execute(SQL["cargo_is_there"]).fetchone() is None:
            return
        names = [name for (name,) in connection.execute(SQL["cargo_names"]).fetchall()]
        for name in names:
            yield name, (piece for (piece,) in connection.execute(SQL["cargo_get"], (name,)))
