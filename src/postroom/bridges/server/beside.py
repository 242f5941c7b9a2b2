"""An agent in a terminal of somebody else's, reached by the server that has its conversation."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from postroom import host
from postroom.bridges.contract import (
    Assent,
    Attachable,
    Capabilities,
    Context,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Observation,
    Result,
    Text,
)
from postroom.bridges.server.conversation import Conversation
from postroom.clock import wall
from postroom.errors import BridgeError

_LINES = 50


class Beside(ABC):
    """See `postroom.bridges.contract.Bridge`. What people have typed in the terminal stays there."""

    def __init__(self, name: str, can: Capabilities, process: str) -> None:
        self.name = name
        self._can = can
        self._process = process
        self._ring: Callable[[], None] = lambda: None

    # ------------------------------------------------------------------------------- of each kind its own

    @property
    @abstractmethod
    def conversation(self) -> Conversation: ...

    @abstractmethod
    def is_lost(self) -> bool: ...

    @abstractmethod
    def canary(self) -> str: ...

    @abstractmethod
    def close(self) -> None: ...

    # ------------------------------------------------------------------------------------- for all of them

    def capabilities(self) -> Capabilities:
        return self._can

    def setup(self) -> None:  # noqa: B027 - for all of them there is nothing to do
        """Nothing is missing."""

    def observe(self) -> Observation:
        if host.is_gone(self._process):
            return Observation(Doing.GONE, "its process has ended", "offline", at=wall())
        return self.conversation.observe()

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        """To the conversation that its terminal shows now, and to no other."""
        seen = self.observe()
        wrong = "" if seen.reason == "offline" else self.canary()
        if wrong:
            return Delivered(Result.REFUSED, "offline", words=wrong)
        return self.conversation.deliver(text, assent, seen)

    def attend(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def receive(self) -> list[Heard]:
        return self.conversation.settled()

    def context(self) -> Context | None:
        return None if host.is_gone(self._process) else self.conversation.context()

    def inform(self, text: str) -> str:
        """To the conversation that its terminal shows now, and to no other."""
        if wrong := self.canary():
            raise BridgeError(wrong)
        return self.conversation.inform(text)

    def interrupt(self) -> Interrupted:
        if host.is_gone(self._process):
            return Interrupted(False, "nothing was done: its process has ended")
        return self.conversation.interrupt()

    def answer(self, question: str, option: str) -> bool:
        """What it asks, it asks in its terminal."""
        return False

    def screen(self, lines: int = 0) -> str:
        return "\n".join(self.conversation.last_words(lines + _LINES))

    def terminal(self) -> Attachable | None:
        """Its own terminal is somebody else's to show."""
        return None

    def _moved(self) -> None:
        """The conversation goes on; from any thread."""
        self.conversation.moved()
        self._ring()
