"""What a listener is shown without a look of its own: the message that came with the ring."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from postroom import host
from postroom.bell.local import LocalBell
from postroom.model.ladder import State
from postroom.model.message import Mail, Sent
from postroom.room.keep import redact
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.store.sqlite.read import ReadTx
from tests.clockwork import Clock
from tests.contract.conftest import Enter

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


def late(desk: Desk, rings: Rings) -> str:
    """What the listener gets when the rings come while it sleeps, and after them another message, `two`."""

    def ring_and_send() -> None:
        rings.release()
        desk.sender.send("builder", "two")

    mail = desk.next(ring_and_send)
    assert mail is not None
    return mail.body


@pytest.fixture
def rings() -> Rings:
    return Rings()


@pytest.mark.promise("never-silently-twice")
@needs_sockets
def test_what_comes_late_is_not_shown_again(desk: Desk, rings: Rings):
    """The listener found the message before its sender came to ring; then it had time to look for more."""
    rings.hold(lambda: desk.sender.send("builder", "one"))
    desk.own.ack(next(desk.listening))

    assert late(desk, rings) == "two"


@pytest.mark.promise("never-silently-twice")
@needs_sockets
def test_what_was_enclosed_before_the_lease_is_not_shown(desk: Desk, enter: Enter, rings: Rings):
    """Sent while somebody listened, answered while nobody did; the ring comes when somebody does again."""
    sent = rings.hold(lambda: desk.sender.send("builder", "one"))
    desk.listening.close()
    desk.other.ack(sent.id)
    desk.listening = desk.own.listen(timeout=5)  # pyright: ignore[reportAttributeAccessIssue]
    desk.sender.bell.ring((desk.own.who().id,))  # so that it is known where to ring

    assert late(desk, rings) == "two"


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

    assert late(desk, rings) == "two"
