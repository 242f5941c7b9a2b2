"""What the four agents of the demo do. Real programs on a real room: only their lines are made up."""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from postroom.model.message import Mail
from postroom.room.local import LocalRoom

PLANNER, BUILDER, REVIEWER, CRITIC = "planner", "builder", "reviewer", "critic"
ROLES = {PLANNER: "planner", BUILDER: "builder", REVIEWER: "reviewer", CRITIC: "reviewer"}
NAMES = tuple(ROLES)
A_REVIEWER = "one:@reviewers"
BUILDS = "topic:builds"
FOLLOWERS = (PLANNER, CRITIC)  # of the topic
EVERYONE = "@all"
PATIENCE = 20.0  # nobody waits longer than the whole demo may take


class Task(NamedTuple):
    """One piece of work the planner hands out."""

    id: str
    what: str


TASKS = (Task("T-1", "lexer"), Task("T-2", "parser"))
FATAL = TASKS[1].id  # the builder is killed while it has this one in hand


class Pace:
    """How long things take: for people to watch, or not at all."""

    def __init__(self, unit: float) -> None:
        self.unit = unit

    def work(self, units: float = 1.0) -> None:
        time.sleep(self.unit * units)


def enter(room: LocalRoom, name: str) -> None:
    """Take an agent's place in the room: its address, its role, and what it follows."""
    room.join(name, role=ROLES[name])
    if name in FOLLOWERS:
        room.subscribe(BUILDS, agent=name)


def planner(room: LocalRoom, pace: Pace) -> None:
    """Hands out the tasks, hears that they are done, and tells everyone that they are merged."""
    for task in TASKS:
        pace.work(0.7)
        room.send(
            BUILDER, f"Please build the {task.what}.", type="dispatch", subject=f"{task.id} {task.what}",
            payload={"task_id": task.id}, requires_ack=True,
        )  # fmt: skip
    done = 0
    for mail in room.listen(timeout=PATIENCE):
        pace.work(0.5)
        room.ack(mail)
        done += mail.type == "worker_done"
        if done == len(TASKS):
            break
    last = room.send(
        EVERYONE, "Both are merged. Thank you all.", type="merged", subject="all merged",
        payload={"branch": "parser"},
    )  # fmt: skip
    room.until(last.id, "acked", timeout=PATIENCE)


def builder(room: LocalRoom, pace: Pace, *, stuck_on: str = "") -> None:
    """Builds what it is told to, has it reviewed, and reports. Stuck, it never ends: so it can be killed."""
    for mail in _taken(room):
        task = (mail.payload or {}).get("task_id", "")
        if task and task == stuck_on:
            time.sleep(PATIENCE)
        pace.work(1.6)
        room.settle(mail)
        if not task:
            room.ack(mail)
            return
        _have_reviewed(room, pace, task)
        room.send(BUILDS, f"{task} builds.", type="status", subject=f"{task} built")
        room.reply(
            mail, f"{task} is done.", type="worker_done", subject=f"{task} done", payload={"task_id": task}
        )


def _have_reviewed(room: LocalRoom, pace: Pace, task: str) -> None:
    """Ask for any reviewer; whoever has claimed it is asked again until it approves."""
    whom, subject = A_REVIEWER, f"review {task}?"
    while True:
        answer = room.ask(
            whom, f"Please review {task}.", subject=subject, payload={"task_id": task}, timeout=PATIENCE
        )
        pace.work(0.5)
        room.ack(answer)
        if (answer.payload or {}).get("approved"):
            return
        pace.work(1.2)
        whom, subject = answer.sender, "test added?"


def reviewer(room: LocalRoom, pace: Pace) -> None:
    """Approves what it is shown, but wants a test for the second task first. Goes when all is merged."""
    wants_test = {FATAL}
    for mail in _taken(room):
        pace.work(1.1)
        room.settle(mail)
        if mail.type != "request":
            room.ack(mail)
            if mail.type == "merged":
                return
            continue
        task = (mail.payload or {})["task_id"]
        approved = task not in wants_test
        wants_test.discard(task)
        subject = "approved" if approved else "add a test"
        room.reply(
            mail, f"{task}: {subject}.", subject=subject, payload={"task_id": task, "approved": approved}
        )


def _taken(room: LocalRoom) -> Iterator[Mail]:
    """Mail, claimed one by one. Whatever is claimed by a process that dies is offered again."""
    while mail := room.take(timeout=PATIENCE):
        yield mail


PARTS: dict[str, Callable[..., None]] = {
    PLANNER: planner,
    BUILDER: builder,
    REVIEWER: reviewer,
    CRITIC: reviewer,
}
