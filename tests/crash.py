"""A troupe that sends and receives until it is killed: `python -m tests.crash HOME LOG PROGRESS`.

The first process only forks the others and forks them again when they die, so that a kill costs
milliseconds. Each of them writes down what it is about to do and what it was told, one line each by one
`os.write` to a file opened for appending: such a line is there whole or not at all, and survives the writer's
death. A byte in the pipe PROGRESS says that something was written. Some also die by their own hand, at a
labelled step.
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable

from postroom import label
from postroom.config import Settings
from postroom.errors import MailboxLeased, PostroomError, StaleClaim
from postroom.model.message import Mail
from postroom.room.local import LocalRoom

TAKEN, LISTENED, SENDERS = "alpha", "beta", ("sam", "sue")
ROLES = ("sam", "sue", "taker", "taker", "listener", "listener")
AT_ITS_OWN_HAND = 0.002  # of all labelled steps

Say = Callable[..., None]


def open_room(home: str, agent: str | None = None) -> LocalRoom:
    return LocalRoom(
        home, Settings(sender_rate=0, sweep_seconds=0.05, busy_seconds=60.0), agent=agent, project="p"
    )


def send(room: LocalRoom, say: Say, chance: random.Random) -> None:
    number = 0
    while True:
        to = chance.choice((TAKEN, LISTENED))
        token = f"{room.agent} {os.getpid()} {number}"
        number += 1
        say("sending", token)
        sent = room.send(to, token, priority=chance.choice(("urgent", "normal", "normal", "low")))
        say("sent", token, sent.id)
        if room.store.look().counts(sent.deliveries[0].recipient_id)[0] > 20:
            room.until(sent.id, "offered", timeout=0.2)


def take(room: LocalRoom, say: Say, chance: random.Random) -> None:
    while True:
        mail = room.take(TAKEN, timeout=5, handed=chance.random() < 0.5)
        if mail is None:
            continue
        say("shown", mail.id, mail.shown_before)
        if chance.random() < 0.5:
            try:
                room.settle(mail)
                say("settled", mail.id)
            except StaleClaim:  # a lease lapsed: this machine was slow
                say("stale", mail.id)
                continue
        finish(room, mail, say, chance)


def listen(room: LocalRoom, say: Say, chance: random.Random) -> None:
    while True:
        try:
            listening = room.listen(LISTENED, timeout=5)
        except MailboxLeased:
            room.until_free(LISTENED)  # type: ignore[attr-defined]
            continue
        before: Mail | None = None
        for mail in listening:
            if before is not None:
                say("settled", before.id)
            say("shown", mail.id, mail.shown_before)
            before = mail if finish(room, mail, say, chance) else None
            if chance.random() < 0.02:
                break
        listening.close()  # type: ignore[attr-defined]


def finish(room: LocalRoom, mail: Mail, say: Say, chance: random.Random) -> bool:
    """Acknowledge, reply, refuse or leave it at that; whether it was left at that."""
    match chance.randrange(8):
        case 0 | 1 | 2:
            room.ack(mail)
            say("acked", mail.id)
        case 3:
            say("replying", mail.id)
            room.reply(mail, f"re {mail.id}")
            say("acked", mail.id)
        case 4:
            room.nack(mail, "not today")
            say("bounced", mail.id)
        case _:
            return True
    return False


PARTS = {"taker": take, "listener": listen, "sam": send, "sue": send}


def perform(role: str, home: str, log: int, progress: int) -> None:
    chance = random.Random(os.urandom(8))

    def say(*words: object) -> None:
        os.write(log, json.dumps([os.getpid(), *words]).encode() + b"\n")
        try:
            os.write(progress, b".")
        except BlockingIOError:
            pass

    def here(step: str) -> None:
        if chance.random() < AT_ITS_OWN_HAND:
            os.kill(os.getpid(), signal.SIGKILL)

    def until_free(agent: str) -> None:
        """Another listens: wait for a sign that it no longer does."""
        room.wait(agent, timeout=0.05)

    label.here, label.armed = here, True
    room = open_room(home, role if role in SENDERS else None)
    room.until_free = until_free  # type: ignore[attr-defined]
    try:
        PARTS[role](room, say, chance)
    except PostroomError as exc:
        say("failed", role, exc.code, str(exc))


def direct(home: str, log_path: str, progress: int) -> None:
    """Fork the troupe, and whoever of it dies again."""
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.set_blocking(progress, False)
    cast: dict[int, str] = {}

    def fork(role: str, died: int = 0) -> None:
        if (pid := os.fork()) == 0:
            try:
                perform(role, home, log, progress)
            except BaseException as exc:
                os.write(
                    log,
                    json.dumps([os.getpid(), "failed", role, type(exc).__name__, str(exc)]).encode() + b"\n",
                )
            finally:
                os._exit(1)
        cast[pid] = role
        os.write(1, json.dumps({"born": pid, "role": role, "died": died}).encode() + b"\n")

    for role in ROLES:
        fork(role)
    while True:
        pid, _ = os.waitpid(-1, 0)
        fork(cast.pop(pid), pid)


if __name__ == "__main__":
    direct(sys.argv[1], sys.argv[2], int(sys.argv[3]))
