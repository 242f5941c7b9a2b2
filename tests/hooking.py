"""An agent CLI as its hooks see it: it runs them at its events, and keeps a transcript as Claude Code does.

The model is played by the list of what it was given. The hooks themselves are real; they run in this
process, which makes hundreds of visits cheap, or as the program that a set-up installs.
"""

import json
import os
from typing import Any

from postroom.clock import iso, wall
from postroom.hooks import main


class ClaudeCode:
    """One session of Claude Code, in one directory."""

    runtime = "claude"

    def __init__(self, home: str, cwd: str, session: str = "s1") -> None:
        self.home = home
        self.cwd = cwd
        self.session = session
        self.key = session
        self.transcript = os.path.join(cwd, f"{session}.jsonl")
        self.shown: list[str] = []  # what the model was given, in order
        self.moment = 0  # of the last event

    def event(self, event: str, *, keep: bool = True, **stdin: Any) -> str:
        """Run the hook of an event; the text that goes to the model. `keep=False`: the runtime drops it."""
        code, out, err = self.run(event, {"hook_event_name": event, **stdin})
        text = self._passed_on(event, code, out, err)
        if text and keep:
            self.shown.append(text)
            self._write("attachment", text)
        return text

    def run(self, event: str, stdin: dict[str, Any]) -> tuple[int, str, str]:
        """The hook's exit code, and what it wrote."""
        told = {
            "session_id": self.session, "transcript_path": self.transcript, "cwd": self.cwd, **stdin,
        }  # fmt: skip
        self.moment = max(self.moment + 1, wall() + 1)  # later than whatever was handed over before
        os.makedirs(os.path.join(self.home, "run", "life"), exist_ok=True)
        if event != "FileChanged":
            with open(os.path.join(self.home, "run", "life", self.key), "w", encoding="utf-8") as file:
                file.write(event + "\n")
        return run_hook(self.home, [self.runtime, event, self.key], json.dumps(told), began=self.moment)

    @staticmethod
    def _passed_on(event: str, code: int, out: str, err: str) -> str:
        if event == "FileChanged":
            return err if code == 2 else ""
        assert (code, err) == (0, ""), (code, err)
        said = json.loads(out) if out else {}
        return said.get("reason") or said.get("hookSpecificOutput", {}).get("additionalContext", "")

    def answer(self, text: str = "I see.") -> None:
        """The model answers."""
        self._write("assistant", text, at=max(self.moment, wall()) + 2)

    def _write(self, kind: str, text: str, at: int | None = None) -> None:
        record = {"type": kind, "content": text, "timestamp": iso(at or wall())}
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    # what happens in a session

    def start(self, source: str = "startup") -> str:
        return self.event("SessionStart", source=source)

    def prompt(self, text: str = "go on", **options: Any) -> str:
        return self.event("UserPromptSubmit", prompt=text, **options)

    def tools(self, **options: Any) -> str:
        """A batch of tools has ended; before it, the model has asked for them."""
        self.answer()
        return self.event("PostToolBatch", tool_calls=[], **options)

    def stop(self, **options: Any) -> str:
        self.answer()
        return self.event("Stop", **options)

    def change(self) -> str:
        """What it watches has changed."""
        return self.event("FileChanged", file_path="x")

    def end(self) -> None:
        self.event("SessionEnd", reason="exit")


def run_hook(home: str, argv: list[str], stdin: str, began: int = 0) -> tuple[int, str, str]:
    """Run a hook in this process, as `bin/hook` would."""
    inlet, outlet = os.pipe()
    os.write(outlet, stdin.encode())
    os.close(outlet)
    out, err = (os.memfd_create("hook") for _ in range(2))
    try:
        code = main.run(home, argv, (inlet, out, err), began=began or wall() + 1)
        return code, os.pread(out, 1 << 20, 0).decode(), os.pread(err, 1 << 20, 0).decode()
    finally:
        for stream in (inlet, out, err):
            os.close(stream)
