"""A user's home as set-up finds it: scratch directories, the command line in them, and every file's bytes."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.commandline import CommandLine, Result
from tests.repository import make_repository

# Where each runtime reads its configuration, relative to the user's home.
FILES = {
    "claude": [".claude/settings.json"],
    "codex": [".codex/hooks.json", ".codex/config.toml"],
    "gemini": [".gemini/settings.json"],
    "qwen": [".qwen/settings.json"],
    "copilot": [".copilot/hooks/postroom.json", ".copilot/extensions/postroom/extension.mjs"],
    "opencode": [".config/opencode/plugin/postroom.js"],
    "goose": [".agents/plugins/postroom/hooks/hooks.json"],
}


class User:
    """One user with a room."""

    def __init__(self, root: Path) -> None:
        self.home = root / "user"
        self.project = root / "project"
        self.room = root / "room"
        self.hook = root / "room-hooks" / "hook"
        self.bin = root / "bin"
        for directory in (self.home, self.project, self.bin):
            directory.mkdir()
        make_repository(self.project)
        self._cli = CommandLine(str(self.room))
        self.install("postroom")

    def __call__(self, *argv: str, **env: str) -> Result:
        """Run a command in the user's project."""
        here = os.getcwd()
        os.chdir(self.project)
        try:
            return self._cli(
                *argv, env={"HOME": str(self.home), "PATH": str(self.bin), "SHELL": "/bin/sh", **env}
            )
        finally:
            os.chdir(here)

    def ok(self, *argv: str, **env: str) -> Result:
        result = self(*argv, **env)
        assert result.code == 0, result
        return result

    def write(self, path: str, content: str | bytes) -> Path:
        """A file in the user's home."""
        whole = self.home / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(content.encode() if isinstance(content, str) else content)
        return whole

    def read(self, path: str) -> str:
        return (self.home / path).read_bytes().decode()

    def install(self, name: str, script: str = "echo 1.2.3") -> None:
        """A program of that name on the user's path."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def log_in(self) -> None:
        """Have login shells find the user's programs, as those of a terminal do."""
        self.write(".profile", f'export PATH="{self.bin}:$PATH"\n')

    def tree(self) -> Mapping[str, Any]:
        """Every file and directory of the user, with what is in it."""
        found: dict[str, Any] = {}
        for base in (self.home, self.project):
            for path in sorted(base.rglob("*")):
                found[str(path)] = path.read_bytes() if path.is_file() else None
        return found
