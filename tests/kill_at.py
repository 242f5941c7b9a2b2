"""Kills a process at every labelled step of a scenario, and looks at what it leaves behind.

`python -m tests.kill_at SCENARIO HOME [WRONG]` plays the scenario in a forked child again and again, each
time in a new room under HOME and each time killed one step later, until it survives. It prints a line for
each round: the step it died at, and every broken promise found while the write lock was held. WRONG puts in
an order that looks right and is not, so that the test of the tests can see it fail.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

from postroom import label
from postroom.clock import wall
from postroom.config import Settings
from postroom.model.message import Mail
from postroom.room import unit
from postroom.room.local import LocalRoom
from postroom.room.settle import see

Scenario = Callable[[LocalRoom], None]
SCENARIOS: dict[str, tuple[Scenario, Scenario]] = {}
AGENTS = ("planner", "builder")


def open_room(home: str) -> LocalRoom:
    return LocalRoom(home, Settings(sender_rate=0, lease_seconds=0.001), agent="planner", project="p")


def scenario(prepare: Scenario) -> Callable[[Scenario], Scenario]:
    """What happens, after what was prepared by a process that lived."""

    def register(act: Scenario) -> Scenario:
        SCENARIOS[act.__name__] = (prepare, act)
        return act

    return register


# what was there before


def quiet(room: LocalRoom) -> None:
    for agent in AGENTS:
        room.join(agent)
        assert room.hush(agent) is not None


def one_waits(room: LocalRoom) -> None:
    quiet(room)
    room.send("builder", "one")


def two_wait(room: LocalRoom) -> None:
    one_waits(room)
    room.send("builder", "two")


def times_up(room: LocalRoom) -> None:
    """Something to release, to expire and to give back, and both agents quiet as far as they know."""
    quiet(room)
    room.send("builder", "claimed")
    assert room.take("builder", handed=False) is not None
    room.send("builder", "later", after=0.002)
    room.send("planner", "stale", expires=0.002)
    for agent in AGENTS:
        room.hush(agent)
    while (due := room.store.look().next_due()) is None or due + 3 > wall():
        os.sched_yield()


def held_by_the_dead(room: LocalRoom) -> None:
    """A message taken by a process that is gone, and one it listened to."""
    two_wait(room)
    if (pid := os.fork()) == 0:
        other = open_room(room.home)
        other.take("builder")
        next(other.listen("builder"))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def dead(room: LocalRoom) -> None:
    quiet(room)
    room.send("builder", "doomed")
    while not room.dead():
        room.take("builder", handed=False)
        room.sweep()
    room.ack(room.peek("planner")[0].id)  # the bounce
    for agent in AGENTS:
        assert room.hush(agent) is not None


# what happens


@scenario(quiet)
def send(room: LocalRoom) -> None:
    room.send("builder", "one")
    room.send("planner", "two", sender="builder")


@scenario(quiet)
def send_later(room: LocalRoom) -> None:
    room.send("builder", "later", after=30)
    room.hush("builder")


@scenario(quiet)
def send_with_files(room: LocalRoom) -> None:
    room.send("builder", "see", attachments=[b"one", b"two"])


@scenario(two_wait)
def take_and_settle(room: LocalRoom) -> None:
    while (mail := room.take("builder")) is not None:
        room.settle(mail)
        room.hush("builder")


@scenario(two_wait)
def take_and_ack(room: LocalRoom) -> None:
    while (mail := room.take("builder", handed=False)) is not None:
        room.ack(mail)
        room.hush("builder")


@scenario(two_wait)
def reply_and_refuse(room: LocalRoom) -> None:
    first, second = room.peek("builder")
    room.reply(first.id, "thanks", agent="builder")
    room.nack(second.id, "no", agent="builder")
    room.hush("builder")
    room.hush("planner")


@scenario(two_wait)
def listen(room: LocalRoom) -> None:
    for _ in room.listen("builder", timeout=0.001):
        room.hush("builder")
    room.hush("builder")


@scenario(two_wait)
def withdraw(room: LocalRoom) -> None:
    for message, _ in room.sent("planner"):
        room.withdraw(message.id)
        room.hush("builder")


@scenario(times_up)
def sweep(room: LocalRoom) -> None:
    room.sweep()
    for agent in AGENTS:
        room.hush(agent)


@scenario(held_by_the_dead)
def reap(room: LocalRoom) -> None:
    while (mail := room.take("builder")) is not None:
        room.settle(mail)
        room.hush("builder")


@scenario(dead)
def retry(room: LocalRoom) -> None:
    room.retry(room.dead()[0].id)


@scenario(two_wait)
def rename(room: LocalRoom) -> None:
    room.rename("carpenter", agent="builder")


# the promise


UNSETTLED = "SELECT state, place = 8, due_at FROM delivery WHERE recipient = ? AND place < 10"


def broken(home: str) -> list[str]:
    """Every promise of quiet that does not hold, found while holding the write lock."""
    found: list[str] = []
    with closing(sqlite3.connect(os.path.join(home, "room.db"), timeout=20, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        now = wall()
        for (agent,) in db.execute("SELECT id FROM agent").fetchall():
            try:
                until = os.stat(os.path.join(home, "run", "quiet", "a", agent)).st_mtime_ns // 1_000_000
            except FileNotFoundError:
                continue
            if until <= now:
                continue
            for state, held, due in db.execute(UNSETTLED, (agent,)).fetchall():
                if state == "offered" or not held:
                    found.append(f"quiet is promised, and a delivery is {state}")
                elif due < until:
                    found.append("quiet is promised beyond the moment at which mail is due")
        db.execute("ROLLBACK")
    return found


# playing


class KillAt:
    """Stands in for `label.here`: notes every step, and dies at one of them."""

    def __init__(self, last: int, note: int) -> None:
        self.left = last
        self.note = note

    def __call__(self, step: str) -> None:
        self.left -= 1
        if self.left < 0:
            os.write(self.note, step.encode())
            os.kill(os.getpid(), signal.SIGKILL)


def play(name: str, home: str) -> bool:
    """One round for each step. Whether nothing was found broken."""
    prepare, act = SCENARIOS[name]
    number = 0
    while True:
        there = os.path.join(home, str(number))
        with open_room(there) as room:
            prepare(room)
        step = _die_at(number, act, there)
        complaints = broken(there)
        with open_room(there) as room:  # whoever comes next finds a room that works
            agents = room.store.look().agents()
            for agent in agents:
                room.hush(agent.name)
            complaints += broken(there)
            room.send(agents[0].name, "still here")
            complaints += broken(there)
        print(json.dumps({"step": step, "broken": complaints}), flush=True)  # noqa: T201 - its report
        if step == "":
            return True
        number += 1


def _die_at(number: int, act: Scenario, home: str) -> str:
    """The step at which a child died; empty when it lived to the end."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            room = open_room(home)
            label.here, label.armed = KillAt(number, writing), True
            act(room)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as stream:
        step = stream.read()
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), f"the child failed: {status}"
    assert (status == signal.SIGKILL) == bool(step)
    return step


