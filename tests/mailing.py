"""Programs that use a `Mailbox`, for tests to start: `python -m tests.mailing SCENE TREE NAME …`."""

import os
import signal
import sys
from typing import Any

from postroom import Letter, Mailbox, label
from tests.scene import cue, play, say, scene


def told(letter: Letter) -> dict[str, Any]:
    return {"text": letter.text, "id": letter.id, "again": letter.may_be_repeat, "from": letter.sender}


@scene
def mailbox_receive(tree: str, name: str, limit: str = "50") -> None:
    """Receive once, say what came, and hold it until the next cue."""
    with Mailbox(tree, name) as box:
        say([told(one) for one in box.receive(30, int(limit))])
        cue()


@scene
def mailbox_meet(tree: str, name: str, other: str) -> None:
    """At a cue, open a mailbox in a tree that may not be there yet; greet another, and say who greeted."""
    say("ready")
    cue()
    with Mailbox(tree, name) as box:
        while not any(one.sender == other for one in box.receive(1)):
            box.send(other, "are you there?", requires_ack=False)
        box.send(other, "I am, by now at the latest")
        say("met")
        cue()


@scene
def mailbox_drain(tree: str, name: str) -> None:
    """Say when it is ready, and then everything that comes, until the word `end`."""
    with Mailbox(tree, name) as box:
        say("ready")
        while True:
            for one in box.receive(30, 3):
                say(told(one))
                if one.text == "end":
                    return


@scene
def mailbox_killed(tree: str, step: str) -> None:
    """As alice, tell bob something; as bob, receive and answer it; and die at a labelled step on the way."""

    def here(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), signal.SIGKILL)

    label.here, label.armed = here, True
    with Mailbox(tree, "alice") as alice, Mailbox(tree, "bob") as bob:
        alice.send("bob", "task", id="task")
        for one in bob.receive(30):
            bob.reply(one.id, "done")
        bob.receive()
    say("alive")


@scene
def mailbox_fork(tree: str, name: str) -> None:
    """Receive, and leave a child behind that outlives this process."""
    box = Mailbox(tree, name)
    first = [told(one) for one in box.receive(30)]
    heard, told_to = os.pipe()
    if os.fork() == 0:
        try:
            box.receive()
        except Exception as exc:
            os.write(told_to, str(exc).encode())
        while True:
            signal.pause()
    say({"received": first, "child": os.read(heard, 4096).decode()})
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    play(*sys.argv[1:])
