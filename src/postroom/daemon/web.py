"""The daemon's web server: one thread with its own event loop, at a port of this machine and a Unix socket.

It listens from the beginning, and what it stands on is loaded when somebody comes: mail does not wait for the
page, and a daemon whose page nobody looks at has none of it in memory. A port that is taken keeps the daemon
from nothing else: it says so, and is tried again when somebody asks for the page.
"""

import asyncio
import gc
import os
import select
import socket
import threading
from typing import TYPE_CHECKING

from postroom import config, host
from postroom.config import Settings
from postroom.daemon import log
from postroom.daemon.bridged import Bridged
from postroom.daemon.control import is_at, short
from postroom.daemon.place import TURNED_OFF
from postroom.errors import BridgeError, PostroomError
from postroom.model.message import Json

if TYPE_CHECKING:
    from postroom.daemon.loop import Daemon
    from postroom.server.desk import Desk
    from postroom.server.guard import Guard
    from postroom.server.line import Quiet

NAME = "http.sock"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PATIENCE = 10.0  # seconds for it to begin
_BACKLOG = 512
_GARBAGE = (10_000, 10, 10)  # see `gc.set_threshold`: objects, collections of young ones, of older ones
_PLACE = ("http_port", "http_host")  # the settings that say where it is; and whether there is a `tls_cert`


class Web:
    """Serves the daemon's room. `start`, `stop`, `renew` and `link` may be called from any thread."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._path = config.beside(daemon.home, NAME)
        self._serving: _Serving | None = None
        self._guard = threading.Lock()
        self.problem = ""  # why nothing is served at all

    def start(self) -> None:
        with self._guard:
            self._start(self._daemon.room.settings)

    def _start(self, settings: Settings) -> None:
        if settings.http_port:
            self.problem = ""
            serving = _Serving(self._daemon, settings, self._path)
            try:
                serving.start()
                self._serving = serving
            except OSError as exc:
                self.problem = str(exc)
                log.warn("page not served", error=self.problem)
        else:
            self.problem = TURNED_OFF

    def renew(self, settings: Settings) -> None:
        """Go on with other settings: at another place everybody has to come anew, and they are told."""
        with self._guard:
            serving = self._serving
            if serving is not None and serving.url and serving.is_at(settings):
                serving.renew(settings)
                return
            if serving is not None:  # the daemon does not wait for callers that hang
                ending = threading.Thread(target=serving.stop, name="end of web", daemon=True)
                ending.start()
                ending.join(_PATIENCE)
                self._serving = None
            self._start(settings)

    def link(self, person: str) -> str:
        """An address of the page that logs somebody in, once."""
        with self._guard:
            serving = self._serving
        link = serving.link(person) if serving is not None else ""
        if not link:
            why = self.problem or (serving.problem if serving else "") or "it has not begun"
            raise BridgeError(f"the page is not served: {why}", hint=self._remedy())
        return link

    def facts(self) -> Json:
        serving = self._serving
        url, problem = (serving.url, serving.problem) if serving else ("", self.problem)
        hint = self._remedy() if problem else None
        return {"url": url or None, "problem": problem or None, "hint": hint, "socket": self._path}

    def _remedy(self) -> str:
        return _remedy(self._daemon.room.settings, config.config_path(self._daemon.home))

    def mend(self) -> bool:
        """Put the socket's file back where others look for it, if it is gone from there; whether it was."""
        with self._guard:
            return self._serving is not None and self._serving.mend()

    def stop(self) -> None:
        """Answer what was asked, for a moment, and end."""
        with self._guard:
            if self._serving is not None:
                self._serving.stop()
                self._serving = None


