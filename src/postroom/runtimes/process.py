"""What must be known of a runtime's processes, by who wakes a session or asks who started it.

Apart from the contract, because a hook that shows mail needs none of it.
"""

from collections.abc import Callable
from typing import NamedTuple


class Daemon(NamedTuple):
    """A server of a runtime's own, which hosts the sessions of all its terminals and outlives them."""

    word: str  # in its command line
    home_env: str  # the variable, besides HOME, by which a terminal finds its server
    shows: Callable[[list[str], str], str]  # where a process of the runtime works, by its command line and
    # directory; empty: it is no terminal


class Sleeper(NamedTuple):
    """An idle session that is to be woken, and its process as the machine knows it."""

    session: str  # the runtime's own id
    transcript: str
    program: str  # where the waker finds the runtime's program
    command: list[str]  # with which the session was started
    env: dict[str, str]  # the waker's own
    cwd: str
    socket: str = ""  # its own, if it has one and that is to be used


class Call(NamedTuple):
    """How to wake an idle session: a command to run, or a line for a file or a socket that it reads."""

    command: list[str]
    env: dict[str, str]
    path: str = ""
    line: str = ""
    is_socket: bool = False
