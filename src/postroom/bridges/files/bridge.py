"""An agent that reads and writes nothing but files. It may run anywhere; one that we start is our child, and
finds the path of its mailbox in POSTROOM_MAILBOX.

The daemon carries its mail both ways (`carrier.py`). What this bridge is handed by itself it leaves in the
inbox, too, as letters of the room.
"""

import json
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
from postroom.bridges.files.shelf import Folder, Shelf
from postroom.bridges.process import nursery
from postroom.bridges.process.piped import Piped
from postroom.clock import iso, wall
from postroom.errors import BridgeError
from postroom.model.ids import uuid7
from postroom.model.ladder import Evidence
from postroom.model.message import Json

NAME = ROUTE
ABOUT = "an agent that reads its mail from files, in a container or anywhere else"
CAPABILITIES = Capabilities(output=True, busy=True, proves=(Evidence.AGENT,), owned=True, mailbox=True)
BY_CALLER = False
_MOST = 100  # of what this bridge was handed, unread


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
        self._handed: list[str] = []  # files, the oldest first
        self._count = 0

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
        if self._is_gone:
            return Delivered(Result.REFUSED, "offline", words="its process has ended")
        if len(self._left()) >= _MOST:
            return Delivered(Result.REFUSED, "busy", words="it does not read what lies in its inbox")
        if not assent.holds():
            return Delivered(Result.REFUSED, "busy", words="somebody else was quicker")
        assent.begun()
        self._count += 1
        name = f"2-{wall():014d}{self._count:06d}.json"
        try:
            self.shelf.write(Folder.INBOX, name, _letter(text.text))
        except (BridgeError, FileNotFoundError) as exc:
            return Delivered(Result.REFUSED, "offline", words=f"it could not be written: {exc}")
        self._handed.append(name)
        return Delivered(Result.HANDED, words="it was put into its inbox")

    def _left(self) -> list[str]:
        """What still lies there. If all of it is gone with its inbox, nobody need have read it."""
        try:
            names = set(self.shelf.names(Folder.INBOX))
        except (BridgeError, FileNotFoundError):
            return self._handed
        return [name for name in self._handed if name in names]

    def attend(self, ring: Callable[[], None]) -> None:
        """For what a program prints; what becomes of its mail the carrier notices by itself."""
        if self._program is not None:
            self._program.attend(ring)

    def receive(self) -> list[Heard]:
        heard = self._program.receive() if self._program is not None else []
        if self._handed and not self._left():
            self._handed.clear()
            heard.append(Heard(proves=Evidence.AGENT))
        return heard

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


def _letter(text: str) -> bytes:
    letter: Json = {
        "id": uuid7(), "from": "postroom", "to": "", "timestamp": iso(wall()), "type": "system",
        "priority": "normal", "payload": {"text": text}, "requiresAck": False, "replyTo": None,
    }  # fmt: skip
    return json.dumps(letter, ensure_ascii=False, indent=1).encode(errors="replace")
