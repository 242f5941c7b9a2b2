"""A room on a rig: an agent wired by `postroom setup`, mail for it, and what became of it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import postroom
from postroom.hooks import journal, program
from postroom.model.context import own_id
from postroom.model.ladder import State
from postroom.model.message import Delivery, Sent, Session
from tests.agents.log import BOUND, until
from tests.agents.rig import RUN_BOUND, Done, Rig
from tests.agents.terminal import Terminal

BIN = os.path.dirname(sys.executable)
NAME = "backend"
ANA = "human:ana"
# As a shell command of the agent: it runs until it was sent something.
TOOL = "touch begun; until [ -e sent ]; do sleep 0.02; done"


def tool(number: int) -> str:
    """As `TOOL`, for one of several."""
    return TOOL.replace("begun", f"begun{number}").replace("sent", f"sent{number}")


NOTED: list[tuple[str, str, float | None]] = []  # what worked: agent, point, seconds from send to request
COUNTED: list[tuple[str, str, dict[str, float]]] = []  # agent, what, numbers

_DEADLY = """\
import os, sys
from postroom import label
def _offers():
    frame = sys._getframe()
    while frame and "visit" not in frame.f_locals:
        frame = frame.f_back
    return bool(frame) and frame.f_locals["visit"]._offering is not None
def _here(step):
    if step == {step!r} and {event!r} in ("", *sys.argv) and (step == "hook-begun" or _offers()):
        try:
            os.close(os.open({flag!r}, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), 9)
