"""A session of a runtime that lives on, and whose events a test decides: it runs the hooks set up for it."""

import subprocess
import sys

from tests.configured import User
from tests.process import BOUND, environment

# A runtime that runs the hooks of the events it is told, one a line, and lives on.
LIVES = """
import json, os, subprocess, sys, time
with open(os.path.expanduser("~/.gemini/settings.json")) as file:
    hooks = json.load(file)["hooks"]
for event in sys.stdin:
    facts = {"session_id": "s", "cwd": os.getcwd(), "source": "startup", "prompt": "x"}
    command = hooks[event.strip()][0]["hooks"][0]["command"]
    subprocess.run(["sh", "-c", command], input=json.dumps(facts).encode(), capture_output=True, check=True)
    time.sleep(0.03)  # a model takes longer than the tick by which the starts of processes are told
    print("done", flush=True)
"""


class Living:
    """A session of a runtime that lives on."""

    def __init__(self, user: User) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", LIVES], cwd=user.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=environment(HOME=str(user.home), POSTROOM_PROJECT="p", POSTROOM_AGENT="backend"),
        )  # fmt: skip

    def at(self, event: str) -> None:
        """Let it come to an event; returns when its hook has run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{event}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def __enter__(self) -> "Living":
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate(timeout=BOUND)
