"""A process that plays an agent CLI: it runs hooks as one does, and commands in a shell of its own."""

import json
import os
import subprocess
import sys
import threading
from typing import Any, Protocol

from tests.commandline import COMMAND, Result
from tests.process import BOUND, ROOT, TICK, Child


class Actor(Protocol):
    """The process that plays."""

    def tell(self, what: object = None) -> None: ...
    def hear(self) -> Any: ...
    def kill(self) -> None: ...
    def __exit__(self, kind: None, exc: None, traceback: None, /) -> None: ...


class Player:
    """`player.hook("SessionStart")`, then `player.shell("send", "builder", "hi")`."""

    def __init__(
        self,
        home: str,
        cwd: str,
        session: str = "s1",
        runtime: str = "claude",
        actor: Actor | None = None,
        **env: str,
    ) -> None:
        os.makedirs(cwd, exist_ok=True)
        self.home, self.cwd, self.session, self.runtime = home, cwd, session, runtime
        self.greeting = ""  # what its first hook said, if somebody has noted it
        self._env = {"POSTROOM_HOME": home, "POSTROOM_PROJECT": "p", **env}
        self._child = actor or started()

    def __enter__(self) -> "Player":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.__exit__(None, None, None)

    def end(self) -> None:
        """Die, without a word to anybody."""
        self._child.kill()

    def hook(self, event: str, session: str = "", *, key: str = "", **stdin: Any) -> Result:
        """Run the hook of an event; what it says to the runtime."""
        document = {"session_id": session or self.session, "cwd": self.cwd, **stdin}
        words = [self.runtime, event, key or session or self.session]
        argv = [sys.executable, "-m", "postroom.hooks.main", *words]
        done = self._run(argv, json.dumps(document), {})
        assert done.code in (0, 2), done
        threading.Event().wait(TICK)
        return done

    def shell(
        self, *argv: str, prefix: tuple[str, ...] = (), cwd: str = "", stdin: str = "", **env: str
    ) -> Result:
        """Run a command as the agent's shell tool does."""
        return self._run([*prefix, *COMMAND, *argv], stdin, self._variables() | env, cwd)

    def run(self, argv: list[str], stdin: str) -> Result:
        """Run anything as a hook of the agent's."""
        untraced = [word for name in os.environ if name.startswith("COV") for word in ("-u", name)]
        return self._run(["env", *untraced, *argv], stdin, {})

    def python(self, script: str) -> str:
        """Run a program as the agent's shell tool does; what it prints."""
        done = self._run([sys.executable, "-c", script], "", self._variables())
        assert done.code == 0, done
        return done.out.strip()

    def ok(self, *argv: str, **options: Any) -> Any:
        """Run a command that must succeed; its JSON."""
        done = self.shell(*argv, "--json", **options)
        assert done.code == 0, done
        return done.json

    @property
    def name(self) -> str:
        """Whom the room takes it for."""
        sent = self.ok("send", "builder", f"from {self.session}")
        return self.ok("receipts", sent["id"])["message"]["sender"]

    def _variables(self) -> dict[str, str]:
        return {"CLAUDE_CODE_SESSION_ID": self.session} if self.runtime == "claude" else {}

    def _run(self, argv: list[str], stdin: str, env: dict[str, str], cwd: str = "") -> Result:
        kept = {**os.environ, "PYTHONPATH": ROOT}  # traced: most of what hooks do is run only so
        self._child.tell(
            {"argv": argv, "stdin": stdin, "env": {**kept, **self._env, **env}, "cwd": cwd or self.cwd}
        )
        return Result(*self._child.hear())


def started(*args: str, **env: str) -> Child:
    """A player without a terminal, ready to play."""
    child = Child("play", *args, module="tests.player", **env)
    assert child.hear() == "ready"
    return child


def play(*args: str) -> None:
    """Run what is asked for, each time below a shell; under another name, if one is given first."""
    if args and not args[0].startswith("-"):
        with open("/proc/self/comm", "w", encoding="ascii") as file:
            file.write(args[0])
    sys.stdout.write('"ready"\n')
    sys.stdout.flush()
    for line in sys.stdin:
        wanted = json.loads(line)
        done = subprocess.run(
            ["sh", "-c", '"$@"; exit $?', "sh", *wanted["argv"]], input=wanted["stdin"], env=wanted["env"],
            cwd=wanted["cwd"], capture_output=True, text=True, timeout=BOUND, check=False,
        )  # fmt: skip
        sys.stdout.write(json.dumps([done.returncode, done.stdout, done.stderr]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    play(*sys.argv[2:])
