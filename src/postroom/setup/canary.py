"""The canary: a message that must be found in the model's conversation before a route is believed in."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress

from postroom import clock
from postroom.hooks import journal, program
from postroom.model.ladder import State
from postroom.model.message import Delivery
from postroom.room.local import LocalRoom
from postroom.room.token import VARIABLE
from postroom.room.trial import Trial, record, stamp_of
from postroom.runtimes import SESSION_ENV, SIGNS
from postroom.runtimes.contract import Runtime
from postroom.setup.examine import Examined

PROMPT = "Postroom check: answer OK, and do nothing else."
BODY = "This is a check by postroom doctor: nothing is to be done about it."
_SENDER = "postroom-doctor"
_SEEN = (State.SEEN, State.ACKED)
_PATIENCE, _STEP = 180, 10  # seconds for a run of the runtime, and after which we say that it goes on
_GRACE = 5  # seconds in which it may end by itself

Progress = Callable[[str], None]


def command(found: Examined) -> list[str]:
    """What is run where no session lives; empty when nothing can be."""
    words = found.target.wiring.headless
    return [found.path, *words, PROMPT] if found.path and words else []


def hindrance(found: Examined) -> str:
    """Why a run could prove nothing, so that no model is asked for it; empty: nothing is in its way."""
    if not found.wired:
        return found.target.wiring.instead or f"it is not set up: {found.target.call} setup {found.name}"
    if not found.path:
        return "it is not on your PATH"
    if not program.is_current(found.target.place.room):
        return f"the program that all hooks run is not of this installation: {found.target.call} doctor --fix"
    first = next((each for each in found.problems if each.blocks), None)
    if first is not None:
        return f"{first.what}. {first.next}"
    return "" if command(found) else found.target.runtime.remark


def sing(room: LocalRoom, found: Examined, timeout: float, progress: Progress) -> Trial | str:
    """Try a runtime, and record what was found out; or why that cannot be found out now."""
    if not found.sessions and (why := hindrance(found)):
        return why
    with _as_ourselves(room) as own:
        result = (
            _to_sessions(own, found, timeout, progress) if found.sessions else _headless(own, found, progress)
        )
    if isinstance(result, Trial):
        stamp = stamp_of(found.path) if found.path else ""
        result = result._replace(program=found.path, stamp=stamp)
        record(room.home, found.name, result)
    return result


def _as_ourselves(room: LocalRoom) -> LocalRoom:
    """The room without a witness: what is known of the caller, by token or session, is nothing of the canary.

    Who may write to whom was declared for others.
    """
    settings = room.settings._replace(routes="open")
    with room.write() as tx:
        project = room.scope.ensure(tx)  # a name alone would make another project, without its directory
    return LocalRoom(room.home, settings, agent=_SENDER, project=project, create=False)


def _to_sessions(room: LocalRoom, found: Examined, timeout: float, progress: Progress) -> Trial | str:
    """A message to each live session: all must get it."""
    evidence = ""
    for address in dict.fromkeys(address for address, _ in found.sessions):
        progress(f"Writing to {address}, in {found.title}; it has {timeout:g} s to see it")
        [delivery] = room.until(_send(room, address), "seen", timeout=timeout)
        if not delivery.attempts:  # its next event may show it as it should
            return f"{address} was at no event within {timeout:g} s that could show it: it waits there"
        if delivery.state not in _SEEN:
            return _failed(found, f"{address} has not seen it within {timeout:g} s")
        evidence = str(delivery.evidence)
    return Trial(True, found.version, _now(), evidence)


def _headless(room: LocalRoom, found: Examined, progress: Progress) -> Trial:
    """A run of the runtime with one prompt, in a scratch directory."""
    name = f"doctor-{found.name}"
    room.join(name)
    try:
        ref = _send(room, name)
        progress(f"Asking your model once, by {found.title}: {shlex.join(command(found))}")
        named = {"POSTROOM_AGENT": name, "POSTROOM_HOME": room.home, "POSTROOM_PROJECT": room.project()}
        env = _of_nobody(found.target.runtime) | named
        with tempfile.TemporaryDirectory(prefix="postroom-check-") as scratch:
            code, said = _run(command(found), scratch, env, progress)
        [delivery] = room.receipts(ref).deliveries
        return _judged(found, delivery, room.home, code, said)
    finally:
        room.leave(name)


def _of_nobody(runtime: Runtime) -> dict[str, str]:
    """The environment, without what would make a session that begins in it somebody else's."""
    others = {VARIABLE, *SESSION_ENV.values(), *SIGNS, runtime.socket_env}
    return {name: value for name, value in os.environ.items() if name not in others}


def _run(argv: list[str], directory: str, env: dict[str, str], progress: Progress) -> tuple[int, str]:
    try:
        process = subprocess.Popen(
            argv, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as exc:
        return -1, str(exc)
    with process:
        try:
            for passed in range(_STEP, _PATIENCE + _STEP, _STEP):
                try:
                    said, _ = process.communicate(timeout=_STEP)
                except subprocess.TimeoutExpired:
                    progress(f"  {passed} s, and it has not ended; it may take {_PATIENCE} s")
                else:
                    return process.returncode, said.decode(errors="replace").strip()
        finally:  # also when somebody has interrupted us: no key reaches what has a session of its own
            if process.returncode is None:
                _end(process)
    return -1, f"it did not end within {_PATIENCE} s"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started: what is called as a CLI may be a wrapper of the real one."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE)  # until none of them holds its output


def _judged(found: Examined, delivery: Delivery, home: str, code: int, said: str) -> Trial:
    if delivery.state in _SEEN:
        return Trial(True, found.version, _now(), str(delivery.evidence))
    last = said.splitlines()[-1][:200] if said else ""
    if code != 0:
        return _failed(found, f"it ended with {code}: {last}")
    if delivery.attempts:
        return _failed(found, "a hook has shown it, and nothing proves that the model got it")
    log = journal.last(home, 1, found.name)
    return _failed(found, "no hook has run" + (f"; the log ends with: {log[0]}" if log else ""))


def _failed(found: Examined, why: str) -> Trial:
    return Trial(False, found.version, _now(), why=why)


def _send(room: LocalRoom, to: str) -> str:
    room.join(_SENDER)
    try:
        return room.send(to, BODY, subject="Postroom check").id
    finally:
        room.leave(_SENDER)


def _now() -> str:
    return clock.iso(clock.wall()) or ""
