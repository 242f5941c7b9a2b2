"""Other processes: real ones, each playing a scene of `tests.scene`, heard line by line, never slept for."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOUND = 30.0  # seconds after which a child that says nothing is a failure
TICK = 0.02  # seconds: a model takes longer than the tick by which the starts of processes are told
_PAUSE = 0.02  # seconds
_NEVER = threading.Event()


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child: untraced, because what is killed or measured must not be slowed."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **extra}


def until(condition: Callable[[], object], bound: float = BOUND) -> None:
    """Ask until it is so, for what gives no signal."""
    deadline = time.monotonic() + bound
    while not condition():
        assert time.monotonic() < deadline, "it never became so"
        os.sched_yield()


def eventually(condition: Callable[[], object]) -> None:
    """The same, now and then, for what costs something to ask."""
    until(lambda: condition() or _NEVER.wait(_PAUSE))


def free_port() -> int:
    """One of this machine's that nobody had a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class Child:
    """A process that plays a scene. Leaves nothing behind when its `with` block ends."""

    def __init__(
        self, scene: str, *args: object, module: str = "tests.scene", prefix: Sequence[str] = (), **env: str
    ) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", module, scene, *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment(**env),
            start_new_session=True,
        )
        self._heard = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def hear(self, bound: float = BOUND) -> Any:
        """The next thing the child says; fails when it ends or stays silent."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        deadline = time.monotonic() + bound
        while b"\n" not in self._heard:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([descriptor], [], [], max(0.0, left))
            if not ready:
                raise AssertionError(f"the child said nothing within {bound} s")
            more = os.read(descriptor, 65536)
            if not more:
                raise AssertionError(f"the child ended silently: {self._complaint()}")
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        said = json.loads(line)
        if isinstance(said, dict) and said.get("raised"):
            raise AssertionError(f"the child raised {said}")
        return said

    def _complaint(self) -> str:
        self.process.wait(BOUND)
        assert self.process.stderr is not None
        return (
            f"exit {self.process.returncode}, {self.process.stderr.read().decode(errors='replace')[-2000:]}"
        )

    def tell(self, what: object = None) -> None:
        """Give the child its next cue."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """SIGKILL to its whole group; returns when it is gone and no zombie."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(BOUND)

    def end(self) -> int:
        """Let it play to its end; its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(BOUND)

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                pass
