"""What the demo has seen so far: each message and its rung, what befell whom. Made of events alone."""

from enum import StrEnum

from postroom.model.ladder import State
from postroom.model.message import Event, Message

_STATES = {state.value: state for state in State}
_IN_HAND = (State.OFFERED, State.SEEN)


class Mood(StrEnum):
    """What an agent is doing, as far as the room's events tell."""

    STARTING = "starting"
    WAITING = "waiting"
    WORKING = "working"
    KILLED = "killed"
    GONE = "done"


class Row:
    """One message on the board."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.state = State.STORED
        self.tries = 0
        self.orphaned = False  # whoever has it in hand is dead


class Note:
    """Something that befell an agent, told between the messages."""

    def __init__(self, text: str, style: str) -> None:
        self.text = text
        self.style = style


class Board:
    """Rows and notes in the order they came."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.items: list[Row | Note] = []
        self._moods = dict.fromkeys(names, Mood.STARTING)
        self._rows: dict[str, Row] = {}

    def feed(self, event: Event, message: Message | None, party: str) -> Row | None:
        """Take in an event; the row that changed."""
        if event.type in ("agent.joined", "delivery.offered"):
            self._moods[party] = Mood.WAITING
        elif event.type == "agent.left":
            self._moods[party] = Mood.GONE
        if message is None:
            return None
        if event.type == "message.sent":
            row = self._rows[message.id] = Row(message)
            self.items.append(row)
            return row
        row = self._rows[message.id]
        if event.type.startswith("delivery."):
            row.state = _STATES.get(event.status, row.state)
            row.orphaned = False
            row.tries = max(row.tries, event.payload.get("n") or 0)
        return row

    def moods(self) -> dict[str, Mood]:
        """What everyone is doing: whoever has mail and has not answered it is working."""
        return {name: self._mood(name, mood) for name, mood in self._moods.items()}

    def _mood(self, name: str, mood: Mood) -> Mood:
        if mood is Mood.WAITING and any(
            r.state in _IN_HAND and r.message.to == name for r in self._rows.values()
        ):
            return Mood.WORKING
        return mood

    def killed(self, name: str) -> None:
        self._moods[name] = Mood.KILLED
        for row in self._rows.values():
            row.orphaned = row.orphaned or (row.state is State.OFFERED and row.message.to == name)

    def started(self, name: str) -> None:
        self._moods[name] = Mood.STARTING

    def note(self, text: str, style: str) -> Note:
        note = Note(text, style)
        self.items.append(note)
        return note