# orders that look right and are not


def lift_after_commit() -> None:
    end = unit.Unit.__exit__

    def end_late(self: unit.Unit, *args: Any) -> None:
        markers, lifted = self._room.quiet, list[str]()
        real = markers.lift
        markers.lift = lifted.extend  # type: ignore[method-assign]
        try:
            end(self, *args)
        finally:
            markers.lift = real
        label.here("late-lift")
        real(lifted)

    setattr(unit.Unit, "__exit__", end_late)  # noqa: B010 - says less of its arguments


def lower_while_settling() -> None:
    """Lowers in the same transaction that settles: it may yet be rolled back."""

    def settle(self: LocalRoom, mail: Mail) -> Any:
        with self.write() as tx:
            current = tx.mail(mail.delivery.seq, mail.delivery.recipient_id)
            assert current is not None
            seen = see(tx, current)
            if not tx.restless(mail.delivery.recipient_id):
                self.quiet.lower(mail.delivery.recipient_id, tx.now + 3_600_000)
            return seen

    LocalRoom.settle = settle


WRONG = {"lift_after_commit": lift_after_commit, "lower_while_settling": lower_while_settling}


if __name__ == "__main__":
    if len(sys.argv) > 3:
        WRONG[sys.argv[3]]()
    sys.exit(not play(sys.argv[1], sys.argv[2]))
