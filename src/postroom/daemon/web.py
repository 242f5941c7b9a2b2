"""The daemon's web server: one thread with its own event loop, at a port of this machine and a Unix socket.

What it stands on is loaded by that thread, and not at all where nothing is served. A port that is taken keeps
the daemon from nothing else: it says so, and is tried again when somebody asks for the page.
"""

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.config import Settings
from postroom.daemon import log
from postroom.daemon.control import short
from postroom.errors import BridgeError, PostroomError
from postroom.model.message import Agent, Json
from postroom.room.authority import Operator

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon
    from postroom.server.desk import Desk
    from postroom.server.line import Quiet

NAME = "http.sock"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PATIENCE = 10.0  # seconds for it to begin, and to end
_BACKLOG = 512


class Web:
    """Serves the daemon's room."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._settings: Settings = daemon.room.settings
        self._desk: Desk | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._servers: list[Quiet] = []
        self._app: Any = None
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._path = config.beside(daemon.home, NAME)
        self._file: os.stat_result | None = None
        self.url = ""  # of the page; empty while it is not served
        self.problem = ""  # why it is not

    def start(self) -> None:
        if self._settings.http_port:
            self._thread.start()
        else:
            self.problem = "it is turned off: http_port is 0"

    def link(self, person: str) -> str:
        """An address of the page that logs somebody in, once."""
        self._begun.wait(_PATIENCE)
        if not self.url and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_PATIENCE)
        if not self.url or self._desk is None:
            hint = "Set another port: http_port in the config, or POSTROOM_HTTP_PORT; then: postroom down"
            raise BridgeError(f"the page is not served: {self.problem or 'it has not begun'}", hint=hint)
        return f"{self.url}/login?once={self._desk.links.make(person)}"

    def facts(self) -> Json:
        return {"url": self.url or None, "problem": self.problem or None, "socket": self._path}

    def stop(self) -> None:
        """Answer what was asked, for a moment, and end."""
        loop = self._loop
        if loop is None:
            return
        for server in self._servers:
            loop.call_soon_threadsafe(server.end)
        self._thread.join(_PATIENCE)
        self._remove()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as exc:  # it must not take the daemon with it
            self.url, self.problem = "", repr(exc)
            log.note("web failed", error=repr(exc))
        finally:
            self._begun.set()

    async def _serve(self) -> None:
        from postroom.daemon.tools import Agency  # noqa: PLC0415 - only where it serves
        from postroom.server.app import application  # noqa: PLC0415
        from postroom.server.desk import Desk  # noqa: PLC0415
        from postroom.server.guard import Premises  # noqa: PLC0415
        from postroom.server.line import server  # noqa: PLC0415

        settings = self._settings
        self._loop, self._desk = asyncio.get_running_loop(), Desk(self._daemon.room, Bridged(self._daemon))
        hosts = None if settings.tls_cert else Premises._field_defaults["hosts"]
        premises = Premises(f"postroom_{settings.http_port}", hosts, settings.http_rate)
        self._app = application(self._desk, premises, Agency(self._desk).routes)
        door = server(self._app)
        self._servers.append(door)
        serving = asyncio.create_task(door.serve([self._bound_by_name()]))
        await self._listen()
        self._begun.set()
        await serving
        await self._desk.end()

    async def _listen(self) -> None:
        """Serve at the port, if that is free."""
        from postroom.server.line import server  # noqa: PLC0415 - only where it serves

        settings = self._settings
        try:
            port = self._bound()
            one = server(self._app, cert=settings.tls_cert, key=settings.tls_key)
        except (OSError, PostroomError) as exc:
            self.problem = str(exc)
            log.note("page not served", port=settings.http_port, error=self.problem)
            return
        self._servers.append(one)
        self._serving = asyncio.create_task(one.serve([port]))
        scheme = "https" if settings.tls_cert else "http"
        name = f"[{settings.http_host}]" if ":" in settings.http_host else settings.http_host
        self.url, self.problem = f"{scheme}://{name}:{settings.http_port}", ""
        log.note("page served", url=self.url)

    def _bound(self) -> socket.socket:
        where, port = self._settings.http_host, self._settings.http_port
        if where not in _LOOPBACK and not self._settings.tls_cert:
            raise BridgeError(f"http_host is {where}, which others can reach: that needs tls_cert")
        family = socket.AF_INET6 if ":" in where else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((where, port))
            found.listen(_BACKLOG)
        except OSError as exc:
            found.close()
            raise OSError(f"port {port} cannot be had: {exc.strerror}; the setting is http_port") from None
        found.setblocking(False)
        return found

    def _bound_by_name(self) -> socket.socket:
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        host.private_directory(os.path.dirname(self._path))
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        with short(self._path) as path:
            found.bind(path)
        os.chmod(self._path, 0o600)
        self._file = os.stat(self._path)
        found.listen(_BACKLOG)
        found.setblocking(False)
        return found

    def _remove(self) -> None:
        """If it is ours: another daemon may have put its own in our place."""
        try:
            if self._file is not None and os.path.samestat(self._file, os.stat(self._path)):
                os.unlink(self._path)
        except OSError:
            pass


class Bridged:
    """The daemon's bridges, as the server asks for them (`server/port.py`)."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon

    def interrupt(self, agent: Agent, by: Operator, kind: str, reason: str) -> Json | None:
        if manifests.get(self._daemon.home, agent.id) is None:
            return None
        words: Json = {"agent": agent.id, "kind": kind, "by": by.name, "role": by.role, "reason": reason}
        return self._daemon.do("interrupt", words)

    def screen(self, agent: Agent, lines: int) -> str:
        return self._daemon.do("screen", {"agent": agent.id, "lines": lines})

    def command(self, agent: Agent, text: str, by: str) -> dict[str, Any]:
        return self._daemon.do("command", {"agent": agent.id, "text": text, "by": by})

    def facts(self) -> dict[str, Any]:
        return self._daemon.do("ping", {})
