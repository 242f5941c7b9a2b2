"""A program that reads lines and prints lines. Mail goes in as one line of JSON, which it may answer to.

    {"type": "mail", "id": "1", "text": "…"}       what it reads
    {"type": "command", "text": "…"}               an operator's own words, to which it need not answer
    {"postroom": "seen", "id": "1"}                what it may print, and what proves it

Without an `id` the oldest one is meant that has not been seen.
"""

import json
from typing import Any

from postroom.bridges.contract import (
    Assent,
    Berth,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Kind,
    Launch,
    Observation,
    Result,
    Text,
)
from postroom.bridges.process import nursery
from postroom.bridges.process.line import Cut
from postroom.bridges.process.piped import Piped
from postroom.clock import wall
from postroom.model.ladder import Evidence
from postroom.text import encode

NAME = "lines"
ABOUT = "a program that reads its mail as lines of JSON on its input"
CAPABILITIES = Capabilities(output=True, busy=True, proves=(Evidence.RUNTIME_ACK,), owned=True)
BY_CALLER = False


def start(launch: Launch) -> Berth:
    with nursery.reserved(launch):
        return nursery.keep(launch, Lines(launch))


def open(berth: Berth) -> "Lines":
    return nursery.find(berth, Lines)


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there; of a child that was closed nothing is left."""
    nursery.end(berth)


class Lines(Piped):
    """A bridge to such a program."""

    name = NAME

    def __init__(self, launch: Launch) -> None:
        self._unseen: list[str] = []  # ids, the oldest first
        self._count = 0
        super().__init__(launch)

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def observe(self) -> Observation:
        if self.is_gone:
            return Observation(Doing.GONE, "its process has ended", "offline", at=wall())
        return Observation(Doing.UNKNOWN, "it runs, and does not say what it does", at=wall())

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        if text.kind is not Kind.COMMAND:
            return self._mail(text.text, assent)
        return self._hand(encode({"type": "command", "text": text.text.strip("\r\n")}), assent)

    def _mail(self, text: str, assent: Assent) -> Delivered:
        with self._changed:
            self._count += 1
            number = str(self._count)
            self._unseen.append(number)  # before it can be seen
        delivered = None
        try:
            delivered = self._hand(encode({"type": "mail", "id": number, "text": text}), assent)
            return delivered
        finally:
            if delivered is None or delivered.result is Result.REFUSED:  # nobody will see it
                with self._changed:
                    self._unseen.remove(number)

    def _meant(self, stream: str, line: Cut) -> tuple[Heard | None, str]:
        seen = _seen(line.text) if stream == "output" else None
        if seen is None:
            return super()._meant(stream, line)
        taken = seen or (self._unseen[0] if self._unseen else "")
        proves = taken in self._unseen
        self._unseen = [number for number in self._unseen if number != taken]
        proof = Evidence.RUNTIME_ACK if proves and not self._unseen else None
        return Heard(line.text, "event", proof), ""

    def interrupt(self) -> Interrupted:
        return Interrupted(False, "nothing was done: a program that reads lines has no word for it")


def _seen(line: str) -> str | None:
    """The id in a line that says so; empty if it names none."""
    if not line.startswith("{"):
        return None
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return str(said.get("id") or "") if said.get("postroom") == "seen" else None
