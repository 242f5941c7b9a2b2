"""An agent that is spoken to by lines of JSON, and tells by them what it does: stream-json.

What the lines mean, its runtime knows. A text is proven when the agent says that it took it in, and its model
has answered after that. What it asks a person is answered by nobody else.
"""

import json
import time
import uuid
from typing import Any

from postroom.bridges.contract import (
    Assent,
    Berth,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Option,
    Question,
    Result,
    Text,
)
from postroom.bridges.inquiry import inquiry
from postroom.bridges.process import nursery
from postroom.bridges.process.line import Cut
from postroom.bridges.process.piped import Piped
from postroom.clock import wall
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.model.message import Json
from postroom.runtimes.stream import Meaning, Sign, Stream, of
from postroom.text import encode

NAME = "stream"
ABOUT = "an agent without a terminal, spoken to in stream-json (Claude Code)"
CAPABILITIES = Capabilities(
    output=True, busy=True, proves=(Evidence.RUNTIME_ACK,), interrupts=True, owned=True
)
BY_CALLER = False
_STOP = 5.0  # seconds for a turn to end
_ALLOW, _DENY = Option("allow", "Allow", "allow_once"), Option("deny", "Deny", "reject_once")
_STUCK = 900.0  # seconds without a word: one tool may take ten minutes


def start(launch: Launch) -> Berth:
    spec = of(launch.runtime)
    if spec is None:
        raise BridgeError(
            f"{launch.runtime or 'that program'} does not speak stream-json",
            hint="Claude Code does; for another, use --bridge pty or lines",
        )
    missing = spec.missing(launch.command)
    with nursery.reserved(launch):
        return nursery.keep(launch, Streamed(launch._replace(command=[*launch.command, *missing]), spec))


