"""The panes of tmux in which agents may run, for commands that adopt them and let go of them."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.tmux.candidate import Candidate
    from postroom.bridges.tmux.server import Server
    from postroom.cli.context import Context


def server(args: "argparse.Namespace") -> "Server":
    from postroom.bridges.tmux.server import Server, own_socket

    return Server(os.path.abspath(args.socket) if args.socket else own_socket())


def candidates(args: "argparse.Namespace", context: "Context") -> "list[Candidate]":
    """Every pane with a program."""
    from postroom.bridges.roster import programs
    from postroom.bridges.tmux import candidate

    return candidate.candidates(server(args), programs(context.room().declared.profiles))


def named(word: str, found: "list[Candidate]", args: "argparse.Namespace") -> "Candidate":
    """The pane that somebody names: by the name that it bears, or as tmux does.

    A name that several bear is nobody's: each pane says itself what it is called.
    """
    from postroom.bridges.tmux.place import find, is_pane
    from postroom.errors import NotFound, Refused

    bear = (
        [] if is_pane(word) else [one for one in found if word in (one.label, one.label.rpartition("/")[2])]
    )
    if len(bear) > 1:
        panes = ", ".join(f"{one.target.id} ({one.place})" for one in bear)
        raise Refused(f"{len(bear)} panes say that they are {word}", hint=f"Name one: {panes}", pane=word)
    if bear:
        return bear[0]
    place = find(word, server(args))
    for one in found:
        if one.target.id == place.target.id:
            return one
    raise NotFound(f"nothing runs in {place.name} any more", hint="See what does: postroom adopt", pane=word)


def is_own(one: "Candidate") -> bool:
    """Whether this command runs there."""
    from postroom.bridges.tmux.server import own_socket

    return os.environ.get("TMUX_PANE") == one.target.id and own_socket() == one.target.socket
