"""The connection to the app-server that Codex's terminals share: a WebSocket behind a Unix socket."""

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom import extra, host
from postroom.bridges.codex.talk import Talk
from postroom.bridges.server.answer import Silence, Unsent
from postroom.errors import BridgeError, NoServer
from postroom.model.message import Json

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_PLACE = ("app-server-control", "app-server-control.sock")
_CONNECT = 5.0  # seconds
_MOST = 1 << 24  # bytes of one message


def place(home: str) -> str:
    """Where the server of that Codex home listens. The file may be a link: its own path is often too long."""
    path = os.path.realpath(os.path.join(home, *_PLACE))
    if not os.path.exists(path):
        raise NoServer("no app-server of Codex runs there")
    if host.owner_is_other(path):
        raise BridgeError("the app-server of Codex there is another user's")
    return path


class Socket:
    """One connection, heard by a thread of its own until either side closes it."""

    def __init__(self, path: str, told: Callable[[Json], None], ended: Callable[[], None]) -> None:
        self._held = contextlib.ExitStack()
        self._link = self._held.enter_context(_connected(path))
        self.talk = Talk(self._send, told)
        self._ended = ended
        threading.Thread(target=self._listen, name="codex-app-server", daemon=True).start()

    def _send(self, line: str) -> None:
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415 - an extra

        try:
            self._link.send(line)
        except ConnectionClosed:
            raise Unsent("its app-server has closed the connection") from None
        except OSError as exc:
            raise Silence(f"the connection to its app-server broke: {exc}") from None

    def _listen(self) -> None:
        try:
            for line in self._link:
                self.talk.hear(line if isinstance(line, str) else line.decode(errors="replace"))
        except Exception:
            pass  # however it ended, it has
        finally:
            self.talk.end()
            self._ended()

    def close(self) -> None:
        self._held.close()


def _connected(path: str) -> "ClientConnection":
    try:
        from websockets.sync.client import unix_connect  # noqa: PLC0415 - an extra
    except ImportError:
        raise NoServer(
            "the app-server of Codex is reached with a library that is not installed",
            hint=extra.hint("codex"),
        ) from None
    try:
        return unix_connect(
            path, "ws://localhost/", compression=None, open_timeout=_CONNECT, close_timeout=1.0,
            max_size=_MOST,
        )  # fmt: skip
    except Exception as exc:
        raise BridgeError(f"the app-server of Codex did not answer: {exc}") from exc
