"""A server of an agent that is our child, and the conversation that it has with us."""

from postroom.bridges.contract import (
    Assent,
    Capabilities,
    Context,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Result,
    Text,
)
from postroom.bridges.process.piped import Piped
from postroom.bridges.server.conversation import Conversation
from postroom.clock import wall
from postroom.errors import BridgeError

_LINES = 50


class Own(Piped):
    """A bridge to such a server. Subclasses begin the conversation, once the child runs."""

    def __init__(self, launch: Launch, name: str, can: Capabilities) -> None:
        self.name = name
        self._can = can
        self._conversation: Conversation | None = None
        super().__init__(launch)

    def capabilities(self) -> Capabilities:
        return self._can

    def observe(self) -> Observation:
        if self.is_gone or self._conversation is None:
            return Observation(Doing.GONE, "its process has ended", "offline", at=wall())
        return self._conversation.observe()

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        seen = self.observe()
        if self._conversation is None or seen.doing is Doing.GONE:
            return Delivered(Result.REFUSED, "offline", words=seen.words)
        return self._conversation.deliver(text, assent, seen)

    def receive(self) -> list[Heard]:
        settled = self._conversation.settled() if self._conversation and not self.is_gone else []
        return [*super().receive(), *settled]

    def context(self) -> Context | None:
        return self._conversation.context() if self._conversation and not self.is_gone else None

    def inform(self, text: str) -> str:
        if self.is_gone or self._conversation is None:
            raise BridgeError("its process has ended")
        return self._conversation.inform(text)

    def interrupt(self) -> Interrupted:
        if self.is_gone or self._conversation is None:
            return Interrupted(False, "nothing was done: its process has ended")
        return self._conversation.interrupt()

    def screen(self, lines: int = 0) -> str:
        """What was said last; where nothing was, or it has ended, what it printed."""
        alive = self._conversation if not self.is_gone else None
        said = alive.last_words(lines + _LINES) if alive else []
        return "\n".join(said) or super().screen(lines)

    def _last_output(self) -> str:
        """What it printed, for whoever asks why it did not begin."""
        with self._changed:
            return " ".join(self._shown)[-300:] or "It printed nothing."
