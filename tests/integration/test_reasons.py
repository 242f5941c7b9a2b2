"""Every reason for which mail waits leaves a room that `verify` calls sound."""

from collections.abc import Callable

import pytest

from postroom.config import Settings
from postroom.model.ladder import Outcome, Reason, State
from postroom.room import journal
from postroom.room.local import LocalRoom
from postroom.room.offer import offer
from postroom.room.refusal import refused
from postroom.room.sweep import give_back
from postroom.room.verify import verify
from postroom.runtimes.contract import Failure
from tests.clockwork import Clock
from tests.conftest import OpenRoom

pytestmark = pytest.mark.timeout(60)

Case = Callable[[LocalRoom], None]


def _with(**wishes: object) -> Case:
    """The recipient wants to be left alone; the message comes after that."""

    def case(room: LocalRoom) -> None:
        room.manners("builder", **wishes)  # type: ignore[arg-type]
        room.send("builder", "for later")

    return case


def _scheduled(room: LocalRoom) -> None:
    room.send("builder", "for later", after=3600)


def _rate_limited(room: LocalRoom) -> None:
    for n in range(3):
        room.send("builder", f"message {n}")


def _taken(room: LocalRoom) -> None:
    for agent in ("builder", "helper"):
        room.join(agent, role="worker")
    room.send("one:@workers", "for one of them")
    assert room.take("helper")


def _unproven(room: LocalRoom) -> None:
    room.send("builder", "shown, perhaps")
    _return(room, Outcome.UNPROVEN)


def _unacknowledged(room: LocalRoom) -> None:
    room.send("builder", "pushed, and the connection ended")
    for _ in range(2):
        mail = offer(room, "builder", route="websocket")
        assert mail
        with room.write() as tx:
            give_back(tx, mail, room.settings, Outcome.UNPROVEN)


def _deferred(room: LocalRoom) -> None:
    room.nack(room.send("builder", "not now").id, "busy", agent="builder", retry_after=60)


def _api_error(room: LocalRoom) -> None:
    with room.write() as tx:
        refused(tx, room.who("builder").id, Failure("429 Too Many Requests"))
    room.send("builder", "for a model that takes requests again")


def _uncertain(room: LocalRoom) -> None:
    room.send("builder", "typed, perhaps")
    _return(room, Outcome.UNCERTAIN, Reason.UNCERTAIN)


def _found_in_the_way(reason: Reason) -> Case:
    """A route found something in the way; the message is in the queue again, with that reason."""

    def case(room: LocalRoom) -> None:
        room.send("builder", "not shown")
        _return(room, Outcome.REFUSED, reason)

    return case


def _return(room: LocalRoom, outcome: Outcome, reason: Reason | None = None) -> None:
    mail = room.take("builder")
    assert mail
    with room.write() as tx:
        give_back(tx, mail, room.settings, outcome, reason)


# One entry a reason. A new reason needs a new entry: what makes a message wait for it.
CASES: dict[Reason, Case] = {
    Reason.MUTED: _with(mute=True),
    Reason.PAUSED: _with(paused=True),
    Reason.QUIET_HOURS: _with(hours="0:00-23:59", zone="UTC"),
    Reason.DIGEST: _with(digest=60),
    Reason.SCHEDULED: _scheduled,
    Reason.RATE_LIMITED: _rate_limited,
    Reason.TAKEN: _taken,
    Reason.UNPROVEN: _unproven,
    Reason.UNCERTAIN: _uncertain,
    Reason.UNACKNOWLEDGED: _unacknowledged,
    Reason.DEFERRED: _deferred,
    Reason.API_ERROR: _api_error,
}
for _one in (
    Reason.BUSY, Reason.APPROVAL, Reason.DRAFT, Reason.UNKNOWN_SCREEN, Reason.LEFT_TEXT, Reason.TYPING,
    Reason.COPY_MODE, Reason.SYNCHRONISED, Reason.BACKGROUND, Reason.TOO_LONG, Reason.OFFLINE, Reason.WAKING,
    Reason.STOP_CAP, Reason.IN_HAND,
):  # fmt: skip
    CASES[_one] = _found_in_the_way(_one)


def test_every_reason_has_a_case() -> None:
    assert set(CASES) == set(Reason)


def _waits_for(room: LocalRoom, reason: Reason) -> bool:
    with room.store.read():
        rows = list(room.store.whole().rows("delivery"))
    return any(row["state"] == State.STORED and row["reason"] == reason for row in rows)


@pytest.mark.promise("verify")
@pytest.mark.parametrize("reason", CASES)
def test_a_room_where_mail_waits_is_sound(open_room: OpenRoom, clock: Clock, reason: Reason) -> None:
    limited = reason is Reason.RATE_LIMITED
    room = open_room("planner", clock=clock, settings=Settings(recipient_rate=int(limited)))
    room.join("builder")
    CASES[reason](room)
    assert _waits_for(room, reason)
    assert verify(room).problems == []
    journal.sync(room)
    assert verify(room).problems == []


STEPS: dict[str, Case] = {
    "send": lambda room: _did(room.send("builder", "for later")),
    "send, expiring": lambda room: _did(room.send("builder", "for a minute", expires=60)),
    "pause": lambda room: _did(room.manners("builder", paused=True)),
    "resume": lambda room: _did(room.manners("builder", paused=False)),
    "mute": lambda room: _did(room.manners("builder", mute=True)),
    "unmute": lambda room: _did(room.manners("builder", mute=False)),
    "leave": lambda room: _did(room.leave("builder")),
}


def _did(_: object) -> None: ...


@pytest.mark.parametrize(
    "steps",
    [
        ("send", "pause", "resume"),
        ("pause", "send, expiring", "resume"),
        ("mute", "send", "pause", "unmute", "resume"),
        ("pause", "send", "mute", "resume", "unmute"),
        ("pause", "send", "leave"),
    ],
    ids=" > ".join,
)
def test_a_room_stays_sound_while_somebody_is_paused(
    open_room: OpenRoom, clock: Clock, steps: tuple[str, ...]
) -> None:
    room = open_room("planner", clock=clock)
    room.join("builder")
    for step in steps:
        STEPS[step](room)
        assert verify(room).problems == [], step
