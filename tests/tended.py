"""A room with a config, and its daemon as a real process that is signalled, logs and serves."""

import http.client
import json
import signal
import subprocess
import sys
from typing import Any, Self

from websockets.sync.client import connect

from postroom import config
from postroom.daemon import control
from postroom.daemon.place import log_path
from postroom.room.local import LocalRoom
from postroom.room.token import issue
from tests.commandline import CommandLine
from tests.process import BOUND, ROOT, environment, eventually, free_port
from tests.relayed import Link
from tests.tui.log import events


class Tended:
    """`with Tended(room) as house`: nothing is left running."""

    def __init__(self, room: LocalRoom, module: str = "postroom.daemon") -> None:
        self.room, self.home = room, room.home
        self.line = CommandLine(room.home)
        self.port = free_port()
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def configure(self, text: str) -> None:
        """The whole config; `PORT` is one that was free."""
        with open(config.config_path(self.home), "w", encoding="utf-8") as file:
            file.write(text.replace("PORT", str(self.port)))

    def start(self, *, serves: bool = False, **env: str) -> Self:
        """Until it answers. `serves`: the config says at which port."""
        self._leave()
        words = environment(POSTROOM_HOME=self.home, **env)
        if serves:
            words.pop("POSTROOM_HTTP_PORT", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module, self.home], cwd=ROOT, env=words, stderr=subprocess.PIPE
        )
        eventually(lambda: control.ping(self.home) or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
        return self

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def renew(self) -> dict[str, Any]:
        """SIGHUP, and the line that says what came of it."""
        before = len(self.lines())
        self.signal(signal.SIGHUP)
        found: list[dict[str, Any]] = []

        def is_told() -> bool:
            found[:] = [one for one in self.lines()[before:] if one["event"].startswith("config ")]
            return bool(found)

        eventually(is_told)
        control.ask(self.home, "renew")  # which waits until that was done, and changes nothing more
        return found[0]

    def end(self) -> int:
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(BOUND)

    @property
    def log(self) -> str:
        return log_path(self.home)

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        """What it has logged, of a kind or at all."""
        found = events(self.log)
        return [one for one in found if event in ("", one["event"])]

    def status(self) -> dict[str, Any]:
        return self.line.ok("status", "--json").json

    def token(self, name: str) -> str:
        return issue(self.room, self.room.known(name), ())

    def post(self, path: str, body: Any, token: str) -> tuple[int, Any]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND)
        try:
            link.request("POST", f"/api/v1{path}", json.dumps(body), {"Authorization": f"Bearer {token}"})
            answer = link.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            link.close()

    def linked(self, name: str) -> Link:
        url = f"ws://127.0.0.1:{self.port}/ws/projects/p?agent={name}"
        headers = {"Authorization": f"Bearer {self.token(name)}"}
        link = Link(connect(url, additional_headers=headers, compression=None, open_timeout=BOUND))
        link.hear("hello")
        return link

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait(BOUND)
            if self._process.stderr is not None:
                self._process.stderr.close()
