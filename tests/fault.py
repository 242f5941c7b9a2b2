"""Scenes on machines that misbehave: `python -m tests.fault NAME ARGUMENT…`, often in a mount namespace."""

import importlib
import os
import pkgutil
import signal
import sqlite3
import sys
from contextlib import closing
from typing import Any

import postroom
from postroom import label
from postroom.errors import PostroomError
from postroom.room.local import LocalRoom
from tests.scene import SCENES, cue, enter, play, say, scene

MESSAGE = "x" * 3000


def outcome(act: Any) -> str:
    """What an act comes to: `done`, or the code of the refusal. Anything else is a failure of the test."""
    try:
        act()
    except PostroomError as exc:
        return exc.code if exc.hint else f"{exc.code}, which does not say what to do next"
    return "done"


def sound(home: str) -> bool:
    with closing(sqlite3.connect(os.path.join(home, "room.db"))) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@scene
def fill(home: str) -> None:
    """Send until the disk is full; then make room and go on. Says what it was told, and what is there."""
    ballast = os.path.join(os.path.dirname(home), "ballast")
    with open(ballast, "wb") as file:
        file.write(bytes(13_000_000))
    room = enter(home, "planner")
    for agent in ("planner", "builder"):
        room.join(agent)
    told, refusal = [], ""
    for n in range(2000):
        try:
            told.append(room.send("builder", f"{n} {MESSAGE}").id)
        except PostroomError as exc:
            refusal = exc.code
            break
    refusals = {
        "send": refusal,
        "again": outcome(lambda: room.send("builder", MESSAGE * 100)),
        "reply": outcome(lambda: room.reply(told[0], MESSAGE * 100, agent="builder")),
    }
    looking = [mail.id for mail in room.peek("builder", limit=500)]
    waiting = [mail.id for mail in room.wait("builder", timeout=0.05, limit=500)]
    os.unlink(ballast)
    after = room.send("builder", "there is space again").id
    taken = []
    while (mail := room.take("builder")) is not None:
        taken.append(mail.id)
        room.ack(mail)
    room.close()
    say({"told": told, "refusals": refusals, "looking": looking, "waiting": waiting, "after": after,
         "taken": taken, "sound": sound(home)})  # fmt: skip


@scene
def open_on_a_full_disk(home: str) -> None:
    """Try to make a room where no byte is left, and again when some are."""
    ballast = os.path.join(os.path.dirname(home), "ballast")
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    refusals = [outcome(lambda: enter(home, "planner").join("planner")) for _ in range(2)]
    os.unlink(ballast)
    say({"refusals": refusals, "then": outcome(lambda: enter(home, "planner").join("planner"))})


@scene
def listen_on_a_full_disk(home: str) -> None:
    """Everything but sending, where no byte is left."""
    room = enter(home, "planner")
    for agent in ("planner", "builder"):
        room.join(agent)
    room.send("builder", "one")
    ballast = os.path.join(os.path.dirname(home), "ballast")
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass
    first = [outcome(lambda: next(room.listen("builder"))), outcome(lambda: room.hush("planner"))]
    os.unlink(ballast)
    listening = room.listen("builder", timeout=0.01)
    say({"first": first, "then": [mail.body for mail in listening]})


@scene
def use_read_only(home: str) -> None:
    """Every kind of use of a room that cannot be written."""
    fresh = lambda: enter(home, "planner")  # noqa: E731
    [mail] = [mail for mail in fresh().peek("builder") if mail.body == "one"]
    looks = {
        "peek": outcome(lambda: fresh().peek("builder")),
        "receipts": outcome(lambda: fresh().receipts(mail.id)),
        "agents": outcome(lambda: fresh().agents()),
        "sent": outcome(lambda: fresh().sent()),
        "thread": outcome(lambda: fresh().thread(mail.id)),
        "events": outcome(lambda: list(fresh().events())),
        "wait": outcome(lambda: fresh().wait("builder", timeout=0.05)),
        "until": outcome(lambda: fresh().until(mail.id, "seen", timeout=0.05)),
        "sweep": outcome(lambda: fresh().sweep()),
    }
    acts = {
        "send": outcome(lambda: fresh().send("builder", "x")),
        "take": outcome(lambda: fresh().take("builder")),
        "listen": outcome(lambda: fresh().listen("builder")),
        "ack": outcome(lambda: fresh().ack(mail.id, agent="builder")),
        "join": outcome(lambda: fresh().join("newcomer")),
        "hush": outcome(lambda: fresh().hush()),
    }
    say(
        {
            "looks": looks,
            "acts": acts,
            "waiting": [mail.body for mail in fresh().wait("builder", timeout=0.05)],
        }
    )


@scene
def as_user(user: str, name: str, *args: str) -> None:
    """Another scene, played as another user who can read nothing of ours."""
    for module in pkgutil.walk_packages(postroom.__path__, "postroom."):
        if ".cli" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for module in ("difflib", "encodings.idna", "threading", "tomllib"):
        importlib.import_module(module)
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
    os.environ["HOME"] = "/"
    SCENES[name](*args)


@scene
def try_it(home: str) -> None:
    """What becomes of looking and of sending."""
    say({
        "peek": outcome(lambda: enter(home, "planner").peek("builder")),
        "send": outcome(lambda: enter(home, "planner").send("builder", "x")),
    })  # fmt: skip


@scene
def stop_with_the_lock(home: str) -> None:
    """Send, and stop (as by Ctrl-Z) while the write lock is held."""
    room: LocalRoom = enter(home, "planner")
    room.peek("builder")

    def here(step: str) -> None:
        if step == "before-commit":
            label.here, label.armed = lambda step: None, True
            os.kill(os.getpid(), signal.SIGSTOP)

    label.here, label.armed = here, True
    say("ready")
    cue()
    say(room.send("builder", "from the stopped one").id)
    cue()


if __name__ == "__main__":
    play(*sys.argv[1:])
