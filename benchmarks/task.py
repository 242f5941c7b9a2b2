"""What a worker does when told to. One coroutine a task, the same for every peer."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from benchmarks.peers.contract import Peer, ReceiptSender, Receiver, Sender

BODY_BYTES = 1024
STAMP = 20
"""A body begins with the time it was sent, in nanoseconds of CLOCK_MONOTONIC, which all processes share."""

_REST = "x" * (BODY_BYTES - STAMP - 1)

Answer = dict[str, Any]


class Desk:
    """A worker's place: its open connections and its peer."""

    def __init__(self, peer: Peer, sender: Sender | None, receiver: Receiver | None) -> None:
        self.peer = peer
        self._sender = sender
        self._receiver = receiver

    @property
    def sender(self) -> Sender:
        assert self._sender is not None, "this worker does not send"
        return self._sender

    @property
    def receiver(self) -> Receiver:
        assert self._receiver is not None, "this worker does not receive"
        return self._receiver


def _body(flag: str = "-") -> str:
    return f"{time.monotonic_ns():0{STAMP}d}{flag}{_REST}"


def _sent_at(body: str) -> int:
    return int(body[:STAMP])


def _is_last(body: str) -> bool:
    return body[STAMP] == "L"


async def pace(desk: Desk, count: int, rate: float, mailbox: int) -> Answer:
    """Send `count` messages at `rate` a second. How long each send took, in nanoseconds."""
    send = desk.sender.send
    spent: list[int] = []
    start = time.monotonic()
    for number in range(count):
        await desk.peer.runtime.sleep(max(0.0, start + number / rate - time.monotonic()))
        before = time.monotonic_ns()
        await send(mailbox, _body())
        spent.append(time.monotonic_ns() - before)
    return {"spent": spent}


async def collect(desk: Desk, count: int) -> Answer:
    """Take `count` messages. From send() called to in hand, in nanoseconds."""
    latencies: list[int] = []

    def handle(body: str) -> bool:
        latencies.append(time.monotonic_ns() - _sent_at(body))
        return len(latencies) < count

    await desk.receiver.consume(handle)
    return {"latencies": latencies}


async def flood(desk: Desk, seconds: float, mailboxes: Sequence[int]) -> Answer:
    """Send as fast as confirmed to each mailbox in turn, then one last message to each."""
    send = desk.sender.send
    spent: list[int] = []
    start = time.monotonic_ns()
    end = start + int(seconds * 1e9)
    while (before := time.monotonic_ns()) < end:
        await send(mailboxes[len(spent) % len(mailboxes)], _body())
        spent.append(time.monotonic_ns() - before)
    for mailbox in mailboxes:
        await send(mailbox, _body("L"))
    return {"start": start, "spent": spent}


async def drain(desk: Desk, senders: int) -> Answer:
    """Take and acknowledge until each of the senders has sent its last."""
    count = last = 0

    def handle(body: str) -> bool:
        nonlocal count, last
        count += 1
        last += _is_last(body)
        return last < senders

    await desk.receiver.consume(handle)
    return {"count": count, "end": time.monotonic_ns()}


async def shout(desk: Desk, mailboxes: Sequence[int], settle: float) -> Answer:
    """One message to each mailbox, once the receivers had `settle` seconds to fall asleep. When it began."""
    await desk.peer.runtime.sleep(settle)
    start = time.monotonic_ns()
    for mailbox in mailboxes:
        await desk.sender.send(mailbox, _body())
    return {"start": start}


async def hear(desk: Desk) -> Answer:
    """Take one message. When it was in hand."""
    arrived = 0

    def handle(body: str) -> bool:
        nonlocal arrived
        arrived = time.monotonic_ns()
        return False

    await desk.receiver.consume(handle)
    return {"arrived": arrived}


async def ask(desk: Desk, count: int, rate: float, mailbox: int) -> Answer:
    """Send and wait until it is acknowledged, `count` times. When each acknowledgement was in hand.

    A peer without receipts does what its users do: the receiver's acknowledgement is a message back.
    """
    known: list[int] = []
    start = time.monotonic()
    for number in range(count):
        await desk.peer.runtime.sleep(max(0.0, start + number / rate - time.monotonic()))
        if isinstance(desk.sender, ReceiptSender):
            await desk.sender.send_until_acked(mailbox, _body())
            known.append(time.monotonic_ns())
        else:
            await desk.sender.send(mailbox, _body())
            known.append((await hear(desk))["arrived"])
    return {"known": known}


async def acknowledge(desk: Desk, count: int, mailbox: int) -> Answer:
    """Take and acknowledge `count` messages, one at a time. When each acknowledgement was called."""
    called: list[int] = []

    def handle(body: str) -> bool:
        called.append(time.monotonic_ns())
        return False

    for _ in range(count):
        await desk.receiver.consume(handle)
        if not isinstance(desk.sender, ReceiptSender):
            called[-1] = time.monotonic_ns()
            await desk.sender.send(mailbox, _body())
    return {"called": called}


async def rest(desk: Desk) -> Answer:
    await desk.receiver.rest()
    return {}


TASKS: dict[str, Callable[..., Awaitable[Answer]]] = {
    task.__name__: task for task in (pace, collect, flood, drain, shout, hear, ask, acknowledge, rest)
}
