"""Records what real agents give their hooks: `python -m tests.agents.record [NAME …]`.

Three sessions of each CLI, with a capturing hook at every event: a short one, whose transcript is kept; one
with parallel tools, a failing tool and a subagent; one in a terminal, with a question, a compaction, a clear.
Written are `<Event>[-case].json` and `transcript.jsonl` in `tests/data/hooks/<cli>/`.
"""

import glob
import json
import os
import sqlite3
import sys
from typing import Any

from tests.agents.capture import command
from tests.agents.cli import Cli
from tests.agents.clis import CLIS
from tests.agents.log import until
from tests.agents.pin import version
from tests.agents.rig import Rig
from tests.agents.scrub import Scrub
from tests.recorded import HOOKS, files, transcript

LARGE = "[[bash echo one]] [[both echo two ||| echo three]] {subagent} [[bash false]] [[say ALL-DONE]]"
DATABASE = ".local/share/opencode/opencode.db"


def record(cli: Cli) -> int:
    """Record one CLI anew; how many captures there are now."""
    folder = os.path.join(HOOKS, cli.name)
    os.makedirs(folder, exist_ok=True)
    for path in files(cli.name):
        os.remove(path)
    for play in (short, large, terminal):
        with Rig(cli) as rig:
            into = os.path.join(rig.place.root, "captures")
            cli.wire(
                rig.place, {event: command(event, into, cli.shapes.get(event, "")) for event in cli.events}
            )
            try:
                play(rig)
            except AssertionError as error:  # what came before it is as good as ever
                print(f"  {cli.name}: {error}")
            captures = [_load(path) for path in sorted(glob.glob(os.path.join(into, "*.json")))]
            scrub = Scrub(f"{cli.name} {play.__name__}", rig.place, _pids(captures))
            for capture in captures:
                _keep(folder, cli.name, capture, scrub)
            if play is short:
                _keep_transcript(rig, captures, scrub)
    return len(files(cli.name))


def short(rig: Rig) -> None:
    rig.run("Say what you see. [[bash echo one]] [[say DONE]]")
    if rig.cli.resume:
        rig.resume("Go on. [[say RESUMED]]")


def large(rig: Rig) -> None:
    rig.run(f"Look around. {LARGE.format(subagent=rig.cli.subagent)}")


def terminal(rig: Rig) -> None:
    """What only happens with a person in front of it."""
    with rig.terminal() as screen:
        screen.wait_idle()
        screen.submit(f"May I? {rig.cli.question} [[say GRANTED]]")
        asked = os.path.join(rig.place.project, "asked.txt")
        screen.wait(lambda: screen.asking() or os.path.exists(asked), "question")
        if screen.asking():
            screen.wait_asking()
            _hear(rig, "Notification", 1)
            screen.press("Enter")
        screen.wait(lambda: os.path.exists(asked), "granted wish")
        screen.wait_idle()
        _ring(rig)
        for step in (rig.cli.compact, "After that. [[say AFTER-1]]", rig.cli.clear, "Then. [[say AFTER-2]]"):
            if step.startswith("/"):
                screen.slash(step)
                screen.settle()
                if screen.asking():
                    screen.press("Enter")
            else:
                screen.submit(step)
                rig.log.wait(step)
            screen.wait_idle()
        screen.quit()


def _hear(rig: Rig, event: str, number: int) -> None:
    """Wait for the firing of an event that comes by itself, some seconds later, if it comes."""
    captures = os.path.join(rig.place.root, "captures", f"*-{event}.json")
    if event in rig.cli.events:
        try:
            until(lambda: len(glob.glob(captures)) >= number, 15.0, event)
        except AssertionError as error:
            print(f"  {rig.cli.name}: {error}")


def _ring(rig: Rig) -> None:
    """Let a watched file appear, change and go."""
    ring = os.path.join(rig.place.home, "ring")
    for number, change in enumerate((_make, os.utime, os.unlink)):
        change(ring)
        _hear(rig, "FileChanged", number + 1)


