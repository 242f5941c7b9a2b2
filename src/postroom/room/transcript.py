"""Searching a conversation, kept by a runtime as one JSON document a line, for what its model was shown."""

import json
import os
import stat
import time
from collections.abc import Iterator
from enum import Enum
from typing import Any, BinaryIO, NamedTuple

from postroom.clock import iso
from postroom.runtimes.contract import Failure, Marks
from postroom.text import encode

_CHUNK = 1 << 18
_MOST = 1 << 24  # bytes from the end: what is older was settled long ago
_MARK = b"%%"  # with which every mark of a frame begins
_EVER = float("inf")
_REPLACED = b"\n\n"  # in the place of a line: a runtime put what comes after it in the place of all before it
_TO_QUEUE = 2_000  # milliseconds in which a runtime notes a wake that it has taken


class Trace(Enum):
    """What a conversation tells of a frame."""

    SHOWN = 1  # it is there, and the model has answered since
    THERE = 2  # it is there; of an answer nothing is known yet
    LACKING = 3  # the model has answered since, and it is not there
    UNDECIDED = 4  # neither it nor an answer is there yet
    UNREADABLE = 5  # nobody keeps it, or not so that it can be searched
    QUEUED = 6  # it waits in the runtime's queue for the turn to end
    FAILED = 7  # the turn has ended since because no model answered
    TAKEN_BACK = 8  # it was in a prompt that was stopped unanswered, and is in no request since


class _Line(NamedTuple):
    """What one line tells."""

    at: str = ""  # when the model said it, if a model did
    is_result: bool = False  # of a tool
    ours: bytes = b""  # the line itself, if a frame may be in it as the model was given it
    failure: Failure | None = None
    failed_at: str = ""
    prompt: bytes = b""  # the line itself, if it is a prompt


_ANEW = _Line(ours=_REPLACED)


class _Far(OSError):
    """What is looked for may lie further up than anybody reads."""


