"""A bare WebSocket echo with one durable commit, for `cases/relay.py`: what no relay can do without."""

import asyncio
import sqlite3
import sys

from websockets.asyncio.server import ServerConnection, serve


def store(path: str, durability: str = "normal") -> sqlite3.Connection:
    """As durable as a room that is set so, and nothing else."""
    found = sqlite3.connect(path, isolation_level=None)
    found.execute("PRAGMA journal_mode = WAL")
    found.execute(f"PRAGMA synchronous = {durability}")
    found.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
    return found


def commit(room: sqlite3.Connection, text: str | bytes) -> None:
    room.execute("BEGIN IMMEDIATE")
    room.execute("INSERT INTO message (body) VALUES (?)", (text,))
    room.execute("COMMIT")


async def main(path: str, durability: str) -> None:
    room = store(path, durability)

    async def echo(link: ServerConnection) -> None:
        async for text in link:
            commit(room, text)
            await link.send(text)

    async with serve(echo, "127.0.0.1", 0, compression=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
