"""`postroom dashboard`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent

HELP = """\
The page on which you see and steer every agent: who works, who is stuck and why, what was said and what
waits. Starts the daemon if none runs, prints a link that logs a browser in once, within a minute, and opens
it. The browser stays logged in for 30 days, or until `--forget`. It is served at this machine alone, at port
7678 (the setting http_port). Of a room elsewhere it is the page there, for a person's token."""
EXAMPLES = """\
  postroom dashboard
  postroom dashboard --no-open   # elsewhere, by: ssh -L 7678:localhost:7678
  postroom dashboard --forget"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--no-open", action="store_true", help="print the link, and open no browser")
    parser.add_argument("--forget", action="store_true", help="log every browser out")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room.authority import person

    if (distant := context.elsewhere) and not args.forget:
        said = distant.call("link")
        return _give(f"{distant.url}{said['path']}", said["person"], args, context)
    room = context.room(create=True)
    by = person(room, "open the page")
    if args.forget:
        return _forget(context)
    from postroom.cli.daemon import start, warn_of_port
    from postroom.daemon.control import ask

    start(context)
    warn_of_port(ask(room.home, "ping").get("web") or {}, context)
    whose = _person(by.name, context)
    return _give(str(ask(room.home, "page", person=whose.id)["url"]), whose.address, args, context)


def _give(url: str, person: str, args: "argparse.Namespace", context: "Context") -> int:
    opened = not args.no_open and not context.json and _open(url)
    if context.json:
        context.put_json({"url": url, "person": person})
    else:
        context.put(f"{url}\n")
        how = "Opened in your browser" if opened else "Open it in a browser"
        context.note(f"{how}, as {person}. The link works once, for a minute.")
    return 0


def _person(name: str, context: "Context") -> "Agent":
    """Who looks, given an address if need be: what is sent from the page is theirs."""
    from postroom.cli.person import claim, greet, login
    from postroom.errors import NoIdentity
    from postroom.room.directory import caller_or_new

    room = context.room()
    claim(context)
    who = room.agent or (name if name.startswith("human:") else login())
    if not who:
        raise NoIdentity
    with room.write() as tx:
        found = caller_or_new(tx, who, room.scope)
    greet(context)
    return found


def _forget(context: "Context") -> int:
    from postroom.cli.output import count
    from postroom.server.login import forget

    ended = forget(context.room().home)
    if context.json:
        context.put_json({"forgotten": ended})
    else:
        context.put(f"{count(ended, 'browser')} logged out\n")
    return 0


def _open(url: str) -> bool:
    """Whether a browser took it; none is tried where there is no screen for one."""
    import os
    import sys

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    import webbrowser

    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