def open(berth: Berth) -> "Streamed":
    return nursery.find(berth, Streamed)


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there; of a child that was closed nothing is left."""
    nursery.end(berth)


class Streamed(Piped):
    """A bridge to such an agent."""

    name = NAME

    def __init__(self, launch: Launch, spec: Stream) -> None:
        self._spec = spec
        self._unproven: dict[str, bool] = {}  # what was handed over, and whether it was taken in
        self._last_answer = ""
        self._asks: dict[str, tuple[str, Json]] = {}  # by its id: what it asks, in words and as the line
        self._stopped: set[str] = set()
        self._is_at_work = False
        self._ends = 0  # turns that have ended
        super().__init__(launch)

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def observe(self) -> Observation:
        with self._changed:
            doing, words, reason = self._doing()
            return Observation(doing, words, reason, "permission" if doing is Doing.ASKING else "", wall())

    def _doing(self) -> tuple[Doing, str, str]:
        if self.is_gone:
            return Doing.GONE, "its process has ended", "offline"
        if self._asks:
            return (
                Doing.ASKING,
                f"it asks for a permission: {', '.join(words for words, _ in self._asks.values())}",
                "approval",
            )
        if not self._is_at_work and all(self._unproven.values()):
            return (
                Doing.IDLE,
                "its last turn has ended" if self._ends else "it has not been asked anything",
                "",
            )
        silent = time.monotonic() - self._moved_at
        if silent >= _STUCK:
            return Doing.STUCK, f"it is in a turn, and has said nothing for {silent:.0f} s", "busy"
        return Doing.PROCESSING, f"it is in a turn, and spoke {silent:.0f} s ago", "busy"

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        seen = self.observe()
        if seen.reason and not (seen.reason == "busy" and text.while_busy):
            return Delivered(Result.REFUSED, seen.reason, words=seen.words)
        number = str(uuid.uuid4())
        with self._changed:
            self._unproven[number] = False  # before it can be taken
        delivered = None
        try:
            delivered = self._hand(encode(self._spec.say(number, text.text)), assent)
            return delivered
        finally:
            if delivered is None or delivered.result is Result.REFUSED:  # nobody will take it
                with self._changed:
                    del self._unproven[number]

    # ------------------------------------------------------------------------------- by the child's thread

    def _meant(self, stream: str, line: Cut) -> tuple[Heard | None, str]:
        said = _parsed(line.text) if stream == "output" else None
        if said is None:
            return super()._meant(stream, line)
        meaning, before = self._spec.read(said), {*self._asks}
        proof = self._proof(meaning, said)
        for number in before - self._asks.keys():
            self._tape.add(Heard(asked=number))
        asks = _question(meaning) if meaning.sign is Sign.ASKS else None
        refused = meaning.words if meaning.sign is Sign.FAILED else ""
        return Heard(line.text, "event", proof, asks=asks, refused=refused), meaning.words

    def _proof(self, meaning: Meaning, said: Json) -> Evidence | None:
        match meaning.sign:
            case Sign.BEGUN:
                self._is_at_work = True
            case Sign.TAKEN if meaning.id in self._unproven:
                self._unproven[meaning.id] = True
            case Sign.ANSWERED:
                return self._answered(meaning.id)
            case Sign.FAILED:
                self._is_at_work = False
                self._ends += 1
                self._asks.clear()
                self._unproven = {number: taken for number, taken in self._unproven.items() if not taken}
            case Sign.ENDED:
                self._is_at_work = False
                self._ends += 1
                self._asks.clear()
            case Sign.ASKS:
                self._asks[meaning.id] = meaning.words, said
            case Sign.ASKS_NO_MORE:
                self._asks.pop(meaning.id, None)
            case Sign.STOPPED:
                self._stopped.add(meaning.id)
            case _:
                pass
        return None

    def _answered(self, answer: str) -> Evidence | None:
        """An answer comes in pieces: only one that began after a text was taken in proves it."""
        self._is_at_work = True
        is_new = answer != self._last_answer
        self._last_answer = answer
        if not is_new or not self._unproven:
            return None
        self._unproven = {number: False for number, taken in self._unproven.items() if not taken}
        return None if self._unproven else Evidence.RUNTIME_ACK

    # ---------------------------------------------------------------------------------------- by its user

    def answer(self, question: str, option: str) -> bool:
        with self._changed:
            asked = self._asks.get(question)
        if asked is None:
            return False
        data = encode(self._spec.answer(asked[1], option == _ALLOW.id)).encode() + b"\n"
        done = self._child.write(data, _STOP) if self._pay(_STOP) else 0
        if not done:
            raise BridgeError("it does not read what it is given")
        self._owed = data[done:]
        with self._changed:
            self._asks.pop(question, None)
        return True

    def interrupt(self) -> Interrupted:
        with self._changed:
            doing, words, _ = self._doing()
            ends, number = self._ends, str(uuid.uuid4())
        if doing in (Doing.GONE, Doing.IDLE):
            return Interrupted(doing is Doing.IDLE, f"nothing was written: {words}")
        line = encode(self._spec.stop(number)).encode() + b"\n"
        began = time.monotonic()
        if not self._pay(_STOP) or self._child.write(line, _STOP) < len(line):
            return Interrupted(False, "it does not read what it is given")
        with self._changed:
            stopped = self._changed.wait_for(lambda: self._ends > ends or self.is_gone, _STOP)
            if not stopped or self._ends == ends:
                was_heard = "it said that it would" if number in self._stopped else "it did not answer"
                return Interrupted(
                    False, f"it was told to stop, and {was_heard}; its turn was not seen to end"
                )
        return Interrupted(
            True, f"it was told to stop, and {time.monotonic() - began:.1f} s later its turn ended"
        )


def _question(meaning: Meaning) -> Question:
    return inquiry(
        meaning.id, f"Use the tool {meaning.words}", f"{meaning.words}\n{meaning.details}", (_ALLOW, _DENY)
    )


def _parsed(line: str) -> Json | None:
    if not line.startswith("{"):
        return None
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said
