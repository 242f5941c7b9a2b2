"""The floor: a Unix datagram and nothing durable. Nobody on this machine can be faster and still be told."""

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator

from benchmarks.peers.contract import Endpoint, Handle
from benchmarks.runtime import Plain


class DatagramSender:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    async def send(self, mailbox: int, body: str) -> None:
        self._socket.sendto(body.encode(), f"{self._folder}/{mailbox}")


class DatagramReceiver:
    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)

    async def consume(self, handle: Handle) -> None:
        while handle(self._socket.recv(65536).decode()):
            pass

    async def rest(self) -> None:
        self._socket.recv(65536)


class Datagram:
    name = "floor"
    label = "floor: Unix datagram, no disk"
    runtime = Plain()
    broadcasts = False

    def missing(self) -> str:
        return "" if hasattr(socket, "AF_UNIX") else "no Unix sockets here"

    @contextlib.contextmanager
    def serve(self, folder: str, mailboxes: int) -> Iterator[Endpoint]:
        short = tempfile.mkdtemp(prefix="floor")  # a socket path must stay under 104 bytes
        try:
            yield {"folder": short, "pids": []}
        finally:
            shutil.rmtree(short, ignore_errors=True)

    async def sender(self, endpoint: Endpoint, mailbox: int) -> DatagramSender:
        return DatagramSender(endpoint["folder"])

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> DatagramReceiver:
        return DatagramReceiver(os.path.join(endpoint["folder"], str(mailbox)))


VARIANTS = {Datagram.name: Datagram()}