def _make(path: str) -> None:
    open(path, "w", encoding="utf-8").close()


def _pids(captures: list[dict[str, Any]]) -> dict[int, int]:
    """A number for each process that ran a hook, by its first appearance."""
    known: dict[int, int] = {}
    for capture in captures:
        for process in capture["ancestors"][1:3]:
            known.setdefault(process["pid"], 4200 + len(known))
    return known


def _keep(folder: str, name: str, capture: dict[str, Any], scrub: Scrub) -> None:
    case = _case(capture["event"], capture["stdin"])
    path = os.path.join(folder, "-".join([capture["event"], *case]) + ".json")
    if os.path.exists(path):
        return
    parent = next((each for each in capture["ancestors"] if each["pid"] == capture["ppid"]), {})
    kept = {
        "stdin": scrub.value(capture["stdin"]),
        "env": scrub.value(capture["env"]),
        "parent": scrub.value({"pid": capture["ppid"], "comm": parent.get("comm", "")}),
        "version": version(name),
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=2, ensure_ascii=False)
        file.write("\n")


def _case(event: str, given: dict[str, Any]) -> list[str]:
    """What sets this one apart from others of its event."""
    command = str((given.get("tool_input") or {}).get("command", ""))
    prompt = given.get("prompt")
    tests = {
        "subagent": not event.startswith("Subagent") and (given.get("agent_id") or command == "echo sub"),
        str(given.get("source")): "source" in given,
        str(given.get("trigger")): "trigger" in given,
        str(given.get("notification_type")): "notification_type" in given,
        str(given.get("reason")): event == "SessionEnd" and "reason" in given,
        str(given.get("event")): event == "FileChanged",
        "again": given.get("stop_hook_active"),
        "empty": prompt == "",
        "task": str(prompt).startswith("<task-notification"),
        "continued": str(prompt).startswith("INJECTED-"),
        "parallel-1": command == "echo two",
        "parallel-2": command == "echo three",
        "failed": command == "false" and not event.endswith("Failure"),
        "agent": "agent" in str(given.get("tool_name", "")).lower() or given.get("tool_name") == "task",
        _plugin_case(given): bool(_plugin_case(given)),
    }
    return [word for word, so in tests.items() if so]


def _plugin_case(given: dict[str, Any]) -> str:
    told = given.get("input") if "hook" in given else None
    if not isinstance(told, dict):
        return ""
    return str((told.get("event") or {}).get("type") or told.get("tool") or "")


def _keep_transcript(rig: Rig, captures: list[dict[str, Any]], scrub: Scrub) -> None:
    named = [capture["stdin"].get("transcript_path") for capture in captures]
    path = next((path for path in reversed(named) if path), None)
    if path:
        with open(path, encoding="utf-8") as file:
            lines = [scrub.line(line) for line in file if line.strip()]
    elif os.path.exists(os.path.join(rig.place.home, DATABASE)):
        lines = [scrub.line(line) for line in _rows(rig)]
    else:
        return  # it keeps none that a hook is told of
    with open(transcript(rig.cli.name), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def _rows(rig: Rig) -> list[str]:
    """The messages and their parts, for an agent that keeps them in a database."""
    with sqlite3.connect(os.path.join(rig.place.home, DATABASE)) as db:
        names = ("id", "session_id", "data")
        found = db.execute(
            "SELECT 'message', id, session_id, data FROM message ORDER BY time_created"
        ).fetchall()
        found += db.execute(
            "SELECT 'part', id, session_id, data FROM part ORDER BY time_created, id"
        ).fetchall()
    db.close()
    return [json.dumps({"table": row[0], **dict(zip(names, row[1:], strict=True))}) for row in found]


def _load(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main() -> None:
    for name in sys.argv[1:] or [name for name, cli in CLIS.items() if cli.events]:
        print(f"{name} {version(name)}: {record(CLIS[name])} captures", flush=True)


if __name__ == "__main__":
    main()
