"""What a bell is: a hint to look. The store is the truth; a ring may be missed, or come twice."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if not TYPE_CHECKING:
    Protocol = object  # a real one costs every start half a millisecond a class
else:
    from typing import Protocol


class Waiter(Protocol):
    """One process waiting for one agent's bell. Must exist before the store is looked at."""

    enclosure: bytes  # what came with the ring that ended the latest wait

    def wait(self, timeout: float | None) -> bool:
        """Sleep until rung or until `timeout` seconds passed; whether it was rung."""
        ...

    def fileno(self) -> int:
        """A descriptor that becomes readable when rung, for event loops; -1 where there is none."""
        ...

    def drain(self) -> bool:
        """Forget the rings so far; whether there were any."""
        ...

    def is_lost(self) -> bool:
        """Whether no ring can reach it any more: where it was bound, somebody has removed it."""
        ...

    def renew(self) -> bool:
        """Bind again if the waiter is lost. True if it did: its descriptor is another one, so look again."""
        ...

    def close(self) -> None: ...


class Bell(Protocol):
    """Rings and waits. Ringing never raises and never blocks."""

    polls: bool

    def waiter(self, party: str, *, enclosures: bool = False, aside: bool = False) -> Waiter:
        """`enclosures`: who waits would like to get with the ring what it is about.

        `aside`: it is not the agent that waits, but somebody who brings it its mail; nobody counts that.
        """
        ...

    def attend(self, waiter: Waiter, told: Callable[[], None]) -> None:
        """Whoever rings in this process tells this waiter so, in its own thread, if that is quicker.

        `told` must neither raise nor block.
        """
        ...

    def wants_enclosure(self, party: str) -> bool:
        """Whether somebody is known to wait there who would like one."""
        ...

    def ring(self, parties: Sequence[str], enclosures: Mapping[str, bytes] = ...) -> dict[str, int]:
        """Ring for each, with what is enclosed for it; how many waiters each ring reached."""
        ...

    def waiting(self, party: str) -> int:
        """How many are waiting for this bell now."""
        ...

    def close(self) -> None: ...
