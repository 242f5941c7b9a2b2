"""Tools as events: what an agent called and what came of it, read from its runtime's own transcript.

Only where the setting `record_tools` is on. It is done when a hook runs Python anyway, so that a tool
without mail costs none: the events come late, in order, and each once, because how far was read is stored
with them. Some runtimes write their last lines after their last hook, or run none at their end: what such a
session left is read by the next hook of anybody. A line that cannot be read is nobody's tool.
"""

import json
import os
from typing import Any

from postroom import host
from postroom.model.context import is_main, own_id
from postroom.model.message import Json, Session
from postroom.model.reading import Reading
from postroom.room.local import LocalRoom
from postroom.room.transcript import open_plain
from postroom.runtimes import load
from postroom.runtimes.contract import Runtime
from postroom.runtimes.tool import ToolFact
from postroom.text import encode

_MOST = 1 << 22  # bytes of a transcript that are read at once
_LONGEST = 4_000  # characters that are kept of what a tool was given, or gave back
_KEPT = 100  # calls that are remembered, of those that wait for their results and of the others


def record(room: LocalRoom, runtime: Runtime, session: Session, transcript: str) -> None:
    """Write down what is new in a transcript, and in those of sessions that are over."""
    if runtime.tools is not None:
        _read_on(room, runtime, session, transcript)
    for other in room.store.look().sessions_unread():
        if other.id != session.id and (other.ended_at is not None or host.is_gone(other.process)):
            _read_on(room, load(other.runtime), other, "", is_over=True)


def _read_on(
    room: LocalRoom, runtime: Runtime, session: Session, transcript: str, *, is_over: bool = False
) -> None:
    """A session that is over is done with when there is nothing new in what it left."""
    known = room.store.look().reading(session.id)
    before = known or Reading("", 0, {})
    path = transcript or before.path or _usual(runtime, session)
    lines, position = _new_lines(path, before.position)
    calls = _Calls(before.calls)
    facts = [fact for line in lines for fact in _facts(runtime, line)]
    payloads = [(fact.type, calls.payload(fact)) for fact in facts if calls.is_new(fact)]
    after = Reading(path, position, calls.kept(), not is_over or position != before.position)
    if after == known:
        return
    with room.write() as tx:
        if tx.reading(session.id) != known:
            return  # another hook has just done it
        for kind, payload in payloads:
            tx.append(kind, session.agent, payload=payload, role="tool")
        tx.set_reading(session.id, after)


def _usual(runtime: Runtime, session: Session) -> str:
    """Where the transcript is that an event did not name; of a subagent nobody knows."""
    if not runtime.transcript or not is_main(session.id):
        return ""
    return os.path.expanduser(f"~/{runtime.transcript.format(own_id(session.id))}")


def _new_lines(path: str, position: int) -> tuple[list[bytes], int]:
    """Whole lines from a position on, and where they end; from the beginning if it is another file now."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            at = position if position <= size else 0
            file.seek(at)
            text = file.read(_MOST)
    except OSError:
        return [], position
    whole = text.rfind(b"\n") + 1
    if not whole and len(text) == _MOST:
        return [], at + _MOST  # a line that long is nobody's tool
    return text[:whole].splitlines(), at + whole


def _facts(runtime: Runtime, line: bytes) -> list[ToolFact]:
    assert runtime.tools is not None
    try:
        return [_storable(fact) for fact in runtime.tools(json.loads(line))]
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        return []  # not of the form we know


def _storable(fact: ToolFact) -> ToolFact:
    """As the store can hold it: short, and with half a character replaced, which a cut text may end in."""
    call, tool, value = json.loads(encode([fact.id, fact.tool, fact.value]).encode(errors="replace"))
    if not (isinstance(call, str) and isinstance(tool, str)):
        raise TypeError(f"{call!r} names no call, or {tool!r} no tool")
    return fact._replace(id=call, tool=tool, value=_short(value))


class _Calls:
    """Which calls wait for their results, and which have got them lately.

    Some runtimes write a call down again when it has ended, and a whole conversation when it is resumed.
    """

    def __init__(self, known: Json) -> None:
        self._open: dict[str, str] = dict(known.get("open") or {})
        self._done: dict[str, str] = dict(known.get("done") or {})

    def is_new(self, fact: ToolFact) -> bool:
        """Whether it has not been written down before; asked once for each, in order."""
        if fact.id in self._done or (fact.type == "tool_call" and fact.id in self._open):
            return False
        if fact.type == "tool_call":
            self._open[fact.id] = fact.tool
        else:
            called = self._open.pop(fact.id, "unknown")
            self._done[fact.id] = fact.tool or called
        return True

    def payload(self, fact: ToolFact) -> Json:
        """As the types `tool_call` and `tool_result` have it."""
        if fact.type == "tool_call":
            return {"tool": fact.tool, "call_id": fact.id, "arguments": fact.value}
        return {"tool": self._done[fact.id], "call_id": fact.id, "ok": fact.ok, "output": fact.value}

    def kept(self) -> Json:
        return {"open": _last(self._open), "done": _last(self._done)}


def _last(calls: dict[str, str]) -> dict[str, str]:
    return dict(list(calls.items())[-_KEPT:])


def _short(value: Any) -> Any:
    """A value, or the beginning of its text."""
    text = value if isinstance(value, str) else encode(value)
    if len(text) <= _LONGEST:
        return value
    cut = f"{text[:_LONGEST]} … {len(text) - _LONGEST:,} characters more"
    return cut if isinstance(value, str) else {"cut": cut}
