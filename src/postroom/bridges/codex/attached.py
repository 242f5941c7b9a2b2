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


class Attached(Beside):
    """Its server tells everybody what each thread does; what it asks, it asks its terminals."""

    def __init__(self, berth: Berth, name: str, can: Capabilities) -> None:
        """Opened only where its canary holds: `BridgeError`, with `absent` where there is no such server."""
        super().__init__(name, can, berth.process)
        self._finder = Finder(berth)
        self._id = ""
        self._socket = Socket(place(home(berth.process)), self._told)
        try:
            self._thread = self._begun()
        except BaseException:
            self._socket.close()
            raise

    def _begun(self) -> Thread:
        talk = self._socket.talk
        try:
            talk.begin()
        except UNANSWERED as exc:
            raise BridgeError(f"the app-server of Codex did not answer: {exc}") from exc
        found = self._finder.find(talk)
        thread = Thread(talk, found, queued=True)
        seen = thread.observe()
        if seen.reason == "offline":
            raise BridgeError(seen.words)
        self._id = found
        return thread

    @property
    def conversation(self) -> Thread:
        return self._thread

    def canary(self) -> str:
        try:
            if self._finder.find(self._socket.talk) != self._id:
                return "its terminal shows another thread"
        except BridgeError as exc:
            return str(exc)
        seen = self._thread.observe()
        return seen.words if seen.reason == "offline" else ""

    def close(self) -> None:
        self._socket.close()

    def _told(self, said: Json) -> None:
        about = table(said.get("params"))
        if said.get("method") == "thread/status/changed" and self._id and about.get("threadId") == self._id:
            self._moved()
