"""A peer's server process: started on loopback, waited for, and ended by its own pid."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

START_LIMIT = 10.0
STOP_LIMIT = 5.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def running(command: Sequence[str], ready: Callable[[], bool], log: str) -> Iterator[int]:
    """The pid of `command` while it runs and is `ready`."""
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        _await_ready(process, ready, log)
        yield process.pid
    finally:
        _end(process)


def _await_ready(process: "subprocess.Popen[bytes]", ready: Callable[[], bool], log: str) -> None:
    deadline = time.monotonic() + START_LIMIT
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            with open(log, errors="replace") as output:
                raise RuntimeError(f"{process.args!r} did not start: {output.read()[-2000:]}")
        time.sleep(0.02)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_LIMIT)
