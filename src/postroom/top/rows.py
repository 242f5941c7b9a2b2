"""A list of lines in which one is chosen; it stays chosen when others come before it."""

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from postroom.top.line import Part, Row

# The terminal's own colours, so that it is at home in a light one as in a dark one.
STYLES = {
    "": Style(),
    "bold": Style(bold=True),
    "dim": Style(dim=True),
    "link": Style(color="cyan"),
    "fine": Style(color="green"),
    "waits": Style(color="yellow"),
    "trouble": Style(color="red"),
}
PLAIN = {name: Style(bold=style.bold or name == "trouble", dim=style.dim) for name, style in STYLES.items()}
_CHOSEN = Style(reverse=True)
_OPEN = Style(reverse=True, dim=True)


class Rows(ScrollView, can_focus=True):
    """Lines as wide as it is: `laid` makes them for a width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "move", key_display="↑↓", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "leap(-1)", show=False),
        Binding("pagedown", "leap(1)", show=False),
        Binding("home,g", "move(-1000000)", show=False),
        Binding("end,G", "move(1000000)", show=False),
        Binding("tab", "app.focus_next", "next", key_display="⇥"),
        Binding("enter", "open", "open", key_display="⏎"),
    ]

    class Chosen(Message):
        """Another one is."""

    class Opened(Message):
        """Somebody wants to see the one that is chosen."""

        def __init__(self, rows: "Rows", key: str) -> None:
            super().__init__()
            self.rows, self.key = rows, key

        @property
        def control(self) -> "Rows":
            return self.rows

    def __init__(self, *, id: str, palette: dict[str, Style]) -> None:
        super().__init__(id=id)
        self._laid: Callable[[int], list[Row]] = lambda _: []
        self._rows: list[Row] = []
        self._at = 0
        self._open = ""  # the key of what is shown beside it
        self._empty, self._palette = "", palette

    @property
    def key(self) -> str | None:
        """Of the one that is chosen."""
        return self._rows[self._at].key if self._rows else None

    @property
    def count(self) -> int:
        return len(self._rows)

    def lay(self, laid: Callable[[int], list[Row]], *, empty: str = "") -> None:
        """Show these, and keep the one chosen that is; the first stays the first."""
        self._laid, self._empty = laid, empty
        self.again()

    def mark(self, key: str) -> None:
        """That is shown beside it."""
        if key != self._open:
            self._open = key
            self.refresh()

    def again(self) -> None:
        """Lay them again, as they read now."""
        key, was = self.key, self._at
        rows = self._laid(max(1, self.scrollable_content_region.width))
        if rows == self._rows and rows:
            return
        self._rows = rows
        at = next((n for n, row in enumerate(self._rows) if row.key == key), None) if was else 0
        self.virtual_size = Size(0, len(self._rows))
        self._go(min(was, len(self._rows) - 1) if at is None else at)

    def _go(self, at: int) -> None:
        moved = self._at
        self._at = max(0, min(at, len(self._rows) - 1))
        top, tall = self.scroll_offset.y, max(1, self.scrollable_content_region.height)
        if self._at < top or moved != self._at:
            wanted = min(max(top, self._at - tall + 1), self._at)
            if wanted != top:
                self.scroll_to(y=wanted, animate=False, force=True)
        self.refresh()
        if moved != self._at:
            self.post_message(self.Chosen())

    def on_resize(self) -> None:
        self.again()

    def action_move(self, by: int) -> None:
        self._go(self._at + by)

    def action_leap(self, by: int) -> None:
        self._go(self._at + by * max(1, self.scrollable_content_region.height - 1))

    def action_open(self) -> None:
        if (key := self.key) is not None:
            self.post_message(self.Opened(self, key))

    def on_click(self, event: object) -> None:
        at = int(getattr(event, "y", 0)) + self.scroll_offset.y
        if at < len(self._rows):
            is_chosen = at == self._at
            self._go(at)
            if is_chosen:
                self.action_open()

    def render_line(self, y: int) -> Strip:
        wide, at = self.size.width, y + self.scroll_offset.y
        if at >= len(self._rows):
            words = [Part(self._empty, "dim")] if not self._rows and y == 0 else []
            return self._strip(words, Style(), wide)
        row = self._rows[at]
        over = _CHOSEN if at == self._at and self.has_focus else _OPEN if row.key == self._open else Style()
        return self._strip(row.parts, over, wide)

    def _strip(self, parts: list[Part], over: Style, wide: int) -> Strip:
        # A reversed line is all of one style: colours on it would be backgrounds of many colours.
        style = self._palette if not over else dict.fromkeys(self._palette, over)
        segments = [Segment(part.text, style[part.style]) for part in parts]
        return Strip(segments).adjust_cell_length(wide, over)
