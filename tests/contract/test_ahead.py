"""What a listener with a backlog read ahead: it is still what comes next, or it is not shown."""

import errno
import os
import shutil
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from postroom.errors import IllegalMove, StoreError
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room.hand import Hand
from postroom.room.keep import redact
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.store.sqlite.read import ReadTx
from tests.clockwork import Clock
from tests.contract.conftest import Enter, Others


def listen(enter: Enter) -> Listening:
    return enter("builder").listen(timeout=0.01)  # pyright: ignore[reportReturnType]


@pytest.mark.core
def test_a_listener_with_much_to_do_reads_several_at_a_time(
    room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch
):
    for n in range(40):
        room.send("builder", str(n))
    reads, ready = list[int](), ReadTx.ready

    def counted(tx: ReadTx, recipient: str, limit: int, *args: Any) -> list[Mail]:
        reads.append(limit)
        return ready(tx, recipient, limit, *args)

    monkeypatch.setattr(ReadTx, "ready", counted)
    own = enter("builder")
    bodies = [own.ack(mail) and mail.body for mail in own.listen(timeout=0.01)]
    assert bodies == [str(n) for n in range(40)]
    assert len(reads) < 20


@pytest.mark.promise("withdraw")
@pytest.mark.core
@pytest.mark.parametrize("acked", [True, False])
def test_what_is_withdrawn_or_answered_is_not_shown_though_it_was_read_ahead(
    room: LocalRoom, enter: Enter, *, acked: bool
):
    sent = [room.send("builder", str(n)).id for n in range(8)]
    other, listening, shown = enter("builder"), listen(enter), list[str]()
    for mail in listening:
        shown.append(mail.body)
        if len(shown) == 2:  # 2 was read with 1, and 3 to 6 will be read together
            room.withdraw(sent[2])
            other.ack(sent[3])
        if len(shown) == 3:
            other.nack(sent[6], "no")
            redact(room, sent[5])
        if acked:
            other.ack(mail)
    assert shown == ["0", "1", "4", "", "7"]


@pytest.mark.promise("order")
@pytest.mark.core
@pytest.mark.parametrize("priority", ["urgent", "high"])
def test_what_is_more_urgent_goes_before_what_was_read_ahead(room: LocalRoom, enter: Enter, priority: str):
    for n in range(4):
        room.send("builder", str(n))
    listening = listen(enter)
    shown = [next(listening).body for _ in range(2)]  # and 2 was read
    room.send("builder", "now", priority=priority)
    assert [*shown, *(mail.body for mail in listening)] == ["0", "1", "now", "2", "3"]


@pytest.mark.promise("order")
@pytest.mark.core
def test_what_has_low_priority_is_not_read_ahead(room: LocalRoom, enter: Enter):
    for n in range(4):
        room.send("builder", str(n), priority="low")
    listening = listen(enter)
    shown = [next(listening).body for _ in range(2)]
    room.send("builder", "usual")
    assert [*shown, *(mail.body for mail in listening)] == ["0", "1", "usual", "2", "3"]


@pytest.mark.core
@pytest.mark.promise("order")
def test_what_was_held_goes_before_what_was_read_ahead(room: LocalRoom, enter: Enter, clock: Clock):
    room.send("builder", "held", after=60.0)
    for n in range(6):
        room.send("builder", str(n))
    listening = listen(enter)
    shown = [next(listening).body for _ in range(4)]  # and 4 and 5 were read with it
    clock.advance(61)
    room.sweep()
    assert [*shown, *(mail.body for mail in listening)] == ["0", "1", "2", "3", "held", "4", "5"]


@pytest.mark.core
@pytest.mark.promise("order")
@pytest.mark.parametrize("dead", [False, True])
def test_what_comes_back_goes_before_what_was_read_ahead(
    room: LocalRoom, enter: Enter, others: Others, *, dead: bool
):
    sent = room.send("builder", "taken")
    others.become(2)
    assert enter("builder").take() is not None
    others.become(3)
    if dead:
        others.die(2)
        enter("builder", max_unproven=1).sweep()
    for n in range(6):
        room.send("builder", str(n))
    listening = listen(enter)
    shown = [next(listening).body for _ in range(4)]  # and 4 and 5 were read with it
    if dead:
        room.retry(sent.id)
    else:
        others.die(2)
        room.sweep()
    assert [*shown, *(mail.body for mail in listening)] == ["0", "1", "2", "3", "taken", "4", "5"]


@pytest.mark.core
@pytest.mark.promise("exclusive")
def test_what_is_taken_by_its_id_is_not_shown_again_though_it_was_read_ahead(room: LocalRoom, enter: Enter):
    sent = [room.send("builder", str(n)).id for n in range(8)]
    own = enter("builder")
    listening = own.listen(timeout=0.01)
    shown = [next(listening).body for _ in range(4)]  # and 4 to 6 were read with it
    taken = own.take(id=sent[5])
    assert taken is not None
    own.settle(taken)
    assert [*shown, *(mail.body for mail in listening)] == ["0", "1", "2", "3", "4", "6", "7"]


