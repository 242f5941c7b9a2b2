"""`postroom mcp`."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.mcp_server.shim import Shim

HELP = """\
The mailbox as tools of the agent's own: an MCP server over standard input and output, for clients that want a
command. It passes everything on to the daemon, which it starts if none runs, and again if that ends; where
there can be none, it serves by itself. Who calls is known by the agent's process or by POSTROOM_TOKEN; an
agent that is new here is given a name (or that of POSTROOM_AGENT). Over HTTP the same tools are at /mcp."""
EXAMPLES = """\
  claude mcp add postroom -- postroom mcp
  codex mcp add postroom -- postroom mcp
  postroom mcp --no-daemon"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--no-daemon", action="store_true", help="serve by this process alone")
    parser.set_defaults(tried=None)  # a shim that has heard the client, and why it got to no daemon


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.no_daemon:
        return _alone(args, context, b"", set())
    from postroom.cli import lines
    from postroom.home import ELSEWHERE, named
    from postroom.mcp_server.link import Refusal

    home = named(args.home)
    is_elsewhere = home.startswith(ELSEWHERE)
    if args.tried is None:
        connect = lines.elsewhere if is_elsewhere else lines.daemon
        shim = lines.shim(lambda: connect(home), args.caller or "", args.project or "")
        why = lines.pass_on(shim)
    else:
        tried: tuple[Shim, Exception] = args.tried
        shim, why = tried
    if why is None:
        return 0
    if is_elsewhere:
        raise why
    words = f" ({why})" if isinstance(why, Refusal) else ""
    context.note(f"no daemon serves this{words}, so it is done without; see: postroom status")
    heard, given = shim.heard()
    return _alone(args, context, heard, given)


def _alone(args: "argparse.Namespace", context: "Context", heard: bytes, given: "set[Any]") -> int:
    from postroom.mcp_server.alone import serve

    serve(context.room(create=True), args.project or os.environ.get("POSTROOM_PROJECT", ""), heard, given)
    return 0
