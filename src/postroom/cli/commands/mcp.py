"""`postroom mcp`."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    import socket

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

HELP = """\
The mailbox as tools of the agent's own: an MCP server over standard input and output, for clients that want a
command. It passes everything on to the daemon, which it starts if none runs, and again if that ends; where
there can be none, it serves by itself. Who calls is known by the agent's process or by POSTROOM_TOKEN; an
agent that is new here is given a name (or that of POSTROOM_AGENT). Over HTTP the same tools are at /mcp."""
EXAMPLES = """\
  claude mcp add postroom -- postroom mcp
  codex mcp add postroom -- postroom mcp
  postroom mcp --no-daemon"""


_PATIENCE, _PAUSE = 15.0, 0.05  # seconds for a daemon's web server to begin
_SHORT = 80  # a path that surely fits a socket's address


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--no-daemon", action="store_true", help="serve by this process alone")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.no_daemon:
        return _alone(args, context)
    from postroom.mcp_server.shim import Refusal, Shim

    found = os.environ.get
    said = {
        "cwd": os.getcwd(), "name": found("POSTROOM_AGENT", ""),
        "project": args.project or found("POSTROOM_PROJECT", ""),
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {token}"} if (token := found("POSTROOM_TOKEN")) else {}
    if args.caller:
        headers["Postroom-Agent"] = args.caller
    address = args.home or found("POSTROOM_HOME", "")
    is_elsewhere = address.startswith(("http://", "https://", "unix://"))
    shim = Shim(
        lambda: _elsewhere(address) if is_elsewhere else _daemon(args.home),
        {name: value for name, value in said.items() if value}, headers,
    )  # fmt: skip
    try:
        shim.open()
    except Exception as exc:
        if is_elsewhere:
            raise
        if isinstance(exc, Refusal):
            context.note(f"the daemon does not serve this ({exc}), so it is done without; see: postroom status")
        return _alone(args, context)
    shim.run()
    return 0


def _daemon(home: str | None) -> "socket.socket":
    """A connection to the room's daemon, which is started where there is none."""
    import socket
    import time

    from postroom import config

    where = config.home(home)
    path = config.beside(where, "http.sock")
    until = 0.0
    while True:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if len(path) < _SHORT:
                link.connect(path)
            else:
                from postroom.daemon.control import short

                with short(path) as name:
                    link.connect(name)
            return link
        except OSError:
            link.close()
            if until and time.monotonic() > until:
                raise
        if not until:
            from postroom.daemon.instance import ensure

            ensure(where)
            until = time.monotonic() + _PATIENCE
        time.sleep(_PAUSE)




def _elsewhere(address: str) -> "socket.socket":
    """A connection to a daemon at an address."""
    import socket
    from urllib.parse import urlsplit

    found = urlsplit(address)
    if found.scheme == "unix":
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.connect(found.path)
        return link
    is_safe = found.scheme == "https"
    link = socket.create_connection((found.hostname or "", found.port or (443 if is_safe else 80)), _PATIENCE)
    if is_safe:
        import ssl

        link = ssl.create_default_context().wrap_socket(link, server_hostname=found.hostname)
    return link


def _alone(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.mcp_server.alone import serve

    serve(context.room(create=True), args.project or os.environ.get("POSTROOM_PROJECT", ""))
    return 0
