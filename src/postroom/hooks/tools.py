"""Tools as events: what an agent called and what came of it, read from its runtime's own transcript.

Only where the setting `record_tools` is on. It is done when a hook runs Python anyway, so that a tool
without mail costs none: the events come late, in order, and each once. Some runtimes write their last lines
after their last hook, or run none at their end: what such a session left is read by the next hook of anybody.
"""

import contextlib
import json
import os
from typing import Any

from postroom import host
from postroom.model.context import is_main, own_id
from postroom.model.message import Json, Session
from postroom.room.local import LocalRoom
from postroom.runtimes import load
from postroom.runtimes.contract import Runtime
from postroom.runtimes.tool import ToolFact
from postroom.text import encode

_MOST = 1 << 22  # bytes of a transcript that are read at once
_LONGEST = 4_000  # characters that are kept of what a tool was given, or gave back
_OPEN, _CLOSED = os.path.join("run", "tools", "open"), os.path.join("run", "tools", "closed")
_SLASH = "%2F"  # in the name of a file
_KEPT = 100  # calls that are remembered, of those that wait for their results and of the others


def record(room: LocalRoom, runtime: Runtime, session: Session, transcript: str) -> None:
    """Write down what is new in a transcript, and in those of sessions that are over."""
    if runtime.tools is not None:
        _read_on(room, runtime, session, transcript)
    for other in _left(room):
        if other.id != session.id:
            _read_on(room, load(other.runtime), other, "")
            _Notes(room.home, other).close()


def _left(room: LocalRoom) -> list[Session]:
    """The sessions that are over, whose transcripts were not read to the end."""
    try:
        names = os.listdir(os.path.join(room.home, _OPEN))
    except FileNotFoundError:
        return []
    found = [room.store.look().session(name.replace(_SLASH, "/")) for name in names]
    return [one for one in found if one and (one.ended_at is not None or host.is_gone(one.process))]


def _read_on(room: LocalRoom, runtime: Runtime, session: Session, transcript: str) -> None:
    notes = _Notes(room.home, session)
    begin, known = notes.offset, notes.transcript
    notes.transcript = transcript or known or _usual(runtime, session)
    lines, notes.offset = _new_lines(notes.transcript, begin)
    if (notes.offset, notes.transcript) == (begin, known):
        return
    facts = [fact for line in lines for fact in _facts(runtime, line)]
    with room.write() as tx:
        if _Notes(room.home, session).offset != begin:
            return  # another hook has just done it
        for fact in filter(notes.is_new, facts):
            tx.append(fact.type, session.agent, payload=notes.payload(fact), role="tool")
        notes.keep()


def _usual(runtime: Runtime, session: Session) -> str:
    """Where the transcript is that an event did not name; of a subagent nobody knows."""
    if not runtime.transcript or not is_main(session.id):
        return ""
    return os.path.expanduser(f"~/{runtime.transcript.format(own_id(session.id))}")


def _new_lines(path: str, offset: int) -> tuple[list[bytes], int]:
    """Whole lines from an offset on, and where they end; from the beginning if it is another file now."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            at = offset if offset <= size else 0
            file.seek(at)
            text = file.read(_MOST)
    except OSError:
        return [], offset
    whole = text.rfind(b"\n") + 1
    if not whole and len(text) == _MOST:
        return [], at + _MOST  # a line that long is nobody's tool
    return text[:whole].splitlines(), at + whole


def _facts(runtime: Runtime, line: bytes) -> list[ToolFact]:
    assert runtime.tools is not None
    try:
        found: Any = json.loads(line)
        return runtime.tools(found)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return []  # not of the form we know


class _Notes:
    """How far a transcript was read, which calls wait for their results, and which have got them lately.

    Some runtimes write a call down again when it has ended, and a whole conversation when it is resumed.
    """

    def __init__(self, home: str, session: Session) -> None:
        name = session.id.replace("/", _SLASH)
        self._open_at, self._closed_at = (os.path.join(home, folder, name) for folder in (_OPEN, _CLOSED))
        self.offset, self.transcript = 0, ""
        self._open: dict[str, str] = {}
        self._done: dict[str, str] = {}
        for path in (self._closed_at, self._open_at):
            self._load(path)

    def _load(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                found: Any = json.load(file)
            self.offset, self.transcript = int(found["offset"]), str(found["transcript"])
            self._open, self._done = dict(found["open"]), dict(found["done"])
        except (OSError, ValueError, TypeError, KeyError):
            pass

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
            return {"tool": fact.tool, "call_id": fact.id, "arguments": _short(fact.value)}
        return {"tool": self._done[fact.id], "call_id": fact.id, "ok": fact.ok, "output": _short(fact.value)}

    def keep(self) -> None:
        host.private_directory(os.path.dirname(self._open_at))
        temporary = f"{self._open_at}.{os.getpid()}"
        calls = {"open": _last(self._open), "done": _last(self._done)}
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(encode({"offset": self.offset, "transcript": self.transcript, **calls}))
        os.replace(temporary, self._open_at)

    def close(self) -> None:
        """Nobody looks for more of it, unless the session is resumed."""
        host.private_directory(os.path.dirname(self._closed_at))
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._open_at, self._closed_at)


def _last(calls: dict[str, str]) -> dict[str, str]:
    return dict(list(calls.items())[-_KEPT:])


def _short(value: Any) -> Any:
    """A value, or the beginning of its text."""
    text = value if isinstance(value, str) else encode(value)
    if len(text) <= _LONGEST:
        return value
    cut = f"{text[:_LONGEST]} … {len(text) - _LONGEST:,} characters more"
    return cut if isinstance(value, str) else {"cut": cut}