@pytest.mark.core
def test_who_interrupts_a_listener_skips_nothing(
    room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch
):
    for n in range(8):
        room.send("builder", str(n))
    listening = listen(enter)
    shown = [next(listening).body for _ in range(4)]  # and 4 to 6 were read

    def interrupt(_: Hand) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(Hand, "is_contested", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(listening)
    assert [*shown, *(mail.body for mail in listening)] == [str(n) for n in range(8)]


@pytest.mark.core
@pytest.mark.promise("expiry")
@pytest.mark.parametrize("swept", [False, True])
def test_what_expires_after_it_was_read_ahead_is_not_shown(
    room: LocalRoom, enter: Enter, clock: Clock, *, swept: bool
):
    for n in range(4):
        room.send("builder", str(n), expires=60.0 if n in (2, 3) else None)
    listening = listen(enter)
    shown = [next(listening).body for _ in range(2)]
    clock.advance(61)
    if swept:  # then it stays so, whatever the clock does
        room.sweep()
        clock.advance(-61)
    assert [*shown, *(mail.body for mail in listening)] == ["0", "1"]


@pytest.mark.promise("never-silently-twice")
@pytest.mark.core
def test_what_was_read_ahead_and_never_shown_is_not_labelled(room: LocalRoom, enter: Enter, others: Others):
    for n in range(4):
        room.send("builder", str(n))
    others.become(2)
    listening = listen(enter)
    assert [next(listening).body for _ in range(2)] == ["0", "1"]  # and 2 was read
    others.die(2)
    others.become(3)
    assert [(mail.body, mail.shown_before) for mail in listen(enter)] == [
        ("1", True), ("2", False), ("3", False),
    ]  # fmt: skip
    others.become(2)  # so that the first one does not end what is not its own


@pytest.mark.core
def test_what_a_listener_shows_is_told_before_the_store_knows(room: LocalRoom, enter: Enter):
    sent = [room.send("builder", str(n)).id for n in range(3)]
    own = enter("builder")
    listening = listen(enter)

    def told() -> list[Any]:
        reasons = [room.receipts(ref).deliveries[0].reason for ref in sent]
        status = next(status for status in room.agents() if status.agent.name == "builder")
        return [*reasons, status.waiting, status.offered]

    assert told() == [None, None, None, 3, 0]
    own.ack(next(listening))
    assert told() == [None, None, None, 2, 0]
    next(listening)
    assert told() == [None, "in_hand", None, 1, 1]
    next(listening)
    assert told() == [None, None, "in_hand", 0, 1]
    listening.close()
    assert told() == [None, None, None, 1, 0]


@pytest.mark.core
@pytest.mark.promise("listen")
def test_an_interrupt_at_any_line_of_a_listener_skips_nothing(room: LocalRoom, enter: Enter):
    """Whatever a signal handler raises, wherever it comes: the program goes on with the next message."""
    own = enter("builder")
    listening = own.listen(timeout=0.01)
    line = 0
    while True:
        sent = [room.send("builder", str(n)).id for n in range(7)]
        shown: list[str] = []
        for n in range(3):
            shown.append(next(listening).id)  # now some of them have been read ahead
            own.ack(shown[n])
        if n := line % 2:
            room.withdraw(sent.pop(5))  # and it has to ask again
        interrupted = False
        try:
            shown.append(_interrupted(lambda: next(listening).id, line // 2))
        except KeyboardInterrupt:
            interrupted = True
        while len(shown) < len(sent):
            shown.append(next(listening).id)
            own.ack(shown[-1])
        assert shown == sent, line
        own.ack(shown[3])
        if not interrupted and n:
            break
        line += 1
    assert line > 30  # or it was not interrupted where it matters


def _interrupted(act: Callable[[], str], after: int) -> str:
    """Raise in the room's own code, after so many lines of it."""
    left = [after]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if (
            not frame.f_code.co_filename.endswith(("listen.py", "hand.py"))
            or frame.f_code.co_name == "settle"
        ):
            return None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return act()
    finally:
        sys.settrace(before)


@pytest.mark.core
@pytest.mark.promise("withdraw")
def test_while_the_note_of_a_living_listener_is_gone_nothing_is_withdrawn(
    room: LocalRoom, enter: Enter, others: Others
):
    sent = [room.send("builder", str(n)).id for n in range(4)]
    others.become(2)
    listening = listen(enter)
    assert [next(listening).body for _ in range(2)] == ["0", "1"]
    others.become(3)
    shutil.rmtree(os.path.join(room.home, "run"))
    with pytest.raises(IllegalMove):
        room.withdraw(sent[2])  # which was read ahead
    others.die(2)
    assert room.withdraw(sent[2])[0].state is State.WITHDRAWN


@pytest.mark.core
@pytest.mark.promise("withdraw")
def test_who_cannot_contest_cannot_withdraw(room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch):
    sent = [room.send("builder", str(n)).id for n in range(4)]
    listening = listen(enter)
    assert [next(listening).body for _ in range(2)] == ["0", "1"]

    def fail(*_: Any) -> int:
        raise OSError(errno.EMFILE, "no descriptor left")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(Hand, "contest", fail)
        with pytest.raises(StoreError):
            room.withdraw(sent[2])
    assert room.receipts(sent[2]).deliveries[0].state is State.STORED
    assert [mail.body for mail in listening] == ["2", "3"]
