"""Scenes that tests let other processes play: `python -m tests.scene NAME ARGUMENT…`.

A scene says what it was told by the room, line by line, and waits for cues on its standard input.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from postroom import host
from postroom.config import Settings
from postroom.errors import PostroomError
from postroom.model.message import Mail
from postroom.room.local import LocalRoom

NOBODY = {"project": "p", "role": "", "capabilities": [], "description": "", "supervisor": None}
SCENES: dict[str, Callable[..., None]] = {}


def scene(function: Callable[..., None]) -> Callable[..., None]:
    SCENES[function.__name__] = function
    return function


def say(what: object) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def cue() -> Any:
    """Wait for the next cue; an ended input ends the process."""
    line = sys.stdin.readline()
    if not line:
        sys.stdout.flush()
        os._exit(0)
    return json.loads(line)


def enter(home: str, agent: str | None = None, **settings: Any) -> LocalRoom:
    return LocalRoom(home, Settings(**settings), agent=agent, project="p")


def shown(mail: Mail | None) -> dict[str, Any] | None:
    return mail and {"id": mail.id, "body": mail.body, "shown_before": mail.shown_before}


@scene
def idle() -> None:
    say(host.identity())
    cue()


@scene
def judge(process: str) -> None:
    say(host.is_gone(process))
    cue()


@scene
def take(home: str, agent: str) -> None:
    """Take one message, and hold it until the end."""
    room = enter(home, agent)
    say(shown(room.take()))
    cue()


@scene
def take_many(home: str, agent: str) -> None:
    """Wait for the cue, then take and settle until nothing is left."""
    room = enter(home, agent)
    room.peek()
    say("ready")
    cue()
    taken = []
    while (mail := room.take()) is not None:
        taken.append(mail.id)
        room.settle(mail)
    say(taken)


@scene
def listen(home: str, agent: str) -> None:
    """Hold a mailbox; show one message for each cue."""
    room = enter(home, agent, sweep_seconds=3600.0)
    listening = room.listen()
    say("listening")
    while cue() != "close":
        say(shown(next(listening)))
    listening.close()  # type: ignore[attr-defined]
    say("closed")
    cue()


@scene
def wait(home: str, agent: str, sweep: str = "3600") -> None:
    """Wait for mail, and say what came."""
    room = enter(home, agent, sweep_seconds=float(sweep))
    room.peek()
    announce_when_asleep(room)
    say([mail.body for mail in room.wait(timeout=20)])
    cue()


@scene
def take_waiting(home: str, agent: str, sweep: str = "3600") -> None:
    """Wait for a message and take it; settle on the next cue."""
    room = enter(home, agent, sweep_seconds=float(sweep))
    room.peek()
    announce_when_asleep(room)
    mail = room.take(timeout=20)
    say(shown(mail))
    cue()
    assert mail is not None
    room.settle(mail)
    say("settled")
    cue()


@scene
def wait_idle(home: str, agent: str, seconds: str) -> None:
    """Wait in vain, and say what it cost."""
    room = enter(home, agent)
    room.wait(timeout=0.01)  # everything is imported and opened now
    before = os.times()
    found = room.wait(timeout=float(seconds))
    after = os.times()
    say({"found": len(found), "cpu": after.user + after.system - before.user - before.system})


def announce_when_asleep(room: LocalRoom) -> None:
    """Say `waiting` the first time the bell's waiter is about to sleep."""
    make = room.bell.waiter

    def waiter(party: str) -> Any:
        made = make(party)
        sleep, announced = made.wait, []

        def wait(timeout: float | None) -> bool:
            if not announced and timeout:
                announced.append(True)
                say("waiting")
            return sleep(timeout)

        made.wait = wait
        return made

    room.bell.waiter = waiter


@scene
def send(home: str, sender: str, to: str, count: str) -> None:
    """Send so many, as fast as it goes, on the cue."""
    room = enter(home, sender)
    room.peek()
    say("ready")
    cue()
    say([room.send(to, f"{sender} {n}").id for n in range(int(count))])


@scene
def send_keyed(home: str, sender: str, to: str, count: str) -> None:
    """As `send`, with a key for each that others use too."""
    room = enter(home, sender)
    room.peek()
    say("ready")
    cue()
    say([room.send(to, str(n), key=f"key {n}").id for n in range(int(count))])


@scene
def send_on_cue(home: str, sender: str, to: str) -> None:
    """Send one message for each cue, and say what became of it."""
    room = enter(home, sender)
    room.peek()
    say("ready")
    while cue():
        try:
            say({"sent": room.send(to, "hello").id})
        except PostroomError as exc:
            say({"refused": exc.code})


@scene
def hold_the_lock(home: str) -> None:
    """Take the write lock and keep it."""
    room = enter(home)
    with room.store.write():
        say("locked")
        cue()


@scene
def write_and_stay(home: str) -> None:
    """Write a good deal, and never commit it."""
    room = enter(home)
    with room.store.write() as tx:
        for n in range(200):
            tx.append("agent.joined", f"a{n:014}", payload={**NOBODY, "name": f"ghost-{n}"})
        say("written")
        cue()


@scene
def create(home: str) -> None:
    """Open a room for the first time, at the cue, and join it."""
    say("ready")
    cue()
    room = enter(home)
    say(room.join(f"agent-{os.getpid()}").name)
    cue()


def play(name: str, *args: str) -> None:
    try:
        SCENES[name](*args)
    except PostroomError as exc:
        say({"raised": exc.code, "message": str(exc)})
        sys.exit(1)


if __name__ == "__main__":
    play(*sys.argv[1:])
