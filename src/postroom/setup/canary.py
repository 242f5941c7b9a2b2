"""The canary: a message that must be found in the model's conversation before a route is believed in."""

import os
import subprocess
import tempfile

from postroom import clock
from postroom.errors import NoIdentity
from postroom.hooks import journal
from postroom.model.ladder import State
from postroom.model.message import Delivery
from postroom.room.local import LocalRoom
from postroom.room.proof import Proven, record
from postroom.runtimes import load, wiring
from postroom.setup.examine import Examined

PROMPT = "Postroom check: answer OK, and do nothing else."
BODY = "This is a check by postroom doctor: nothing is to be done about it."
_SENDER = "doctor"
_SEEN = (State.SEEN, State.ACKED)
_PATIENCE = 180.0  # seconds for a run of the runtime


def command(found: Examined) -> list[str]:
    """What is run where no session lives; empty when nothing can be."""
    words = wiring.of(found.name).headless
    return [found.path, *words, PROMPT] if found.path and words and found.wired else []


def sing(room: LocalRoom, found: Examined, timeout: float) -> Proven | str:
    """Try a runtime, and record what was found out; or why that cannot be found out now."""
    if found.sessions:
        result = _to_sessions(room, found, timeout)
    elif command(found):
        result = _headless(room, found)
    elif not found.wired:
        return "it is not set up"
    else:
        return found.remark if found.path else "it is not installed"
    if isinstance(result, Proven):
        record(room.home, found.name, result)
    return result


def _to_sessions(room: LocalRoom, found: Examined, timeout: float) -> Proven | str:
    """A message to each live session: all must get it."""
    evidence = ""
    for address in dict.fromkeys(address for address, _ in found.sessions):
        [delivery] = room.until(_send(room, address), "seen", timeout=timeout)
        if not delivery.attempts:  # its next event may show it as it should
            return f"{address} was at no event within {timeout:g} s that could show it: it waits there"
        if delivery.state not in _SEEN:
            return _failed(found, f"{address} has not seen it within {timeout:g} s")
        evidence = str(delivery.evidence)
    return Proven(True, found.version, _now(), evidence)


def _headless(room: LocalRoom, found: Examined) -> Proven:
    """A run of the runtime with one prompt, in a scratch directory."""
    runtime = load(found.name)
    name = f"{_SENDER}-{found.name}"
    room.join(name)
    try:
        ref = _send(room, name)
        env = {key: value for key, value in os.environ.items() if key != runtime.session_env}
        env |= {"POSTROOM_AGENT": name, "POSTROOM_HOME": room.home, "POSTROOM_PROJECT": room.project()}
        with tempfile.TemporaryDirectory(prefix="postroom-check-") as scratch:
            code, said = _run(command(found), scratch, env)
        [delivery] = room.receipts(ref).deliveries
        return _judged(found, delivery, room.home, code, said)
    finally:
        room.leave(name)


def _run(argv: list[str], directory: str, env: dict[str, str]) -> tuple[int, str]:
    try:
        done = subprocess.run(
            argv, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, f"it did not end within {_PATIENCE:g} s"
    except OSError as exc:
        return -1, str(exc)
    return done.returncode, done.stdout.decode(errors="replace").strip()


def _judged(found: Examined, delivery: Delivery, home: str, code: int, said: str) -> Proven:
    if delivery.state in _SEEN:
        return Proven(True, found.version, _now(), str(delivery.evidence))
    last = said.splitlines()[-1][:200] if said else ""
    if code != 0:
        return _failed(found, f"it ended with {code}: {last}")
    if delivery.attempts:
        return _failed(found, "a hook has shown it, and nothing proves that the model got it")
    log = journal.last(home, 1)
    return _failed(found, "no hook has run" + (f"; the log ends with: {log[0]}" if log else ""))


def _failed(found: Examined, why: str) -> Proven:
    return Proven(False, found.version, _now(), why=why)


def _send(room: LocalRoom, to: str) -> str:
    """As whoever calls; where nobody says who that is, as ourselves."""
    try:
        return room.send(to, BODY, subject="Postroom check").id
    except NoIdentity:
        room.join(_SENDER)
        try:
            return room.send(to, BODY, subject="Postroom check", sender=_SENDER).id
        finally:
            room.leave(_SENDER)


def _now() -> str:
    return clock.iso(clock.wall()) or ""
