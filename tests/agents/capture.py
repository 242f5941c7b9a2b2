"""A hook that keeps what it was given: stdin, the runtime's variables, its ancestors, the transcript so far.

`command(event, into, shape)` is the shell command to install. Each firing becomes one numbered JSON file in
`into`; with a `shape` the hook also injects `INJECTED-<event>-<number>`, in the words of the runtime. It runs
isolated, on nothing but the standard library, because the agent's environment is not ours.
"""

import itertools
import json
import os
import shlex
import sys
import time
from typing import Any

NAMES = ("CLAUDE", "CODEX", "GEMINI", "QWEN", "COPILOT", "OPENCODE", "GOOSE", "AI_AGENT", "AGENT")
_SECRET = ("KEY", "TOKEN")


def command(event: str, into: str, shape: str = "") -> str:
    """The shell command of a hook that captures. `shape` is one of `SHAPES`, or empty to inject nothing."""
    words = [sys.executable, "-I", os.path.abspath(__file__), event, into, shape]
    return f"CAPTURE_PPID=$PPID exec {shlex.join(words)}"


def _nested(event: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _flat(event: str, text: str) -> dict[str, Any]:
    return {"additionalContext": text}


def _block(event: str, text: str) -> dict[str, Any]:
    return {"decision": "block", "reason": text}


def _watch(event: str, text: str) -> dict[str, Any]:
    """Context, and the wish to be told of changes of `~/ring`."""
    told = _nested(event, text)["hookSpecificOutput"]
    return {"hookSpecificOutput": told | {"watchPaths": [os.path.expanduser("~/ring")]}}


SHAPES = {"nested": _nested, "flat": _flat, "block": _block, "watch": _watch}


def ancestors(pid: int) -> list[dict[str, Any]]:
    """A process and those above it, nearest first."""
    line: list[dict[str, Any]] = []
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                comm, _, rest = file.read().partition("(")[2].rpartition(")")
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")[:6]
        except OSError:
            break
        line.append({"pid": pid, "comm": comm, "cmdline": [word[:120] for word in words if word]})
        pid = int(rest.split()[1])
    return line


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(NAMES)}
    return {name: "dummy" if name.endswith(_SECRET) else value for name, value in sorted(kept.items())}


def _transcript(given: dict[str, Any]) -> str | None:
    path = given.get("transcript_path") or given.get("transcriptPath")
    try:
        with open(path or "", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _store(into: str, event: str, record: dict[str, Any]) -> str:
    os.makedirs(into, exist_ok=True)
    for number in itertools.count(1):
        try:
            path = os.path.join(into, f"{number:03}-{event}.json")
            # Numbers are unique over all events: the lock file claims one.
            os.close(os.open(os.path.join(into, f".{number:03}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
        os.rename(path + ".tmp", path)
        return f"INJECTED-{event}-{number:03}"
    raise AssertionError


def main() -> None:
    event, into, shape = sys.argv[1:4]
    began, raw = time.time(), sys.stdin.read()
    try:
        given = json.loads(raw)
    except ValueError:
        given = {"_raw": raw}
    record = {
        "event": event, "time": began, "stdin": given, "env": _environment(),
        "ppid": int(os.environ.get("CAPTURE_PPID", "0")), "ancestors": ancestors(os.getpid()),
        "transcript": _transcript(given),
    }  # fmt: skip
    text = _store(into, event, record)
    stopped_once = given.get("stop_hook_active") or given.get("stopHookActive")
    if shape and not stopped_once:
        sys.stdout.write(json.dumps(SHAPES[shape](event, text)))


if __name__ == "__main__":
    main()