class Conversation:
    """What a runtime keeps of one, read from its end on: once, however many texts are looked for in it.

    `until`: when to give up reading, on the monotonic clock.
    """

    def __init__(self, path: str, marks: Marks, until: float = _EVER) -> None:
        self._marks = marks
        self._replies = [text.encode() for text in (marks.reply, *marks.acts)]
        self._result = marks.result.encode()
        self._noise = [text.encode() for text in marks.noise]
        self._failure = marks.failure.encode()
        self._path = path
        self._prompt = marks.prompt.encode()
        self._is_kept = bool(path and marks.reply)
        self._unread = _in_force(_backwards(path, until), marks)
        self._read: list[_Line] = []
        self._trouble: OSError | None = None

    @property
    def ran_out(self) -> bool:
        """Return True if reading was given up because it took too long: what was not found may be there."""
        return isinstance(self._trouble, TimeoutError)

    def trace(self, nonce: str, handed_at: int, *, after_tool: bool = False, wake: bool = False) -> Trace:
        """Whether the frame with that nonce is there, and the model has answered since.

        That it is missing is told only by an answer of the model from after the hand-over, because runtimes
        write late, and only if all was read down to what came before it.
        `after_tool`: where a tool may end before the answer that called it, only an answer after a result
        counts. `wake`: it may wait behind a turn that had begun before; the runtime notes that at once.
        """
        if not self._is_kept or not nonce:
            return Trace.UNREADABLE
        try:
            return self._search(nonce, handed_at, after_tool=after_tool and bool(self._result), wake=wake)
        except (FileNotFoundError, TimeoutError):
            return Trace.UNDECIDED  # not written yet, or not read
        except _Far:
            return Trace.UNDECIDED if wake else Trace.UNREADABLE  # it may wait in the queue still
        except OSError:
            return Trace.UNREADABLE

    def _search(self, nonce: str, handed_at: int, *, after_tool: bool, wake: bool) -> Trace:
        from postroom.protocol.frame import mark_of  # noqa: PLC0415 - who asks what an agent does needs none

        mark, queue, handed = mark_of(nonce).encode(), self._marks.queue.encode(), iso(handed_at) or ""
        late = (iso(handed_at + _TO_QUEUE) or "") if wake else handed
        spoken = answered = lacks = failed = is_replaced = has_lacked = False
        followers = list[bytes]()  # the next prompts, as far as no answer stands between
        for line in self._lines():
            if line is _ANEW:  # an answer after it was not made from what was before it
                is_replaced, has_lacked = True, has_lacked or (answered and lacks)
                spoken = answered = False
                continue
            if line.failure is not None and not spoken:
                failed = failed or line.failed_at > handed
            if line.at:
                if line.at <= handed:
                    break
                spoken, answered, lacks = True, answered or not after_tool, lacks or line.at > late
            elif after_tool and spoken and line.is_result:
                answered = True
            elif mark in line.ours:
                if queue and queue in line.ours:
                    return Trace.QUEUED
                if spoken and any(self._is_taken_back(line, each) for each in followers):
                    return Trace.TAKEN_BACK
                if answered or not is_replaced:
                    return Trace.SHOWN if answered else Trace.FAILED if failed else Trace.THERE
                break
            followers = [] if line.at else [*followers, line.prompt] if line.prompt else followers
        if has_lacked or answered:
            return Trace.LACKING if has_lacked or lacks else Trace.UNDECIDED
        return Trace.FAILED if failed else Trace.UNDECIDED

    def _is_taken_back(self, line: _Line, follower: bytes) -> bool:
        """Return True if a frame was in a prompt that is no part of what the next prompt goes on with.

        Where lines name the one before them, the next prompt goes on with an older line than that prompt.
        """
        if not self._marks.parent:
            return bool(line.prompt)
        try:
            goes_on_with = json.loads(follower).get(self._marks.parent)
        except (ValueError, AttributeError, RecursionError):
            return False
        if not isinstance(goes_on_with, str):
            return False
        named, is_above = b'"uuid":' + json.dumps(goes_on_with).encode(), False
        for text in _backwards(self._path):
            if named in text:
                return False
            is_above = is_above or text == line.ours
            if is_above and self._prompt in text and b'"tool_result"' not in text:
                return True
        return False

    def failure(self, since: int) -> Failure | None:
        """Return how the last turn failed, if it did after a moment and no model has answered since.

        None also where the conversation could not be read that far: see `ran_out`.
        """
        after = iso(since) or ""
        try:
            for line in self._lines() if self._is_kept else ():
                if line.failure is not None:
                    return line.failure if line.failed_at > after else None
                if line.at:
                    return None
        except OSError:
            pass
        return None

    def is_answered(self, since: int) -> bool | None:
        """Whether a model has answered after a moment; None: nobody can tell."""
        after = iso(since) or ""
        try:
            for line in self._lines() if self._is_kept else ():
                if line.at:
                    return line.at > after
        except OSError:
            pass
        return None

    def _lines(self) -> Iterator[_Line]:
        """Those that tell something, the last one first."""
        yield from self._read
        if self._trouble is not None:
            raise self._trouble
        try:
            for text in self._unread:
                if line := self._line(text):
                    self._read.append(line)
                    yield line
        except OSError as exc:
            self._trouble = exc
            raise

    def _line(self, text: bytes) -> _Line | None:
        if text is _REPLACED:
            return _ANEW
        replies = [reply for reply in self._replies if reply in text]
        is_result = bool(self._result) and self._result in text
        may_fail = bool(self._failure) and self._failure in text
        is_ours = _MARK in text and not any(one in text for one in self._noise)
        is_prompt = bool(self._prompt) and self._prompt in text
        if not (replies or is_result or is_ours or may_fail or is_prompt):
            return None
        line = _Line("", is_result, text if is_ours else b"", prompt=text if is_prompt else b"")
        return self._told(line, text, replies, may_fail=may_fail) if replies or may_fail else line

    def _told(self, line: _Line, text: bytes, replies: list[bytes], *, may_fail: bool) -> _Line:
        """With what its document tells, and not only its bytes: those may be quoted."""
        made, failed = self._marks.made, self._marks.failed
        try:
            record: Any = json.loads(text)
            at = str(record["timestamp"])
            if may_fail and failed is not None and (failure := failed(record)) is not None:
                line = line._replace(failure=failure, failed_at=at)
            if _has(record, replies) and (made is None or made(record)):
                line = line._replace(at=at)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        return line


