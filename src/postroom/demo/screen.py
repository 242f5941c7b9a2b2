"""Draws the board: in place on a terminal, line after line elsewhere. Eighty columns."""

import itertools
import time
from typing import Protocol

from postroom.demo.board import Board, Mood, Note, Row
from postroom.model.ladder import RUNGS, State

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_COLOURS = {State.STORED: "cyan", State.OFFERED: "yellow", State.SEEN: "blue", State.ACKED: "green"}
_MOODS = {
    Mood.STARTING: ("○", "dim"),
    Mood.WAITING: ("●", "green"),
    Mood.WORKING: ("●", "yellow"),
    Mood.KILLED: ("✗", "red"),
    Mood.GONE: ("○", "dim"),
}
TITLE = "Four agents, four processes, one file. One of them will be killed."
LEGEND = "Each climbs a ladder: stored, offered, seen, acked (acknowledged). ↩ answers."
_HEIGHT = 21  # rows that the whole board takes, and the line after it


class Output(Protocol):
    """What the demo needs of the command line's output."""

    is_terminal: bool
    colour: bool
    utf8: bool

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    def paint(self, text: str, *styles: str) -> str: ...
    def write(self, text: str) -> None: ...


class Screen:
    """`with Screen(...)`: the cursor comes back whatever happens."""

    def __init__(self, out: Output, board: Board) -> None:
        self._out = out
        self._board = board
        self._drawn = 0
        self._said: dict[Row | Note, str] = {}
        self._frame = itertools.count()
        self._started = time.monotonic()
        self.moves = out.is_terminal and out.colour and out.utf8 and out.rows >= _HEIGHT and out.columns >= 80

    def __enter__(self) -> "Screen":
        title = f"{self._out.paint('Postroom', 'bold')}  {TITLE}"
        self._out.write(f"{title}\n{self._out.paint(LEGEND, 'dim')}\n\n")
        if self.moves:
            self._out.write("\033[?25l")
            self.draw()
        return self

    def __exit__(self, *_: object) -> None:
        if self.moves:
            try:
                self.draw()
                self._out.write("\033[?25h")
            except OSError:
                pass  # the terminal is gone

    def draw(self) -> None:
        """Draw the whole board over the last drawing."""
        if not self.moves:
            return
        lines = [self._agents(), "", *map(self._line, self._board.items)]
        up = f"\033[{self._drawn}A" if self._drawn else ""
        self._out.write(up + "".join(f"\r{line}\033[K\n" for line in lines))
        self._drawn = len(lines)

    def changed(self, item: Row | Note) -> None:
        """Where nothing can be drawn over, every change that shows is a line."""
        if self.moves:
            self.draw()
        elif (line := self._line(item)) != self._said.get(item):
            self._said[item] = line
            self._out.write(line + "\n")

    def _agents(self) -> str:
        cells: list[str] = []
        for name, mood in self._board.moods().items():
            mark, style = _MOODS[mood]
            doing = self._out.paint(f"{mood:<6}", "dim" if mood is Mood.WAITING else style)
            cells.append(f"{self._out.paint(mark, style)} {self._out.paint(name, 'bold')} {doing}")
        clock = self._out.paint(f"{time.monotonic() - self._started:.1f} s".rjust(7), "dim")
        return "  ".join(cells) + clock

    def _line(self, item: Row | Note) -> str:
        if isinstance(item, Note):
            return self._out.paint(f"  {item.text}", item.style, "bold")
        message, again = item.message, "↻" if item.tries > 1 else " "
        answer = self._out.paint("↩" if item.is_answer else " ", "cyan")
        who, what = f"{message.sender} → {message.to}".ljust(24), f"{message.subject:<11}"
        who = self._out.paint(who, "" if item.is_done else "bold")
        what = self._out.paint(what, "dim" if item.is_done else "")
        return f"{who} {answer} {what}{self._out.paint(again, 'yellow')} {self._ladder(item)}"

    def _ladder(self, row: Row) -> str:
        """The rungs climbed so far, and by whom; the eye is led to the last one."""
        state = row.state
        if state not in RUNGS:
            return self._out.paint(str(state), "red")
        below = self._out.paint("".join(f"{rung}─" for rung in RUNGS[: RUNGS.index(state)]), "dim")
        top = self._out.paint(str(state), "red" if row.orphaned else _COLOURS[state], "bold")
        whose = f" by {row.claimer}" if row.claimer else f" {row.share}" if row.share else ""
        return below + top + whose + self._mark(row)

    def _mark(self, row: Row) -> str:
        if row.orphaned:
            return self._out.paint(" ✗", "red", "bold")
        if row.state is State.OFFERED and self.moves:
            return self._out.paint(f" {_SPINNER[next(self._frame) % len(_SPINNER)]}", "yellow")
        return ""
