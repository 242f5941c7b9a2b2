"""Kills a carrier at every labelled step, and lets the next one go on from what it left.

`python -m tests.killed_carrier PLACE LAST` plays a day in a mailbox, in a new room, with the first carrier
killed at that step, counted from 1. A line tells the steps it came to, whether it was killed, and what there
was in the end.
"""

import json
import os
import signal
import sys
from typing import Any

from postroom import label
from postroom.bridges.files import arrivals, inbox, outbox
from postroom.config import Settings
from postroom.room.local import LocalRoom
from tests.postal import Agent, Postal

LIMITS = Settings(sender_rate=0, mailbox_rate=0, lease_seconds=0.001)


def open_room(place: str) -> LocalRoom:
    return LocalRoom(os.path.join(place, "home"), LIMITS, agent="alice", project="p")


def prepare(place: str) -> None:
    """Mail both ways; one letter of the inbox is read, the other is not."""
    with open_room(place) as room:
        for name in ("alice", "human:ana"):
            room.join(name)
        bob = Postal(room, os.path.join(place, "tree"))
        for text in ("read", "unread"):
            room.send("bob", text)
        bob.carry()
        bob.close()
        bob.put_away(bob.names("inbox")[0])
        room.send("bob", "new")
    bob.put("1.json", {"id": "1", "to": "alice", "payload": "one", "requiresAck": True})
    bob.put(
        "2.json", *({"id": f"2{n}", "to": "alice", "payload": f"two {n}"} for n in range(2)), {"id": "bad"}
    )
    bob.put("3.json", {"id": "3", "to": "nobody", "payload": "three"})
    unread = bob.inbox()[0]["id"]
    for name, text in (("17-a.json", "raw"), ("17-b.json", "raw, read"), ("17-c.json", "")):
        bob.drop(
            name, {"id": name, "from": "planner", "to": "bob", "payload": {"text": text}} if text else {}
        )
    bob.put_away("17-b.json")
    bob.put("4.json", {"id": "4", "to": "alice", "replyTo": unread, "payload": "four"})


def carry(place: str) -> None:
    with open_room(place) as room:
        bob = Postal(room, os.path.join(place, "tree"))
        bob.carry()
        bob.carry()
        bob.close()


def die_at(last: int, report: int) -> None:
    """Play, and be killed at that step."""
    count = 0

    def here(step: str) -> None:
        nonlocal count
        count += 1
        os.write(report, f"{step}\n".encode())
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

    label.armed, label.here = True, here


def play(place: str, last: int) -> tuple[list[str], bool]:
    """The steps the first carrier came to, and whether it died at the last of them."""
    prepare(place)
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        die_at(last, writer)
        carry(place)
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="ascii") as report:
        steps = report.read().split()
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), f"it ended with {status}"
    carry(place)
    carry(place)
    return steps, status == signal.SIGKILL


def text_of(letter: dict[str, Any]) -> str:
    return letter.get("body") or letter["payload"]["text"]


def left(place: str) -> dict[str, Any]:
    """What there is, as the agents and the room see it."""
    bob = Agent(os.path.join(place, "tree", "bob"))
    with open_room(place) as room:
        room.join("planner")
        return {
            "raw": {m.body: d[0].state.value for m, d in room.sent("planner")},
            "refused": bob.names("inbox", "rejected"),
            "alice": sorted(mail.body for mail in room.peek("alice")),
            "inbox": sorted(text_of(one).split("\n")[0] for one in bob.inbox()),
            "repeats": sorted(text_of(one) for one in bob.inbox() if one.get("mayBeRepeat")),
            "states": {m.body: d[0].state.value for m, d in room.sent("alice")},
            "processed": bob.names("outbox", "processed"),
            "rejected": bob.names("outbox", "rejected"),
            "taking": bob.names("outbox", ".taking"),
            "outbox": bob.names("outbox"),
            "receipts": bob.names("receipts"),
        }


def main(place: str, last: int) -> None:
    inbox._SURE = outbox._QUIET = arrivals._QUIET = 0.0  # nobody waits for a clock here
    steps, killed = play(place, last)
    sys.stdout.write(json.dumps({"steps": steps, "killed": killed, **left(place)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