label.here, label.armed = _here, True
"""


class Running(NamedTuple):
    """An agent that runs headless."""

    process: subprocess.Popen[str]

    def finish(self) -> int:
        self.process.communicate(timeout=RUN_BOUND)
        return self.process.returncode


class Posted(NamedTuple):
    """A message that was sent, and when."""

    mark: str
    id: str
    at: float


class Desk:
    """Writes to the agent as a person would, from outside its world."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.home = os.path.join(rig.place.home, ".local", "share", "postroom")  # where it is by default
        self.room = postroom.open(self.home, project="shop")
        self.room.join(ANA)
        self.env: Any = {
            "PATH": f"{BIN}:{os.path.dirname(rig.program)}:{rig.env['PATH']}",
            "POSTROOM_AGENT": NAME,
            "POSTROOM_SENDER_RATE": "0",
        }
        self._number = 0
        # Codex runs its tools in a login shell, which makes a PATH of its own.
        rig.place.write(".profile", f'export PATH="{BIN}:$PATH"\n')

    def set_up(self) -> Self:
        """As the README tells a user to."""
        done = self.rig.command(
            os.path.join(BIN, "postroom"), "setup", self.rig.cli.name, "--yes", **self.env
        )
        assert done.code == 0, done
        return self.move_in()

    def move_in(self) -> Self:
        """Give the agent an address in the project that its directory is."""
        with self.room.write() as tx:
            if tx.project("shop") is None:
                tx.append("project.created", payload={"name": "shop", "root": self.rig.place.project})
        self.room.join(NAME)
        return self

    # mail

    def mark(self) -> str:
        """A text that no other message has."""
        self._number += 1
        return f"MAIL-{self._number - 1:02}-{os.urandom(3).hex()}"

    def send(self, text: str = "", to: str = NAME, mark: str = "", **more: Any) -> Posted:
        mark = mark or self.mark()
        at = time.time()
        sent: Sent = self.room.send(to, f"{mark} {text}".strip(), sender=ANA, **more)
        return Posted(mark, sent.id, at)

    def wait_tool(self, number: int | str = "") -> None:
        """Wait until the agent's tool has come to `TOOL`."""
        begun = os.path.join(self.rig.place.project, f"begun{number}")
        until(lambda: os.path.exists(begun), BOUND, "tool")

    def end_tool(self, number: int | str = "") -> None:
        """Let `TOOL` end."""
        self.rig.place.write(os.path.join(self.rig.place.project, f"sent{number}"), "")

    def post(self, mark: str = "") -> Posted:
        """As `send`, by the command line of the agent's own user, who has its CLI on the PATH."""
        mark, at = mark or self.mark(), time.time()
        done = postroom_in(self.rig, "send", NAME, mark, "--as", ANA, "--json", **self.env)
        assert done.returncode == 0, done
        return Posted(mark, json.loads(done.stdout)["id"], at)

    def delivery(self, id: str) -> Delivery:
        [found] = self.room.receipts(id).deliveries
        return found

    def is_seen(self, id: str) -> bool:
        return self.delivery(id).state is State.SEEN

    def wait_seen(self, id: str) -> Delivery:
        try:
            until(lambda: self.is_seen(id), BOUND, "evidence that it was seen")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.delivery(id)} {self.complaints()}") from None
        return self.delivery(id)

    def latency(self, one: Posted) -> float:
        """Seconds from the moment it was sent to the first request that has it."""
        arrived = self.rig.log.arrival(one.mark)
        assert arrived is not None
        return arrived - one.at

    def note(self, point: str, latency: float | None = None) -> None:
        """Something was shown to work, for the table in the docs."""
        NOTED.append((self.rig.cli.name, point, latency))

    def count(self, what: str, numbers: dict[str, float]) -> None:
        """Something was counted or measured, for the numbers in the docs."""
        COUNTED.append((self.rig.cli.name, what, numbers))

    # the agent

    def kill_once_at(self, step: str, event: str = "") -> None:
        """Let the next hook that comes to a labelled step die there; with `event`, the next of that event.

        From the claim on, one that has claimed something.
        """
        program.install(self.home)
        path = program.path(self.home)
        with open(path, encoding="utf-8") as file:
            usual = file.read()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._flag)
        with open(f"{path}.deadly", "w", encoding="utf-8") as file:
            deadly = _DEADLY.format(flag=self._flag, step=step, event=event)
            file.write(usual.replace("try:\n", deadly + "try:\n", 1))
        os.chmod(file.name, 0o700)
        os.replace(file.name, path)  # some hook may just be starting

    def wait_killed(self) -> None:
        """Wait until one has died, and let all that come live."""
        until(self.has_killed, BOUND, "hook that came to that step")
        program.install(self.home)

    @property
    def _flag(self) -> str:
        return os.path.join(self.home, "killed")

    def has_killed(self) -> bool:
        return os.path.exists(self._flag)

    def presence(self) -> str:
        """What the room thinks that the agent does."""
        [status] = [status for status in self.room.agents() if status.agent.name == NAME]
        return status.sessions[0].presence.value if status.sessions else "gone"

    def let_sleep(self) -> None:
        """What is sent from now on does not wake the agent."""
        self.room.ring.remove(self.room.who(NAME).id)

    def resume(self, prompt: str) -> Done:
        assert self.rig.cli.resume is not None
        return self.rig.command(self.rig.program, *self.rig.cli.resume(prompt), **self.env)

    def session(self) -> Session:
        """The one that the agent has now; nobody else has any that runs."""
        found = [(one.agent.name, sight) for one in self.room.agents(everyone=True) for sight in one.sessions]
        [(name, sight)] = [each for each in found if each[1].session.ended_at is None]
        assert name == NAME
        return sight.session

    def fork(self, session: Session, prompt: str) -> Done:
        """Run what goes on from where a session is, and is told no name."""
        assert self.rig.cli.fork is not None
        env = {name: value for name, value in self.env.items() if name != "POSTROOM_AGENT"}
        return self.rig.command(self.rig.program, *self.rig.cli.fork(own_id(session.id), prompt), **env)

    @contextlib.contextmanager
    def starting(self, prompt: str) -> "Iterator[Running]":
        """The agent at work on a prompt, while the test does something else."""
        process = self.rig.start(self.rig.program, *self.rig.cli.headless(prompt), **self.env)
        assert process.stdin is not None
        process.stdin.close()  # some wait for more of the prompt
        process.stdin = None
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def run(self, prompt: str) -> Done:
        return self.rig.command(self.rig.program, *self.rig.cli.headless(prompt), **self.env)

    def terminal(self, *arguments: str) -> Terminal:
        return self.rig.terminal(*arguments, **self.env)

    def close(self) -> None:
        self.room.close()

    def complaints(self) -> str:
        """What the hooks had to say against anything."""
        try:
            with open(journal.path(self.home), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""


def postroom_in(rig: Rig, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command line, as somebody at another terminal would call it."""
    env = rig.env | env
    command = [os.path.join(BIN, "postroom"), *words]
    return subprocess.run(
        command, env=env, cwd=rig.place.project, capture_output=True, text=True, timeout=BOUND, check=False
    )
