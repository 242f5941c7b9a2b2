"""A conversation as a terminal: what is said scrolls by, and below it stands the line that people write.

Nothing of an agent's reaches it but text, each line behind a mark that no line of ours begins with, so it can
pass for no question. A question's answers have numbers that are never used again, so a number that is typed
too late means nothing, and not the next question's answer.
"""

import codecs
import re
import threading
from collections import deque
from collections.abc import Callable

from postroom.protocol.plain import clean

_SHOWN = 2_000  # lines
_LARGEST, _WIDEST = 1 << 18, 4_000  # characters that are shown at once, and of one line
_PAGE = 50
_LONGEST = 10_000  # characters of a line that a person writes
_PROMPT = "> "
AGENT = "| "  # before each line of the agent's own words
_KEYS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")  # arrows and the like, which do nothing here
_ENTER, _BACK, _KILL, _STOP = "\r\n", "\x7f\b", "\x15", "\x03"

Watcher = Callable[[bytes], None]


def _cut(line: str) -> str:
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]} …"


class Console:
    """`submit` gets a line that a person has written, `stop` is called for C-c; both say what comes of it."""

    def __init__(self, submit: Callable[[str], str], stop: Callable[[], str]) -> None:
        self._submit, self._stop = submit, stop
        self._lines: deque[str] = deque(maxlen=_SHOWN)
        self._watchers: list[Watcher] = []
        self._draft = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._guard = threading.RLock()

    def show(self, text: str, mark: str = "") -> None:
        """Lines that are added to the conversation, each behind a mark."""
        cleaned = clean(text[:_LARGEST]).replace("\t", "    ")
        lines = [_cut(f"{mark}{line}") for line in cleaned.split("\n")]
        with self._guard:
            self._lines.extend(lines)
            self._paint("".join(f"{line}\r\n" for line in lines))

    def page(self, lines: int = 0) -> str:
        """The last lines: so many, and a page."""
        with self._guard:
            return "\n".join([*self._lines][-(lines + _PAGE) :])

    def finish(self) -> None:
        """Nothing will be said any more."""
        with self._guard:
            for watcher in [*self._watchers]:
                self._give(watcher, b"")

    # for whoever attaches

    def subscribe(self, callback: Watcher) -> Callable[[], None]:
        with self._guard:
            callback(("".join(f"{line}\r\n" for line in self.page().split("\n")) + self._line()).encode())
            self._watchers.append(callback)
        return lambda: self._unsubscribe(callback)

    def _unsubscribe(self, callback: Watcher) -> None:
        with self._guard:
            self._watchers = [watcher for watcher in self._watchers if watcher is not callback]

    def type_by_person(self, data: bytes) -> None:
        for key in _KEYS.sub("", self._decode(data)):
            if key in _ENTER:
                self._entered()
            elif key == _STOP:
                self._said(self._stop())
            else:
                self._edit(key)

    def resize(self, columns: int, lines: int) -> None:
        """Lines are as long as they are; whoever is attached wraps them."""

    def _entered(self) -> None:
        with self._guard:
            line, self._draft = self._draft.strip(), ""
            self._paint("")
        if line:
            self._said(self._submit(line))

    def _edit(self, key: str) -> None:
        with self._guard:
            if key in _BACK:
                self._draft = self._draft[:-1]
            elif key == _KILL:
                self._draft = ""
            elif key.isprintable():
                self._draft = (self._draft + key)[:_LONGEST]
            self._paint("")

    def _said(self, words: str) -> None:
        if words:
            self.show(f"[{words}]")

    def _paint(self, lines: str) -> None:
        """Lines above the one that people write, which is drawn anew. Guarded."""
        data = f"\r\x1b[K{lines}{self._line()}".encode()
        for watcher in [*self._watchers]:
            self._give(watcher, data)

    def _line(self) -> str:
        return f"{_PROMPT}{self._draft}"

    def _give(self, watcher: Watcher, data: bytes) -> None:
        """Whoever is attached and fails is so no longer."""
        try:
            watcher(data)
        except Exception:
            self._watchers.remove(watcher)
