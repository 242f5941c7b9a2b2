"""What a listener is shown without a look of its own: what came with a ring, and what was read ahead."""

import errno
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

from postroom import host
from postroom.bell.local import LocalBell
from postroom.errors import IllegalMove, StoreError
from postroom.model.ladder import State
from postroom.model.message import Mail, Sent
from postroom.room.hand import Hand
from postroom.room.keep import redact
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.store.sqlite.read import ReadTx
from tests.clockwork import Clock
from tests.contract.conftest import Enter, Others

needs_sockets = pytest.mark.skipif(not host.has_unix_sockets(), reason="enclosed with rings of Unix sockets")


class Desk:
    """A listener of `builder`, what happens while it sleeps, and how often it reads its mailbox."""

    def __init__(self, enter: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("postroom.bell.local._AT_REST", -1)  # as if the directories had long been there
        self.sender = enter("planner")
        self.other = enter("builder")  # another program of the one who listens
        self.own = enter("builder")
        self.listening: Listening = self.own.listen(timeout=5)  # pyright: ignore[reportAttributeAccessIssue]
        self.sender.send("builder", "first")  # from now on it knows the lane, and who waits at its end
        self.own.ack(next(self.listening))
        self.reads = 0
        ready = ReadTx.ready

        def counted(tx: ReadTx, *args: Any) -> list[Mail]:
            self.reads += 1
            return ready(tx, *args)

        monkeypatch.setattr(ReadTx, "ready", counted)

    def next(self, meanwhile: Callable[[], object]) -> Mail | None:
        """What the listener gets that finds nothing and sleeps, while something happens."""
        waiter: Any = self.listening.waiter
        wait = waiter.wait

        def act_and_wait(timeout: float) -> bool:
            waiter.wait = wait
            meanwhile()
            self.reads = 0
            return wait(timeout)

        waiter.wait = act_and_wait
        return next(self.listening, None)


@pytest.fixture
def desk(room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(enter, monkeypatch)


@needs_sockets
def test_what_is_enclosed_is_the_message_as_it_is_stored_and_saves_the_look(desk: Desk):
    options: dict[str, Any] = {"subject": "Größe \N{PILE OF POO}", "type": "status", "requires_ack": True}
    mail = desk.next(lambda: desk.sender.send("builder", "Grüße\n\ttwo lines", **options))
    assert mail is not None
    assert desk.reads == 0
    stored = desk.other.store.look().ready(mail.delivery.recipient_id, 1, "builder")[0]
    assert mail == stored
    assert [type(field) for field in mail.message] == [type(field) for field in stored.message]
    assert desk.other.ack(mail).state is State.ACKED


@needs_sockets
@pytest.mark.parametrize(
    "options", [{"payload": {"n": 1}}, {"expires": 60.0}, {"key": "k"}, {"correlation": "c"}], ids=str
)
def test_what_cannot_be_enclosed_is_read_in_the_store(desk: Desk, options: dict[str, Any]):
    mail = desk.next(lambda: desk.sender.send("builder", "hello", **options))
    assert mail is not None
    assert desk.reads == 1
    assert mail.body == "hello"


@needs_sockets
def test_rings_and_looks_show_every_message_once_and_in_order(desk: Desk):
    seen: list[str] = []
    for n in range(30):
        mail = desk.next(lambda n=n: [desk.sender.send("builder", f"{n}.{k}") for k in range(n % 4 + 1)])
        assert mail is not None
        seen.append(mail.body)
        for _ in range(n % 4):
            seen.append(next(desk.listening).body)
    assert seen == [f"{n}.{k}" for n in range(30) for k in range(n % 4 + 1)]


@needs_sockets
@pytest.mark.promise("withdraw")
def test_what_was_withdrawn_before_the_ring_was_heard_is_not_shown(desk: Desk):
    def send_and_withdraw() -> None:
        sent = desk.sender.send("builder", "one")
        assert desk.sender.withdraw(sent.id)[0].state is State.WITHDRAWN
        desk.sender.send("builder", "two")

    mail = desk.next(send_and_withdraw)
    assert mail is not None
    assert mail.body == "two"


@needs_sockets
@pytest.mark.parametrize("how", ["ack", "nack", "reply"])
def test_what_was_answered_elsewhere_before_the_ring_was_heard_is_not_shown(desk: Desk, how: str):
    def send_and_answer() -> None:
        sent = desk.sender.send("builder", "one")
        {
            "ack": lambda: desk.other.ack(sent.id),
            "nack": lambda: desk.other.nack(sent.id, "no"),
            "reply": lambda: desk.other.reply(sent.id, "yes"),
        }[how]()
        desk.sender.send("builder", "two")

    mail = desk.next(send_and_answer)
    assert mail is not None
    assert mail.body == "two"


@needs_sockets
def test_of_what_was_redacted_before_the_ring_was_heard_nothing_is_shown(desk: Desk):
    mail = desk.next(lambda: redact(desk.sender, desk.sender.send("builder", "a secret").id))
    assert mail is not None
    assert mail.body == ""
    assert mail.message.redacted


@pytest.mark.promise("order")
@needs_sockets
def test_something_urgent_goes_before_what_is_enclosed(desk: Desk):
    def send_two() -> None:
        desk.sender.send("builder", "one")
        desk.sender.send("builder", "now", priority="urgent")

    mail = desk.next(send_two)
    assert mail is not None
    assert mail.body == "now"
    assert next(desk.listening).body == "one"


class Rings:
    """Rings that were to be made, and are made later, or never."""

    def __init__(self) -> None:
        self._ring = LocalBell.ring
        self._held: list[Callable[[], object]] = []

    def hold(self, act: Callable[[], Sent]) -> Sent:
        def keep(*about: Any) -> dict[str, int]:
            self._held.append(partial(self._ring, *about))
            return {}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalBell, "ring", keep)
            return act()

    def release(self) -> None:
        for ring in self._held:
            ring()


@pytest.fixture
def rings() -> Rings:
    return Rings()


@pytest.mark.promise("never-silently-twice")
@needs_sockets
def test_what_comes_late_is_not_shown_again(desk: Desk, rings: Rings):
    """The listener found the message before its sender came to ring; then it had time to look for more."""
    rings.hold(lambda: desk.sender.send("builder", "one"))
    desk.own.ack(next(desk.listening))

    def ring_and_send() -> None:
        rings.release()
        desk.sender.send("builder", "two")

    mail = desk.next(ring_and_send)
    assert mail is not None
    assert mail.body == "two"


@pytest.mark.promise("never-silently-twice")
@needs_sockets
def test_what_was_enclosed_before_the_lease_is_not_shown(desk: Desk, enter: Enter, rings: Rings):
    """Sent while somebody listened, answered while nobody did; the ring comes when somebody does again."""
    sent = rings.hold(lambda: desk.sender.send("builder", "one"))
    desk.listening.close()
    desk.other.ack(sent.id)
    desk.listening = desk.own.listen(timeout=5)  # pyright: ignore[reportAttributeAccessIssue]
    desk.sender.bell.ring((desk.own.who().id,))  # so that it is known where to ring

    def ring_and_send() -> None:
        rings.release()
        desk.sender.send("builder", "two")

    mail = desk.next(ring_and_send)
    assert mail is not None
    assert mail.body == "two"


@pytest.mark.promise("missed-ring")
@needs_sockets
def test_nothing_enclosed_overtakes_a_message_whose_sender_died_before_it_rang(desk: Desk, rings: Rings):
    def send_two() -> None:
        rings.hold(lambda: desk.sender.send("builder", "one"))
        desk.sender.send("builder", "two")

    mail = desk.next(send_two)
    assert mail is not None
    assert mail.body == "one"


@needs_sockets
@pytest.mark.promise("missed-ring")
@pytest.mark.parametrize("noise", [b"", b"\xff" * 100, b"1\0", b"x" * 40_000])
def test_noise_in_a_ring_is_a_ring(desk: Desk, rings: Rings, noise: bytes):
    def make_noise() -> None:
        rings.hold(lambda: desk.sender.send("builder", "hello"))
        party = desk.own.who().id
        desk.sender.bell.ring((party,), {party: noise})

    mail = desk.next(make_noise)
    assert mail is not None
    assert mail.body == "hello"


@needs_sockets
@pytest.mark.promise("order")
def test_nothing_of_low_priority_is_enclosed_since_what_comes_next_would_go_before_it(desk: Desk):
    def send_two() -> None:
        desk.sender.send("builder", "low", priority="low")
        desk.sender.send("builder", "usual")

    mail = desk.next(send_two)
    assert mail is not None
    assert mail.body == "usual"
    assert next(desk.listening).body == "low"


@needs_sockets
@pytest.mark.promise("never-silently-twice")
def test_what_was_enclosed_before_the_last_contest_is_not_shown(desk: Desk, rings: Rings, clock: Clock):
    desk.sender.send("builder", "held", after=60.0)
    sent = rings.hold(lambda: desk.sender.send("builder", "one"))
    desk.sender.withdraw(sent.id)
    clock.advance(61)
    desk.sender.sweep()
    desk.own.ack(next(desk.listening))  # the held one: older than what is enclosed

    def ring_and_send() -> None:
        rings.release()
        desk.sender.send("builder", "two")

    mail = desk.next(ring_and_send)
    assert mail is not None
    assert mail.body == "two"


# Reading ahead


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
    assert reads[:4] == [1, 2, 4, 8]
    assert len(reads) < 12


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
