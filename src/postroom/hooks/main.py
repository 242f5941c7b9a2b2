"""What an agent's hook runs when its shell half could not promise quiet: `RUNTIME EVENT KEY`, and JSON on
standard input; or what a send starts to wake somebody: `wake AGENT`.

Whatever goes wrong in here, the agent must not notice: then nothing is printed, the exit code is 0, and the
reason is in the log. What is printed is what that runtime accepts, in one write; only after it does the
mail count as handed over.
"""

import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from postroom import config, host, label
from postroom.hooks import journal

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

_MOST = 1 << 26  # bytes; what a tool printed may be in it
_PATIENCE = 1.0  # seconds for the room's lock: the agent waits meanwhile


def main(home: str, argv: list[str]) -> NoReturn:
    """Run one hook, and end without the interpreter's own ending."""
    gc.disable()  # what is loaded stays until the end
    code = 0
    try:
        code = run(home, argv)
    except BaseException as exc:
        journal.note(home, argv, exc)
    os._exit(code)


def run(home: str, argv: list[str], streams: tuple[int, int, int] = (0, 1, 2), began: int = 0) -> int:
    """The exit code that the runtime expects. `began`: when this process did, if it is not to be asked."""
    if argv[:1] == ["wake"]:
        return _wake(home, argv[1])
    standard_input, standard_output, standard_error = streams
    began = began or host.started_at()
    name, event, key = [*argv, "", "", ""][:3]
    if "/" in key or key in (".", ".."):
        raise ValueError(f"{key!r} names no session")
    from postroom.runtimes import load  # noqa: PLC0415 - so that a failure to load is noted, too

    runtime = load(name)
    point = runtime.point(event)
    if point is None:
        raise ValueError(f"{name} has no event {event!r}")
    import json  # noqa: PLC0415

    beat = runtime.read(event, json.loads(_read(standard_input)))
    if not beat.session:
        raise ValueError("the runtime did not name its session")
    beat = beat._replace(cwd=_possible(beat.cwd), transcript=_possible(beat.transcript))
    from postroom.hooks.visit import Visit  # noqa: PLC0415

    with _room(home, beat.cwd) as room:
        visit = Visit(room, runtime, point, beat, key=key, began=began)
        try:
            said = visit.pay()
            label.here("hook-claimed")
            _write(standard_output, said.stdout)
            _write(standard_error, said.stderr)
        except Exception:
            visit.failed()  # nothing of it reached anybody
            raise
        label.here("hook-written")
        visit.succeeded()
        label.here("hook-handed")
        room.finish()
        _follow_up(room, argv)
        return said.code


def _follow_up(room: "LocalRoom", argv: list[str]) -> None:
    """What is done for the room when the agent has all that it is given."""
    try:
        if not room.has_overdue_journals():
            return
        from postroom.room.journal_catch_up import write_overdue  # noqa: PLC0415

        if trouble := write_overdue(room):
            journal.note(room.home, argv, f"The journals are not written: {trouble}")
    except Exception as exc:  # it is tried again by the next hook
        journal.note(room.home, argv, exc)


def _wake(home: str, agent: str) -> int:
    from postroom.hooks.wake import wake  # noqa: PLC0415 - no hook needs it
    from postroom.room.wake import LOCKED  # noqa: PLC0415

    os.closerange(LOCKED + 1, 1 << 16)  # what else its sender had open, and may have locked
    with _room(home, "") as room:
        wake(room, agent, LOCKED)
        room.finish()
    return 0


def _room(home: str, directory: str) -> "LocalRoom":
    from postroom.room.local import LocalRoom  # noqa: PLC0415

    settings, declared = config.load(home)
    settings = settings._replace(busy_seconds=min(settings.busy_seconds, _PATIENCE))
    project = os.environ.get("POSTROOM_PROJECT")
    start = directory if os.path.isdir(directory) else None
    return LocalRoom(home, settings, project=project, start=start, create=False, declared=declared)


def _possible(path: str) -> str:
    """A path that a runtime has told, unless the system can have none such."""
    try:
        return "" if b"\0" in os.fsencode(path) else path
    except UnicodeEncodeError:
        return ""


def _read(descriptor: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < _MOST and (part := os.read(descriptor, 1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _write(descriptor: int, text: str) -> None:
    """All of it, in one write where the pipe takes that."""
    data = text.encode(errors="replace")
    if label.armed and data:
        half = len(data) // 2
        os.write(descriptor, data[:half])
        label.here("hook-writing")
        data = data[half:]
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main(config.home(), sys.argv[1:])
