"""What one agent asks while it runs: each question is a gate, and what people decide is its answer.

Nothing is allowed by itself. Where nobody decides, nobody can be asked, or the gate is taken back, the answer
is no. A question that is answered elsewhere, or whose agent has ended, closes its gate.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from postroom.bridges.contract import Bridge, Heard, Option, Question
from postroom.bridges.inquiry import answers, labels
from postroom.daemon.log import note, warn
from postroom.errors import BridgeError, PostroomError, StoreError
from postroom.model.message import Agent, Json, Mail, Message, Session
from postroom.room import glance, permission
from postroom.room.local import LocalRoom
from postroom.room.permission import Outcome

_LOOK = 1.0  # seconds between two looks at what is open: who decides rings, but not who takes it back


class _Asked(NamedTuple):
    """A question, and the gate that it has become; None: nobody could be asked yet."""

    question: Question
    since: int
    gate: Message | None = None
    is_late: bool = False  # what was decided did not get through at once, which has been told


def refusal(options: tuple[Option, ...]) -> str:
    """The id of what says no, this once; empty: the question is left without an answer."""
    return next((one.id for one in options if one.kind == "reject_once"), "")


def _body(question: Question) -> str:
    """What people are shown before they decide: its answers first, where no words of the agent's can be."""
    offered = "\n".join(answers(question.options))
    return f"{offered}\n\n{question.details or question.title}"


def _facts(route: str, asked: _Asked, end: Outcome, result: str, but: str) -> Json:
    return {
        "what": "answer", "route": route, "result": result,
        "words": f"{end.words}, but {but}" if but else end.words,
        "option": end.option or None, "messages": [asked.gate.id] if asked.gate else [],
    }  # fmt: skip


class Questions:
    """Used by one thread, as its bridge is, whose life it shares: the actor may crash, and this stays."""

    def __init__(self, room: LocalRoom, bridge: Bridge) -> None:
        self._room, self._bridge = room, bridge
        self._open: dict[str, _Asked] = {}
        self._due: deque[Callable[[], None]] = deque()  # what is to be noted in the room
        self._is_clear = False
        self._has_changed = False  # since somebody could look: what was seen of the agent is no longer so

    def hear(self, heard: Heard) -> None:
        """Nothing is written yet: `step` does that. Twice does no harm."""
        if heard.asks is not None and heard.asks.id not in self._open:
            self._open[heard.asks.id] = _Asked(heard.asks, self._room.now())
        if heard.asked:
            self._end(heard.asked, "it was answered elsewhere, or is no longer of interest")

    def step(self, agent: Agent, session: Session) -> float | None:
        """Ask, and pass on what was decided; in how many seconds to look again, if at all."""
        if not self._is_clear:
            permission.clear(self._room, agent.id, "the run of the agent in which it was asked has ended")
            self._is_clear = True
        self._note()
        for number in [*self._open]:
            self._see_to(number, agent, session)
        if self._has_changed:
            glance.forget(self._room.home, agent.id)
            self._has_changed = False
        self._note()
        return _LOOK if self._open else None

    def _note(self) -> None:
        """What the room does not take now is noted with the next step."""
        while self._due:
            self._due[0]()
            self._due.popleft()

    def sift(self, waits: list[Mail]) -> list[Mail]:
        """What waits for an agent, but for letters that decide a question. Of what is over none is left."""
        found = permission.letters(self._room.store.look(), waits)
        gates = {asked.gate.id for asked in self._open.values() if asked.gate}
        for mail in found:
            if (mail.payload or {})["decision"]["gate"] not in gates:
                permission.drop(self._room, mail, "what it decides is no longer asked")
        return [mail for mail in waits if mail not in found]

    def finish(self, reason: str) -> None:
        """The agent has ended, or is let go of."""
        for number in [*self._open]:
            self._end(number, reason)
        try:
            self._note()
        except PostroomError as exc:  # the next run of the agent closes them
            warn("gates stay open", error=exc)

    def _end(self, number: str, reason: str) -> None:
        asked = self._open.pop(number, None)
        self._has_changed = self._has_changed or asked is not None
        if asked is not None and asked.gate is not None:
            self._due.append(partial(permission.close, self._room, asked.gate, reason))

    def _see_to(self, number: str, agent: Agent, session: Session) -> None:
        asked = self._open[number]
        if asked.gate is None:
            self._open[number] = asked = self._ask(agent, asked)
        end = self._outcome(asked)
        if end is not None:
            self._answer(agent, session, asked, end)

    def _ask(self, agent: Agent, asked: _Asked) -> _Asked:
        """Where nobody can be asked now, somebody may be later, and until then `attach` may answer it."""
        question = asked.question
        try:
            gate, people = permission.ask(
                self._room, agent, question.title, _body(question), [*labels(question.options)]
            )
        except StoreError:
            raise
        except PostroomError as exc:
            warn("cannot ask", agent=agent.address, error=exc)
            return asked
        if gate is not None:
            note("asked", agent=agent.address, gate=gate.id, people=people)
        return asked._replace(gate=gate)

    def _outcome(self, asked: _Asked) -> Outcome | None:
        if asked.gate is not None:
            return permission.outcome(self._room, asked.gate)
        until = asked.since + int(self._room.settings.gate_seconds * 1000)
        return Outcome("", "there was nobody to ask") if self._room.now() >= until else None

    def _answer(self, agent: Agent, session: Session, asked: _Asked, end: Outcome) -> None:
        question = asked.question
        chosen = labels(question.options).get(end.option)
        option = chosen.id if chosen else refusal(question.options)
        try:
            was_asked = self._bridge.answer(question.id, option)
        except BridgeError as exc:
            self._be_late(agent, asked, end, str(exc))
            return
        self._open.pop(question.id, None)
        self._has_changed = True
        result, but = ("handed", "") if was_asked else ("refused", "it was no longer asked")
        self._due.append(partial(self._tell, agent.id, _facts(self._bridge.name, asked, end, result, but)))
        if asked.gate is not None and not end.letter:
            self._due.append(partial(permission.close, self._room, asked.gate, end.words))
        if end.letter and was_asked:
            answered = (agent.id, end.letter, session, self._bridge.name)
            self._due.append(partial(permission.passed_on, self._room, *answered))

    def _be_late(self, agent: Agent, asked: _Asked, end: Outcome, why: str) -> None:
        """What is decided stays so, and is passed on with a later step, for as long as it is asked."""
        if not asked.is_late:
            self._open[asked.question.id] = asked._replace(is_late=True)
            but = f"it has not got through yet: {why}"
            facts = _facts(self._bridge.name, asked, end, "uncertain", but)
            self._due.append(partial(self._tell, agent.id, facts))

    def _tell(self, agent: str, facts: Json) -> None:
        with self._room.write() as tx:
            tx.append("agent.pushed", agent, payload=facts)
