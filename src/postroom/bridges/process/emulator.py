"""A terminal without a window: what a program writes becomes a screen, and what it asks is answered.

Needs the library `pyte`, the extra `postroom[pty]`. Nothing that a program writes makes it raise.
"""

import codecs
from collections.abc import Callable

from postroom.bridges.process.canvas import CURSOR_KEYS, PASTE, Canvas
from postroom.bridges.process.pen import dipped
from postroom.bridges.process.sequence import Cutter, Piece
from postroom.bridges.terminal.screen import Screen

_CONTROLS = {
    "\b": "backspace", "\t": "tab", "\n": "linefeed", "\v": "linefeed", "\f": "linefeed",
    "\r": "carriage_return",
}  # fmt: skip
_ESCAPES = {
    "c": "reset", "D": "index", "M": "reverse_index", "H": "set_tab_stop", "7": "save_cursor",
    "8": "restore_cursor",
}  # fmt: skip
# By its last character: the method of the screen, and how many numbers it takes.
_ORDERS = {
    "A": ("cursor_up", 1), "B": ("cursor_down", 1), "C": ("cursor_forward", 1), "D": ("cursor_back", 1),
    "E": ("cursor_down1", 1), "F": ("cursor_up1", 1), "G": ("cursor_to_column", 1),
    "`": ("cursor_to_column", 1), "a": ("cursor_forward", 1), "d": ("cursor_to_line", 1),
    "e": ("cursor_down", 1), "H": ("cursor_position", 2), "f": ("cursor_position", 2),
    "J": ("erase_in_display", 1), "K": ("erase_in_line", 1), "X": ("erase_characters", 1),
    "L": ("insert_lines", 1), "M": ("delete_lines", 1), "@": ("insert_characters", 1),
    "P": ("delete_characters", 1), "S": ("scroll_up", 1), "T": ("scroll_down", 1), "b": ("repeat", 1),
    "g": ("clear_tab_stop", 1), "s": ("save_cursor", 0), "u": ("restore_cursor", 0),
}  # fmt: skip
_MODES = frozenset((4, 20))  # to insert, and to begin a new line with each line feed
_TERMINAL = "\x1b[?1;2c"  # a VT100 with advanced video, as tmux says
_VERSION = "\x1b[>84;0;0c"


class Emulator:
    """Not for two threads at once."""

    def __init__(self, columns: int, lines: int, answer: Callable[[str], None]) -> None:
        self._answer = answer
        self._canvas = Canvas(columns, lines)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cutter = Cutter()

    def feed(self, data: bytes) -> None:
        for piece in self._cutter.cut(self._decoder.decode(data)):
            match piece.kind:
                case "text":
                    self._canvas.draw(piece.text)
                case "csi":
                    self._order(piece)
                case "control" if piece.text in _CONTROLS:
                    getattr(self._canvas, _CONTROLS[piece.text])()
                case "escape":
                    self._escape(piece.text)
                case _:
                    pass

    def _escape(self, text: str) -> None:
        if text == "E":
            self._canvas.carriage_return()
            self._canvas.linefeed()
        elif text in _ESCAPES:
            getattr(self._canvas, _ESCAPES[text])()

    def _order(self, piece: Piece) -> None:
        match piece.mark, piece.middle, piece.text:
            case "", "", "m":
                self._canvas.pen = dipped(self._canvas.pen, piece.parameters)
            case "", "", "r":
                self._margins(piece.numbers)
            case "", "", "h":
                self._canvas.set_mode(*_MODES.intersection(piece.numbers))
            case "", "", "l":
                self._canvas.reset_mode(*_MODES.intersection(piece.numbers))
            case "", "", text if text in _ORDERS:
                if text in "AB":
                    self._canvas.ensure_hbounds()
                method, size = _ORDERS[text]
                getattr(self._canvas, method)(*piece.numbers[:size])
            case "?", "", "h":
                self._canvas.set_private(piece.numbers)
            case "?", "", "l":
                self._canvas.reset_private(piece.numbers)
            case _:
                self._asked(piece)

    def _margins(self, numbers: list[int]) -> None:
        top, bottom = (*numbers, 0)[:2]
        bottom = min(bottom or self._canvas.lines, self._canvas.lines)
        if max(top, 1) >= bottom:
            return
        is_all = top <= 1 and bottom == self._canvas.lines
        self._canvas.set_margins(*(() if is_all else (max(top, 1), bottom)))
        self._canvas.cursor_position()

    def _asked(self, piece: Piece) -> None:
        number = piece.numbers[0]
        match piece.mark, piece.middle, piece.text:
            case "", "", "c" if not number:
                self._answer(_TERMINAL)
            case ">", "", "c" if not number:
                self._answer(_VERSION)
            case "", "", "t" if number == 18:
                self._answer(f"\x1b[8;{self._canvas.lines};{self._canvas.columns}t")
            case "", "", "n" if number == 5:
                self._answer("\x1b[0n")
            case ("" | "?") as mark, "", "n" if number == 6:
                column = min(self._canvas.cursor.x + 1, self._canvas.columns)
                self._answer(f"\x1b[{mark}{self._canvas.cursor.y + 1};{column}R")
            case "?", "$", "p":
                self._answer(f"\x1b[?{number};{self._known(number)}$y")
            case _:
                pass

    def _known(self, number: int) -> int:
        """1: a mode is set, 2: it is not, 0: there is no such thing here."""
        if number not in (1, 7, 25, 2004):
            return 0
        return 1 if number << 5 in self._canvas.mode else 2

    # -------------------------------------------------------------------------------------------- reading

    def screen(self) -> Screen:
        lines = tuple(self._canvas.line(y) for y in range(self._canvas.lines))
        return Screen(lines, self._canvas.cursor.y, self._canvas.columns)

    def history(self, lines: int) -> list[str]:
        """The last lines that have scrolled away."""
        return [*self._canvas.history][-lines:] if lines > 0 else []

    def painted(self) -> bytes:
        return self._canvas.painted().encode(errors="replace")

    @property
    def facts(self) -> str:
        """What tells one screen from another, but for what is written on it."""
        canvas = self._canvas
        x = min(canvas.cursor.x, canvas.columns - 1)
        return f"{x},{canvas.cursor.y} {canvas.columns}x{canvas.lines} {canvas.is_alternate}"

    @property
    def takes_pastes(self) -> bool:
        return PASTE in self._canvas.mode

    @property
    def has_cursor_keys(self) -> bool:
        """Whether arrows are to be sent as the program has asked for."""
        return CURSOR_KEYS in self._canvas.mode

    def resize(self, columns: int, lines: int) -> None:
        self._canvas.resize(lines, columns)
