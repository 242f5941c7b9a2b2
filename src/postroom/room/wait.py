"""Waiting on the bell: no CPU while nothing happens, and a missed ring is made good by a slow sweep."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from postroom.errors import Refused, TimedOut
from postroom.model.ladder import State, ended, reached
from postroom.model.message import Delivery, Mail
from postroom.room.offer import offer, peek
from postroom.room.send import check_rung, send

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.bell.contract import Waiter
    from postroom.room.local import LocalRoom
    from postroom.room.options import SendOptions

T = TypeVar("T")


def watch(room: "LocalRoom", party: str, look: Callable[[], T], timeout: float | None) -> T:
    """Call `look` until it finds something or time is up; the last answer either way."""
    if timeout is not None and timeout <= 0:
        return look()
    return watch_with(room, room.waiter(party), party, look, timeout)


def watch_with(
    room: "LocalRoom", waiter: "Waiter", party: str, look: Callable[[], T], timeout: float | None
) -> T:
    """As `watch`, with a waiter that is bound already."""
    deadline = None if timeout is None else time.monotonic() + timeout
    version: int | None = None  # not known: the first sweep looks in any case
    while not (found := look()):
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        version = _sleep(room, waiter, party, left, version)
    return found


def _sleep(
    room: "LocalRoom", waiter: "Waiter", party: str, left: float | None, version: int | None
) -> int | None:
    """Until there is a reason to look: a ring, a change, a moment that has come, or no time left.

    The death of a process rings no bell: the sweep, done first of all and then now and again, finds it.
    """
    now = time.monotonic()
    until = None if left is None else now + left
    while True:
        due = next_due(room, party)
        pause = room.next_sweep - now
        if due is not None:
            pause = min(pause, (due - room.store.clock()) / 1000)
        if until is not None:
            pause = min(pause, until - now)
        rung = waiter.wait(max(0.0, pause))
        if due is not None and due <= room.store.clock():
            room.sweep()
            return room.store.changed()
        if rung and not room.bell.polls:
            return version
        now = time.monotonic()
        if now >= room.next_sweep:
            room.next_sweep = now + sweep_pause(room.settings.sweep_seconds)
            if room.sweep():
                return room.store.changed()
        now_version = room.store.changed()
        if now_version != version or (until is not None and now >= until):
            return now_version


def next_due(room: "LocalRoom", party: str) -> int | None:
    """When the clock next acts on a party's mail; never where it cannot: a wait for that would not sleep."""
    look = room.store.look()
    return None if room.store.readonly else look.next_due(party)


def sweep_pause(seconds: float) -> float:
    """Seconds ± 20 %, so that a hundred waiters do not look at once."""
    return seconds * (0.8 + 0.4 * os.urandom(1)[0] / 255)


def wait(room: "LocalRoom", agent: str | None, timeout: float | None, limit: int = 50) -> list[Mail]:
    """Sleep until mail is there; peeks, so that nothing is marked."""
    return watch(room, room.who(agent).id, lambda: peek(room, agent, limit), timeout)


def take(
    room: "LocalRoom", agent: str | None, timeout: float | None, *, route: str, handed: bool
) -> Mail | None:
    """Claim the next delivery, waiting for one if need be."""
    return watch(room, room.who(agent).id, lambda: offer(room, agent, route=route, handed=handed), timeout)


def until_rung(room: "LocalRoom", ref: str, rung: str, timeout: float | None) -> list[Delivery]:
    """Wait until every delivery of a message stands on a rung, or can no longer get there."""
    state = check_rung(rung)
    message = room.find_message(room.store.look(), ref)

    def settled() -> list[Delivery]:
        deliveries = room.store.look().deliveries(message.seq)
        done = all(reached(d.state, state) or ended(d.state) for d in deliveries)
        return deliveries if done else []

    found = watch(room, message.sender_id, settled, timeout)
    return found or room.store.look().deliveries(message.seq)


def ask(
    room: "LocalRoom",
    to: str,
    body: str,
    *,
    sender: str | None,
    timeout: float | None,
    **options: "Unpack[SendOptions]",
) -> Mail:
    """Send a request and wait for its answer, which is then seen."""
    author = room.ensure(sender)
    waiter = room.waiter(author.id)
    options.setdefault("type", "request")
    options.setdefault("requires_ack", True)
    sent = send(room, to, body, sender=sender, **options)
    request = sent.message
    correlation = request.correlation or request.id
    found = watch_with(
        room,
        waiter,
        author.id,
        lambda: room.store.look().answer(correlation, request.seq, author.id),
        timeout,
    )
    if found is None:
        raise TimedOut(
            f"no answer from {to} to {request.handle} within {timeout:g} s", message_ref=request.id,
            hint=f"It is {_state(room, request.id)}; a late answer comes to your inbox."
            f" See: postroom receipts {request.handle}",
        )  # fmt: skip
    _see_answer(room, found, author.id)
    if found.payload and "bounce" in found.payload:
        raise Refused(
            f"{to} did not take {request.handle}: {found.payload['bounce']['reason']}", message_ref=request.id
        )
    return found


def _see_answer(room: "LocalRoom", found: Mail, author: str) -> None:
    """The asker has it in hand, unless its mailbox belongs to a listener, who will be shown it too."""
    from postroom.errors import MailboxLeased, StaleClaim  # noqa: PLC0415 - for the rare case
    from postroom.room.settle import settle  # noqa: PLC0415

    try:
        agent = room.store.look().agent(author)
        mail = offer(room, agent.address if agent else None, ref=found.id, route="ask")
        if mail and mail.delivery.state is State.OFFERED:
            settle(room, mail)
    except (MailboxLeased, StaleClaim):
        pass


def _state(room: "LocalRoom", ref: str) -> str:
    message = room.find_message(room.store.look(), ref)
    return ", ".join(f"{d.state} for {d.recipient}" for d in room.store.look().deliveries(message.seq))
