"""One daemon for each room: who it is, and how one is started that outlives whoever asked for it."""

import os
import subprocess
import sys
import threading
import time

from postroom import config, host
from postroom.daemon.place import lock_path, running
from postroom.errors import BridgeError

_STARTS, _DIES = 15.0, 5.0  # seconds
_PAUSE = 0.05
TAKEN = 75  # the exit code of a process that would be the room's daemon, where there is one


class Instance:
    """The right to be the room's daemon, held until the process ends."""

    def __init__(self, home: str) -> None:
        self._home = home
        host.private_directory(config.beside(home))
        self._file = os.open(lock_path(home), os.O_RDWR | os.O_CREAT, 0o600)
        if not self._take():
            os.close(self._file)
            raise BridgeError("this room has a daemon already", hint="See: postroom status", taken=True)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, host.identity().encode(), 0)

    def _take(self) -> bool:
        """Whether the lock is ours now. The threads of a daemon that was killed may have it for a moment."""
        until = time.monotonic() + _DIES
        while not host.lock(self._file):
            if running(self._home) or time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
        return True

    def holds(self) -> bool:
        """Whether the lock is still where others look for it: one that was removed keeps nobody out."""
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(lock_path(self._home)))
        except OSError:
            return False

    def close(self) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)


def ensure(home: str) -> bool:
    """See that there is a daemon that answers; whether it had to be started."""
    from postroom.daemon.control import ping  # noqa: PLC0415 - only who needs one

    if not host.has_unix_sockets():
        raise BridgeError("the daemon needs Unix sockets, which this system has not", hint="")
    if running(home) and ping(home):
        return False
    process, until = _start(home), time.monotonic() + _STARTS
    while not ping(home):
        is_late = time.monotonic() > until
        if is_late or (process.poll() is not None and not running(home)):
            if process.returncode == TAKEN and not is_late:  # the other one was about to end
                _leave(process)
                process, until = _start(home), time.monotonic() + _STARTS
                continue
            other = host.pid_of(running(home)) if is_late else 0
            if other > 0 and other != process.pid:
                _leave(process)
                raise BridgeError(
                    f"the daemon that runs (process {other}) does not answer",
                    hint="End it and start another: postroom down && postroom up",
                )
            why = "it takes too long" if is_late else _last_words(process)
            raise BridgeError(f"the daemon did not start: {why}", hint="Try: postroom up --foreground")
        time.sleep(_PAUSE)
    is_ours = host.pid_of(running(home)) == process.pid
    if not is_ours:
        process.terminate()  # it might yet take the place of the one that was quicker, when that ends
    _leave(process)
    return is_ours


def _start(home: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "postroom.daemon", home], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, start_new_session=True, cwd="/", env=_environment(home),
    )  # fmt: skip


def _leave(process: "subprocess.Popen[bytes]") -> None:
    if process.stderr:
        process.stderr.close()
    threading.Thread(target=process.wait, daemon=True).start()  # else it stays a zombie as long as we live


def _last_words(process: "subprocess.Popen[bytes]") -> str:
    """What a process that has ended wrote on its standard error."""
    said = process.stderr.read() if process.stderr else b""
    return said.decode(errors="replace").strip()[-300:]


def _environment(home: str) -> dict[str, str]:
    """That of the caller, but for what says who calls: the daemon is nobody's session."""
    from postroom.runtimes import SESSION_ENV, SIGNS  # noqa: PLC0415

    own = {"POSTROOM_AGENT", "POSTROOM_TOKEN", "POSTROOM_PROJECT", *SESSION_ENV.values(), *SIGNS}
    kept = {key: value for key, value in os.environ.items() if key not in own}
    if home == config.home() and not kept.get("POSTROOM_HOME"):
        return kept  # as the caller has it: that variable would move the config, too
    return {**kept, "POSTROOM_HOME": home}
