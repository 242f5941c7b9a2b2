"""What the demo has seen so far: each message and its rungs, what befell whom. Made of events alone."""

from collections.abc import Sequence
from enum import StrEnum

from postroom.model.ladder import RUNGS, State, reached
from postroom.model.message import Event, Message

_STATES = {state.value: state for state in State}
_IN_HAND = (State.OFFERED, State.SEEN)


class Mood(StrEnum):
    """What an agent is doing, as far as the room's events tell."""

    STARTING = "starts"
    WAITING = "idle"
    WORKING = "busy"
    KILLED = "killed"
    GONE = "done"


class Row:
    """One message on the board, and where it stands with each to whom it was sent."""

    def __init__(self, message: Message, recipients: Sequence[str]) -> None:
        self.message = message
        self.states = dict.fromkeys(recipients, State.STORED)
        self.tries = 0
        self.orphaned = False  # whoever has it in hand is dead

    @property
    def state(self) -> State:
        """The highest rung that anybody stands on; an exit only when all have taken one."""
        return max(self.states.values(), key=_height)

    @property
    def is_answer(self) -> bool:
        return self.message.reply_to is not None

    @property
    def is_one(self) -> bool:
        """Whether one of those to whom it was sent is enough."""
        return self.message.to.startswith("one:")

    @property
    def claimer(self) -> str:
        """Whoever of many has it, where only one of them can."""
        has = (name for name, state in self.states.items() if reached(state, State.OFFERED))
        return next(has, "") if self.is_one else ""

    @property
    def share(self) -> str:
        """How many have got as far as the highest rung, where it went to several: `2/3`."""
        if self.is_one or len(self.states) == 1:
            return ""
        far = sum(reached(state, self.state) for state in self.states.values())
        return f"{far}/{len(self.states)}"

    @property
    def is_done(self) -> bool:
        """Whether everyone of whom that is wanted has acknowledged it."""
        enough = any if self.is_one else all
        return enough(state is State.ACKED for state in self.states.values())


def _height(state: State) -> int:
    return RUNGS.index(state) if state in RUNGS else -1


class Note:
    """Something that befell an agent, or that explains what is seen, told between the messages."""

    def __init__(self, text: str, style: str) -> None:
        self.text = text
        self.style = style


class Board:
    """Rows and notes in the order they came."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.items: list[Row | Note] = []
        self._moods = dict.fromkeys(names, Mood.STARTING)
        self._rows: dict[str, Row] = {}

    def feed(
        self, event: Event, message: Message | None, party: str, recipients: Sequence[str] = ()
    ) -> Row | None:
        """Take in an event; the row that it is about. `recipients` are those of a message that was sent."""
        if event.type in ("agent.joined", "delivery.offered"):
            self._moods[party] = Mood.WAITING
        elif event.type == "agent.left":
            self._moods[party] = Mood.GONE
        if message is None:
            return None
        if event.type == "message.sent":
            row = self._rows[message.id] = Row(message, recipients)
            self.items.append(row)
            return row
        row = self._rows[message.id]
        if event.type.startswith("delivery."):
            row.states[party] = _STATES.get(event.status, row.states[party])
            row.orphaned = False
            row.tries = max(row.tries, event.payload.get("n") or 0)
        return row

    def moods(self) -> dict[str, Mood]:
        """What everyone is doing: whoever has mail and has not answered it is working."""
        return {name: self._mood(name, mood) for name, mood in self._moods.items()}

    def _mood(self, name: str, mood: Mood) -> Mood:
        if mood is Mood.WAITING and any(row.states.get(name) in _IN_HAND for row in self._rows.values()):
            return Mood.WORKING
        return mood

    def killed(self, name: str) -> None:
        self._moods[name] = Mood.KILLED
        for row in self._rows.values():
            row.orphaned = row.orphaned or row.states.get(name) is State.OFFERED

    def started(self, name: str) -> None:
        self._moods[name] = Mood.STARTING

    def add(self, note: Note) -> Note:
        self.items.append(note)
        return note
