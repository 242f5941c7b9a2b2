"""A bare WebSocket echo with one durable commit, for `cases/relay.py`: what no relay can do without."""

import asyncio
import sqlite3
import sys

from websockets.asyncio.server import ServerConnection, serve


def _store(path: str) -> sqlite3.Connection:
    """As durable as the room, and nothing else."""
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = NORMAL")
    store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
    return store


async def main(path: str) -> None:
    store = _store(path)

    async def echo(link: ServerConnection) -> None:
        async for text in link:
            store.execute("BEGIN IMMEDIATE")
            store.execute("INSERT INTO message (body) VALUES (?)", (text,))
            store.execute("COMMIT")
            await link.send(text)

    async with serve(echo, "127.0.0.1", 0, compression=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
