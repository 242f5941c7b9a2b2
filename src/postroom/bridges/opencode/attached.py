"""An opencode in a terminal that was started with `--port`, reached by its server."""

from postroom.bridges.contract import Berth, Capabilities
from postroom.bridges.opencode.http import Http, Stream
from postroom.bridges.opencode.session import Dialogue
from postroom.bridges.opencode.terminal import Finder, site
from postroom.bridges.server.beside import Beside
from postroom.bridges.server.said import table
from postroom.errors import BridgeError
from postroom.model.message import Json


class Attached(Beside):
    """Its terminal shows what comes in; what its model asks, it asks there."""

    def __init__(self, berth: Berth, name: str, can: Capabilities) -> None:
        """Opened only where its canary holds: `BridgeError`, with `absent` where there is no such server."""
        super().__init__(name, can, berth.process)
        self._finder = Finder(berth)
        self._http = Http(site(berth.process))
        self._id = self._finder.find(self._http)
        self._dialogue = Dialogue(self._http, self._id)
        seen = self._dialogue.observe()
        if seen.reason == "offline":
            raise BridgeError(seen.words)
        self._stream: Stream | None = None
        self._follow()

    def _follow(self) -> None:
        self._is_followed = True  # before its thread runs, which may end at once
        try:
            self._stream = self._http.follow(self._told, self._left)
        except BridgeError:
            self._is_followed = False
            raise

    @property
    def conversation(self) -> Dialogue:
        return self._dialogue

    def is_lost(self) -> bool:
        return not self._is_followed

    def canary(self) -> str:
        try:
            if self.is_lost():
                self._follow()
            if self._finder.find(self._http) != self._id:
                return "its terminal shows another session"
        except BridgeError as exc:
            return str(exc)
        seen = self._dialogue.observe()
        return seen.words if seen.reason == "offline" else ""

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    # --------------------------------------------------------------------------- by the stream's thread

    def _told(self, said: Json) -> None:
        about = table(said.get("properties"))
        if about.get("sessionID") == self._id:
            self._moved()

    def _left(self) -> None:
        self._is_followed = False
        self._ring()
