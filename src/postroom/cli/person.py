"""A person at a terminal who has said no name: the login name is one there. Elsewhere one has to be said."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Agent


def claim(context: "Context") -> None:
    """Have the calls made for whoever sits here, unless a name was said, or evidence tells who calls.

    For commands that need the name itself; the room asks for it wherever a call needs one.
    """
    from postroom.room.directory import evident

    room = context.room()
    if room.agent or evident(room.store.look(), None, room.scope):
        return
    if who := sitting():
        room.claim(who)


def writer(context: "Context") -> "Agent":
    """In whose name mail goes out; somebody new is given an address, which is said."""
    from postroom.room.directory import caller_or_new

    room = context.room()
    with room.write() as tx:
        found = caller_or_new(tx, room.agent, room.scope)
    greet(context)
    return found


def greet(context: "Context") -> None:
    """Say that somebody was given an address because they wrote; nothing where nobody was."""
    if newcomer := context.room().scope.newcomer:
        context.note(f"{newcomer} is new here: it has an address now, and gets the answers")


def sitting() -> str:
    """Who sits at this terminal, and runs this with no agent around; empty where nobody does."""
    from postroom.room.identity import is_at_terminal

    streams = (sys.stdin, sys.stdout, sys.stderr)  # words may come by a pipe, and data go into one
    is_seen = any(stream is not None and stream.isatty() for stream in streams)
    return login() if is_seen and is_at_terminal() else ""


def login() -> str:
    """The address of whoever is logged in; empty where their name is none here: then it has to be said."""
    import getpass

    from postroom.errors import InvalidAddress
    from postroom.room.directory import personal

    try:
        return str(personal(f"human:{getpass.getuser()}"))
    except (KeyError, OSError, InvalidAddress):
        return ""
