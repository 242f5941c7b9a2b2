"""Let a use case borrow the room's reserve where the disk is full. The reserve itself is loaded only then."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from postroom.errors import StoreFull

if TYPE_CHECKING:
    from postroom.room.premises import Premises

P = ParamSpec("P")
T = TypeVar("T")


def spends(function: Callable[P, T]) -> Callable[P, T]:
    """Let a use case, whose first argument is the room, be done with the reserve where the disk is full."""

    @functools.wraps(function)
    def spending(*args: P.args, **kwargs: P.kwargs) -> T:
        room: Any = args[0]
        return spent(room, lambda: function(*args, **kwargs))

    return spending


def spent(room: "Premises", act: Callable[[], T]) -> T:
    """Do the same with an act of a few statements."""
    try:
        return act()
    except StoreFull:
        from postroom.room.reserve import borrowing, lend  # noqa: PLC0415 - on a full disk only

        if not lend(room):
            raise
    return borrowing(room, act)
