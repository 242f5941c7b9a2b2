"""A terminal's screen: the grid of the library `pyte`, with what it lacks and agents' programs use.

Dim text, colours as tmux spells them, the alternate screen, characters of no width, scrolling, and what has
scrolled away. A blank that was erased has a background, and nothing else.
"""

import copy
from collections import defaultdict, deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, cast

from pyte import modes
from pyte.screens import Char, Cursor, Margins, Screen, StaticDefaultDict, wcwidth

from postroom.bridges.terminal.screen import Line
from postroom.runtimes.screen import Look

_HISTORY = 5_000  # lines
_ALTERNATE = (47, 1047, 1049)
_IGNORED = (3, 5, 6, 1048, *_ALTERNATE)  # of these the library would make something that nobody wants
_JOINED = 16  # characters that may share a cell
PASTE = 2004 << 5
CURSOR_KEYS = 1 << 5
_TOLD = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 2004)  # modes that whoever attaches must have, too


class Cell(NamedTuple):
    """As the library's `Char`, and dim."""

    data: str = " "
    fg: str = ""  # as in `Look`
    bg: str = ""
    bold: bool = False
    italics: bool = False
    underscore: bool = False
    strikethrough: bool = False
    reverse: bool = False
    blink: bool = False
    dim: bool = False


_BLANK = Cell()
_Row = StaticDefaultDict[int, Cell]


