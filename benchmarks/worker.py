"""A worker process: opens its connections, then does the tasks that arrive on its control line.

    python -m benchmarks.worker PEER ENDPOINT POSTS

With several posts it forks one process for each after importing the peer's client once.
"""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

from benchmarks.peers import load
from benchmarks.peers.contract import Endpoint, Peer
from benchmarks.runtime import Runtime
from benchmarks.task import TASKS, Desk

LIFE_LIMIT = 1800
"""Seconds after which a worker ends even if nobody ends it."""


class Line:
    """JSON lines in and out; the harness holds the other end."""

    def __init__(self, fd: int, runtime: Runtime) -> None:
        self._fd = fd
        self._runtime = runtime

    async def commands(self) -> AsyncIterator[dict[str, Any]]:
        held = b""
        while chunk := await self._runtime.read(self._fd):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)

    def answer(self, value: dict[str, Any]) -> None:
        data = memoryview(json.dumps(value).encode() + b"\n")
        while data:
            data = data[os.write(self._fd, data) :]


async def work(peer: Peer, endpoint: Endpoint, post: dict[str, Any]) -> None:
    signal.alarm(LIFE_LIMIT)
    line = Line(post["fd"], peer.runtime)
    mailbox = post["mailbox"]
    sender = await peer.sender(endpoint, mailbox) if post["sends"] else None
    receiver = await peer.receiver(endpoint, mailbox, post["member"]) if post["receives"] else None
    desk = Desk(peer, sender, receiver)
    line.answer({"pid": os.getpid()})
    async for command in line.commands():
        line.answer(await TASKS[command.pop("task")](desk, **command))


def main(name: str, endpoint: Endpoint, posts: list[dict[str, Any]]) -> None:
    peer = load(name)
    mine = posts[0] if len(posts) == 1 else _fork(posts)
    if mine:
        peer.runtime.run(lambda: work(peer, endpoint, mine))
        os._exit(0)
    for _ in posts:
        os.wait()


def _fork(posts: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The post of this process; None in the parent."""
    for post in posts:
        if os.fork() == 0:
            for other in posts:
                if other is not post:
                    os.close(other["fd"])
            return post
    for post in posts:
        os.close(post["fd"])
    return None


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]))