def is_interrupted(path: str, marks: Marks) -> bool:
    """Whether the last thing in a conversation is that a person has stopped it."""
    if not path or not marks.interruption:
        return False
    interruption, spoken = marks.interruption.encode(), (marks.reply.encode(), b'"type":"user"')
    try:
        for line in _backwards(path):
            if any(one in line for one in spoken):
                return interruption in line
    except OSError:
        pass
    return False


def is_amid(path: str, marks: Marks) -> bool:
    """Whether the last thing in a conversation is that a tool was called, or has ended: the turn goes on."""
    if not path or not marks.amid:
        return False
    amid, spoken = [text.encode() for text in marks.amid], (marks.reply.encode(), b'"type":"user"')
    try:
        for line in _backwards(path):
            if any(one in line for one in spoken):
                return any(one in line for one in amid)
    except OSError:
        pass
    return False


def is_over(path: str, marks: Marks) -> bool | None:
    """Whether the last turn has ended; None where the conversation does not tell."""
    if not path or not marks.turn:
        return None
    begins, *ends = (text.encode() for text in marks.turn)
    try:
        for line in _backwards(path):
            if begins in line:
                return False
            if any(end in line for end in ends):
                return True
    except OSError:
        pass
    return None


def _has(record: Any, replies: list[bytes]) -> bool:
    """Whether a line has what marks an answer as its own, and not as a quotation."""
    inner: Any = record.get("payload") or {}
    for reply in replies:
        ((key, value),) = json.loads(b"{%s}" % reply).items()
        if value in (record.get(key), inner.get(key)):
            return True
    return False


def open_plain(path: str) -> BinaryIO:
    """A file to read; `OSError` for what else may bear the name, and might keep its reader waiting."""
    file = open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")  # noqa: SIM115 - the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a regular file")
    return file


def _in_force(lines: Iterator[bytes], marks: Marks) -> Iterator[bytes]:
    """The lines of a conversation that its runtime has not taken back since, the last one first.

    One line may have all messages that are left: these come in its place, and before them `_REPLACED`.
    """
    if not marks.whole:
        yield from lines
        return
    whole, back = (b'{"%s":' % key.encode() for key in (marks.whole[0], marks.back))
    until = ""  # the id of a message: it, and all after it, were taken back
    for line in lines:
        messages = _messages(line, marks.whole) if line.startswith(whole) else None
        for each in [line] if messages is None else messages:
            if until:
                until = "" if _value(each, "id") == until else until
            elif marks.back and each.startswith(back):
                until = _value(each, marks.back)
            else:
                yield each
        if messages is not None:
            until = ""
            yield _REPLACED


def _messages(line: bytes, keys: tuple[str, ...]) -> list[bytes] | None:
    """Those that a line has under some keys, each as a line, the last one first; None: it has none."""
    try:
        found: Any = json.loads(line)
        for key in keys:
            found = found[key]
        return [encode(message).encode(errors="replace") for message in reversed(found)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _value(line: bytes, key: str) -> str:
    try:
        return str(json.loads(line)[key])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _backwards(path: str, until: float = _EVER) -> Iterator[bytes]:
    """The lines of a file, the last one first; `OSError` where there are more than are read."""
    with open_plain(path) as file:
        at = file.seek(0, os.SEEK_END)
        first = max(0, at - _MOST)
        rest: list[bytes] = []  # of a line whose beginning has not been read, the last part first
        while at > first:
            if time.monotonic() > until:
                raise TimeoutError(f"{path} takes too long to read")
            size = min(_CHUNK, at - first)
            at -= size
            file.seek(at)
            head, *lines = file.read(size).split(b"\n")
            if lines:
                lines[-1] += b"".join(reversed(rest))
                rest.clear()
                yield from reversed(lines)
            rest.append(head)
        if first:
            raise _Far(f"{path} is too long to read")
        yield b"".join(reversed(rest))
