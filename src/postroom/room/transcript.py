"""Searching a conversation, kept by a runtime as one JSON document a line, for what its model was shown."""

import json
import os
import stat
from collections.abc import Iterator
from enum import Enum
from typing import Any, BinaryIO

from postroom.clock import iso
from postroom.runtimes.contract import Marks

_CHUNK = 1 << 18
_MOST = 1 << 24  # bytes from the end: what is older was settled long ago
_TO_QUEUE = 2_000  # milliseconds in which a runtime notes a wake that it has taken


class Trace(Enum):
    """What a conversation tells of a nonce."""

    SHOWN = 1  # it is there, and the model has answered since
    THERE = 2  # it is there; of an answer nothing is known yet
    LACKING = 3  # the model has answered since, and it is not there
    UNDECIDED = 4  # neither it nor an answer is there yet, or it waits in the runtime's queue
    UNREADABLE = 5  # nobody keeps it, or not so that it can be searched


def trace(
    path: str, marks: Marks, nonce: str, handed_at: int, *, after_tool: bool = False, wake: bool = False
) -> Trace:
    """Whether a text with that nonce is there, and the model has answered since.

    That it is missing is told only by an answer of the model from after the hand-over: runtimes write late.
    `after_tool`: where a tool may end before the answer that called it, only an answer after a result counts.
    `wake`: it may wait behind a turn that had begun before; the runtime notes that at once.
    """
    if not path or not marks.reply or not nonce:
        return Trace.UNREADABLE
    replies, noise = [text.encode() for text in (marks.reply, *marks.acts)], [n.encode() for n in marks.noise]
    result = marks.result.encode() if after_tool else b""
    mark, spoken, answered, handed = nonce.encode(), False, False, iso(handed_at) or ""
    late = (iso(handed_at + _TO_QUEUE) or "") if wake else handed
    queue, lacks = marks.queue.encode(), False
    try:
        for line in _backwards(path):
            if at := _written_at(line, [reply for reply in replies if reply in line]):
                if at <= handed:
                    break
                spoken, answered, lacks = True, answered or not result, lacks or at > late
            elif result and spoken and result in line:
                answered = True
            elif mark in line and not any(one in line for one in noise):
                if queue and queue in line:
                    return Trace.UNDECIDED
                return Trace.SHOWN if answered else Trace.THERE
    except FileNotFoundError:
        return Trace.UNDECIDED  # not written yet
    except OSError:
        return Trace.UNREADABLE
    return Trace.LACKING if answered and lacks else Trace.UNDECIDED


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


def _written_at(line: bytes, replies: list[bytes]) -> str:
    """When the model said it, as text: such texts in UTC have the order of the moments.

    Nothing where the line only quotes what looks like the model's words.
    """
    if not replies:
        return ""
    try:
        record: Any = json.loads(line)
        inner: Any = record.get("payload") or {}
        for reply in replies:
            ((key, value),) = json.loads(b"{%s}" % reply).items()
            if value in (record.get(key), inner.get(key)):
                return str(record["timestamp"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return ""


def open_plain(path: str) -> BinaryIO:
    """A file to read; `OSError` for what else may bear the name, and might keep its reader waiting."""
    file = open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")  # noqa: SIM115 - the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is no plain file")
    return file


def _backwards(path: str) -> Iterator[bytes]:
    """The lines of a file, the last one first; not what is far from its end."""
    with open_plain(path) as file:
        at = file.seek(0, os.SEEK_END)
        first = max(0, at - _MOST)
        rest = b""
        while at > first:
            size = min(_CHUNK, at - first)
            at -= size
            file.seek(at)
            head, *lines = (file.read(size) + rest).split(b"\n")
            yield from reversed(lines)
            rest = head
        if first == 0:
            yield rest
