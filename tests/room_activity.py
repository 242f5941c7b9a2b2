"""A busy room: everything that can happen in one happens, in an order that a seed decides.

Also run as a program, to let actions on a room be killed at labelled steps: see `Steps`.
"""

import contextlib
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator

from postroom import host, label
from postroom.config import Settings
from postroom.errors import PostroomError
from postroom.model.message import Mail
from postroom.room import backup, journal, keep
from postroom.room.local import LocalRoom
from postroom.room.options import Wishes
from tests.clockwork import Clock
from tests.process import ROOT, environment

AGENTS = ("planner", "builder", "reviewer", "human:ana")
WORDS = ("plan", "Bäume", "done?", "{}", "a\nb", "line\u2028feed", "日本", '"quoted"', "\\", "tab\there")

DEEDS = {
    "send": 5, "take": 3, "take_and_die": 2, "settle": 2, "ack": 2, "nack": 1, "reply": 2, "give_up": 1,
    "listen": 1, "listen_and_die": 1, "withdraw": 1, "rename": 1, "come_and_go": 1, "retry_dead": 1,
    "purge_dead": 1, "delete_project": 1, "let_time_pass": 1, "hush": 1, "send_to_many": 3, "follow": 1,
    "unfollow": 1, "take_one_and_die": 1, "open_gate": 1, "decide": 2,
    "be_left_alone": 1, "be_there_again": 1, "take_several": 1,
}  # fmt: skip


@contextlib.contextmanager
def gone_process() -> Generator[None]:
    """Within, this process claims as one that has died since: of an earlier boot of the machine."""
    mine = host.identity
    namespace = mine().split(".")[3]
    host.identity = lambda: f"4711.1.long-ago.{namespace}"
    try:
        yield
    finally:
        host.identity = mine


