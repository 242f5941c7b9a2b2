"""An agent that reads and writes nothing but files. It may run anywhere; one that we start is our child, and
finds the path of its mailbox in POSTROOM_MAILBOX.

Its mail is carried both ways, as letters (`carrier.py`): a bridge is only what finds the shelf for that, and
keeps the program, if there is one.
"""

import os
from collections.abc import Callable
from contextlib import closing

from postroom.bridges.contract import (
    Assent,
    Attachable,
    Berth,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Result,
    Text,
)
from postroom.bridges.files import place as places
from postroom.bridges.files.box import ROUTE
from postroom.bridges.files.carrier import Carrier
from postroom.bridges.files.shelf import Shelf
from postroom.bridges.process import nursery
from postroom.bridges.process.piped import Piped
from postroom.clock import wall
from postroom.model.ladder import Evidence
from postroom.model.message import Json
from postroom.room.local import LocalRoom

NAME = ROUTE
ABOUT = "an agent that reads its mail from files, in a container or anywhere else"
CAPABILITIES = Capabilities(output=True, busy=True, proves=(Evidence.AGENT,), owned=True, mailbox=True)
BY_CALLER = False


class Program(Piped):
    """A child. Nothing is written to its input."""

    name = NAME


def start(launch: Launch) -> Berth:
    """Make a mailbox, in the directory of the program if none was said; and start the program, if any."""
    nursery.refuse_second(launch)
    details = _located(launch)
    with closing(places.shelf(details["tree"], details["folder"])) as shelf:
        shelf.make()
    if not launch.command:
        return Berth(launch.agent, launch.address, "", details=details)
    env = {**launch.env, "POSTROOM_MAILBOX": str(details["place"])}
    launch = launch._replace(env=env, details=details)
    return nursery.keep(launch, Program(launch))


def _located(launch: Launch) -> Json:
    tree = str(launch.details.get("tree") or os.path.join(launch.cwd, "mailboxes"))
    folder = str(launch.details.get("folder") or launch.address.rpartition("/")[2])
    if "://" not in tree:
        os.makedirs(tree, 0o700, exist_ok=True)
    return {**launch.details, "tree": tree, "folder": folder, "place": f"{tree.rstrip('/')}/{folder}"}


def open(berth: Berth) -> "Files":
    program = nursery.find(berth, Program) if berth.process else None
    return Files(places.shelf(str(berth.details["tree"]), str(berth.details["folder"])), program)


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there. The files stay."""
    if berth.process:
        nursery.end(berth)


class Files:
    """A bridge to such an agent."""

    name = NAME

    def __init__(self, shelf: Shelf, program: Program | None) -> None:
        self.shelf = shelf
        self._program = program

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def setup(self) -> None:
        self.shelf.make()

    def observe(self) -> Observation:
        if self._is_gone:
            return Observation(Doing.GONE, "its process has ended", "offline", at=wall())
        return Observation(Doing.UNKNOWN, "its mailbox is there, and does not say what it does", at=wall())

    @property
    def _is_gone(self) -> bool:
        return self._program is not None and self._program.is_gone

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        """Nothing is handed over by this bridge: its mail is carried."""
        return Delivered(Result.REFUSED, words="its mail is carried, as letters")

    def attend(self, ring: Callable[[], None]) -> None:
        """For what a program prints; what becomes of its mail the carrier notices by itself."""
        if self._program is not None:
            self._program.attend(ring)

    def carrier(self, room: LocalRoom, agent: str) -> Carrier:
        return Carrier(room, agent, self.shelf, self.receive)

    def receive(self) -> list[Heard]:
        return self._program.receive() if self._program is not None else []

    def interrupt(self) -> Interrupted:
        return Interrupted(False, "nothing was done: there is no word for it in a mailbox")

    def answer(self, question: str, option: str) -> bool:
        """It asks by letters, if it does."""
        return False

    def screen(self, lines: int = 0) -> str:
        return "" if self._program is None else self._program.screen(lines)

    def terminal(self) -> Attachable | None:
        """It has none."""
        return None

    def close(self) -> None:
        self.shelf.close()
        if self._program is not None:
            self._program.close()
