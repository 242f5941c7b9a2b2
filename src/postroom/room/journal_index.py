"""Which file is whose journal: `events/index.json`, from an agent's id to its file, `<project>/<name>.jsonl`.

A file has the name that its agent had when it began, and keeps it. Two agents that bear one name after the
other have two files: the second one's is `<name>~2.jsonl`. The index is written before the first line of a
file. It can be lost: each line says whose it is. What stands in it is looked at like any other input: one
that names no journal, or one file twice, counts as lost.

Whoever adds to it holds the room's write lock.
"""

import contextlib
import json
import os
from typing import TYPE_CHECKING, cast

from postroom import label
from postroom.errors import JournalBroken
from postroom.room import file, filename, line, segment
from postroom.room.segment import ROOM, Segment

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx

_ENDING = ".jsonl"
_MOST = 1 << 26  # bytes


class Index:
    """The index of one room's journals as it is now."""

    def __init__(self, events: str) -> None:
        self._events = events
        found = _read(events)
        self._has_changed = found is None
        self._stems = _from_lines(events) if found is None else found

    def stem(self, party: str) -> str:
        """Give what an agent's files are named by. Earlier versions named them by its id."""
        if not segment.is_id(party):
            return ROOM
        return self._stems.get(party) or _flat(party)

    def began(self, tx: "ReadTx", party: str, joined: tuple[str, str] | None = None) -> str:
        """The same, where its journal is to be written to: one that has none yet gets it. Then `save`.

        `joined`: the project and the name with which it joined, if that is known. They count when it is gone.
        """
        if segment.is_id(party) and party not in self._stems:
            agent = tx.agent(party)
            if name := joined if agent is None else (agent.project, agent.name):
                self._stems[party] = self._free(party, *name)
                self._has_changed = True
        return self.stem(party)

    def _free(self, party: str, project: str, name: str) -> str:
        wanted, taken = f"{filename.escape(project)}/{filename.escape(name)}", set(self._stems.values())
        stem, n = wanted, 1
        while stem in taken or _owner(segment.of(self._events, stem), party) != party:
            n += 1
            stem = filename.numbered(wanted, n)
        return stem

    def owner(self, stem: str, files: list[Segment]) -> str:
        """Tell whose journal it is; an empty text where that is not known."""
        if "/" not in stem:
            return stem
        return next((party for party, its in self._stems.items() if its == stem), "") or _owner(files)

    def every(self, party: str) -> list[str]:
        """All stems under which an agent's journal can be, the one it goes on under last."""
        stem, found = self.stem(party), segment.listed(self._events)
        others = (one for one in found if one != stem)
        return [*(one for one in others if one == party or _owner(found[one]) == party), stem]

    def forget(self, stems: set[str]) -> None:
        """Leave out journals of which there is no file."""
        gone = [party for party, stem in self._stems.items() if stem not in stems]
        for party in gone:
            del self._stems[party]
        self._has_changed |= bool(gone)
        self.save()

    def again(self) -> None:
        """Go by what the lines say; of the rest, keep what they do not contradict."""
        told = _from_lines(self._events)
        known, taken = self._stems, set(told.values())
        kept = {party: stem for party, stem in known.items() if party not in told and stem not in taken}
        self._stems, self._has_changed = {**kept, **told}, True

    def save(self) -> None:
        """Write it, where it is not what the file says."""
        if not self._has_changed:
            return
        if os.path.isdir(where := path(self._events)):
            hint = "Move it away, and write the journals: postroom journal"
            raise JournalBroken(f"{where} is a directory", path=where, hint=hint)
        label.here("journal-before-index")
        made = file.temporary(path(self._events))
        try:
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
                opened.write(encoded(self._stems))
            os.replace(made, path(self._events))
        finally:
            file.remove(made)
        self._has_changed = False
        label.here("journal-after-index")


def path(events: str) -> str:
    return os.path.join(events, "index.json")


def encoded(stems: dict[str, str]) -> bytes:
    files = {party: f"{stem}{_ENDING}" for party, stem in sorted(stems.items())}
    return json.dumps(files, indent=0).encode() + b"\n"


def _flat(party: str) -> str:
    return party if segment.is_stem(party) else ROOM


def _read(events: str) -> dict[str, str] | None:
    """Read the index; None where there is none that can be believed."""
    try:
        with segment.opened(path(events)) as opened:
            return decoded(opened.read(_MOST))
    except (OSError, JournalBroken, ValueError, RecursionError):
        return None


def decoded(text: bytes) -> dict[str, str]:
    """Read an index; `ValueError` where it is not one, or names what is not a journal of one agent."""
    found: object = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("not an index")
    files = cast("dict[str, object]", found)
    stems = {party: _stem(party, name) for party, name in files.items()}
    if len(set(stems.values())) < len(stems):
        raise ValueError("two agents have one file")
    return stems


def _stem(party: str, name: object) -> str:
    stem = name.removesuffix(_ENDING) if isinstance(name, str) and name.endswith(_ENDING) else ""
    if not segment.is_id(party) or "/" not in stem or not segment.is_stem(stem):
        raise ValueError(f"{name!r} is not a journal"[:200])
    return stem


def _from_lines(events: str) -> dict[str, str]:
    """The latest file that each agent has a line in."""
    latest: dict[str, tuple[int, str]] = {}
    for stem, files in segment.listed(events).items():
        if "/" in stem and (party := _owner(files)):
            last = max(_end(files[-1]), *(one.last for one in files))
            latest[party] = max(latest.get(party, (0, "")), (last, stem))
    return {party: stem for party, (_, stem) in latest.items()}


def _end(last: Segment) -> int:
    """The number of the first event of an open file: all before it is closed, so it tells which is later."""
    if not last.is_open:
        return 0
    for _, text in segment.lines(last):
        with contextlib.suppress(ValueError):
            return line.number(text)
    return 0


def _owner(files: list[Segment], empty: str = "") -> str:
    """Tell whose the first event is; `empty` where there is no file."""
    for found in files:
        for _, text in segment.lines(found):
            if line.rewinds_to(text) is None:
                return line.owner(text) or ""
    return "" if files else empty
