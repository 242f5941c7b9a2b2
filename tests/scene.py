"""Scenes that tests let other processes play: `python -m tests.scene NAME ARGUMENT…`.

A scene says what it was told by the room, line by line, and waits for cues on its standard input.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from postroom import host, label
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
    settings.setdefault("sender_rate", 0)
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
def migrate_and_die(home: str, number: str) -> None:
    """Open a room of an earlier version, and die after so many statements of its migration."""
    left = int(number)

    def here(step: str) -> None:
        nonlocal left
        left -= step == "migrating"
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    label.here = here
    enter(home).peek("planner")
    say("alive")


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
    while (what := cue()) != "close":
        if what == "sleep":
            announce_sleep(listening.waiter)  # type: ignore[attr-defined]
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

    def waiter(party: str, *, enclosures: bool = False, aside: bool = False) -> Any:
        made = make(party, enclosures=enclosures)
        announce_sleep(made)
        return made

    room.bell.waiter = waiter


def announce_sleep(waiter: Any) -> None:
    sleep, announced = waiter.wait, []

    def wait(timeout: float | None) -> bool:
        if not announced and timeout:
            announced.append(True)
            say("waiting")
        return sleep(timeout)

    waiter.wait = wait


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
def peek_for_ever(home: str, agent: str) -> None:
    room = enter(home, agent)
    room.peek()
    say("ready")
    while True:
        room.peek(limit=20)
        list(room.events(after=room.store.look().last_cursor()))


@scene
def open_and_close(home: str, times: str) -> None:
    """Open the room, look, write and close it, so many times."""
    say("ready")
    cue()
    for number in range(int(times)):
        room = enter(home, "planner")
        room.peek("builder")
        if number % 3 == 0:
            room.hush("planner")
        room.close()
    say(int(times))


@scene
def send_for_ever(home: str, sender: str) -> None:
    """Send to the other one, again and again."""
    room = enter(home, sender)
    room.peek()
    say("ready")
    to = "builder" if sender == "planner" else "planner"
    while True:
        room.send(to, "hello", after=0.01 if os.urandom(1)[0] < 64 else None)
        room.wait(timeout=0.01)


@scene
def serve_for_ever(home: str, agent: str) -> None:
    """Take, settle and promise quiet, again and again."""
    room = enter(home, agent)
    room.peek()
    say("ready")
    while True:
        mail = room.take(timeout=0.01)
        if mail is not None:
            (room.settle if os.urandom(1)[0] < 128 else room.ack)(mail)
        room.hush()


@scene
def answer(home: str, agent: str, body: str) -> None:
    """Answer the first question that comes."""
    room = enter(home, agent)
    say("ready")
    mail = room.take(timeout=20)
    assert mail is not None
    room.reply(mail, body)
    cue()


@scene
def refuse(home: str, agent: str, reason: str) -> None:
    """Refuse the first message that comes."""
    room = enter(home, agent)
    say("ready")
    mail = room.take(timeout=20)
    assert mail is not None
    room.nack(mail, reason)
    cue()


@scene
def example(page: str, number: str) -> None:
    """Run an example of the docs as it stands there, and say what it prints."""
    import re

    import postroom

    with open(page, encoding="utf-8") as file:
        code = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)[int(number)]
    agent = "builder" if "take(" in code else "planner"
    say("ready")
    cue()
    room = postroom.open(agent=agent)

    def printed(*words: object) -> None:
        say(" ".join(map(str, words)) + "\n")

    exec(code, {"room": room, "postroom": postroom, "print": printed})


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


# families: processes that fork while they use a room


def forked(act: Callable[[], Any]) -> Callable[[], Any]:
    """Fork a child that acts; what is returned waits for it and gives what it found."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as stream:
                json.dump(act(), stream)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)

    def result() -> Any:
        with os.fdopen(reading) as stream:
            text = stream.read()
        assert os.waitpid(pid, 0)[1] == 0, "a forked child failed"
        return json.loads(text)

    return result


@scene
def family(home: str, children: str, count: str) -> None:
    """One room object, used by a process and by all the children it forks, at the same time."""
    room = enter(home, "planner")
    for n in range(70):  # enough for the checkpoint thread to run when the children are born
        room.ack(room.send("planner", f"warm {n}").id)

    def live(who: str) -> dict[str, Any]:
        sent = [room.send("builder", f"{who} {n}", sender="planner").id for n in range(int(count))]
        taken = []
        while (mail := room.take("builder")) is not None:
            taken.append([mail.id, mail.shown_before])
            room.settle(mail)
        return {"who": host.identity(), "sent": sent, "taken": taken}

    born = [forked(lambda n=n: live(f"child {n}")) for n in range(int(children))]
    say([live("parent"), *[result() for result in born]])


@scene
def fork_while_listening(home: str) -> None:
    """The parent listens; its child uses the same objects, and ends."""
    room = enter(home, "builder", sweep_seconds=3600.0)
    listening = room.listen()
    first = next(listening)

    def child() -> list[str]:
        found = []
        for act in (lambda: next(listening), room.take, room.listen):
            try:
                act()
                found.append("done")
            except PostroomError as exc:
                found.append(exc.code)
        listening.close()  # type: ignore[attr-defined]
        return found

    say({"first": first.body, "child": forked(child)()})
    room.send("builder", "two", sender="planner")  # rings the parent's own bell
    say(next(listening).body)
    say(room.receipts(first.id).deliveries[0].state.value)


@scene
def fork_while_waiting(home: str) -> None:
    """A forked child waits too: each must be woken by a ring of its own."""
    room = enter(home, "builder", sweep_seconds=3600.0)
    room.peek()
    waiter = room.waiter(room.who().id)
    child = forked(lambda: [mail.body for mail in room.wait(timeout=20)])
    say("waiting")
    rung = waiter.wait(20)
    say({"parent": rung, "child": child()})


@scene
def fork_in_a_transaction(home: str) -> None:
    """A child born inside its parent's transaction neither ends it nor writes into it."""
    room = enter(home, "planner", busy_seconds=0.05)

    def child() -> str:
        try:
            return room.send("builder", "from the child").id
        except PostroomError as exc:
            return exc.code

    with room.write() as tx:
        tx.append("agent.left", room.who("builder").id)
        during = forked(child)()
    say({"during": during, "left": room.who("builder").left_at is not None, "after": forked(child)()})


def play(name: str, *args: str) -> None:
    try:
        SCENES[name](*args)
    except PostroomError as exc:
        say({"raised": exc.code, "message": str(exc)})
        sys.exit(1)


if __name__ == "__main__":
    play(*sys.argv[1:])
