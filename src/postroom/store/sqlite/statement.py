"""The named statements of `sql/*.sql`. SQL exists only there: code names it, never writes it."""

import os
from typing import LiteralString, cast

_HERE = os.path.join(os.path.dirname(__file__), "sql")

# Where a delivery lies in its mailbox. Below HELD is what waits, in the order in which it will be offered:
# priority times two, and one more until it is first offered. The CHECK of the table agrees, as a test proves.
HELD = 8  # until its time
OFFERED = 9
DONE = 10  # seen, or ended in another way than dead
DEAD = 11
TAKEN = 12  # held because a program has it for another: when that is gone, it comes free
KEPT = 13  # held because another has it without one

_PLACES = {
    "{waiting}": f"< {HELD}",
    "{unread}": f"<= {HELD}",
    "{unheld}": f"IN ({', '.join(str(place) for place in range(KEPT + 1) if place != HELD)})",
    "{held}": f"{HELD}",
    "{offered}": f"{OFFERED}",
    "{done}": f"{DONE}",
    "{dead}": f"{DEAD}",
    "{taken}": f"{TAKEN}",
    "{kept}": f"{KEPT}",
    "{is_held}": f"(d.place = {HELD} OR d.place >= {TAKEN})",
    "{anywhere}": f"IN ({', '.join(map(str, range(KEPT + 1)))})",
}


class Statements(dict[str, LiteralString]):
    """Statements by name. Each is put together when it is first asked for: few commands need many.

    `{name}` in one stands for a fragment of its file, or for the places of that name.
    """

    def __init__(self, *aggregates: str) -> None:
        super().__init__()
        self._raw: dict[str, str] = {}
        self._fragments: dict[str, str] = {}
        for aggregate in aggregates:
            with open(os.path.join(_HERE, aggregate + ".sql"), encoding="utf-8") as file:
                head, *blocks = file.read().split("-- name: ")
            for fragment in head.split("-- fragment: ")[1:]:
                name, _, text = fragment.partition("\n")
                self._fragments["{" + name + "}"] = text.strip()
            for block in blocks:
                name, _, text = block.partition("\n")
                self._raw[name] = text

    def __missing__(self, name: str) -> LiteralString:
        text = self._raw[name].strip()
        if "{" in text:
            for fragment, columns in (*self._fragments.items(), *_PLACES.items()):
                text = text.replace(fragment, columns)
        self[name] = cast("LiteralString", text)
        return self[name]

    def names(self) -> list[str]:
        return list(self._raw)