def _spare() -> None:
    """Have the interpreter look for garbage less often, and not in what was loaded.

    A thousand clients are some hundred thousand objects. By its usual numbers it would go through all of
    them, and through the modules, after every few messages to all, for up to half a second each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


def _remedy(settings: Settings, path: str) -> str:
    """What to do where the page is not served. What the daemon's environment says stands above the config,
    and only another daemon has another one.
    """
    is_open = settings.http_host not in _LOOPBACK
    key = "http_host" if is_open and not settings.tls_cert else "http_port"
    name, usual = config.environment_name(key), _LOOPBACK[0] if key == "http_host" else "PORT"
    if name in os.environ:
        return f"Start it with another {name}: postroom down; {name}={usual} postroom up"
    if key == "http_host":
        return f'Set tls_cert and tls_key, or http_host = "{usual}", in {path}, then: postroom up'
    another = settings.http_port % 65_535 + 1
    return f"Free the port, or write the line http_port = {another} into {path}, then: postroom up"


class _Serving:
    """One server, from when it listens until it has ended."""

    def __init__(self, daemon: "Daemon", settings: Settings, path: str) -> None:
        self._daemon, self._settings, self._path = daemon, settings, path
        self._desk: Desk | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._servers: list[Quiet] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._app: Guard | None = None
        self._begun = threading.Event()
        self._button, self._gong = socket.socketpair()  # rung when it is to begin, though nobody came
        self._ends = False
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._port: socket.socket | None = None
        self._doors: list[socket.socket] = []  # by name: the last is at it
        self._file: os.stat_result | None = None
        self.url = ""  # of the page; empty while it is not served
        self.problem = ""  # why it is not

    def start(self) -> None:
        self._door = self._bound_by_name()
        self._doors.append(self._door)
        self._bind()
        self._thread.start()

    def mend(self) -> bool:
        if self._file is None or is_at(self._file, self._path):
            return False
        self._door = self._bound_by_name()
        self._doors.append(self._door)
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._admit, self._door)
        else:
            self._ring()  # who waits for the first to come looks at the old one
        return True

    def is_at(self, settings: Settings) -> bool:
        here = self._settings
        is_same = all(getattr(here, key) == getattr(settings, key) for key in _PLACE)
        return is_same and bool(here.tls_cert) == bool(settings.tls_cert)

    def renew(self, settings: Settings) -> None:
        self._settings = settings
        if self._app is not None:
            self._app.rates.each_second = settings.http_rate
        if settings.tls_cert:
            from postroom.daemon import tls  # noqa: PLC0415 - it loads what TLS needs

            for one in self._servers:
                if one.config.is_ssl and one.config.ssl is not None:
                    tls.load(one.config.ssl, settings)

    def link(self, person: str) -> str:
        self._ring()
        self._begun.wait(_PATIENCE)
        if not self.url and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_PATIENCE)
        if not self.url or self._desk is None:
            return ""
        return f"{self.url}/login?once={self._desk.links.make(person)}"

    def stop(self) -> None:
        self._ends = True
        self._ring()
        if (loop := self._loop) is not None:
            for server in self._servers:
                loop.call_soon_threadsafe(server.end)
        self._thread.join()
        if self._desk is not None:
            self._desk.pool.shutdown(wait=True, cancel_futures=True)  # what is being written is finished
        for link in (*self._doors, self._port, self._button, self._gong):
            if link is not None:
                link.close()
        self._remove()

    def _ring(self) -> None:
        try:
            self._button.send(b"!", socket.MSG_DONTWAIT)
        except OSError:  # it has been rung often enough
            pass

    def _run(self) -> None:
        try:
            poll = select.poll()
            for link in filter(None, (self._door, self._port, self._gong)):
                poll.register(link, select.POLLIN)
            poll.poll()
            if not self._ends:
                asyncio.run(self._serve())
        except Exception as exc:  # it must not take the daemon with it
            self.url, self.problem = "", f"{type(exc).__name__}: {exc}"
            log.fail("web failed", error=exc)
        finally:
            self._loop = None
            self._begun.set()

    async def _serve(self) -> None:
        from postroom.daemon.tools import Agency  # noqa: PLC0415 - only where it serves
        from postroom.server.app import application  # noqa: PLC0415
        from postroom.server.desk import Desk  # noqa: PLC0415
        from postroom.server.guard import Premises  # noqa: PLC0415

        settings = self._settings
        bridged = Bridged(self._daemon.home, self._daemon.do)
        self._desk = Desk(self._daemon.room, bridged)
        self._desk.look = bridged.look
        self._desk.noted = self._daemon.spans.note if self._daemon.spans else None
        hosts = None if settings.tls_cert else Premises._field_defaults["hosts"]
        premises = Premises(f"postroom_{settings.http_port}", hosts, settings.http_rate)
        self._app = application(self._desk, premises, Agency(self._desk).routes)
        self._loop = asyncio.get_running_loop()
        _spare()
        self._admit(self._door)
        if self._port is not None:
            self._admit(self._port, secured=True)
        self._begun.set()
        if self._ends:  # which was said while this was loaded
            for server in self._servers:
                server.end()
        while pending := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(pending)
        await self._desk.end()

    def _admit(self, door: socket.socket, *, secured: bool = False) -> None:
        from postroom.server.line import server  # noqa: PLC0415 - only where it serves

        keys = {"cert": self._settings.tls_cert, "key": self._settings.tls_key} if secured else {}
        one = server(self._app, **keys)
        self._servers.append(one)
        self._tasks.append(asyncio.get_running_loop().create_task(one.serve([door])))

    async def _listen(self) -> None:
        """The port was taken before, and may be free now."""
        self._bind()
        if self._port is not None:
            self._admit(self._port, secured=True)

    def _bind(self) -> None:
        """Have the port, if that is free, and the certificate is one."""
        settings = self._settings
        try:
            if settings.tls_cert:
                from postroom.daemon.tls import check  # noqa: PLC0415 - it loads what TLS needs

                check(settings)
            self._port = self._bound()
        except (OSError, PostroomError) as exc:
            self.problem = str(exc)
            log.warn("page not served", port=settings.http_port, error=self.problem)
            return
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
            if self._file is not None and is_at(self._file, self._path):
                os.unlink(self._path)
        except OSError:
            pass
