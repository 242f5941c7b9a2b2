"""Bytes of a terminal as keys and pastes."""

import codecs
import re
from typing import NamedTuple

BEGIN, END = b"\x1b[200~", b"\x1b[201~"
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[A-Z])")
_NAMES = {
    b"\r": "Enter", b"\n": "C-j", b"\t": "Tab", b"\x7f": "Backspace", b"\x08": "Backspace", b"\x03": "C-c",
    b"\x04": "C-d", b"\x15": "C-u", b"\x1b": "Escape", b"\x1b[A": "Up", b"\x1b[B": "Down", b"\x1b[C": "Right",
    b"\x1b[D": "Left", b"\x1bOA": "Up", b"\x1bOB": "Down", b"\x1bOC": "Right", b"\x1bOD": "Left",
}  # fmt: skip


class Key(NamedTuple):
    """A key by its name, or `text` with a character, or `paste` with all of it."""

    name: str
    text: str = ""


class Decoder:
    """Keeps what is not whole yet. A paste may hold anything but its own end."""

    def __init__(self) -> None:
        self._held = b""
        self._pasted: bytes | None = None
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def waits(self) -> bool:
        """Whether it holds an Escape of which more may come."""
        return self._pasted is None and bool(self._held)

    def feed(self, data: bytes) -> list[Key]:
        self._held += data
        found: list[Key] = []
        while self._held:
            key = self._pasting() if self._pasted is not None else self._next()
            if key is None:
                break
            found += key
        return found

    def flush(self) -> list[Key]:
        """Nothing more has come: an Escape was one."""
        held, self._held = self._held, b""
        return [key for byte in held for key in self._single(bytes([byte]))]

    def _pasting(self) -> list[Key] | None:
        text, found, rest = (
            (self._pasted + self._held).partition(END) if self._pasted is not None else (b"", b"", b"")
        )
        if not found:
            self._pasted, self._held = text, b""
            return None
        self._pasted, self._held = None, rest
        return [Key("paste", re.sub("\r\n?", "\n", text.decode(errors="replace")))]

    def _next(self) -> list[Key] | None:
        if self._held.startswith(BEGIN):
            self._pasted, self._held = b"", self._held[len(BEGIN) :]
            return []
        if self._held[:1] != b"\x1b":
            return self._single(self._taken(1))
        if found := _SEQUENCE.match(self._held):
            name = _NAMES.get(found[0])
            self._taken(found.end())
            return [Key(name)] if name else []
        if re.fullmatch(rb"\x1b(\[[0-9;?]*[ -/]*|O)?", self._held):
            return None
        return self._single(self._taken(1))

    def _taken(self, size: int) -> bytes:
        taken, self._held = self._held[:size], self._held[size:]
        return taken

    def _single(self, byte: bytes) -> list[Key]:
        if name := _NAMES.get(byte):
            return [Key(name)]
        text = self._characters.decode(byte)
        return [Key("text", c) for c in text if c.isprintable()]
