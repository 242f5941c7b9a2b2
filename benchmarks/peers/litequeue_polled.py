"""litequeue, one file a mailbox as its authors advise, polled every millisecond: it has no wake-up."""

import contextlib
import os
import time
from collections.abc import Iterator

import litequeue

from benchmarks.peers.contract import Endpoint, Handle
from benchmarks.runtime import Plain

POLL = 0.001
BUSY_LIMIT = 30.0


class LiteQueueSender:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._queues: dict[int, litequeue.LiteQueue] = {}

    async def send(self, mailbox: int, body: str) -> None:
        if mailbox not in self._queues:
            self._queues[mailbox] = _open(self._folder, mailbox)
        self._queues[mailbox].put(body)


class LiteQueueReceiver:
    def __init__(self, queue: litequeue.LiteQueue) -> None:
        self._queue = queue

    async def consume(self, handle: Handle) -> None:
        go_on = True
        while go_on:
            message = self._queue.pop()
            if message is None:
                time.sleep(POLL)
                continue
            go_on = handle(message.data)
            self._queue.done(message.message_id)

    async def rest(self) -> None:
        await self.consume(lambda body: True)


class LiteQueuePolled:
    name = "litequeue"
    label = "litequeue, polled every 1 ms"
    runtime = Plain()
    broadcasts = False

    def missing(self) -> str:
        return ""

    @contextlib.contextmanager
    def serve(self, folder: str, mailboxes: int) -> Iterator[Endpoint]:
        for mailbox in range(mailboxes):
            _open(folder, mailbox).conn.close()
        yield {"folder": folder, "pids": []}

    async def sender(self, endpoint: Endpoint, mailbox: int) -> LiteQueueSender:
        return LiteQueueSender(endpoint["folder"])

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> LiteQueueReceiver:
        return LiteQueueReceiver(_open(endpoint["folder"], mailbox))


def _open(folder: str, mailbox: int) -> litequeue.LiteQueue:
    return litequeue.LiteQueue(os.path.join(folder, f"{mailbox}.db"), timeout=BUSY_LIMIT)


VARIANTS = {LiteQueuePolled.name: LiteQueuePolled()}
