"""What the journals have and the store has not: mail that was stored, and was lost with the store's file.

`find` only reads. Who writes the journals notes a loss in `_lost.json` when it voids lines, so that others
need not look for it. Who accepts a loss is told of it no more; the lines stay in the files.
"""

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from postroom.errors import JournalBroken, LossOpen
from postroom.model.ids import handle
from postroom.room import file, journal_lines, line, reserve, segment

if TYPE_CHECKING:
    from postroom.model.message import Json
    from postroom.room.local import LocalRoom
    from postroom.store.contract import Store

_BEGINNING = re.compile(rb'\{"seq":\d+,"id":"([^"\\]*)",')
_TYPE, _SENT = b',"type":"', b'message.sent"'  # no field before the type can hold an unescaped quote
_FEW, _TRIES = 5, 10
_NOTE, _ACCEPTED = "_lost.json", "_accepted.json"


class Loss(NamedTuple):
    """Events that the store has not, though the journals have them."""

    events: int
    messages: int
    first: int
    last: int
    handles: list[str]  # of the first messages
    voided: bool  # the journals have gone on without them

    @property
    def words(self) -> str:
        """As a sentence says it."""
        mail = f"{self.messages} {'message' if self.messages == 1 else 'messages'}"
        named = f" ({', '.join(self.handles)}{', …' if self.messages > len(self.handles) else ''})"
        events = f"{self.events} {'event' if self.events == 1 else 'events'} from {self.first} to {self.last}"
        return f"{events}, with {mail}{named if self.handles else ''}"

    @property
    def remedy(self) -> str:
        """The command that brings them back."""
        return f"postroom replay {'--voided ' if self.voided else ''}--into NEW_HOME"


class _Found:
    """What has been found of one kind."""

    def __init__(self) -> None:
        self.ids = dict[str, int]()
        self.messages = dict[str, int]()

    def add(self, seq: int, event_id: str, *, is_message: bool) -> None:
        self.ids[event_id] = seq
        if is_message:
            self.messages[event_id] = seq

    def loss(self, *, voided: bool) -> Loss | None:
        if not self.ids:
            return None
        first = sorted(self.messages, key=self.messages.__getitem__)[:_FEW]
        numbers = self.ids.values()
        return Loss(
            len(self.ids),
            len(self.messages),
            min(numbers),
            max(numbers),
            [handle(one) for one in first],
            voided,
        )


def find(events: str, store: "Store", *, accepted: bool = False) -> list[Loss]:
    """What is lost: what still counts in the journals, and what was voided. `accepted`: that, too."""
    found = _search(events, store, accepted=accepted)
    return [loss for loss in (one.loss(voided=void) for one, void in found) if loss]


def _search(events: str, store: "Store", *, accepted: bool) -> list[tuple[_Found, bool]]:
    """Search again where the journals were replaced meanwhile."""
    for _ in range(_TRIES):
        before = _identity(events)
        try:
            found = _searched(events, store, accepted=accepted)
        except segment.Moved:
            continue
        if found is not None and _identity(events) == before:
            return found
    raise segment.Moved(f"the journals in {events} were rewritten again and again", hint="Try again.")


def _identity(events: str) -> tuple[int, int] | None:
    try:
        about = os.stat(events)
    except FileNotFoundError:
        return None
    return about.st_dev, about.st_ino


def _searched(events: str, store: "Store", *, accepted: bool) -> list[tuple[_Found, bool]] | None:
    """None where the room was pruned meanwhile, or a file was rewritten.

    Each line is read before the store is asked for it: no line is written before its event is stored.
    """
    look, first = store.look(), store.whole().first()
    known = set[str]() if accepted else _accepted(events)
    ahead, void = _Found(), _Found()
    for found, is_void in journal_lines.Journals(events).every():
        if found.seq < first or line.is_removed(found.text):
            continue
        match = _BEGINNING.match(found.text)
        if match is None:
            raise journal_lines.broken(found, "not an event")
        event_id = match[1].decode()
        if event_id in known or _is_there(look, found.seq, event_id):
            continue
        start = found.text.index(_TYPE) + len(_TYPE)
        is_message = found.text.startswith(_SENT, start)
        (void if is_void else ahead).add(found.seq, event_id, is_message=is_message)
    return None if first != store.whole().first() else [(ahead, False), (void, True)]


def _is_there(look: Any, seq: int, event_id: str) -> bool:
    """Whether the store has an event, or has removed it with its message."""
    there = look.event_id(seq)
    return there == event_id or (there is None and seq <= int(look.last_cursor()))


def refuse(room: "LocalRoom") -> None:
    """Raise `LossOpen` where the journals have what the store has lost, until that is accepted.

    Call it before anything is deleted: what is deleted cannot be brought back.
    """
    events = os.path.join(room.home, "events")
    if not (found := find(events, room.store)):
        return
    raise LossOpen(
        f"the journals have what the store has lost: {'; and '.join(one.words for one in found)}",
        hint=f"Nothing was changed. To bring it back: {found[0].remedy}."
        " To let it go: postroom journal accept",
        path=events,
    )


def begin(events: str, store: "Store") -> int:
    """Note what is lost, before lines are voided for it; the number of this loss.

    It is the same one again where a process was killed before it came to `end`.
    """
    before = _state(events)
    number = before["number"] if before.get("is_open") else 1 + journal_lines.Journals(events).losses()
    found = [one for one, _ in _search(events, store, accepted=False)]
    for other in found[1:]:
        found[0].ids.update(other.ids)
        found[0].messages.update(other.messages)
    lost = found[0].loss(voided=True)
    _write(os.path.join(events, _NOTE), {"number": number, "is_open": True, "lost": lost and lost._asdict()})
    return number


def end(events: str) -> None:
    """All lines of this loss are voided."""
    _write(os.path.join(events, _NOTE), {**_state(events), "is_open": False})


def noted(events: str) -> Loss | None:
    """What was lost and is not accepted, as the writer of the journals has found it."""
    try:
        found = _state(events).get("lost")
        return Loss(**found) if found else None
    except TypeError:
        return None


def _state(events: str) -> "Json":
    try:
        return _read(os.path.join(events, _NOTE))
    except JournalBroken:
        return {}


@file.tells_of_files
def accept(room: "LocalRoom") -> list[Loss]:
    """Speak no more of what is lost now; what that is. Call it when the journals are up to date."""
    events = os.path.join(room.home, "events")
    room.store.begin()
    try:
        found = _search(events, room.store, accepted=False)
        ids = _accepted(events).union(*(one.ids for one, void in found if void))
        if ids:
            _write(os.path.join(events, _ACCEPTED), {"ids": sorted(ids)})
        file.remove(os.path.join(events, _NOTE))
    finally:
        room.store.rollback()
    reserve.empty_log(room)  # what is damaged in it is let go as well
    return [loss for loss in (one.loss(voided=void) for one, void in found) if loss]


def _accepted(events: str) -> set[str]:
    return set(_read(os.path.join(events, _ACCEPTED)).get("ids", ()))


def _read(path: str) -> "Json":
    try:
        with open(path, encoding="utf-8") as opened:
            found: Any = json.load(opened)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        raise JournalBroken(f"{path}: {exc}", path=path, hint=f"Move it away: {path}") from exc
    return cast("Json", found) if isinstance(found, dict) else {}


def _write(path: str, document: "Json") -> None:
    made = file.temporary(path)
    try:
        file.write_whole(made, (json.dumps(document).encode(),), compressed=False)
        file.put(made, path)
    finally:
        file.remove(made)
