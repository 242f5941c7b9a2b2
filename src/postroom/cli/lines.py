"""Where `postroom mcp` connects: to the room's daemon, which may have to be started, or to one elsewhere."""

import os

from postroom.home import ELSEWHERE, beside, named
from postroom.mcp_server.link import Refusal
from postroom.mcp_server.shim import Shim

TYPE_CHECKING = False  # what `typing` takes to load is felt
if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.mcp_server.link import Link

_PATIENCE, _PAUSE = 15.0, 0.05  # seconds for a daemon's web server to begin
_SHORT = 80  # characters of a path that surely fits a socket's address


def attempt() -> "Shim | None":
    """One for a daemon that runs here already; None where there is none."""
    home = named()
    if home.startswith(ELSEWHERE):
        return None
    try:
        first = [_local(beside(home, "http.sock"))]
    except OSError:
        return None
    return shim(lambda: first.pop() if first else daemon(home))


def pass_on(shim: Shim) -> Exception | None:
    """Until the client has said its last; or why there is no daemon for it."""
    try:
        is_open = shim.begin()
    except BrokenPipeError:
        raise  # the client does not listen
    except Exception as exc:
        return exc
    if is_open:
        shim.run()
    return None


def shim(connect: "Callable[[], Link]", caller: str = "", project: str = "") -> Shim:
    """One that says of itself what this process knows of who calls."""
    found = os.environ.get
    said = {
        "cwd": os.getcwd(), "name": found("POSTROOM_AGENT", ""),
        "project": project or found("POSTROOM_PROJECT", ""),
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {token}"} if (token := found("POSTROOM_TOKEN")) else {}
    if caller:
        headers["Postroom-Agent"] = caller
    return Shim(connect, {name: value for name, value in said.items() if value}, headers)


def daemon(home: str) -> "Link":
    """A connection to the room's daemon, which is started where there is none."""
    import time

    path = beside(home, "http.sock")
    until = 0.0
    while True:
        try:
            return _local(path)
        except OSError:
            if until and time.monotonic() > until:
                raise
        if not until:
            _start(home)
            until = time.monotonic() + _PATIENCE
        time.sleep(_PAUSE)


def _start(home: str) -> None:
    from postroom.config import load
    from postroom.daemon.instance import ensure

    if not load(home)[0].http_port:
        raise Refusal("http_port is 0")
    ensure(home)


def _local(path: str) -> "Link":
    import _socket  # what `socket` wraps, at a tenth of its cost to a start

    family = getattr(_socket, "AF_UNIX", None)
    if family is None:
        raise OSError("this system has no Unix sockets")
    link = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        if len(path) < _SHORT:
            link.connect(path)
        else:
            from postroom.daemon.control import short

            with short(path) as name:
                link.connect(name)
    except OSError:
        link.close()
        raise
    return link


def elsewhere(address: str) -> "Link":
    """A connection to a daemon at an address."""
    import socket
    from urllib.parse import urlsplit

    found = urlsplit(address)
    if found.scheme == "unix":
        return _local(found.path)
    is_safe = found.scheme == "https"
    link = socket.create_connection((found.hostname or "", found.port or (443 if is_safe else 80)), _PATIENCE)
    if is_safe:
        import ssl

        link = ssl.create_default_context().wrap_socket(link, server_hostname=found.hostname)
    return link
