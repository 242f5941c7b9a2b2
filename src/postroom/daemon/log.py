"""The daemon's log: one JSON object a line (`time`, `level`, `event`, and what belongs to it), in a file for
our eyes only that begins anew when it is large.

It tells what happened and never what was said: no body of a message stands in it, and whatever looks like a
secret is taken out of every line. Libraries complain there, too, from warnings on. Where it cannot be
written, the daemon goes on: `facts` says so, and so does the next line that can be written.
"""

import json
import logging
import os
import re
from typing import Any, TextIO

from postroom import host
from postroom.clock import iso
from postroom.config import Settings
from postroom.daemon.place import log_path
from postroom.errors import PostroomError
from postroom.model.message import Json

_LONGEST = 1000  # characters of one text in it
_FRAMES = 6  # of where an error was raised
_SECRETS = re.compile(r"\b(pr_)[0-9a-f]{16,}|(once=|[Bb]earer |postroom_\d+=)[^\s\"'&;\\]+")
_OWN = "postroom.daemon"
_log = logging.getLogger(_OWN)
_file: "_File | None" = None


def begin(home: str, settings: Settings, shown: TextIO | None = None) -> None:
    """Write to the room's file from now on; `shown`: to that stream, too, for a person if it is a terminal.

    Called again, it begins anew: with other settings, or with a file that has been moved away.
    """
    global _file  # noqa: PLW0603 - a process has one log
    root, before = logging.getLogger(), _file
    kept: list[logging.Handler] = [one for one in _log.handlers if not isinstance(one, _File)]
    if shown is not None:
        kept = [logging.StreamHandler(shown)]
        kept[0].setFormatter(_Plain() if shown.isatty() else _Line())
    _file = _File(log_path(home), settings.log_bytes, settings.log_files)
    _log.handlers[:] = root.handlers[:] = [_file, *kept]
    if before is not None:
        _file.lost, _file.untold, _file.problem = before.lost, before.untold, before.problem
        before.close()
    _log.propagate = False
    level = getattr(logging, settings.log_level.upper())
    _log.setLevel(level)
    root.setLevel(max(level, logging.WARNING))  # below that they tell what was said


def note(event: str, **facts: Any) -> None:
    _log.info("%s", event, extra={"facts": facts})


def detail(event: str, **facts: Any) -> None:
    """What only who looks for something wants to know."""
    _log.debug("%s", event, extra={"facts": facts})


def warn(event: str, **facts: Any) -> None:
    _log.warning("%s", event, extra={"facts": facts})


def fail(event: str, **facts: Any) -> None:
    _log.error("%s", event, extra={"facts": facts})


def facts() -> Json:
    """How the log does; `lost`: lines that could not be written since the daemon began."""
    level = logging.getLevelName(_log.level).lower()
    if _file is None:
        return {"path": None, "level": level, "lost": 0, "problem": None}
    return {"path": _file.path, "level": level, "lost": _file.lost, "problem": _file.problem or None}


def last(home: str, levels: tuple[str, ...] = ("error", "warning"), most: int = 5) -> list[Json]:
    """The last lines of these levels in the file that is written now."""
    found: list[Json] = []
    try:
        with open(log_path(home), encoding="utf-8", errors="replace") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - (1 << 18)))
            lines = file.read().splitlines()
    except OSError:
        return []
    for line in reversed(lines):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("level") in levels:  # pyright: ignore[reportUnknownMemberType] - whatever stands there
            found.append(told)  # pyright: ignore[reportUnknownArgumentType]
        if len(found) == most:
            break
    return found[::-1]


class _File(logging.Handler):
    """A line is in it wholly, or not at all. The last ones of it are kept under numbers."""

    def __init__(self, path: str, largest: int, kept: int) -> None:
        super().__init__()
        self.setFormatter(_Line())
        self.path, self._largest, self._kept = path, largest, kept
        self._descriptor = -1
        self.lost = self.untold = 0  # lines; and those of which the log does not tell yet
        self.problem = ""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.untold:
                lost = {"lines": self.untold, "why": self.problem}
                told = logging.LogRecord(_OWN, logging.WARNING, "", 0, "lines were lost", (), None)
                told.__dict__["facts"] = lost
                self._write(self.format(told))
                self.untold = 0
            self._write(self.format(record))
            self.problem = ""
        except OSError as exc:
            self.problem = exc.strerror or str(exc)
            self.lost += 1
            self.untold += 1
            self.close_file()

    def _write(self, text: str) -> None:
        line = text.encode() + b"\n"
        size = self._opened()
        if size and size + len(line) > self._largest:
            self._rotate()
            size = self._opened()
        written = os.write(self._descriptor, line)
        if written < len(line):  # the disk is full
            os.ftruncate(self._descriptor, size)
            raise OSError("no space is left for a line")

    def _opened(self) -> int:
        """How large the file is; one that somebody has removed is made anew."""
        if self._descriptor >= 0:
            about = os.fstat(self._descriptor)
            if about.st_nlink:
                return about.st_size
            self.close_file()
        host.private_directory(os.path.dirname(self.path))
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(self._descriptor, 0o600)
        return os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        self.close_file()
        names = [self.path, *(f"{self.path}.{number}" for number in range(1, self._kept + 1))]
        if self._kept == 0:
            os.unlink(self.path)
        for older, newer in zip(reversed(names), [*reversed(names)][1:], strict=False):
            if os.path.exists(newer):
                os.replace(newer, older)

    def close_file(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def close(self) -> None:
        self.acquire()  # somebody may be writing
        self.close_file()
        self.release()
        super().close()


def _told(record: logging.LogRecord) -> dict[str, Any]:
    """What a record tells: of an error where it was raised, and not what was at hand there."""
    told: dict[str, Any] = dict(getattr(record, "facts", {}))
    if record.name != _OWN:
        told["by"] = record.name
    exc = told.get("error") or (record.exc_info or (None, None))[1]
    if isinstance(exc, BaseException):
        told["error"] = str(exc) if isinstance(exc, PostroomError) else f"{type(exc).__name__}: {exc}"
        if not isinstance(exc, PostroomError):  # ours are told by their words
            told["raised_at"] = _raised_at(exc)
    return {key: _bounded(value) for key, value in told.items()}


def _raised_at(exc: BaseException) -> list[str]:
    found, frame = list[str](), exc.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        found.append(f"{os.path.basename(code.co_filename)}:{frame.tb_lineno} {code.co_name}")
        frame = frame.tb_next
    return found[-_FRAMES:]


def _bounded(value: Any) -> Any:
    if isinstance(value, str | bytes) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}…"
    return value


def _event(record: logging.LogRecord) -> str:
    return str(_bounded(record.getMessage().strip()))


class _Line(logging.Formatter):
    """As a program reads it."""

    def format(self, record: logging.LogRecord) -> str:
        head = {"time": iso(int(record.created * 1000)), "level": record.levelname.lower()}
        line = json.dumps({**head, "event": _event(record), **_told(record)}, default=str)
        return _SECRETS.sub(r"\1\2…", line)


class _Plain(logging.Formatter):
    """As a person reads it who looks on."""

    def format(self, record: logging.LogRecord) -> str:
        at = self.formatTime(record, "%H:%M:%S")
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        told = [f"  {key}={value}" for key, value in _told(record).items() if value not in (None, "", [])]
        line = f"{at} {level}{_event(record)}{''.join(told)}"
        shown = "".join(c if c.isprintable() else "�" for c in line)
        return _SECRETS.sub(r"\1\2…", shown)
