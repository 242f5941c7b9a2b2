"""A person at a terminal who has said no name: the login name is one there. A script has to say who it is."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Agent


def claim(context: "Context") -> None:
    """Whoever sits here is `human:LOGIN`, unless a name was said, or evidence tells who calls."""
    from postroom.room.directory import evident

    room = context.room()
    if room.agent or not is_at_terminal() or evident(room.store.look(), None, room.scope):
        return
    if who := login():
        room.claim(who)


def writer(context: "Context") -> "Agent":
    """In whose name mail goes out; somebody new is given an address, which is said."""
    from postroom.room.directory import caller_or_new

    room = context.room()
    claim(context)
    with room.write() as tx:
        found = caller_or_new(tx, room.agent, room.scope)
    greet(context)
    return found


def greet(context: "Context") -> None:
    """Say that somebody was given an address because they wrote; nothing where nobody was."""
    if newcomer := context.room().scope.newcomer:
        context.note(f"{newcomer} is new here: it has an address now, and gets the answers")


def is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def login() -> str:
    """The address of whoever is logged in; empty where their name is none here: then it has to be said."""
    import getpass

    from postroom.errors import InvalidAddress
    from postroom.room.directory import personal

    try:
        return str(personal(f"human:{getpass.getuser()}"))
    except (KeyError, OSError, InvalidAddress):
        return ""
