"""Waking an idle session whose runtime watches no file: `hook wake AGENT`, which a send starts.

A wake is not an offer: it only makes the session begin a turn, whose hooks then show the mail. Nothing is
done while the session works, because its hooks find the mail by themselves; one waker at a time works for
an agent, and none for longer than ten seconds. How a session's process was started is asked of the system:
where that does not say, nobody is called. What is run is found on the waker's own PATH and has its own
environment: what the room says of a session may have been written by somebody in a sandbox.
"""

import os
import time
from collections.abc import Callable

from postroom import host
from postroom.errors import NotWoken
from postroom.model.context import own_id
from postroom.model.message import Session
from postroom.model.presence import Presence
from postroom.room.local import LocalRoom
from postroom.room.reach import doing, last_sign
from postroom.room.seat import is_live
from postroom.runtimes import load
from postroom.runtimes.contract import NUDGE, Runtime
from postroom.runtimes.process import Call, Sleeper

_MOST = 10.0  # seconds for all
_TRIES = 3
_TURN = 2.0  # seconds in which a turn begins after a call, and one that was about to end has ended
_CALL = 5.0  # seconds for one call
_PAUSE = 0.05
_HOOK = 500  # milliseconds in which a hook that has just begun may yet make the turn go on


def wake(room: LocalRoom, agent: str) -> None:
    """Wake an agent's session if it is idle and something waits for it."""
    deadline = time.monotonic() + _MOST
    while time.monotonic() < deadline:
        lock = _lock(os.path.join(room.home, "run", "wake"), agent)
        if lock is None:
            return  # who holds it looks once more before it ends
        looked = time.time()
        try:
            session = room.store.look().session(room.ring.session(agent))
            if session is not None and is_live(session):
                _Waker(room, session, deadline).work()
        finally:
            os.close(lock)
        if room.ring.rung_at(agent) < looked:
            return


class _Waker:
    def __init__(self, room: LocalRoom, session: Session, deadline: float) -> None:
        self._room = room
        self._session = session
        self._runtime = load(session.runtime)
        self._deadline = deadline

    def work(self) -> None:
        for _ in range(_TRIES):
            if not self._until(self._is_idle) or not self._waits():
                return
            call = call_of(self._runtime, self._session)
            if call is None:
                raise NotWoken(f"{self._session.id} can no longer be called")
            _make(call)
            if self._until(lambda: not self._is_idle() or not self._waits()):
                return
        raise NotWoken(f"{self._session.id} was called {_TRIES} times, and began no turn")

    def _is_idle(self) -> bool:
        """Whether its turn is over, and no hook is left that may make it go on."""
        sign = last_sign(self._room.home, self._session)
        if doing(self._room.store.look(), self._session, self._runtime, sign) is not Presence.IDLE:
            return False
        return bool(self._runtime.marks.turn) or time.time() * 1000 - sign.at > _HOOK

    def _waits(self) -> bool:
        look = self._room.store.look()
        agent = look.agent(self._session.agent)
        return agent is not None and bool(look.ready(agent.id, 1, agent.called))

    def _until(self, condition: Callable[[], bool]) -> bool:
        """Whether it is so within the time in which a turn begins or ends."""
        until = min(self._deadline, time.monotonic() + _TURN)
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
        return True


def sleeper(runtime: Runtime, session: Session) -> Sleeper:
    """A session, what the machine knows of its process, and what this one has to call it with."""
    details = session.details
    command, cwd = host.started_with(session.process)
    program = host.on_path(runtime.programs[0]) if runtime.programs else ""
    return Sleeper(
        own_id(session.id), str(details.get("transcript") or ""), program, command, dict(os.environ), cwd,
        str(details.get("socket") or ""),
    )  # fmt: skip


def call_of(runtime: Runtime, session: Session) -> Call | None:
    """How a session can be called now; None if it cannot be."""
    if runtime.call is None:
        return None
    return runtime.call(sleeper(runtime, session), NUDGE)


def _make(call: Call) -> None:
    if call.is_socket:
        host.tell(call.path, call.line.encode(), _CALL)
        return
    if call.path:
        file = os.open(call.path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
        try:
            os.write(file, call.line.encode())
        finally:
            os.close(file)
        return
    import subprocess  # noqa: PLC0415 - not for those that read a file

    done = subprocess.run(
        call.command,
        env=call.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_CALL,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise NotWoken(f"{' '.join(call.command[:2])} failed with {done.returncode}: {said}")


def _lock(directory: str, agent: str) -> int | None:
    host.private_directory(directory)
    lock = os.open(os.path.join(directory, agent), os.O_WRONLY | os.O_CREAT, 0o600)
    if not host.lock(lock):
        os.close(lock)
        return None
    return lock
