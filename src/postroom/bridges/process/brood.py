"""A child and all that runs in its session, which nobody else can join; also one that was left by a process
before us.
"""

import os
import signal
import time

from postroom import host

_TERMINATE, _KILL = 2.0, 2.0  # seconds
_PAUSE = 0.02


def others(leader: int) -> list[int]:
    """What runs in the session of a process, besides it."""
    return [pid for pid in host.processes() if pid != leader and _is_member(pid, leader)]


def _is_member(pid: int, leader: int) -> bool:
    try:
        return os.getsid(pid) == leader and not host.is_gone(host.identity_of(pid))
    except (ProcessLookupError, PermissionError):
        return False


def tell(leader: int, number: int) -> None:
    """Send a signal to the group of a process, and to all of its session."""
    for kill, pid in ((os.killpg, leader), *((os.kill, pid) for pid in others(leader))):
        try:
            kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def end(process: str) -> bool:
    """End a child that an earlier process of ours has left: told, then made to. Whether all of it is gone.

    Nothing is done to a process that might be another with the same number.
    """
    if host.is_gone(process):
        return True
    leader = int(process.partition(".")[0])
    if not _is_certain(process, leader):
        return False
    for number, patience in ((signal.SIGTERM, _TERMINATE), (signal.SIGKILL, _KILL)):
        tell(leader, number)
        until = time.monotonic() + patience
        while (is_left := _is_left(process, leader)) and time.monotonic() < until:
            time.sleep(_PAUSE)
        if not is_left:
            return True
    return False


def _is_certain(process: str, leader: int) -> bool:
    """Whether it is the one that was started, by its start; and leads a session, as all that we start do."""
    try:
        leads = os.getsid(leader) == leader
    except (ProcessLookupError, PermissionError):
        return False
    return leads and bool(process.split(".")[1]) and host.identity_of(leader) == process


def _is_left(process: str, leader: int) -> bool:
    return not host.is_gone(process) or bool(others(leader))
