"""What a system must offer to be measured. Kept free of heavy imports: workers load it too."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from benchmarks.runtime import Runtime

Endpoint = dict[str, Any]
"""Where a running peer is reached; plain JSON, because workers are other processes."""

Handle = Callable[[str], bool]
"""Called with each body the moment it is in hand; False ends the consuming."""


class Sender(Protocol):
    async def send(self, mailbox: int, body: str) -> None:
        """Return when the peer has confirmed the message, as durably as its setting promises."""
        ...


@runtime_checkable
class ReceiptSender(Sender, Protocol):
    """A sender that is told when its message was acknowledged."""

    async def send_until_acked(self, mailbox: int, body: str) -> None: ...


class Receiver(Protocol):
    async def consume(self, handle: Handle) -> None:
        """Push or poll; `handle` each message, then acknowledge it, until `handle` says stop."""
        ...

    async def rest(self) -> None:
        """Wait for mail that does not come."""
        ...


class Peer(Protocol):
    name: str
    label: str
    runtime: Runtime
    broadcasts: bool
    """True where one send reaches many receivers of one mailbox."""

    def missing(self) -> str:
        """What else it lacks here, once its module was imported; empty when nothing."""
        ...

    def serve(self, folder: str, mailboxes: int) -> AbstractContextManager[Endpoint]:
        """Start the peer with its files in `folder`; ended on exit, whatever happened."""
        ...

    async def sender(self, endpoint: Endpoint, mailbox: int) -> Sender:
        """A connection of its own. `mailbox` is the sender's own address."""
        ...

    async def receiver(self, endpoint: Endpoint, mailbox: int, member: int) -> Receiver:
        """A connection of its own. `member` tells receivers of one mailbox apart (see `broadcasts`)."""
        ...
