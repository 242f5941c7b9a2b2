"""Who takes the place of two agents of the tutorial where no model is: they do what `tests.walk` has them do.

    python -m tests.walkers claude|gemini [ARGUMENTS]

One runs the hooks that its settings name, as Claude Code does; the other speaks ACP, and asks before it runs
a command, as Gemini CLI does.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
from acp.schema import PermissionOption, ToolCallUpdate

from postroom import config
from tests.acting import Acting
from tests.hooking import Wired
from tests.walk import REVIEWER

VERSION = "2.1.325 (Claude Code)"
SHOWN = re.compile(r"^%%\w{8} from [^\n]*?(?:, (?!thread )\w+ |postroom \w+ )([0-9a-f]{8})\b", re.MULTILINE)
ASKED = re.compile(r"-> postroom reply ([0-9a-f]{8})")
OPTIONS = [
    PermissionOption(option_id="ever", name="Always", kind="allow_always"),
    PermissionOption(option_id="once", name="Once", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Planner(Wired):
    """Claude Code with the hooks of its settings."""

    def __init__(self) -> None:
        super().__init__(config.home(), os.getcwd())
        with open(os.path.expanduser("~/.claude/settings.json"), encoding="utf-8") as file:
            wired = json.load(file)["hooks"]
        self._commands = {event: entries[0]["hooks"][0]["command"] for event, entries in wired.items()}

    def play(self) -> None:
        self.start()
        self._turn(self.prompt("Good morning."))
        self._turn(self.stop())
        Path("begun").touch()
        while True:
            self._turn(self.change())

    def _turn(self, mail: str) -> None:
        """What the model does about mail, until nothing more comes."""
        while mail:
            for handle in SHOWN.findall(mail):
                subprocess.run(
                    ["sh", "planner.sh", handle], env={**os.environ, "CLAUDE_CODE_SESSION_ID": self.key},
                    check=True,
                )  # fmt: skip
            mail = self.tools() or self.stop()


class Reviewer(Acting):
    """Gemini CLI, as far as ACP shows it."""

    async def _act(self, session: str, text: str) -> str:
        for handle in ASKED.findall(text):
            await self._run(session, REVIEWER.replace("%handle%", handle))
        return await super()._act(session, text)

    async def _run(self, session: str, command: str) -> None:
        call = ToolCallUpdate(tool_call_id="reply", title=command, kind="execute")
        answer: Any = await self._client.request_permission(
            session_id=session, tool_call=call, options=OPTIONS
        )
        if getattr(answer.outcome, "option_id", "") == "once":
            process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.DEVNULL)
            await process.wait()


def main(name: str, *arguments: str) -> None:
    if "--version" in arguments:
        sys.stdout.write(VERSION + "\n")
    elif name == "claude":
        Planner().play()
    else:
        asyncio.run(acp.run_agent(Reviewer("reviewer"), use_unstable_protocol=True))  # pyright: ignore[reportArgumentType] - it does what is tried


if __name__ == "__main__":
    main(*sys.argv[1:])
