"""An agent CLI as its hooks see it: it runs them at its events, and keeps a transcript as Claude Code does.

The model is played by the list of what it was given. The hooks themselves are real; they run in this
process, which makes hundreds of visits cheap, or as the program that a set-up installs.
"""

import json
import os
import signal
import subprocess
import threading
from typing import Any

from postroom import config, host, label
from postroom.clock import iso, wall
from postroom.hooks import main, program
from postroom.runtimes import load
from postroom.setup import plan
from tests.process import BOUND, TICK


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
        code, out, err = self.run(event, stdin)
        text = self._passed_on(event, code, out, err)
        if text and keep:
            self.take_in(text)
        return text

    def take_in(self, text: str) -> None:
        """The model gets a text."""
        self.shown.append(text)
        self._write("attachment", text)

    def run(self, event: str, stdin: dict[str, Any]) -> tuple[int, str, str]:
        """The hook's exit code, and what it wrote."""
        return run_hook(self.home, [self.runtime, event, self.key], self._told(event, stdin), self.moment)

    def die(self, event: str, step: str, *, keep: bool) -> str:
        """The hook of an event dies at a labelled step; the text for the model, if it was all written.

        `keep`: the runtime passes it on though the hook died.
        """
        told = self._told(event, {})
        out = run_killed(self.home, [self.runtime, event, self.key], told, step=step, began=self.moment)
        try:
            text = self._passed_on(event, 0, out, "")
        except ValueError:  # half a document
            return ""
        if text and keep:
            self.take_in(text)
        return text

    def _told(self, event: str, stdin: dict[str, Any]) -> str:
        self.moment = max(self.moment + 1, wall() + 1)  # later than whatever was handed over before
        os.makedirs(config.beside(self.home, "life"), exist_ok=True)
        if event != "FileChanged":
            with open(config.beside(self.home, "life", self.key), "w", encoding="utf-8") as file:
                file.write(event + "\n")
        where = {"session_id": self.session, "transcript_path": self.transcript, "cwd": self.cwd}
        if "agent_id" in stdin:
            where["transcript_path"] = ""  # of a subagent's conversation nothing is kept here
        return json.dumps({**where, "hook_event_name": event, **stdin})

    @staticmethod
    def _passed_on(event: str, code: int, out: str, err: str) -> str:
        if event == "FileChanged":
            return err if code == 2 else ""
        assert (code, err) == (0, ""), (code, err)
        said = json.loads(out) if out else {}
        return said.get("reason") or said.get("hookSpecificOutput", {}).get("additionalContext", "")

    def answer(self, text: str = "I see.", *, later: int = 2) -> None:
        """The model answers, so many milliseconds later."""
        self._write("assistant", text, at=max(self.moment, wall()) + later)

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

    def refused(self, words: str = "API Error: 429 rate_limit_error", *, error: str = "rate_limit") -> None:
        """A request of the model is refused: Claude Code writes a line of its own, as it did in 2.1.325."""
        said = {"model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": words}]}
        more = {"isApiErrorMessage": True, "apiErrorStatus": 429, "error": error, "message": said}
        record = {"type": "assistant", "timestamp": iso(max(self.moment, wall()) + 2), **more}
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def fail(self, words: str = "API Error: 429 rate_limit_error", *, error: str = "rate_limit") -> None:
        """The turn ends by that."""
        self.refused(words, error=error)
        self.moment += 3
        self.event("StopFailure", error=error, last_assistant_message=words)

    def change(self) -> str:
        """What it watches has changed."""
        return self.event("FileChanged", file_path="x")

    def end(self) -> None:
        self.event("SessionEnd", reason="exit")


class Wired(ClaudeCode):
    """The same as it is set up: a shell runs the command lines, and this process counts as Claude Code."""

    def __init__(self, home: str, cwd: str, session: str = "s1") -> None:
        super().__init__(home, cwd, session)
        self.program = program.install(home)
        self._commands = plan.commands(load(self.runtime), home)

    def run(self, event: str, stdin: dict[str, Any]) -> tuple[int, str, str]:
        threading.Event().wait(TICK)
        done = subprocess.run(
            ["sh", "-c", self._commands[event]], input=self._told(event, stdin), cwd=self.cwd, text=True,
            env={**os.environ, "CLAUDE_CODE_SESSION_ID": self.key}, capture_output=True, timeout=BOUND,
            check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr


def run_hook(home: str, argv: list[str], stdin: str, began: int = 0) -> tuple[int, str, str]:
    """Run a hook in this process, as the installed program would."""
    inlet, outlet = os.pipe()
    os.write(outlet, stdin.encode())
    os.close(outlet)
    out, err = (os.memfd_create("hook") for _ in range(2))
    ancestors, host.ancestors = host.ancestors, lambda pid=None, most=32: [os.getpid()]
    try:
        code = main.run(home, argv, (inlet, out, err), began=began or wall() + 1)
        return code, os.pread(out, 1 << 20, 0).decode(), os.pread(err, 1 << 20, 0).decode()
    finally:
        host.ancestors = ancestors
        for stream in (inlet, out, err):
            os.close(stream)


def run_killed(home: str, argv: list[str], stdin: str, *, step: str, began: int) -> str:
    """Run a hook in a process of its own that dies at a labelled step; what it had written by then."""
    inlet, outlet = os.pipe()
    os.write(outlet, stdin.encode())
    os.close(outlet)
    out, here = os.memfd_create("hook"), os.getpid()
    pid = os.fork()
    if pid == 0:
        host.ancestors = lambda pid=None, most=32: [here]
        label.here = lambda here: os.kill(os.getpid(), signal.SIGKILL) if here == step else None
        label.armed = True
        main.run(home, argv, (inlet, out, out), began=began)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"the hook never came to {step}"
    text = os.pread(out, 1 << 20, 0).decode()
    for stream in (inlet, out):
        os.close(stream)
    return text
