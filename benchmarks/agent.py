"""An agent CLI as our hooks see it: wired by `postroom setup`, and telling what was recorded of the real one.

Each has a room and a home of its own: where this process hosts a session, all that it starts is that agent.
"""

import json
import os
import re
import subprocess
import time
from typing import NamedTuple

from benchmarks import product
from benchmarks.launch import Launch, seconds
from postroom.clock import iso, wall
from postroom.runtimes import load
from tests.recorded import captures, transcript

NAME, WRITER = "hooked", "builder"
_TIMESTAMP = re.compile(r'"timestamp":"[^"]*"')


class Kind(NamedTuple):
    """What is measured of a runtime: the event after its tools, and where set-up writes its hooks."""

    runtime: str
    event: str
    settings: str


KINDS = (
    Kind("claude", "PostToolBatch", ".claude/settings.json"),
    Kind("codex", "PostToolUse", ".codex/hooks.json"),
)


class Agent:
    """A session whose start has been told, and which is now in a turn with many tools."""

    def __init__(self, folder: str, kind: Kind) -> None:
        self._kind = kind
        self._home, self._user, self._cwd = (os.path.join(folder, name) for name in ("room", "user", "shop"))
        for path in (self._user, self._cwd):
            os.makedirs(path)
        product.create_room(self._home, (WRITER, NAME))
        self._transcript = os.path.join(folder, "sessions", "transcript.jsonl")
        os.makedirs(os.path.dirname(self._transcript))
        with open(transcript(kind.runtime), encoding="utf-8") as file:
            self._recorded = [json.dumps(json.loads(line), separators=(",", ":")) for line in file]
        self._append(self._recorded)
        self._captures = {one.name: one for one in captures(kind.runtime)}
        self._output = os.path.join(folder, "output.json")
        self._expected = ""
        self._commands = self._set_up()
        seconds(self._launch("SessionStart", "SessionStart-startup"))
        seconds(self.hook())  # which finds nothing, and promises quiet

    def hook(self) -> Launch:
        """The installed command after a tool, as the runtime gives it to a shell."""
        return self._launch(self._kind.event, self._kind.event)

    def expect_quiet(self) -> None:
        """Raises if the next hook would have to run Python."""
        links = os.path.join(self._home, "run", "quiet", "s")
        promised = [os.stat(os.path.join(links, name)).st_mtime for name in os.listdir(links)]
        if len(promised) != 1 or promised[0] < time.time() + 1:
            raise RuntimeError("nobody has promised quiet")

    def send(self) -> None:
        """One message for it, after the model has got the last one and has called its next tool."""
        if self._expected:
            self._pass_on()
        self._expected = f"The parser is ready for review: {os.urandom(4).hex()}."
        product.send(self._home, WRITER, NAME, self._expected)

    def _pass_on(self) -> None:
        """What the hook said comes into the transcript as its runtime writes it, and an answer after it."""
        with open(self._output, encoding="utf-8") as file:
            said = json.load(file)["hookSpecificOutput"]["additionalContext"]
        if said.count(self._expected) != 1:
            raise RuntimeError("the hook did not show the message, or showed it twice")
        mark, reply = f"INJECTED-{self._kind.event}-", load(self._kind.runtime).marks.reply
        first = next(at for at, line in enumerate(self._recorded) if mark in line)
        last = next(at for at in range(first, len(self._recorded)) if reply in self._recorded[at])
        text = json.dumps(said)[1:-1]
        self._append(
            [re.sub(rf"{mark}\d+", lambda _: text, line) for line in self._recorded[first : last + 1]]
        )

    def _append(self, lines: list[str]) -> None:
        now = f'"timestamp":"{iso(wall())}"'
        with open(self._transcript, "a", encoding="utf-8") as file:
            file.writelines(_TIMESTAMP.sub(now, line) + "\n" for line in lines)

    def _set_up(self) -> dict[str, str]:
        """The command of each event, as it is in the runtime's own settings then."""
        words = [product.command(), "setup", self._kind.runtime, "--yes"]
        subprocess.run(words, env=self._environment({}), cwd=self._cwd, check=True, capture_output=True)
        with open(os.path.join(self._user, self._kind.settings), encoding="utf-8") as file:
            hooks = json.load(file)["hooks"]
        return {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}

    def _environment(self, told: dict[str, str]) -> dict[str, str]:
        own = {"HOME": self._user, "POSTROOM_AGENT": NAME}
        return {**product.environment(self._home), **told, **own}

    def _launch(self, event: str, capture: str) -> Launch:
        told = self._captures[capture]
        where = {"cwd": self._cwd, "transcript_path": self._transcript}
        stdin = os.path.join(os.path.dirname(self._output), f"{capture}.json")
        with open(stdin, "w", encoding="utf-8") as file:
            json.dump({**told.stdin, **where}, file)
        return Launch(
            event, event, [product.shell(), "-c", self._commands[event]], self._environment(told.env),
            stdin=stdin, stdout=self._output,
        )  # fmt: skip

    def check(self) -> None:
        """Raises if a hook had anything to complain of."""
        from postroom.hooks import journal

        if os.path.exists(journal.path(self._home)):
            with open(journal.path(self._home), encoding="utf-8") as file:
                raise RuntimeError(f"a hook failed: {file.read()}")
