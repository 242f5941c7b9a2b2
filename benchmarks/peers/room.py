"""Postroom itself, embedded, as a program uses it.

`take` claims each message exclusively and writes the claim and its event before the message is in hand.
`listen` holds the mailbox's lease, so that taking is a read. Both acknowledge every message.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import postroom
from benchmarks.peers.contract import Endpoint, Handle, Receiver
from benchmarks.product import PROJECT
from benchmarks.runtime import Plain


class RoomSender:
    def __init__(self, room: Any) -> None:
        self._room = room

    async def send(self, mailbox: int, body: str) -> None:
        self._room.send(_name(mailbox), body)

    async def send_until_acked(self, mailbox: int, body: str) -> None:
        sent = self._room.send(_name(mailbox), body, requires_ack=True)
        self._room.until(sent.id, "acked", timeout=30.0)


class TakeReceiver:
    def __init__(self, room: Any) -> None:
        self._room = room

    async def consume(self, handle: Handle) -> None:
        go_on = True
        while go_on:
            mail = self._room.take(timeout=None)
            go_on = handle(mail.body)
            self._room.ack(mail)

    async def rest(self) -> None:
        self._room.wait(timeout=None)


class ListenReceiver(TakeReceiver):
    """Keeps its lease from one `consume` to the next, as a program that listens does."""

    def __init__(self, room: Any) -> None:
        super().__init__(room)
        self._mails: Iterator[Any] | None = None

    async def consume(self, handle: Handle) -> None:
        mails = self._mails = self._mails or self._room.listen(timeout=None)
        for mail in mails:
            go_on = handle(mail.body)
            self._room.ack(mail)
            if not go_on:
                return


class RoomPeer:
    runtime = Plain()
    broadcasts = False

    def __init__(self, name: str, label: str, durability: str, receiver: type[TakeReceiver]) -> None:
        self.name = name
        self.label = label
        self._durability = durability
        self._receiver = receiver

    def missing(self) -> str:
        return "" if hasattr(postroom, "open") else "postroom is not built yet"

    @contextlib.contextmanager
    def serve(self, folder: str, mailboxes: int) -> Iterator[Endpoint]:
        endpoint = {"home": os.path.join(folder, "room"), "pids": []}
        room = self._open(endpoint, 0)
        for mailbox in range(mailboxes):
            room.join(_name(mailbox))
        room.close()
        yield endpoint

    async def sender(self, endpoint: Endpoint, mailbox: int) -> RoomSender:
        return RoomSender(self._connect(endpoint, mailbox))

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> Receiver:
        return self._receiver(self._connect(endpoint, mailbox))

    def _connect(self, endpoint: Endpoint, mailbox: int) -> Any:
        """A room that has opened its store, as the peers' clients have connected to their servers."""
        room = self._open(endpoint, mailbox)
        room.who()
        return room

    def _open(self, endpoint: Endpoint, mailbox: int) -> Any:
        return postroom.open(
            endpoint["home"], agent=_name(mailbox), project=PROJECT, durability=self._durability
        )


def _name(mailbox: int) -> str:
    return f"agent{mailbox}"


VARIANTS = {
    peer.name: peer
    for peer in (
        RoomPeer("postroom-listen", "Postroom listen, normal", "normal", ListenReceiver),
        RoomPeer("postroom-listen-full", "Postroom listen, full", "full", ListenReceiver),
        RoomPeer("postroom-take", "Postroom take, normal", "normal", TakeReceiver),
        RoomPeer("postroom-take-full", "Postroom take, full", "full", TakeReceiver),
    )
}
