"""Redis Streams: one stream a mailbox, a consumer group, XADD, XREADGROUP BLOCK, XACK, over loopback."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import redis

from benchmarks.peers.contract import Endpoint, Handle
from benchmarks.peers.process import answers, free_port, running
from benchmarks.runtime import Plain

BATCH = 16
"""How many one XREADGROUP may bring: a reader that falls behind catches up, as in practice."""


class StreamSender:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def send(self, mailbox: int, body: str) -> None:
        self._client.xadd(f"mail:{mailbox}", {"body": body})


class StreamReceiver:
    def __init__(self, client: Any, stream: str, group: str) -> None:
        self._client = client
        self._stream = stream
        self._group = group
        self._held: list[tuple[bytes, dict[bytes, bytes]]] = []
        client.xgroup_create(stream, group, id="0", mkstream=True)

    async def consume(self, handle: Handle) -> None:
        go_on = True
        while go_on:
            entry, fields = self._next()
            go_on = handle(fields[b"body"].decode())
            self._client.xack(self._stream, self._group, entry)

    async def rest(self) -> None:
        self._read()

    def _next(self) -> tuple[bytes, dict[bytes, bytes]]:
        if not self._held:
            self._held = self._read()
        return self._held.pop(0)

    def _read(self) -> list[tuple[bytes, dict[bytes, bytes]]]:
        answer = self._client.xreadgroup(self._group, "worker", {self._stream: ">"}, count=BATCH, block=0)
        return list(answer[0][1])


class RedisStreams:
    runtime = Plain()
    broadcasts = True

    def __init__(self, name: str, label: str, fsync: str) -> None:
        self.name = name
        self.label = label
        self._fsync = fsync

    def missing(self) -> str:
        return "" if shutil.which("redis-server") else "redis-server is not installed"

    @contextlib.contextmanager
    def serve(self, folder: str, mailboxes: int) -> Iterator[Endpoint]:
        port = free_port()
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", ""]
        command += ["--appendonly", "yes", "--appendfsync", self._fsync]
        with running(command, lambda: answers(port), os.path.join(folder, "log")) as pid:
            yield {"port": port, "pids": [pid]}

    async def sender(self, endpoint: Endpoint, mailbox: int) -> StreamSender:
        return StreamSender(_connect(endpoint["port"]))

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> StreamReceiver:
        return StreamReceiver(_connect(endpoint["port"]), f"mail:{mailbox}", f"member-{member}")


def _connect(port: int) -> Any:
    """Answers as bytes, in the classic protocol: the client's fastest form."""
    return redis.Redis(host="127.0.0.1", port=port, protocol=2, socket_timeout=None)


VARIANTS = {
    peer.name: peer
    for peer in (
        RedisStreams("redis", "Redis Streams, everysec", "everysec"),
        RedisStreams("redis-always", "Redis Streams, always", "always"),
    )
}
