"""The pen of a terminal: who has it may type there, and nobody else, in whatever process.

It is a lease in the store with a fence that only rises. It ends by itself, and with its process; so whoever
types asks again right before each key (`holds`).
"""

from types import TracebackType
from typing import TYPE_CHECKING

from postroom import host
from postroom.errors import TerminalTaken
from postroom.model import pen as model

if TYPE_CHECKING:
    from typing import Self

    from postroom.room.premises import Premises

_SPAN = 60_000  # milliseconds: longer than the longest delivery


class Pen:
    """`with Pen(room, terminal) as pen`; raises `TerminalTaken` while another has it."""

    def __init__(self, room: "Premises", terminal: str) -> None:
        self._room = room
        self._terminal = terminal
        with room.write() as tx:
            known = tx.pen(terminal)
            if known is not None and known.holder is not None and not _is_over(known, tx.now):
                pid = known.holder.partition(".")[0]
                raise TerminalTaken(f"process {pid} is typing into that terminal", holder=known.holder)
            self.fence = (known.fence if known else 0) + 1
            tx.set_pen(terminal, model.Pen(self.fence, host.identity(), tx.now + _SPAN))

    def holds(self) -> bool:
        """Whether it is still ours."""
        known = self._room.store.look().pen(self._terminal)
        return known is not None and self._is_mine(known) and known.until > self._room.now()

    def _is_mine(self, known: model.Pen) -> bool:
        return known.fence == self.fence and known.holder == host.identity()

    def close(self) -> None:
        with self._room.write() as tx:
            known = tx.pen(self._terminal)
            if known is not None and self._is_mine(known):
                tx.set_pen(self._terminal, model.Pen(self.fence, None, tx.now))

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_over(pen: model.Pen, now: int) -> bool:
    return pen.until <= now or (pen.holder is not None and host.is_gone(pen.holder))
