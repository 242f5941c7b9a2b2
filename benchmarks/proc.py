"""What Linux says of a running process: CPU time, private memory, bytes written, syncs."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator

ATTACH_LIMIT = 5.0
UNSUPPORTED = "Not measured: this needs Linux's `/proc`."


def supported() -> bool:
    return os.path.exists("/proc/self/schedstat") and os.path.exists("/proc/self/smaps_rollup")


def is_running(pid: int) -> bool:
    try:
        return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def cpu_ns(pid: int) -> int:
    """Nanoseconds on a CPU, over all threads."""
    return sum(int(_read(f"/proc/{pid}/task/{task}/schedstat").split()[0]) for task in _tasks(pid))


def switches(pid: int) -> int:
    """How often it went to sleep by itself: each is a wake-up."""
    statuses = (_read(f"/proc/{pid}/task/{task}/status") for task in _tasks(pid))
    return sum(_number(status, "voluntary_ctxt_switches") for status in statuses)


def private_bytes(pid: int) -> int:
    """USS: what would be free if this process ended."""
    rollup = _read(f"/proc/{pid}/smaps_rollup")
    return 1024 * (_number(rollup, "Private_Clean") + _number(rollup, "Private_Dirty"))


def resident_bytes(pid: int) -> int:
    """RSS: what it has in memory, shared or not."""
    return 1024 * _number(_read(f"/proc/{pid}/status"), "VmRSS")


def written_bytes(pid: int) -> int:
    """Page-cache bytes it made dirty on a disk."""
    return _number(_read(f"/proc/{pid}/io"), "write_bytes")


class Syncs:
    """How many fsync and fdatasync calls were seen; None where they cannot be counted."""

    count: int | None = None


@contextlib.contextmanager
def syncs(pids: Iterable[int]) -> Iterator[Syncs]:
    """Count the syncs of running processes with strace, where it is installed and allowed."""
    counted = Syncs()
    pids = list(pids)
    if not shutil.which("strace"):
        yield counted
        return
    with tempfile.NamedTemporaryFile("r") as trace:
        command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", trace.name]
        for pid in pids:
            command += ["-p", str(pid)]
        tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            attached = _await_traced(pids)
            yield counted
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait(ATTACH_LIMIT)
        if attached:
            counted.count = len(re.findall(r"\b(?:fsync|fdatasync)\(", trace.read()))


def _await_traced(pids: list[int]) -> bool:
    deadline = time.monotonic() + ATTACH_LIMIT
    while time.monotonic() < deadline:
        if all(_number(_read(f"/proc/{pid}/status"), "TracerPid") for pid in pids):
            return True
        time.sleep(0.02)
    return False


def _tasks(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/task")


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def _number(text: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else 0
