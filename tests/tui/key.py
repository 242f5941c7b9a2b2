"""Bytes of a terminal as keys and pastes."""

import codecs
import re
from typing import NamedTuple

BEGIN, END = b"\x1b[200~", b"\x1b[201~"
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[A-Z])")
_PART = re.compile(rb"(?:\x1b(?:\[[0-9;?]*[ -/]*|O)?)?")
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
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def waits(self) -> bool:
        """Whether it holds an Escape of which more may come."""
        return bool(self._held) and not self._held.startswith(BEGIN)

    def feed(self, data: bytes, *, bracketed: bool = True) -> list[Key]:
        self._held += data
        found: list[Key] = []
        while piece := self._piece(bracketed):
            self._held = self._held[len(piece) :]
            found += self._keys(piece)
        return found

    def flush(self) -> list[Key]:
        """Nothing more has come: an Escape was one."""
        held, self._held = self._held, b""
        return [key for byte in held for key in self._keys(bytes([byte]))]

    def _piece(self, bracketed: bool) -> bytes:
        """What comes first and belongs together; nothing if that is not whole yet."""
        if bracketed and self._held.startswith(BEGIN):
            end = self._held.find(END)
            return self._held[: end + len(END)] if end > 0 else b""
        if found := _SEQUENCE.match(self._held):
            return found[0]
        return b"" if _PART.fullmatch(self._held) else self._held[:1]

    def _keys(self, piece: bytes) -> list[Key]:
        if name := _NAMES.get(piece):
            return [Key(name)]
        if piece.endswith(END) and piece != END:
            text = piece[len(BEGIN) : -len(END)].decode(errors="replace")
            return [Key("paste", re.sub("\r\n?", "\n", text))]
        if piece.startswith(b"\x1b"):
            return []
        return [Key("text", c) for c in self._characters.decode(piece) if c >= " "]
