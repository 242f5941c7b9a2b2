"""A bare WebSocket broadcast with a durable commit, for `cases/relay.py`: what every fan-out costs."""

import asyncio
import sys

from websockets.asyncio.server import ServerConnection, broadcast, serve

from benchmarks.echo import commit, store


async def main(path: str) -> None:
    room = store(path)

    async def hear(link: ServerConnection) -> None:
        """What anybody says goes to all others, but for the word that it was seen."""
        async for text in link:
            if '"seen"' not in str(text):
                commit(room, text)
                broadcast(server.connections - {link}, text)

    async with serve(hear, "127.0.0.1", 0, compression=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
