"""Starting a waker: a small process of its own that calls a runtime which cannot watch a file.

Whoever sends does not wait for it, and is not told: a wake is a hint. Its mail stays stored until a hook
offers it. From inside a sandbox nobody outside can be called, so that is left to the sender's next hook.
"""

import os
from typing import TYPE_CHECKING

from postroom import config, host

if TYPE_CHECKING:
    from postroom.room.premises import Premises

VERB = "wake"  # of a letter that asks for it
LOCKED = 3  # the descriptor by which a waker holds what `lock` has locked for it
_SHELL = "/bin/sh"
# In the background of a shell that ends at once, so that nobody has a child to wait for.
_SCRIPT = '"$0" wake "$1" </dev/null >/dev/null 2>&1 &'


def call(room: "Premises", parties: list[str]) -> None:
    """Have those called who need it and can be seen from here, and leave those who cannot to a hook."""
    from postroom.room.reach import needs_call  # noqa: PLC0415 - where somebody must be called

    look = room.store.look()
    hidden, asleep = list[str](), list[str]()
    for party in parties:
        session = look.session(room.ring.session(party))
        if session is not None and host.is_elsewhere(session.process):
            hidden.append(party)
        elif session is not None and needs_call(room, session):
            asleep.append(party)
    start(room.home, asleep)
    if hidden:
        _leave(room, hidden)


def start(home: str, parties: list[str]) -> None:
    """One waker for each for whom none works yet; nothing is raised."""
    program = config.beside(home, "hook")
    for party in parties:
        try:
            locked = lock(home, party)
            if locked is None:
                continue  # whoever works for it looks once more before it ends
            try:
                actions = [(os.POSIX_SPAWN_DUP2, locked, LOCKED)]
                pid = os.posix_spawn(
                    _SHELL, ["sh", "-c", _SCRIPT, program, party], os.environ, file_actions=actions,
                    setsid=True,
                )  # fmt: skip
                os.waitpid(pid, 0)
            finally:
                os.close(locked)
        except (OSError, AttributeError):
            pass


def again(room: "Premises", rung: list[tuple[str, int]]) -> None:
    """Ring and call once more each of these who sleeps on in spite of its mail. Nothing is raised.

    Its wake was killed, say. It has had the time to begin a turn since it was rung, as `rung` tells; it is
    roused once for each ring, by one of all who look.
    """
    look = room.store.look()
    for party, at in rung:
        agent = look.agent(party)
        if agent is None or not look.ready(party, 1, agent.called):
            continue
        try:
            locked = lock(room.home, party)
        except OSError:
            continue  # who may not write here leaves it to others
        if locked is None:
            continue  # a waker works for it
        try:
            must_be_called = _ring_again(room, party, at, locked)
        except OSError:
            continue
        finally:
            os.close(locked)
        if must_be_called:
            call(room, [party])


def _ring_again(room: "Premises", party: str, at: int, locked: int) -> bool:
    """Whether it was rung just now, and must be called, too."""
    if room.ring.rung_at(party) != at or os.pread(locked, 32, 0) == _stamp(at):
        return False
    if not _sleeps_on(room, party):
        return False
    must_be_called = room.ring.touch([party]).get(party, False)
    os.pwrite(locked, _stamp(room.ring.rung_at(party)), 0)
    return must_be_called


def _stamp(at: int) -> bytes:
    return b"%032d" % at


def _sleeps_on(room: "Premises", party: str) -> bool:
    """Whether an agent is idle, and something waits for it that need not wait."""
    from postroom.model.presence import Presence  # noqa: PLC0415 - where somebody was rung
    from postroom.room.berth import carrier  # noqa: PLC0415
    from postroom.room.reach import doing, is_capped, last_sign  # noqa: PLC0415
    from postroom.room.refusal import is_held  # noqa: PLC0415
    from postroom.runtimes import load  # noqa: PLC0415

    look = room.store.look()
    agent, session = look.agent(party), carrier(look, party)
    if agent is None or session is None or host.is_elsewhere(session.process):
        return False
    runtime, sign = load(session.runtime), last_sign(room.home, session)
    waits = look.ready(party, 1, agent.called)
    if not waits or is_held(look, party) or doing(look, session, runtime, sign) is not Presence.IDLE:
        return False
    return waits[0].delivery.stored_at > sign.at or not is_capped(room, session)


def lock(home: str, agent: str) -> int | None:
    """A descriptor that whoever has it open works with for an agent, alone; None: another does."""
    directory = os.path.join(home, "run", "wake")
    host.private_directory(directory)
    locked = os.open(os.path.join(directory, agent), os.O_RDWR | os.O_CREAT, 0o600)
    if not host.lock(locked):
        os.close(locked)
        return None
    return locked


def _leave(room: "Premises", parties: list[str]) -> None:
    """A letter for the hooks of the session in which this runs, if it is one. Nothing is raised."""
    from postroom.errors import PostroomError  # noqa: PLC0415 - only in a sandbox
    from postroom.model import ids  # noqa: PLC0415
    from postroom.room.identity import stated  # noqa: PLC0415
    from postroom.room.spool import put  # noqa: PLC0415

    sessions = stated()
    new = ids.message_id(room.now(), int.from_bytes(os.urandom(4)))
    letter = {
        "id": new, "verb": VERB, "claim": "", "inherited": "", "sessions": sessions, "project": "",
        "words": {"parties": parties},
    }  # fmt: skip
    try:
        if sessions:
            put(room.home, os.getcwd(), letter)
    except (PostroomError, OSError):
        pass