class Canvas(Screen):
    """Never raises, whatever it is told to do."""

    def __init__(self, columns: int, lines: int) -> None:
        self.history: deque[str] = deque(maxlen=_HISTORY)
        self._main: tuple[Any, Cursor] | None = None  # what stands behind the alternate screen
        super().__init__(columns, lines)

    @property
    def default_char(self) -> Char:
        return cast("Char", _BLANK)

    def reset(self) -> None:
        super().reset()
        self.savepoints = []
        self._main = None
        self.cursor.attrs = self.default_char

    @property
    def is_alternate(self) -> bool:
        return self._main is not None

    @property
    def pen(self) -> Cell:
        return cast("Cell", self.cursor.attrs)

    @pen.setter
    def pen(self, cell: Cell) -> None:
        self.cursor.attrs = cast("Char", cell)

    def _row(self, y: int) -> _Row:
        return cast("_Row", self.buffer[y])

    # --------------------------------------------------------------------------------------------- writing

    def draw(self, data: str) -> None:
        for char in data:
            width = 1 if char.isascii() else wcwidth(char)
            if width > 0:
                self._put(char, width)
            elif width == 0:
                self._join(char)

    def _put(self, char: str, width: int) -> None:
        if self.cursor.x + width > self.columns:
            if modes.DECAWM in self.mode:
                self.carriage_return()
                self.linefeed()
            else:
                self.cursor.x = max(0, self.columns - width)
        if modes.IRM in self.mode:
            self.insert_characters(width)
        row, x, pen = self._row(self.cursor.y), self.cursor.x, self.pen
        self._part(row, x)
        self._part(row, x + width)
        row[x] = _inked(pen, char)
        if width == 2:
            row[x + 1] = _inked(pen, "")
        self.cursor.x = min(x + width, self.columns)

    @staticmethod
    def _part(row: _Row, x: int) -> None:
        """Where the second half of a wide character is, let both be blanks: one of them goes."""
        if x in row and not row[x].data:
            row[x - 1] = row[x] = _BLANK

    def _join(self, char: str) -> None:
        """A character of no width belongs to the one before it."""
        row, x = self._row(self.cursor.y), self.cursor.x - 1
        if x > 0 and not row[x].data:
            x -= 1
        if x >= 0 and len(row[x].data) < _JOINED:
            row[x] = row[x]._replace(data=row[x].data + char)

    def cursor_back(self, count: int | None = None) -> None:
        """From behind the last column it leads into it."""
        self.cursor.x = max(0, self.cursor.x - (count or 1))

    def cursor_up(self, count: int | None = None) -> None:
        """To the margin, or from above it to the first line."""
        top = (self.margins or Margins(0, self.lines - 1)).top
        self.cursor.y = max(self.cursor.y - (count or 1), top if self.cursor.y >= top else 0)

    def cursor_down(self, count: int | None = None) -> None:
        bottom = (self.margins or Margins(0, self.lines - 1)).bottom
        last = bottom if self.cursor.y <= bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), last)

    def tab(self) -> None:
        if self.cursor.x < self.columns - 1:
            super().tab()

    def repeat(self, count: int) -> None:
        """The character before the cursor, so often again."""
        x = self.cursor.x - 1
        if x >= 0 and (data := self._row(self.cursor.y)[x].data):
            self.draw(data * min(count or 1, self.columns * self.lines))

    # --------------------------------------------------------------------------------------------- erasing

    def _erase(self, y: int, begin: int, end: int) -> None:
        row, blank = self._row(y), Cell(bg=self.pen.bg)
        for x in range(begin, min(end, self.columns)):
            if blank.bg:
                row[x] = blank
            else:
                row.pop(x, None)

    def erase_characters(self, count: int | None = None) -> None:
        self._erase(self.cursor.y, self.cursor.x, self.cursor.x + (count or 1))

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        if how > 2:
            return
        begin = self.cursor.x if how == 0 else 0
        end = self.cursor.x + 1 if how == 1 else self.columns
        self._erase(self.cursor.y, begin, end)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how == 3:  # only what has scrolled away
            self.history.clear()
        if how > 2:
            return
        begin = self.cursor.y + 1 if how == 0 else 0
        for y in range(begin, self.cursor.y if how == 1 else self.lines):
            self._erase(y, 0, self.columns)
        if how in (0, 1):
            self.erase_in_line(how)

    # ------------------------------------------------------------------------------------------- scrolling

    def index(self) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        is_last = self.cursor.y == bottom
        if is_last and top == 0 and not self.is_alternate:
            self.history.append(self.line(0).text.rstrip())
        super().index()
        if is_last:
            self._erase(bottom, 0, self.columns)

    def reverse_index(self) -> None:
        is_first = self.cursor.y == (self.margins or Margins(0, self.lines - 1)).top
        super().reverse_index()
        if is_first:
            self._erase(self.cursor.y, 0, self.columns)

    def scroll_up(self, count: int) -> None:
        self._scroll(count, self.index, (self.margins or Margins(0, self.lines - 1)).bottom)

    def scroll_down(self, count: int) -> None:
        self._scroll(count, self.reverse_index, (self.margins or Margins(0, self.lines - 1)).top)

    def _scroll(self, count: int, move: Callable[[], None], edge: int) -> None:
        y, self.cursor.y = self.cursor.y, edge
        for _ in range(min(count or 1, self.lines)):
            move()
        self.cursor.y = y

    def insert_lines(self, count: int | None = None) -> None:
        self._shift(count or 1)

    def delete_lines(self, count: int | None = None) -> None:
        self._shift(-(count or 1))

    def _shift(self, count: int) -> None:
        """Move the lines from the cursor's on by so many; what leaves the margins is lost."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if not top <= self.cursor.y <= bottom:
            return
        rows = {y: self.buffer.pop(y, None) for y in range(self.cursor.y, bottom + 1)}
        for y in rows:
            row = rows.get(y - count)
            if row is not None:
                self.buffer[y] = row
            elif y - count not in rows:
                self._erase(y, 0, self.columns)

    # -------------------------------------------------------------------------------------- cursor and modes

    def save_cursor(self) -> None:
        self.savepoints = []
        super().save_cursor()

    def restore_cursor(self) -> None:
        """As often as one likes: the library forgets what it has given back."""
        saved = self.savepoints[-1:]
        self.pen = self.pen if saved else _BLANK
        super().restore_cursor()
        self.savepoints, self.cursor = saved, copy.copy(self.cursor)

    def set_private(self, numbers: list[int]) -> None:
        super().set_mode(*[number for number in numbers if number not in _IGNORED], private=True)
        if 1048 in numbers:
            self.save_cursor()
        if any(number in _ALTERNATE for number in numbers) and self._main is None:
            self._main = (self.buffer, copy.copy(self.cursor))
            self.buffer = defaultdict(lambda: StaticDefaultDict[int, Char](self.default_char))

    def reset_private(self, numbers: list[int]) -> None:
        super().reset_mode(*[number for number in numbers if number not in _IGNORED], private=True)
        if 1048 in numbers:
            self.restore_cursor()
        if any(number in _ALTERNATE for number in numbers) and self._main is not None:
            (self.buffer, self.cursor), self._main = self._main, None
            self.ensure_hbounds()
            self.ensure_vbounds()

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        super().resize(lines, columns)
        self.ensure_hbounds()
        self.ensure_vbounds()

    # -------------------------------------------------------------------------------------------- reading

    def line(self, y: int) -> Line:
        """One line as tmux captures it: a wide character is one, and blanks that nobody wrote are none."""
        row = cast("_Row | None", self.buffer.get(y))
        if not row:
            return Line("", ())
        text, looks, was_wide = list[str](), list[Look](), False
        for x in range(min(max(row) + 1, self.columns)):
            cell = row[x]
            data = cell.data or ("" if was_wide else " ")
            was_wide = bool(data) and wcwidth(data[0]) == 2
            text.append(data)
            looks += [_look(cell.dim, cell.fg, cell.bg, cell.reverse)] * len(data)
        return Line("".join(text), tuple(looks))

    def painted(self) -> str:
        """What a terminal must be told to show the same, in the same modes."""
        shown = ["\x1b[?1049h" if self.is_alternate else "\x1b[?1049l", "\x1b[0m\x1b[r\x1b[H\x1b[2J"]
        for y in range(self.lines):
            if row := cast("_Row | None", self.buffer.get(y)):
                shown.append(f"\x1b[{y + 1}H{_painted(row, min(max(row) + 1, self.columns))}")
        for number in _TOLD:
            shown.append(f"\x1b[?{number}{'h' if number << 5 in self.mode else 'l'}")
        shown.append(
            f"\x1b[{self.cursor.y + 1};{self.cursor.x + 1}H\x1b[?25{'l' if self.cursor.hidden else 'h'}"
        )
        return "".join(shown)


@lru_cache(maxsize=4096)
def _inked(pen: Cell, data: str) -> Cell:
    return pen._replace(data=data)


@lru_cache(maxsize=256)
def _look(dim: bool, foreground: str, background: str, reverse: bool) -> Look:
    return Look(dim, foreground, background, reverse)


def _painted(row: _Row, width: int) -> str:
    said, pen = list[str](), _BLANK
    for x in range(width):
        cell = row[x]
        if cell._replace(data=" ") != pen:
            pen = cell._replace(data=" ")
            said.append(f"\x1b[{_codes(pen)}m")
        said.append(cell.data)
    return "".join([*said, "\x1b[0m"])


def _codes(pen: Cell) -> str:
    flags = (
        (pen.bold, "1"), (pen.dim, "2"), (pen.italics, "3"), (pen.underscore, "4"), (pen.blink, "5"),
        (pen.reverse, "7"), (pen.strikethrough, "9"), (bool(pen.fg), pen.fg), (bool(pen.bg), pen.bg),
    )  # fmt: skip
    return ";".join(["0", *(code for is_on, code in flags if is_on)])
