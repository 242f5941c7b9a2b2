"""Tools as events: what an agent called and what came of it, read from its runtime's own transcript.

Only where the setting `record_tools` is on. It is done when a hook runs Python anyway, so that a tool
without mail costs none: the events come late, in order, and each once.
"""

import json
import os
from typing import Any

from postroom import host
from postroom.model.message import Json, Session
from postroom.room.local import LocalRoom
from postroom.runtimes.contract import Runtime
from postroom.runtimes.tool import ToolFact
from postroom.text import encode

_MOST = 1 << 22  # bytes of a transcript that are read at once
_LONGEST = 4_000  # characters that are kept of what a tool was given, or gave back
_OPEN = 100  # calls whose results are still to come


def record(room: LocalRoom, runtime: Runtime, session: Session, transcript: str) -> None:
    """Write down what is new in a transcript."""
    if runtime.tools is None or not transcript:
        return
    notes = _Notes(os.path.join(room.home, "run", "tools", session.id.replace("/", "_")))
    lines, end = _new_lines(transcript, notes.offset)
    facts = [fact for line in lines for fact in _facts(runtime, line)]
    with room.write() as tx:
        for fact in facts:
            tx.append(fact.type, session.agent, payload=notes.payload(fact), role="tool")
    if end != notes.offset:
        notes.keep(end)


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
    """How far a transcript was read, and which calls wait for their results."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with open(path, encoding="utf-8") as file:
                found: Any = json.load(file)
            self.offset = int(found["offset"])
            self._open: dict[str, str] = dict(found["open"])
        except (OSError, ValueError, TypeError, KeyError):
            self.offset, self._open = 0, {}

    def payload(self, fact: ToolFact) -> Json:
        """As the types `tool_call` and `tool_result` have it."""
        if fact.type == "tool_call":
            self._open[fact.id] = fact.tool
            return {"tool": fact.tool, "call_id": fact.id, "arguments": _short(fact.value)}
        tool = fact.tool or self._open.pop(fact.id, "unknown")
        return {"tool": tool, "call_id": fact.id, "ok": fact.ok, "output": _short(fact.value)}

    def keep(self, offset: int) -> None:
        host.private_directory(os.path.dirname(self._path))
        temporary = f"{self._path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(encode({"offset": offset, "open": dict(list(self._open.items())[-_OPEN:])}))
        os.replace(temporary, self._path)


def _short(value: Any) -> Any:
    """A value, or the beginning of its text."""
    text = value if isinstance(value, str) else encode(value)
    if len(text) <= _LONGEST:
        return value
    cut = f"{text[:_LONGEST]} … {len(text) - _LONGEST:,} characters more"
    return cut if isinstance(value, str) else {"cut": cut}