class Activity:
    """Does one thing after another in a room."""

    def __init__(self, room: LocalRoom, clock: Clock, seed: int) -> None:
        self.room = room
        self.clock = clock
        self.chance = random.Random(seed)
        self.taken: list[tuple[str, Mail]] = []
        self.ids: list[str] = []
        self.counter = 0
        for agent in AGENTS:
            room.join(agent, role=agent.rpartition(":")[2], capabilities=["x"])

    def run(self, steps: int) -> "Activity":
        for _ in range(steps):
            self.clock.advance(self.chance.choice((0, 0.001, 0.5, 3)))
            with contextlib.suppress(PostroomError):
                getattr(self, *self.chance.choices(list(DEEDS), list(DEEDS.values())))()
        return self

    def agent(self) -> str:
        return self.chance.choice(AGENTS)

    def text(self) -> str:
        self.counter += 1
        return f"{self.chance.choice(WORDS)} {self.counter} " + "x" * self.chance.randrange(200)

    def send(self) -> None:
        flip = self.chance.random
        sent = self.room.send(
            self.agent(), self.text(), sender=self.agent(),
            priority=self.chance.choice(("urgent", "high", "normal", "low")),
            subject=self.chance.choice(("", "a subject", "Größe")),
            payload={"n": self.counter, "f": 0.1, "deep": [None, {"ü": True}]} if flip() < 0.3 else None,
            metadata={"by": "test"} if flip() < 0.2 else None,
            type=self.chance.choice(("note", "request")),
            key=f"key-{self.chance.randrange(1000)}" if flip() < 0.2 else None,
            after=self.chance.choice((2, 30)) if flip() < 0.15 else None,
            expires=self.chance.choice((40, 90)) if flip() < 0.15 else None,
            reply_to=self.chance.choice(self.ids) if self.ids and flip() < 0.2 else None,
        )  # fmt: skip
        self.ids.append(sent.id)

    def send_to_many(self) -> None:
        to = self.chance.choice(("@all", "@x", "one:@x", "one:@x", "topic:news", "topic:tests", "@reviewers"))
        expires = self.chance.choice((40, 90)) if self.chance.random() < 0.15 else None
        self.ids.append(self.room.send(to, self.text(), sender=self.agent(), expires=expires).id)

    def follow(self) -> None:
        self.room.subscribe(self.chance.choice(("news", "tests")), agent=self.agent())

    def unfollow(self) -> None:
        self.room.unsubscribe(self.chance.choice(("news", "tests")), agent=self.agent())

    def take_one_and_die(self) -> None:
        """A program that has seen what was for one of several, and ends without a word."""
        with gone_process():
            mail = self.room.take(self.agent())
            if mail and self.chance.random() < 0.7:
                self.room.settle(mail)

    def be_left_alone(self) -> None:
        wishes: list[Wishes] = [
            {"mute": True},
            {"mute": 20},
            {"digest": 15},
            {"hours": "0:00-12:00", "zone": "UTC"},
        ]
        self.room.manners(self.agent(), **self.chance.choice(wishes))

    def be_there_again(self) -> None:
        self.room.manners(self.agent(), mute=False, digest=None, hours=None)

    def take_several(self) -> None:
        bundle = self.room.take_bundle(self.agent())
        if bundle and self.chance.random() < 0.7:
            self.room.settle_all(bundle.mails)

    def open_gate(self) -> None:
        expires = self.chance.choice((10, 90, None))
        to = self.chance.choice((self.agent(), "@x", "one:@x"))
        sent = self.room.send(to, self.text(), sender=self.agent(), type="decision_gate", expires=expires)
        self.ids.append(sent.id)

    def decide(self) -> None:
        for gate in self.room.gates()[:1]:
            self.room.decide(gate.message.id, self.chance.choice(gate.options), agent=self.agent())

    def take(self) -> None:
        agent = self.agent()
        mail = self.room.take(agent, handed=self.chance.random() < 0.7)
        if mail:
            self.taken.append((agent, mail))

    def take_and_die(self) -> None:
        with gone_process():
            self.room.take(self.agent())

    def some_taken(self) -> tuple[str, Mail]:
        if not self.taken:
            self.take()
        return self.taken.pop(self.chance.randrange(len(self.taken))) if self.taken else ("planner", None)  # type: ignore[return-value]

    def settle(self) -> None:
        _, mail = self.some_taken()
        if mail:
            self.room.settle(mail)

    def ack(self) -> None:
        agent, mail = self.some_taken()
        if mail:
            self.room.ack(mail, agent=agent)

    def nack(self) -> None:
        agent, mail = self.some_taken()
        if mail:
            self.room.nack(mail, f"no: {self.text()}", agent=agent)

    def reply(self) -> None:
        agent, mail = self.some_taken()
        if mail:
            self.ids.append(self.room.reply(mail, self.text(), agent=agent).id)

    def give_up(self) -> None:
        _, mail = self.some_taken()
        if mail:
            self.room.give_up(mail)

    def listen(self) -> None:
        listening = self.room.listen(self.agent(), timeout=0)
        for _ in range(self.chance.randrange(4)):
            next(listening, None)
        listening.close()  # type: ignore[attr-defined]

    def listen_and_die(self) -> None:
        with gone_process():
            listening = self.room.listen(self.agent(), timeout=0)
            for _ in range(self.chance.randrange(3)):
                next(listening, None)

    def withdraw(self) -> None:
        if self.ids:
            message = self.room.find_message(self.room.store.look(), self.chance.choice(self.ids))
            author = self.room.store.look().agent(message.sender_id)
            self.room.withdraw(message.id, sender=author.address if author else None)

    def rename(self) -> None:
        self.room.join("fleeting")
        self.room.rename(f"renamed-{self.counter}-{self.chance.randrange(99)}", agent="fleeting")

    def come_and_go(self) -> None:
        self.room.join("guest", description=self.text())
        self.room.leave("guest")

    def retry_dead(self) -> None:
        if dead := self.room.dead():
            self.room.retry(dead[0].id)

    def purge_dead(self) -> None:
        if dead := self.room.dead():
            self.room.purge(dead[0].id)

    def delete_project(self) -> None:
        self.room.join("brief/one")
        self.room.send("brief/one", self.text(), sender="brief/one")
        self.room.delete_project("brief")

    def let_time_pass(self) -> None:
        self.clock.advance(self.chance.choice((16, 60)))

    def hush(self) -> None:
        self.room.hush(self.agent())


def busy_room(
    home: str, *, steps: int = 150, seed: int = 0, rotate: int = 1 << 23, **settings: object
) -> LocalRoom:
    """A room in which much has happened, opened for `planner`; close it when done."""
    chosen = Settings(journal_rotate_bytes=rotate, max_unproven=2, **settings)  # type: ignore[arg-type]
    clock = Clock()
    room = LocalRoom(home, chosen, agent="planner", project="p", clock=clock)
    Activity(room, clock, seed).run(steps)
    return room


def reopened(home: str, **settings: object) -> LocalRoom:
    """The same room, later."""
    chosen = Settings(max_unproven=2, **settings)  # type: ignore[arg-type]
    return LocalRoom(home, chosen, agent="planner", project="p", clock=Clock(Clock().now + 10**7))


_NO_JOURNALS = ("_head", "_snapshot", "_lost", "_accepted", "index.json")


def told(home: str) -> list[tuple[str, dict]]:
    """Every line of every journal, as (whose journal, document), read without any of our code."""
    events = os.path.join(home, "events")
    with open(os.path.join(events, "index.json"), encoding="utf-8") as file:
        owners = {name: party for party, name in json.load(file).items()}
    found = []
    for directory, _, names in sorted(os.walk(events)):
        for name in sorted(names):
            if name.startswith((".", *_NO_JOURNALS)) or ".void" in name:
                continue
            path = os.path.join(directory, name)
            with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
                lines = file.read().splitlines()
            stem = _stem(os.path.relpath(path, events))
            owner = owners[f"{stem}.jsonl"] if os.sep in stem else stem
            found += [(owner, json.loads(text)) for text in lines]
    return found


