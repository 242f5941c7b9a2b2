"""A bridge to one agent that speaks ACP. One turn at a time: who begins a second one may end the first.

A text is handed over when the request was written, and proven when its turn has ended with a reason that says
that the model had it, and something came from the model in it. What ends by an error that nobody asked for,
before a model has answered, is refused. What ends in another way is doubted; the death of the agent leaves it
unproven. The end of its input or its output is the end of the agent: if it lives on, it is ended.
"""

import asyncio
import re
import signal
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Condition
from typing import Any, NamedTuple

from acp import RequestError, text_block
from acp.meta import AGENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from postroom.bridges.acp.ability import CAPABILITIES, NAME
from postroom.bridges.acp.console import AGENT, Console
from postroom.bridges.acp.opening import Opened, open_session, told
from postroom.bridges.acp.question import Calls, question
from postroom.bridges.acp.talk import Talk
from postroom.bridges.acp.wire import Wire, sound
from postroom.bridges.contract import (
    Assent,
    Attachable,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Question,
    Result,
    Text,
)
from postroom.bridges.inquiry import answers
from postroom.bridges.process import brood
from postroom.bridges.process.child import Child
from postroom.bridges.process.line import Cut, Splitter
from postroom.bridges.process.nursery import let_go
from postroom.bridges.process.tape import Tape, left_out
from postroom.clock import wall
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.protocol.plain import one_line
from postroom.runtimes.acp import of

_OPENS = 60.0  # seconds for a session to be there
_READY, _WRITE = 2.0, 5.0  # seconds in which it must have room for a byte, and have taken a request
_STOP = 5.0  # seconds for a turn to end
_MOMENT = 1.0  # seconds in which the end of a process is known
_LEAVE = 2.0  # seconds that one whose pipes have ended may take for each step of its own end
_STUCK = 900.0  # seconds without a word: one tool may take ten minutes
_LINE = 1 << 24  # bytes of one line
_QUESTIONS = 64  # that may be open at once
_OPTIONS = 16  # of one question: nobody chooses among more
_SAID = 16  # lines of people's that may wait for the end of a turn
_TITLE = 200  # characters of what a tool is called
_BEGINNING = 2_000  # characters of its text that are kept to the end of a turn
_HAD = ("end_turn", "max_tokens", "max_turn_requests")  # the model has answered
_CUT = ("cancelled", "error")  # it has, if it has called a tool


class _Open(NamedTuple):
    """A question that waits for an answer, and the numbers of its answers in the console."""

    question: Question
    answer: "Future[str]"
    first: int


