"""Waking an idle session: `hook wake AGENT`, which a send starts where the runtime watches no file, and a
hook where a compaction has ended at an idle prompt.

A session that watches its ring file is rung, any other is called. A wake is not an offer: it only makes the
session begin a turn, whose hooks then show the mail. Nothing is done while hooks of a turn are still to come,
because they find the mail by themselves. One waker at a time works for an agent: whoever starts it has locked
that, and it lets go before it looks for the last time.
"""

import os
import time
from collections.abc import Callable

from postroom import host
from postroom.errors import NotWoken
from postroom.model.message import Session
from postroom.model.presence import Presence
from postroom.room.berth import carrier
from postroom.room.call import call_of
from postroom.room.failed_turn import at_risk, notice
from postroom.room.local import LocalRoom
from postroom.room.reach import doing, last_sign, needs_call
from postroom.room.seat import is_live
from postroom.room.wake import lock
from postroom.runtimes import load
from postroom.runtimes.contract import Wake
from postroom.runtimes.process import Call

_LONGEST = 600.0  # seconds for all; others may have hooks at the end of a turn that take long
_TRIES, _RINGS = 3, 5  # calls, and rings, which do no harm
_TURN = 2.0  # seconds in which a turn begins after a call, and one that was about to end has ended
_CALL = 5.0  # seconds for one call
_PAUSE, _REST = 0.05, 1.0  # seconds between two looks, at first and at last
_HOOK = 500  # milliseconds in which a hook that has just begun may yet make the turn go on


def _sleeper(room: LocalRoom, agent: str) -> Session | None:
    """The session that is to be called, or else the one whose runtime watches the ring file."""
    look = room.store.look()
    return look.session(called) if (called := room.ring.session(agent)) else carrier(look, agent)


def wake(room: LocalRoom, agent: str, locked: int | None) -> None:
    """Wake an agent's session if it is idle and something waits for it."""
    deadline = time.monotonic() + _LONGEST
    while locked is not None and time.monotonic() < deadline:
        rung = room.ring.rung_at(agent)
        try:
            session = _sleeper(room, agent)
            if session is not None and is_live(session):
                notice(room, at_risk(room.store.look(), agent))
                waker = _Waker(room, session, deadline)
                waker.work()
                rung = waker.rung or rung
        finally:
            os.close(locked)
        if room.ring.rung_at(agent) == rung:
            return
        locked = lock(room.home, agent)  # who rang meanwhile has left it to us


class _Waker:
    def __init__(self, room: LocalRoom, session: Session, deadline: float) -> None:
        self._room = room
        self._session = session
        self._runtime = load(session.runtime)
        self._deadline = deadline
        self._watches = self._runtime.wake is Wake.WATCH and not room.ring.session(session.agent)
        self.rung = 0  # when this waker has rung last, as its ring file says

    def work(self) -> None:
        tries, turn = (_RINGS, _TURN) if self._watches else (_TRIES, _TURN)
        for _ in range(tries):
            if not self._comes_to_rest() or not self._waits():
                return
            self._rouse()
            if self._until(lambda: not self._is_idle() or not self._waits(), turn):
                return
            turn *= 2 if self._watches else 1  # it may only begin to watch
        raise NotWoken(f"{self._session.id} was called {tries} times, and began no turn")

    def _rouse(self) -> None:
        if self._watches:
            self._room.ring.touch([self._session.agent])
            self.rung = self._room.ring.rung_at(self._session.agent)
            return
        call = call_of(self._runtime, self._session)
        if call is None:
            raise NotWoken(f"{self._session.id} can no longer be called")
        _make(call)

    def _comes_to_rest(self) -> bool:
        """Whether it is idle: waited for while no hook of its turn is left that could show the mail."""
        began, pause = time.monotonic(), _PAUSE
        while not self._is_idle():
            now = time.monotonic()
            if now > (self._deadline if needs_call(self._room, self._session) else began + _TURN):
                return False
            if not self._waits():
                return False
            time.sleep(pause)
            pause = min(_REST, pause * 1.2)
        return True

    def _is_idle(self) -> bool:
        """Whether its turn is over, and no hook is left that may make it go on."""
        sign = last_sign(self._room.home, self._session)
        if doing(self._room.store.look(), self._session, self._runtime, sign) is not Presence.IDLE:
            return False
        return bool(self._runtime.marks.turn) or not 0 <= time.time() * 1000 - sign.at <= _HOOK

    def _waits(self) -> bool:
        look = self._room.store.look()
        agent = look.agent(self._session.agent)
        if agent is None or not look.ready(agent.id, 1, agent.called):
            return False
        from postroom.room.refusal import is_held  # noqa: PLC0415

        return not is_held(look, agent.id)

    def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        until = min(self._deadline, time.monotonic() + seconds)
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
        return True


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
