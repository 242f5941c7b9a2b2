"""Whether what was just posted is all that waits in a mailbox: the same asked of one and of many."""

from collections.abc import Callable

import pytest

from postroom import host
from postroom.room.local import LocalRoom
from postroom.store.contract import WriteTx
from tests.clockwork import Clock

ANOTHER = "1.1.boot.ns"


class Asking:
    """Asks of one mailbox, and of many, in the transaction that posts something."""

    def __init__(self, room: LocalRoom) -> None:
        self._builder, self._planner = room.known("builder").id, room.known("planner").id

    def take(self, tx: WriteTx) -> None:
        message, mine, others = tx.posted, host.identity(), ANOTHER
        assert message is not None
        one, many = (
            [self._builder in tx.not_alone(message, {self._builder: me, **more}) for me in (mine, others)]
            for more in ({}, {self._planner: mine})
        )
        assert one == many
        assert tx.not_alone(message, {}) == set()
        self.found = one

    def bring(self, taken: None, *, is_stored: bool) -> None: ...


def hold(room: LocalRoom) -> None:
    room.join("builder", role="reviewer")
    room.join("helper", role="reviewer")
    room.send("one:@reviewers", "x")
    assert room.take("helper")


def claim(room: LocalRoom) -> None:
    room.send("builder", "x")
    assert room.take("builder")


def nothing(room: LocalRoom) -> None: ...


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (nothing, [False, False]),
        (lambda room: room.send("builder", "x"), [True, True]),
        (lambda room: room.send("planner", "x"), [False, False]),
        (lambda room: room.send("builder", "x", after=3600.0), [False, False]),
        (claim, [False, True]),
        (hold, [False, True]),
        (lambda room: room.listen("builder"), [True, True]),
    ],
    ids=["nothing", "more", "elsewhere", "later", "claimed", "held", "listening"],
)
def test_nothing_else_waits_there_and_nothing_is_to_be_put_in_order_first(
    room: LocalRoom, first: Callable[[LocalRoom], object], expected: list[bool]
):
    """By whether the one who asks, or another, has what was claimed there."""
    left = first(room)
    room.couriers.append(asking := Asking(room))
    room.send("builder", "new")
    del left  # a listener is one for as long as it is there
    assert asking.found == expected


def test_what_the_clock_asks_for_anywhere_comes_first(room: LocalRoom, clock: Clock):
    room.send("planner", "x", after=60.0)
    room.couriers.append(asking := Asking(room))
    room.send("builder", "new")
    assert asking.found == [False, False]
    room.ack(room.peek("builder")[0], agent="builder")
    clock.advance(61)
    room.send("builder", "new")
    assert asking.found == [True, True]