def files(home: str) -> list[str]:
    """The paths of all files in the directory of the journals."""
    walked = os.walk(os.path.join(home, "events"))
    return [os.path.join(directory, name) for directory, _, names in walked for name in names]


def _stem(name: str) -> str:
    """What the files of a journal are named by: names may have dots, and a range of numbers has a hyphen."""
    return re.sub(r"(?:\.\d+-\d+)?\.jsonl(?:\.gz)?$", "", name)


def occurrences(home: str, needle: bytes) -> list[str]:
    """The files under a home that hold these bytes, as they are or unpacked."""
    found = []
    for directory, _, names in os.walk(home):
        for name in names:
            with contextlib.suppress(FileNotFoundError), open(os.path.join(directory, name), "rb") as file:
                content = file.read()
                if needle in content or (content[:2] == b"\x1f\x8b" and needle in gzip.decompress(content)):
                    found.append(os.path.join(directory, name))
    return found


# Killing at labelled steps. A child process forks once for each job: the fork works on a copy of the home,
# and kills itself when it comes to the n-th occurrence of a step.


def attach(room: LocalRoom, path: str) -> None:
    room.send("builder", "attached", attachments=[path, b"more"])


ACTIONS: dict[str, Callable[..., object]] = {
    "attach": attach,
    "sync": journal.sync,
    "prune": keep.prune,
    "redact": keep.redact,
    "backup": backup.backup,
    "restore": backup.restore,
}


class Steps:
    """The labelled steps of one action on one room, and what is left when it is killed at each."""

    def __init__(self, home: str, action: str, *arguments: object, rotate: int = 1 << 23) -> None:
        """`HOME` in an argument stands for the home of the room that is acted on."""
        self.job = {"home": home, "action": action, "arguments": arguments, "rotate": rotate}

    def killed_at_each(self, most: int = 3) -> dict[str, str]:
        """For each step (`label:n`): the home of a room whose process was killed there."""
        home = self.job["home"]
        [counted] = self._run([{**self.job, "copy": f"{home}-counted", "step": "", "n": 0}])
        places = [(step, n) for step, total in counted.items() for n in _spread(total, most)]
        jobs = [{**self.job, "copy": f"{home}-{step}-{n}", "step": step, "n": n} for step, n in places]
        ends = self._run(jobs)
        assert all(end == "killed" for end in ends), list(zip(places, ends, strict=True))
        return {f"{job['step']}:{job['n']}": job["copy"] for job in jobs}

    @staticmethod
    def _run(jobs: list[dict]) -> list:
        done = subprocess.run(
            [sys.executable, "-m", "tests.room_activity"], input=json.dumps(jobs), capture_output=True,
            text=True, cwd=ROOT, env=environment(), timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [json.loads(text) for text in done.stdout.splitlines()]


def _spread(total: int, most: int) -> list[int]:
    """The first, the last, and some between."""
    return sorted({1 + (total - 1) * k // max(1, most - 1) for k in range(most)} | {1})


def _play(job: dict) -> None:
    counted: Counter[str] = Counter()

    def here(step: str) -> None:
        counted[step] += 1
        if step == job["step"] and counted[step] == job["n"]:
            os.kill(os.getpid(), signal.SIGKILL)

    room = reopened(job["copy"], journal_rotate_bytes=job["rotate"])
    room.store.look().last_cursor()
    label.here, label.armed = here, True
    journal.PAGE, journal._CHUNK, keep.MESSAGES, keep.EVENTS = (
        15,
        5,
        10,
        50,
    )  # small, so that there are many steps
    arguments = [a.replace("HOME", job["copy"]) if isinstance(a, str) else a for a in job["arguments"]]
    ACTIONS[job["action"]](room, *arguments)
    mine = ("attachment", "blob", "before-commit", "after-commit") if job["action"] == "attach" else ("blob",)
    mine += ("journal", "snapshot", "prune", "redact", "backup", "restore")
    os.write(1, json.dumps({s: n for s, n in counted.items() if s.startswith(mine)}).encode() + b"\n")
    os._exit(0)


def main() -> None:
    for job in json.load(sys.stdin):
        shutil.copytree(job["home"], job["copy"], symlinks=True)
        child = os.fork()
        if child == 0:
            try:
                _play(job)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            os.write(1, b'"killed"\n')
        elif os.WEXITSTATUS(status):
            sys.exit(f"the action failed in {job['copy']}")
        elif job["step"]:
            os.write(1, b'"finished"\n')


if __name__ == "__main__":
    main()
