"""The command line as tests use it: in this process, which is fast, or as one of its own, which is real."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple
from unittest import mock

from postroom.cli.main import run
from tests.process import BOUND, ROOT

COMMAND = [sys.executable, "-m", "postroom"]


class Result(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def items(self) -> list[Any]:
        """One document a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        return json.loads(self.err)


class Running(subprocess.Popen[bytes]):
    """A command that runs; it does not outlive its `with` block."""

    def __exit__(self, *exc: Any) -> None:
        self.kill()
        super().__exit__(*exc)


class CommandLine:
    """`cli("send", "builder", "hi", "--as", "planner")`, always in the same home and project."""

    def __init__(self, home: str) -> None:
        self.home = home

    def __call__(self, *argv: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
        """Run a command in this process."""
        out, err = _stream(), _stream()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
            mock.patch.dict(os.environ, self.environment | (env or {})),
        ):
            code = run(list(argv))
        return Result(code, _text(out), _text(err))

    def ok(self, *argv: str, **options: Any) -> Result:
        """Run a command that must succeed."""
        result = self(*argv, **options)
        assert result.code == 0, result
        return result

    def sent(
        self, to: str, body: str, *options: str, sender: str = "planner", env: dict[str, str] | None = None
    ) -> str:
        """Send a message; its id."""
        return self.ok("send", to, body, "--as", sender, "--quiet", *options, env=env).out.strip()

    def receipt(self, ref: str) -> dict[str, Any]:
        """The one delivery of a message."""
        [delivery] = self.ok("receipts", ref, "--json").json["deliveries"]
        return delivery

    @property
    def environment(self) -> dict[str, str]:
        return {"POSTROOM_HOME": self.home, "POSTROOM_PROJECT": "p"}

    def start(self, *argv: str | bytes, env: dict[str, str] | None = None, **options: Any) -> Running:
        """Start a command as a process."""
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = {**os.environ, **self.environment, **(env or {})}
        return Running([*COMMAND, *argv], env=environment, cwd=ROOT, **(streams | options))

    def process(self, *argv: str | bytes, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
        """Run a command as a process."""
        with self.start(*argv, env=env) as process:
            out, err = process.communicate(stdin, timeout=BOUND)
        return Result(process.returncode, out.decode(), err.decode())

    def shell(self, script: str, prefix: Sequence[str] = ()) -> Result:
        """Run a shell script in which `postroom` is the command."""
        functions = 'postroom() { "$PYTHON" -m postroom "$@"; }\n'
        environment = {**os.environ, **self.environment, "PYTHON": sys.executable}
        done = subprocess.run(
            [*prefix, "bash", "-c", functions + script],
            env=environment, cwd=ROOT, capture_output=True, timeout=BOUND, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def is_told_well(result: Result) -> bool:
    """An error is a line that says what is wrong, and at most one that says what to do; no traceback."""
    lines = result.err.splitlines()
    return 1 <= len(lines) <= 2 and lines[0].startswith("postroom: ") and "unexpected" not in lines[0]


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
