"""A tmux server of a test's own, whose panes run the fake agent, the recorder, or anything else."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from postroom import host
from postroom.bridges.terminal.reading import Reading, read
from postroom.bridges.terminal.screen import Screen, parse
from tests.machine import lacks
from tests.process import BOUND, ROOT, environment, until
from tests.tui.log import events
from tests.tui.option import parser
from tests.tui.person import Person
from tests.tui.profile import PROFILE

SIZE = (100, 30)
_NEVER = threading.Event()


def patiently(condition: Callable[[], object]) -> None:
    """Ask until it is so, and leave the processor to others in between."""
    until(lambda: condition() or _NEVER.wait(0.005))


class Role:
    """A fake agent, wherever it is started: by `argv`, with `env`, in a terminal."""

    def __init__(self, place: str, options: Sequence[str], env: dict[str, str], name: str = "") -> None:
        self._place, self._told = place, 0
        self._log, self._control = (os.path.join(place, file) for file in ("log", "control"))
        program = [_python(place, name), "-S", "-m", "tests.tui.agent"]
        given = ["--log", self._log, "--control", self._control, *options]
        parser().parse_args(given)
        self.argv = [*program, *given]
        self.env = env

    @property
    def pid(self) -> int:
        """Its process, once it has begun."""
        return next(event["pid"] for event in self.log("started"))

    def log(self, *names: str) -> list[dict[str, Any]]:
        """What has happened so far, in order: all of it, or the events of some names."""
        found = events(self._log)
        assert not any(event["event"] == "crashed" for event in found), found[-1]["trace"]
        return [event for event in found if not names or event["event"] in names]

    def bytes(self) -> bytes:
        """All that it has read of its terminal."""
        return "".join(event["bytes"] for event in self.log("read")).encode("latin-1")

    def submitted(self) -> list[str]:
        """The texts that it took as prompts."""
        return [event["text"] for event in self.log("submitted")]

    def approvals(self) -> list[dict[str, Any]]:
        """The questions that were answered with yes."""
        return self.log("approved")

    def until(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until something has happened so often; the events of that name."""
        try:
            patiently(lambda: len(self.log(event)) >= count)
        except AssertionError as error:
            raise AssertionError(f"{error}: {count} {event}; {self.log()}") from None
        return self.log(event)

    def later(self, event: str, after: float) -> None:
        """Wait until the last event of a name is so many seconds ago."""
        at = self.log(event)[-1]["at"]
        patiently(lambda: time.monotonic() > at + after)

    def control(self, *words: str) -> int:
        """Make something happen (see `agent.py`); when it returns, it is drawn. The number of that frame."""
        self._told += 1
        own = os.path.join(self._place, f"told{self._told}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.bind(own)
            end.settimeout(BOUND)
            end.sendto(json.dumps(words).encode(), self._control)
            answer = json.loads(end.recv(4096))
        assert "error" not in answer, answer
        return answer["frame"]


def _python(place: str, name: str) -> str:
    """An interpreter, under another name if there is one: that is what a process is called by."""
    if not name:
        return sys.executable
    path = os.path.join(place, name)
    os.symlink(os.path.realpath(sys.executable), path)
    return path


class Pane(Role):
    """A pane in which a fake agent runs. A person's keys come from a client, or from `type` and `press`."""

    def __init__(self, stage: "Stage", pane: str, place: str) -> None:
        super().__init__(place, (), {})
        self._stage, self.id = stage, pane

    @property
    def target(self) -> str:
        """The pane and its server, as `postroom.hooks.around.pane` names them."""
        return f"{self.id}@{self._stage.server}"

    def ask(self, what: str) -> str:
        """The value of a format of tmux."""
        return self._stage.tmux("display-message", "-p", "-t", self.id, what)

    def type(self, text: str) -> None:
        """Characters, key by key, without an Enter."""
        text = re.sub(";$", "\\;", text)  # tmux takes a last one for the end of a command
        self._stage.tmux("send-keys", "-t", self.id, "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Keys by their names in tmux."""
        self._stage.tmux("send-keys", "-t", self.id, *keys)

    def paste(self, text: str, *, framed: bool = True) -> None:
        """One paste, in brackets if the program asked for them; else each newline is an Enter."""
        self._stage.tmux(*self.pasting(text, framed=framed))

    def pasting(self, text: str, *, framed: bool = True) -> list[str]:
        """The words of such a paste, for whoever does more at that moment: `[*pasting, ";", …]`."""
        self._stage.tmux("load-buffer", "-b", "stage", "-", text=text)
        return ["paste-buffer", "-t", self.id, "-d", "-b", "stage", *(("-p", "-r") if framed else ())]

    def screen(self) -> str:
        """What a person sees."""
        return self._stage.tmux("capture-pane", "-p", "-t", self.id)

    def look(self) -> Screen:
        """What is shown, with its colours."""
        cursor = int(self.ask("#{cursor_y}"))
        return parse(self._stage.tmux("capture-pane", "-p", "-e", "-N", "-t", self.id), cursor)

    def reading(self) -> Reading:
        """What the screen means by the profile of the fake agent."""
        return read(self.look(), PROFILE)

    def reads(self, wanted: Reading) -> None:
        """Wait until the screen means that."""
        patiently(lambda: self.reading() == wanted)

    def shows(self, text: str) -> None:
        """Wait until a text is on the screen."""
        patiently(lambda: text in self.screen())

    def control(self, *words: str) -> int:
        """As of any fake agent; when it returns, tmux shows it."""
        frame = super().control(*words)
        patiently(lambda: self._frame() >= frame)
        return frame

    def _frame(self) -> int:
        title = self.ask("#{pane_title}")
        return int(title.removeprefix("frame ")) if title.startswith("frame ") else 0


class Recording(Pane):
    """A pane in which the recorder runs: `bytes` are all that have reached it, and it has no log."""

    def bytes(self) -> bytes:
        with open(self._log, "rb") as file:
            return file.read()


class Stage:
    """Leaves nothing running when its `with` block ends. The server begins with the first pane."""

    def __init__(self, cwd: str = ROOT, size: tuple[int, int] = SIZE, **env: str) -> None:
        self.root = tempfile.mkdtemp(prefix="tui-")  # short: a socket's path has at most 107 bytes
        self.socket = os.path.join(self.root, "tmux")
        self._cwd, self._size = cwd, size
        self.env = environment(PYTHONPATH=ROOT, **env)
        self._persons: list[Person] = []
        self._has_server = False

    def tmux(self, *words: str, text: str = "") -> str:
        """What tmux answers; its errors are raised."""
        done = subprocess.run(
            ["tmux", "-S", self.socket, "-f", os.devnull, *words], env=self.env, check=True, timeout=BOUND,
            capture_output=True, text=True, input=text,
        )  # fmt: skip
        return done.stdout.removesuffix("\n")

    @property
    def server(self) -> str:
        """`SOCKET,PID.START`."""
        pid = int(self.tmux("display-message", "-p", "#{pid}"))
        return f"{self.socket},{'.'.join(host.identity_of(pid).split('.')[:2])}"

    def agent(self, *options: str, name: str = "", **where: Any) -> Pane:
        """A pane with a fake agent that is drawn, its program called `name`; `where` is as in `run`."""
        place = self._place()
        role = Role(place, options, {}, name)
        pane = Pane(self, self.run(*role.argv, **where), place)
        patiently(lambda: pane.log("started"))
        pane.control("look")
        return pane

    def recorder(self, *options: str, **where: Any) -> Recording:
        """A pane whose program records; `--plain`: it does not ask for pastes in brackets."""
        place = self._place()
        argv = [sys.executable, "-S", "-m", "tests.tui.recorder", os.path.join(place, "log"), *options]
        pane = Recording(self, self.run(*argv, **where), place)
        pane.shows("recording")
        return pane

    def child(self, *options: str) -> Role:
        """A fake agent to be started elsewhere: it needs a terminal, and no tmux."""
        return Role(self._place(), options, self.env)

    def run(self, *argv: str, beside: str = "", cwd: str = "", then: str = "", **env: str) -> str:
        """A pane with any command, in a window of its own or beside another pane; its id.

        With `then`, a shell runs the command, and after it that one: `exec sh`, `exec cat`.
        """
        command = ["sh", "-c", f'"$@"; {then}', "sh", *argv] if then else list(argv)
        extra = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        said = ["-P", "-F", "#{pane_id}", "-c", cwd or self._cwd, *extra, "--", *command]
        return self.tmux(*self._room(beside), *said)

    def _room(self, beside: str) -> list[str]:
        if beside:
            return ["split-window", "-d", "-t", beside]
        if self._has_server:
            return ["new-window", "-d", "-t", "stage:"]
        if shutil.which("tmux") is None:
            lacks("tmux")
        self._has_server = True
        width, height = map(str, self._size)
        first = ["set", "-g", "exit-empty", "off", ";", "set", "-g", "status", "off", ";"]
        return [*first, "new-session", "-d", "-s", "stage", "-x", width, "-y", height]

    def end(self) -> None:
        """End the server, and all panes; the next pane begins another, on the same socket."""
        server = int(self.tmux("display-message", "-p", "#{pid}"))
        self.tmux("kill-server")
        patiently(lambda: host.is_gone(host.identity_of(server)))
        self._has_server = False

    def person(self) -> Person:
        """Somebody who is attached to the server and sees the current window."""
        attach = ["tmux", "-S", self.socket, "-f", os.devnull, "attach", "-t", "stage"]
        person = Person(attach, {**self.env, "TERM": "xterm-256color"}, self._size)
        self._persons.append(person)
        patiently(lambda: self.tmux("list-clients", "-F", "#{client_pid}").split().count(str(person.pid)))
        return person

    def _place(self) -> str:
        return tempfile.mkdtemp(dir=self.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for person in self._persons:
            person.leave()
        if self._has_server:
            subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)
