"""Scenes on machines that misbehave: `python -m tests.fault NAME ARGUMENT…`, often in a mount namespace."""

import importlib
import json
import os
import pkgutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import postroom
from postroom import label
from postroom.cli.commands.status import gather
from postroom.config import Settings
from postroom.daemon import log
from postroom.daemon.place import log_path
from postroom.errors import PostroomError
from postroom.hooks.program import install
from postroom.model.message import Mail
from postroom.room import journal, reserve
from postroom.room.keep import prune
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.runtimes import load
from postroom.setup.plan import commands
from tests.hooking import ClaudeCode
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


def taken(room: LocalRoom) -> Mail:
    mail = room.take("builder", handed=False)
    assert mail is not None
    return mail


@scene
def go_on_on_a_full_disk(home: str) -> None:
    """Fill the disk by mail, and then to the last byte; then do what frees space, and what must not."""
    room = enter(home, "planner")
    for agent in ("planner", "builder"):
        room.join(agent)
    reserve.keep(room)
    kept = reserve.held(home)
    told = []
    for _ in range(300):
        told.append(room.send("builder", MESSAGE).id)
    for _ in range(100):
        room.ack(taken(room))
    ballast = os.path.join(os.path.dirname(home), "ballast")
    with open(ballast, "wb", buffering=0) as file:

        def stuff() -> None:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

        stuff()
        sending, report = outcome(lambda: room.send("builder", MESSAGE * 100)), gather(room)
        read = []
        while len(read) < 60:
            stuff()
            mail = taken(room)
            room.settle(mail)
            read.append(mail.id)
            if len(read) % 2:
                room.ack(mail)
        stuff()
        listening = Listening(room, "builder", 0)
        heard = [next(listening).id for _ in range(20)]
        listening.close()
        stuff()
        again = outcome(lambda: room.send("builder", MESSAGE * 100))
        pruned = prune(room, room.now() + 1)
        verified = verify(room, deep=False).problems
        held = reserve.held(home)
    after = [outcome(lambda: room.send("builder", "a short one")) for _ in range(3)]
    os.unlink(ballast)
    reserve.keep(room)
    prune(room, room.now() + 1)
    healthy = gather(room)["store"]["full"]
    left = [mail.id for mail in room.peek("builder", limit=500)]
    say({
        "kept": kept, "sending": [sending, again], "order": [*read, *heard] == told[100:180],
        "full": report["store"]["full"], "pruned": pruned.messages,
        "warned": [text for text in report["warnings"] if "full" in text],
        "problems": verified + verify(room, deep=True).problems, "held": held, "after": after,
        "then": reserve.held(home), "healthy": healthy, "left": len(left), "sound": sound(home),
    })  # fmt: skip


@scene
def prune_with_journals_behind(home: str, is_long: str) -> None:
    """Fill the disk by mail, half of it done with, while no journal is written; then prune.

    `is_long`: most of the latest mail is in the log then, and has no space in the store.
    """
    room = enter(home, "planner")
    for agent in ("planner", "builder"):
        room.join(agent)
    reserve.keep(room)
    kept, sent = reserve.held(home), 0
    while outcome(lambda: room.send("builder", MESSAGE * 3)) == "done":
        sent += 1
        if sent % 2:
            room.ack(taken(room))
        if not is_long and reserve.free(home) < 12 << 20:
            break
    if not is_long:
        reserve.empty_log(room)
        ballast = os.path.join(os.path.dirname(home), "ballast")
        with open(ballast, "wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)) == 4096:
                pass
    report, behind, held = gather(room), journal.lag(room), reserve.held(home)
    pruned: list[int] = []
    steps = [
        [outcome(lambda: pruned.append(prune(room, room.now() + 1).messages)), reserve.held(home)]
        for _ in range(3)
    ]
    read = [outcome(lambda: room.settle(taken(room))) for _ in range(5)]
    problems = verify(room, deep=True).problems
    journals = reserve.held(home), outcome(lambda: journal.sync(room))
    problems += verify(room, deep=True).problems
    say({
        "kept": kept, "held": held, "sent": sent, "behind": behind, "warned": report["warnings"],
        "steps": steps, "pruned": pruned, "read": read, "problems": problems, "journals": journals,
        "sound": sound(home),
    })  # fmt: skip


class Installed(ClaudeCode):
    """A session whose hooks are the shell commands of a set-up; nothing of its own is on the room's disk."""

    def run(self, event: str, stdin: dict[str, Any]) -> tuple[int, str, str]:
        told = {"session_id": self.session, "transcript_path": self.transcript, "cwd": self.cwd, **stdin}
        command = commands(load(self.runtime), self.home)[event]
        env = {**os.environ, "CLAUDE_CODE_SESSION_ID": self.session, "POSTROOM_AGENT": "backend"}
        done = subprocess.run(
            ["sh", "-c", command], input=json.dumps(told), env=env | {"POSTROOM_PROJECT": "p"}, cwd=self.cwd,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr


@contextmanager
def filled(directory: str, pages: int) -> Iterator[None]:
    """While its disk has only so many pages left."""
    ballast = os.path.join(directory, "ballast")
    size = 0
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                size += file.write(bytes(4096))
        except OSError:
            file.truncate(max(0, size - 4096 * pages))
    yield
    os.unlink(ballast)


@scene
def hooks_on_a_full_disk(home: str, work: str) -> None:
    """One message each while fewer and fewer pages are left: what the hooks said of it, then and later."""
    room = enter(home, "planner")
    room.join("planner")
    install(home)
    agent = Installed(home, work)
    agent.start()
    told = []
    for pages in (24, 12, *range(9, -1, -1)):
        sent = room.send("backend", f"MAIL-{pages:02}.").id
        with filled(os.path.dirname(home), pages):
            at_once = [f"MAIL-{pages:02}." in agent.tools(), f"MAIL-{pages:02}." in agent.prompt()]
            agent.stop()
            [full] = room.receipts(sent).deliveries
        for _ in range(3):
            agent.tools()
        [then] = room.receipts(sent).deliveries
        texts = [text for text in agent.shown if f"MAIL-{pages:02}." in text]
        labels = ["may have been shown" in text for text in texts]
        told.append({"pages": pages, "at_once": any(at_once), "full": full.state, "then": then.state,
                     "labels": labels})  # fmt: skip
    with filled(os.path.dirname(home), 0):
        agent.end()
    say({"told": told, "sound": sound(home)})


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
        # The SDKs are refused where their libraries are absent.
        if not {"cli", "sdk", "__main__"} & set(module.name.split(".")):
            importlib.import_module(module.name)
    for module in ("difflib", "encodings.idna", "threading", "tomllib"):
        importlib.import_module(module)
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
    os.environ["HOME"] = "/"
    SCENES[name](*args)


@scene
def log_on_a_full_disk(home: str) -> None:
    """Log until the disk is full and beyond; then make room. Says what stands there, and what was told."""
    log.begin(home, Settings(log_bytes=1 << 20))
    ballast = os.path.join(os.path.dirname(home), "ballast")
    with open(ballast, "wb") as file:
        file.write(bytes(24_000))
    for n in range(400):
        log.note("before", n=n, filling="x" * 300)
    told = log.facts()
    os.unlink(ballast)
    log.note("after")
    with open(log_path(home), encoding="utf-8") as file:
        say({"lines": file.read().splitlines(), "lost": told["lost"], "problem": told["problem"]})


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
