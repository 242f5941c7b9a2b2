"""A Codex in a terminal, reached by the app-server that runs its thread."""

from postroom.bridges.codex.socket import Socket, place
from postroom.bridges.codex.terminal import Finder, home
from postroom.bridges.codex.thread import Thread
from postroom.bridges.contract import Berth, Capabilities
from postroom.bridges.server.answer import UNANSWERED
from postroom.bridges.server.beside import Beside
from postroom.bridges.server.said import table
from postroom.errors import BridgeError
from postroom.model.message import Json

_CANARY = 2.0  # seconds for a server to say that it is there: meanwhile mail waits that could be typed


class Attached(Beside):
    """Its server tells everybody what each thread does; what it asks, it asks its terminals."""

    def __init__(self, berth: Berth, name: str, can: Capabilities) -> None:
        """Opened only where its canary holds: `BridgeError`, and `NoServer` where there is none."""
        super().__init__(name, can, berth.process)
        self._finder = Finder(berth)
        self._home = home(berth.process)
        self._thread: Thread | None = None
        self._socket = self._connected()
        try:
            self._thread = Thread(self._socket.talk, self._finder.find(self._socket.talk), queued=True)
            if wrong := self.canary():
                raise BridgeError(wrong)
        except BaseException:
            self._socket.close()
            raise

    def _connected(self) -> Socket:
        found = Socket(place(self._home), self._told, self._end)
        try:
            found.talk.begin(_CANARY)
        except UNANSWERED as exc:
            found.close()
            raise BridgeError(f"the app-server of Codex did not answer: {exc}") from exc
        return found

    @property
    def conversation(self) -> Thread:
        if self._thread is None:
            raise BridgeError("no thread was found yet")
        return self._thread

    def is_lost(self) -> bool:
        return self._socket.talk.is_over

    def canary(self) -> str:
        try:
            if self.is_lost():
                self._socket.close()
                self._socket = self._connected()
                self.conversation.talk = self._socket.talk
            if self._finder.find(self._socket.talk) != self.conversation.id:
                return "its terminal shows another thread"
        except BridgeError as exc:
            return str(exc)
        seen = self.conversation.observe()
        return seen.words if seen.reason == "offline" else ""

    def close(self) -> None:
        self._socket.close()

    def _told(self, said: Json) -> None:
        about = table(said.get("params"))
        if said.get("method") != "thread/status/changed" or self._thread is None:
            return
        if about.get("threadId") == self._thread.id:
            self._moved()

    def _end(self) -> None:
        self._ring()
