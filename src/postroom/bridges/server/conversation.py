"""A conversation that an agent's own server has: what every such bridge needs of it, and what is the same."""

import time
from abc import ABC, abstractmethod

from postroom.bridges.contract import (
    Assent,
    Context,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Observation,
    Result,
    Text,
)
from postroom.bridges.server.answer import UNANSWERED, Refusal, Silence, Unsent
from postroom.bridges.server.ledger import Ledger, Verdict
from postroom.clock import wall
from postroom.errors import BridgeError

_STOP = 5.0  # seconds for a turn to end
_PAUSE = 0.1


class Conversation(ABC):
    """Each answer of the server is an ack of its queue: the text is handed over. That a model has seen it,
    the conversation itself tells, as often as it is asked; so a lost connection, or a word that was missed,
    proves and loses nothing.
    """

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._known: tuple[int, Context] | None = None  # after how many moves it was asked for

    def moved(self) -> None:
        """It goes on; from any thread."""
        self._ledger.move()

    # ------------------------------------------------------------- what each server has its own words for

    @abstractmethod
    def _doing(self) -> tuple[Doing, str, str]:
        """What it does, on what that rests, and why nothing may go in. Raises what is in `UNANSWERED`."""

    @abstractmethod
    def _send(self, number: str, text: str, *, is_busy: bool) -> str:
        """Send a text; in words, how. `Refusal`: none of it was taken."""

    @abstractmethod
    def _new_number(self) -> str:
        """An id for a text, by which the conversation names it, too. Of the text nothing is sent yet."""

    @abstractmethod
    def _judge(self, numbers: list[str]) -> dict[str, Verdict]:
        """What became of these."""

    @abstractmethod
    def _has(self, number: str) -> bool:
        """Whether that text is anywhere in it."""

    @abstractmethod
    def _turn(self) -> str:
        """The turn that it is in; empty: none."""

    @abstractmethod
    def _stop(self, turn: str) -> None:
        """Have that turn ended."""

    @abstractmethod
    def _context(self) -> Context | None:
        """What its next turn will have before it; None: it is in one."""

    @abstractmethod
    def _inform(self, text: str) -> str:
        """Add a text without a turn; in words, how."""

    @abstractmethod
    def last_words(self, most: int) -> list[str]:
        """The last lines of it, as text."""

    # ------------------------------------------------------------------------------------- for all of them

    def observe(self) -> Observation:
        try:
            doing, words, reason = self._doing()
        except UNANSWERED as exc:
            words = f"its server does not say what it does: {exc}"
            return Observation(Doing.UNKNOWN, words, "offline", at=wall())
        return Observation(doing, words, reason, "permission" if doing is Doing.ASKING else "", wall())

    def deliver(self, text: Text, assent: Assent, seen: Observation) -> Delivered:
        """Put a text before the model; `seen` is what it did a moment ago."""
        if seen.reason and not (seen.reason == "busy" and text.while_busy):
            return Delivered(Result.REFUSED, seen.reason, words=seen.words)
        if not assent.holds():
            return Delivered(Result.REFUSED, "busy", words="somebody else was quicker")
        assent.begun()
        try:
            number = self._new_number()
        except UNANSWERED as exc:
            return Delivered(Result.REFUSED, "offline", words=f"nothing was sent: {exc}")
        return self._sent(number, text.text, is_busy=seen.reason == "busy")

    def _sent(self, number: str, text: str, *, is_busy: bool) -> Delivered:
        self._ledger.add(number)
        try:
            words = self._send(number, text, is_busy=is_busy)
        except Silence as exc:
            return Delivered(Result.HANDED, words=f"{exc}; what became of it, the conversation will tell")
        except Unsent as exc:
            self._ledger.drop(number)
            return Delivered(Result.REFUSED, "offline", words=f"not taken: {exc}")
        except Refusal as exc:
            return self._refused(number, exc)
        return Delivered(Result.HANDED, words=words)

    def _refused(self, number: str, exc: Refusal) -> Delivered:
        """Given back only where the conversation has none of it: some say no after they have taken it."""
        try:
            is_there = self._has(number)
        except UNANSWERED as silence:
            words = f"refused ({exc}), and then it did not say whether it has it: {silence}"
            return Delivered(Result.HANDED, words=words)
        if is_there:
            return Delivered(Result.HANDED, words=f"it is in the conversation, though its server said: {exc}")
        self._ledger.drop(number)
        return Delivered(Result.REFUSED, "busy", words=f"not taken: {exc}")

    def context(self) -> Context | None:
        """As `postroom.bridges.contract.Informing` says; asked for again when it has gone on."""
        moves = self._ledger.moves
        if self._known is not None and self._known[0] == moves:
            return self._known[1]
        try:
            found = self._context()
        except UNANSWERED:
            return None
        self._known = (moves, found) if found is not None else None
        return found

    def inform(self, text: str) -> str:
        """As there."""
        try:
            return self._inform(text)
        except UNANSWERED as exc:
            raise BridgeError(f"its server did not take it: {exc}") from exc

    def settled(self) -> list[Heard]:
        """What is known now of what was handed over."""
        return self._ledger.settle(self._judge)

    def interrupt(self) -> Interrupted:
        try:
            turn = self._turn()
            if not turn:
                return Interrupted(True, "nothing was done: it is in no turn")
            began = time.monotonic()
            self._stop(turn)
            if not self._has_left(turn, began + _STOP):
                return Interrupted(False, "it was told to stop, and its turn was not seen to end")
        except UNANSWERED as exc:
            return Interrupted(False, str(exc))
        took = time.monotonic() - began
        return Interrupted(True, f"it was told to stop, and {took:.1f} s later its turn ended")

    def _has_left(self, turn: str, until: float) -> bool:
        """Whether that turn ends by then. Asked when the conversation goes on, or now and then."""
        while True:
            moves = self._ledger.moves
            if self._turn() != turn:
                return True
            if time.monotonic() > until:
                return False
            self._ledger.wait(moves, _PAUSE)