class Acp:
    """`session` is the agent's own id of the one that is spoken in."""

    name = NAME

    def __init__(self, launch: Launch, known: str = "") -> None:
        self.address = launch.address
        self._changed = Condition()  # guards what is used by several threads
        self._tape = Tape()
        self._console = Console(self._said_by_person, self._stopped_by_person)
        self._ring: Callable[[], None] = lambda: None
        self._splitters = {"output": Splitter(_LINE), "error": Splitter()}
        self._turns = 0  # begun
        self._turn = 0  # the number of the one that goes on; 0: none
        self._has_acted = False  # in this turn: only a model calls a tool
        self._has_said = False  # in this turn anything
        self._said = ""  # the beginning of that
        self._failed = re.compile(way.failed) if (way := of(launch.runtime)) and way.failed else None
        self._stopped = 0  # the number of the last one that a person has stopped
        self._last = "it has not been asked anything"
        self._written: Future[None] = Future()
        self._waits: deque[str] = deque(maxlen=_SAID)
        self._questions: dict[str, _Open] = {}
        self._asked = self._options = 0  # so many, so far
        self._calls = Calls()
        self._moved_at = time.monotonic()
        self._is_open = False  # what is said before is a replay
        self._is_lost = False  # the connection, though it lives
        self._child = Child(launch, self)
        try:
            self._wire = Wire(str(self._child.pid), self._child.lend_input(), self, self._wrote, self._unread)
            self._talk = Talk(self._note, self._console.show, self._wire.later)
            self._child.listen()
            opened = self._open(launch, known)
        except BaseException:
            self.close()
            raise
        self.session = opened.id
        facts = {"postroom": "session", "id": opened.id, "resumed": opened.resumed, "words": opened.words}
        self._wire.soon(self._talk.tell, facts, f"[{opened.words}]")
        self._is_open = True

    def _open(self, launch: Launch, known: str) -> Opened:
        patience = float(launch.details.get("opens_in") or _OPENS)
        try:
            return self._wire.call(open_session(self._wire.agent, self.address, launch.cwd, known), patience)
        except BridgeError:
            raise
        except TimeoutError:
            why = f"it did not answer within {patience:g} s"
        except Exception as exc:
            why = told(exc) if isinstance(exc, RequestError) else str(exc) or type(exc).__name__
        said = [line for line in self._console.page().split("\n") if line.startswith(AGENT)]
        shown = said[-1].removeprefix(AGENT) if said else ""
        raise BridgeError(
            f"{self.address} does not speak ACP: {why}{f': {shown}' if shown else ''}",
            hint="Does its command begin it? gemini --acp, opencode acp, claude-agent-acp …",
        )

    @property
    def process(self) -> str:
        return self._child.process

    @property
    def is_gone(self) -> bool:
        return self._child.is_gone

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def setup(self) -> None:
        """Nothing is missing: its session is open."""

    # ------------------------------------------------------------------------------- by the child's thread

    def heard(self, stream: str, data: bytes) -> None:
        for line in self._splitters[stream].feed(data):
            self._take(stream, line)
        if stream == "output" and not data:
            self._wire.soon(self._part, "it says nothing any more: its output has ended")

    def _note(self, heard: Heard) -> None:
        self._tape.add(heard)
        self._ring()

    def _take(self, stream: str, line: Cut) -> None:
        """What it says in the protocol, and what else it prints."""
        self._moved_at = time.monotonic()
        if stream == "output" and not line.missing and sound(line.text):
            self._wire.feed(line.text)
        elif line.text:
            self._note(Heard(line.text, stream))
            self._console.show(line.text, AGENT)
        if line.missing:
            self._note(left_out(line.missing))

    def ended(self, code: int) -> None:
        for stream, splitter in self._splitters.items():
            for line in splitter.rest():
                self._take(stream, line)
        self._wire.finish()
        with self._changed:
            self._changed.notify_all()
        self._console.show("[it has ended]")
        self._console.finish()
        self._note(Heard(exit_code=code))

    # --------------------------------------------------------------------------------- on the wire's loop

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if not self._is_open or session_id != self.session:
            return
        match update:
            case AgentMessageChunk() | AgentThoughtChunk():
                self._has_said = True
                kind = "message" if isinstance(update, AgentMessageChunk) else "thought"
                text = str(getattr(update.content, "text", ""))
                self._said = f"{self._said}{text}"[:_BEGINNING]
                self._talk.add(kind, text)
            case ToolCallStart():
                self._has_acted = True
                call = self._calls.note(update)
                self._talk.tell(_facts(call), f"* {_title(call) or call.get('kind') or 'a tool'}")
            case ToolCallProgress():
                call = self._calls.note(update)
                if update.status in ("completed", "failed"):
                    shown = f"* {_title(call) or 'it'} has failed" if update.status == "failed" else ""
                    self._talk.tell(_facts(call), shown)
            case _:
                pass

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        chosen = await self._ask(tool_call, options)
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def _ask(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        """The id of the option that somebody chose; empty: nobody did."""
        known = self._calls.note(call)
        with self._changed:
            if not _can_be_chosen(options) or len(self._questions) >= _QUESTIONS:
                return ""
            self._asked += 1
            asked = question(str(self._asked), known, options)
            opened = _Open(asked, Future(), self._options + 1)
            self._options += len(options)
            self._questions[asked.id] = opened
        self._talk.tell({"asks": asked.title, "id": asked.id}, _shown(opened), Heard(asks=asked))
        return await asyncio.wrap_future(opened.answer)

    def _wrote(self, method: str) -> None:
        if method == AGENT_METHODS["session_prompt"] and not self._written.done():
            self._written.set_result(None)

    def _unread(self) -> None:
        self._part("it reads nothing any more: its input has ended")

    def _part(self, why: str) -> None:
        """A pipe has ended: so has the agent, as will be told in a moment, or it is lost though it lives."""
        self._wire.later(_MOMENT, lambda: self._lose(why))

    def _lose(self, why: str) -> None:
        with self._changed:
            if self.is_gone or self._is_lost:
                return
            self._is_lost, self._last = True, why
            self._end(self._turn, "gone", why)
        self._talk.tell({"postroom": "lost", "words": why}, f"[{why}]")
        self._wire.hang_up()
        for steps, number in enumerate((signal.SIGTERM, signal.SIGKILL), 1):
            self._wire.later(steps * _LEAVE, partial(self._tell_to_end, number))

    def _tell_to_end(self, number: int) -> None:
        if not self.is_gone:
            brood.tell(self._child.pid, number)

    async def _converse(self, number: int, text: str, written: "Future[None]") -> None:
        """One turn, from its text to its end."""
        self._console.show(text.rstrip("\n"), "> ")
        try:
            answer = await self._wire.agent.prompt(self.session, [text_block(text)])
            end, why, is_refused = answer.stop_reason, "", False
        except RequestError as exc:
            end, why = "error", f"its turn has ended in an error: {told(exc)}"
            is_refused = self._stopped != number
        except ConnectionError as exc:
            end, why, is_refused = "gone", str(exc), False
        except ValueError as exc:  # of the library, where an answer is not as it must be
            end, why = "error", one_line(f"its turn has ended, and nobody can tell how: {exc}", 300)
            is_refused = False
        finally:
            if not written.done():
                written.set_exception(ConnectionError("nobody took the request"))
        if end == "gone" and not self.is_gone:
            self._part(why)
        else:
            self._end(number, end, why, is_refused=is_refused)

    def _end(self, number: int, end: str, why: str, *, is_refused: bool = False) -> None:
        with self._changed:
            if not number or self._turn != number:
                return
            is_failed = self._failed is not None and self._failed.match(self._said.lstrip())
            if is_failed and end in _HAD and not self._has_acted:
                end, why, is_refused = "error", one_line(self._said, _TITLE), True
            if self._stopped == number and end in _HAD and not self._has_output():
                end = "cancelled"  # some call that an end like any other
            had = self._has_acted if end in _CUT else end in _HAD and self._has_output()
            self._last = why or f"its last turn has ended: {end}"
            refused = why if is_refused else self._refusal(end)
            doubts = "" if had or refused or end == "gone" else why or f"its turn has ended: {end}"
            if not self.is_gone:
                self._close_questions()
            self._talk.tell({"turn": end}, f"[{why or end}]", _judged(had, doubts, refused))
            self._turn = 0
            self._calls.clear()
            self._moved_at = time.monotonic()
            self._changed.notify_all()
            if self._waits and end != "gone":
                self._begin(self._waits.popleft())

    def _has_output(self) -> bool:
        """Whether anything came in this turn that a model may have made."""
        return self._has_acted or self._has_said

    def _refusal(self, end: str) -> str:
        """Why no model answered this turn, though it did not end in an error."""
        return (
            "its turn has ended, and no model had answered" if end in _HAD and not self._has_output() else ""
        )

    # ------------------------------------------------------------------------------------------- its turns

    def _begin(self, text: str) -> "Future[None]":
        """Begin a turn; when the request was written. Guarded, and there must be none."""
        written = self._written = Future[None]()
        self._turns += 1
        self._turn, self._has_acted, self._has_said, self._said = self._turns, False, False, ""
        self._moved_at = time.monotonic()
        self._wire.submit(self._converse(self._turn, text, written))
        return written

    def _close_questions(self) -> None:
        """Guarded. What is not answered by now never will be."""
        for number in [*self._questions]:
            self._answer(number, "")

    def _answer(self, number: str, option: str) -> bool:
        """Guarded."""
        opened = self._questions.get(number)
        if opened is None or (option and option not in [one.id for one in opened.question.options]):
            return False
        del self._questions[number]
        self._moved_at = time.monotonic()
        if not opened.answer.done():  # else it was taken back
            opened.answer.set_result(option)
        self._note(Heard(asked=number))
        return True

    # ---------------------------------------------------------------------------------------- by its user

    def observe(self) -> Observation:
        with self._changed:
            doing, words, reason = self._doing()
            return Observation(doing, words, reason, "permission" if doing is Doing.ASKING else "", wall())

    def _doing(self) -> tuple[Doing, str, str]:
        if self.is_gone:
            return Doing.GONE, "its process has ended", "offline"
        if self._is_lost:
            return Doing.UNKNOWN, f"it is being ended: {self._last}", "offline"
        if self._questions:
            asked = "; ".join(one.question.title for one in self._questions.values())
            return Doing.ASKING, f"it asks for a permission: {asked}"[:500], "approval"
        if not self._turn:
            return Doing.IDLE, self._last, ""
        silent = time.monotonic() - self._moved_at
        if silent >= _STUCK:
            return Doing.STUCK, f"it is in a turn, and has said nothing for {silent:.0f} s", "busy"
        return Doing.PROCESSING, f"it is in a turn, and spoke {silent:.0f} s ago", "busy"

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        seen = self.observe()
        if seen.reason:
            return Delivered(Result.REFUSED, seen.reason, words=seen.words)
        objection = self._child.objection(_READY)
        if objection:
            words = "it has ended" if objection == "offline" else "it does not read what it was given before"
            return Delivered(Result.REFUSED, objection, words=words)
        if not assent.holds():
            return Delivered(Result.REFUSED, "busy", words="somebody else was quicker")
        with self._changed:
            if self._turn:
                return Delivered(Result.REFUSED, "busy", words="a person was quicker")
            assent.begun()
            self._tape.doubt()
            written = self._begin(text.text)
        return self._handed(written)

    def _handed(self, written: "Future[None]") -> Delivered:
        try:
            written.result(_WRITE)
        except TimeoutError:
            words = f"it has not read all of the request within {_WRITE:g} s"
            return Delivered(Result.UNCERTAIN, words=words)
        except ConnectionError as exc:
            return Delivered(Result.UNCERTAIN, words=f"it ended while it was given the request: {exc}")
        return Delivered(Result.HANDED, words="a turn was begun with it")

    def attend(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def receive(self) -> list[Heard]:
        return self._tape.take()

    def answer(self, question: str, option: str) -> bool:
        with self._changed:
            return self._answer(question, option)

    def interrupt(self) -> Interrupted:
        with self._changed:
            doing, words, _ = self._doing()
            number = self._stopped = self._turn
        if doing in (Doing.GONE, Doing.IDLE):
            return Interrupted(doing is Doing.IDLE, f"nothing was written: {words}")
        began = time.monotonic()
        try:
            self._wire.call(self._wire.agent.cancel(self.session), _STOP)
        except TimeoutError:
            return Interrupted(False, "it does not read what it is given")
        except ConnectionError:
            return Interrupted(False, "it reads nothing any more")
        with self._changed:
            self._close_questions()
            self._changed.wait_for(lambda: not number or self._turn != number or self.is_gone, _STOP)
            if self.is_gone or self._is_lost:
                return Interrupted(False, "it has ended, or cannot be reached any more")
            if number and self._turn == number:
                return Interrupted(False, "it was told to stop; its turn was not seen to end")
        return Interrupted(
            True, f"it was told to stop, and {time.monotonic() - began:.1f} s later its turn ended"
        )

    def screen(self, lines: int = 0) -> str:
        return self._console.page(lines)

    def terminal(self) -> Attachable | None:
        return self._console

    def close(self) -> None:
        let_go(self)
        try:
            if hasattr(self, "_wire"):
                self._wire.close()
        finally:
            self._child.close()

    # ----------------------------------------------------------------------------------------- by a person

    def _said_by_person(self, line: str) -> str:
        """A line from the console; what is said to it."""
        with self._changed:
            if line.isdecimal() and (self._questions or int(line) in range(1, self._options + 1)):
                return self._chosen_by_person(int(line))
            if self.is_gone or self._is_lost:
                return "it has ended, or cannot be reached any more"
            if self._turn and len(self._waits) == _SAID:
                return "it is at work, and too much waits already: nothing was done"
            if self._turn:
                self._waits.append(line)
                return "it is at work: that goes in when its turn has ended"
            self._begin(line)
            return ""

    def _chosen_by_person(self, number: int) -> str:
        for opened in self._questions.values():
            options = opened.question.options
            if opened.first <= number < opened.first + len(options):
                self._answer(opened.question.id, options[number - opened.first].id)
                return f"answered: {options[number - opened.first].name}"
        return f"{number} is no answer to what it asks now: nothing was done"

    def _stopped_by_person(self) -> str:
        return self.interrupt().words


def _can_be_chosen(options: list[PermissionOption]) -> bool:
    """Whether there is something to choose, and each choice is another."""
    return 0 < len(options) <= _OPTIONS and len({one.option_id for one in options}) == len(options)


def _judged(had: bool, doubts: str, refused: str) -> Heard:
    return Heard(proves=Evidence.RUNTIME_ACK if had else None, doubts=doubts, refused=refused)


def _title(call: dict[str, Any]) -> str:
    return one_line(str(call.get("title") or ""), _TITLE)


def _facts(call: dict[str, Any]) -> dict[str, Any]:
    facts = {key: call[key] for key in ("title", "kind", "status") if key in call}
    return {"tool_call": call["tool_call_id"], **facts}


def _shown(opened: _Open) -> str:
    """A question as people see it in the console, its answers numbered."""
    offered = answers(opened.question.options)
    numbered = [f"  {opened.first + n}) {one}" for n, one in enumerate(offered)]
    asked = (opened.question.details or opened.question.title).split("\n")
    return "\n".join(["[it asks]", *(f"{AGENT}{line}" for line in asked), *numbered])
