"""The worker processes of one peer, as the harness sees them: started, told what to do, ended."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.contract import Endpoint

ROOT = Path(__file__).resolve().parent.parent
ANSWER_LIMIT = 120.0
STOP_LIMIT = 5.0


class Post(NamedTuple):
    """One worker: its own mailbox, and whether it sends or receives."""

    mailbox: int
    sends: bool = False
    receives: bool = False
    member: int = 0


class Worker:
    def __init__(self, line: socket.socket) -> None:
        line.settimeout(ANSWER_LIMIT)
        self._line = line
        self._file = line.makefile("rb")
        self.pid = 0

    def greet(self) -> None:
        """Return when the worker has opened its connections."""
        self.pid = self.answer()["pid"]

    def tell(self, task: str, **arguments: Any) -> None:
        self._line.sendall(json.dumps({"task": task, **arguments}).encode() + b"\n")

    def answer(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise RuntimeError("a worker ended before it answered; its error is above")
        return json.loads(line)

    def close(self) -> None:
        self._file.close()
        self._line.close()


@contextlib.contextmanager
def crew(
    peer: str, endpoint: Endpoint, posts: Sequence[Post], *, forked: bool = True
) -> Iterator[list[Worker]]:
    """Workers, connected and waiting for tasks.

    `forked` starts one interpreter and forks the rest from it; without it each is a process of its own,
    whose private memory means something.
    """
    batches = [posts] if forked else [[post] for post in posts]
    with contextlib.ExitStack() as stack:
        workers = [
            worker for batch in batches for worker in stack.enter_context(_batch(peer, endpoint, batch))
        ]
        for worker in workers:
            worker.greet()
        yield workers


@contextlib.contextmanager
def _batch(peer: str, endpoint: Endpoint, posts: Sequence[Post]) -> Iterator[list[Worker]]:
    pairs = [socket.socketpair() for _ in posts]
    fds = [theirs.fileno() for _, theirs in pairs]
    orders = [{**post._asdict(), "fd": fd} for post, fd in zip(posts, fds, strict=True)]
    command = [sys.executable, "-m", "benchmarks.worker", peer, json.dumps(endpoint), json.dumps(orders)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=fds, start_new_session=True
    )
    for _, theirs in pairs:
        theirs.close()
    workers = [Worker(ours) for ours, _ in pairs]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """The session is the batch's own: its group holds our workers and nobody else."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(STOP_LIMIT)
