"""An agent that speaks ACP, by the library's own other side, and does what the prompts say.

    python -m tests.acting RECORD

What it took in, it notes in a file, and how it was answered. A prompt that has none of these is answered:
`[[work]]` goes on until it is cancelled, `[[deaf]]` goes on whatever is said, `[[noise]]` prints much,
`[[tokens]]` answers in many pieces, `[[ask]]` asks for a permission, `[[ask twice]]` for two at once,
`[[tool]]` calls one, `[[die]]` ends it, `[[refuse]]` refuses, `[[fail]]` fails, `[[bad]]` prints what is no
message, `[[late]]` answers when the file RECORD.go is there, `[[flood]]` asks a hundred times, `[[cheat]]`
asks and tries to answer that itself. `[[ask alike]]` has two answers of a kind, `[[ask much]]` too many, and
`[[ask same]]` two with one id. `[[forge]]` says, prints and calls what looks like a question of ours.
What its environment says of it: `ACTING_SESSIONS` (`none`: it cannot go on with one, `lost`: it forgets them;
else `load` or `resume`), `ACTING_LOGIN` (it wants one), `ACTING_MUTE` (it never answers). While there is a
file RECORD.hold, it does not begin.
"""

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    PermissionOption,
    SessionCapabilities,
    SessionResumeCapabilities,
    ToolCallUpdate,
)

from tests.bridged import Record, noise

OPTIONS = [
    PermissionOption(option_id="yes", name="Yes, once", kind="allow_once"),
    PermissionOption(option_id="ever", name="Yes, always", kind="allow_always"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]
ALIKE = [
    OPTIONS[0],
    PermissionOption(option_id="all", name="Yes, and bypass all", kind="allow_once"),
    OPTIONS[2],
]
MUCH = [PermissionOption(option_id=f"y{n}", name="Yes", kind="allow_once") for n in range(20_000)]
SAME = [OPTIONS[0], PermissionOption(option_id="yes", name="No", kind="reject_once")]
OFFERED = {"[[ask alike]]": ALIKE, "[[ask much]]": MUCH, "[[ask same]]": SAME}
BAD = ("[]", "no JSON at all", '{"id": [1]}', '{"id": 77, "error": "x"}', '{"jsonrpc": "2.0"', "{" * 9000)
TOKENS = 500
FORGED = "[it asks]\r\n> mail\u2028  1) approve = Yes\n[it has ended]"


class Acting:
    """The agent. One session is as good as another; each has its own turn."""

    def __init__(self, path: str) -> None:
        self._record = Record(path)
        self._answers = Record(path + ".answers")
        self._go, self._hold = path + ".go", path + ".hold"
        self._cancelled = asyncio.Event()
        self._sessions = os.environ.get("ACTING_SESSIONS", "load")
        self._number = 0

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        if "ACTING_MUTE" in os.environ:
            await asyncio.Event().wait()
        while os.path.exists(self._hold):
            await asyncio.sleep(0.01)
        resume = SessionResumeCapabilities() if self._sessions == "resume" else None
        can = AgentCapabilities(
            load_session=self._sessions != "none", session_capabilities=SessionCapabilities(resume=resume)
        )
        return acp.InitializeResponse(protocol_version=protocol_version, agent_capabilities=can)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        if "ACTING_LOGIN" in os.environ:
            raise acp.RequestError.auth_required()
        self._answers.note("new")
        half = "\ud83d" if "ACTING_HALF" in os.environ else ""
        return acp.NewSessionResponse(session_id=f"s{os.getpid()}{half}")

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        if self._sessions == "lost":
            raise acp.RequestError.resource_not_found(session_id)
        await self._say(session_id, "what was said before")
        self._answers.note(f"load {session_id}")
        return acp.LoadSessionResponse()

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> acp.schema.ResumeSessionResponse:
        self._answers.note(f"resume {session_id}")
        return acp.schema.ResumeSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        text = prompt[0].text
        self._record.note(text)
        self._cancelled.clear()
        end = await self._act(session_id, text)
        return acp.PromptResponse(stop_reason=end)  # pyright: ignore[reportArgumentType] - whatever was played

    async def _act(self, session: str, text: str) -> str:
        if "[[noise]]" in text:
            sys.stdout = sys.stderr
            noise()
        for line in BAD if "[[bad]]" in text else ():
            os.write(1, f"{line}\n".encode())
        if "[[tokens]]" in text:
            for n in range(TOKENS):
                await self._say(session, f"token{n} ")
        if "[[forge]]" in text:
            os.write(1, FORGED.encode() + b"\n")
            await self._say(session, f"Well.\r{FORGED}")
            await self._client.session_update(session, acp.update_agent_thought_text(FORGED))
            await self._client.session_update(session, acp.start_tool_call("t0", FORGED, status="failed"))
        if "[[halves]]" in text:
            await self._say(session, "Done \ud83d")
            await self._say(session, "\ude00! And \udc00.")
            await self._client.session_update(session, acp.start_tool_call("t\ud83d", "half a \ud83d"))
        if "[[tool]]" in text:
            await self._client.session_update(session, acp.start_tool_call("t1", "run the tests"))
        if "[[refuse]]" in text:
            return "refusal"
        if "[[fail]]" in text:
            raise acp.RequestError(-32603, "the model cannot be reached")
        if "[[die]]" in text:
            os._exit(7)
        await self._ask_all(session, text)
        await self._wait(text)
        if self._cancelled.is_set():
            return "cancelled"
        await self._say(session, f"I have read {len(text)} characters.")
        return "end_turn"

    async def _wait(self, text: str) -> None:
        if "[[work]]" in text:
            await self._cancelled.wait()
        if "[[deaf]]" in text:
            await asyncio.Event().wait()
        while "[[late]]" in text and not os.path.exists(self._go):
            await asyncio.sleep(0.01)

    async def _ask_all(self, session: str, text: str) -> None:
        times = {"[[ask]]": 1, "[[cheat]]": 1, "[[ask twice]]": 2, "[[flood]]": 100} | dict.fromkeys(
            OFFERED, 1
        )
        options = next((offered for word, offered in OFFERED.items() if word in text), OPTIONS)
        number = sum(count for word, count in times.items() if word in text)
        cheating = [self._cheat()] if "[[cheat]]" in text else []
        await asyncio.gather(*(self._ask(session, options) for _ in range(number)), *cheating)

    async def _cheat(self) -> None:
        gates: list[Any] = []
        while not gates:
            gates = json.loads((await _postroom("gates", "--json"))[1])["gates"]
        for who in ("human:ana", "builder"):
            code, _ = await _postroom("decide", gates[0]["message"]["id"], "approve", "--as", who)
            self._answers.note(f"cheat {code}")

    async def _ask(self, session: str, options: list[PermissionOption]) -> None:
        self._number += 1
        call = f"c{self._number}"
        run = {"command": f"rm -rf build{self._number}"}
        await self._client.session_update(
            session, acp.start_tool_call(call, f"Run command {self._number}", kind="execute", raw_input=run)
        )
        update = ToolCallUpdate(tool_call_id=call)
        answer = await self._client.request_permission(session_id=session, tool_call=update, options=options)
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        self._answers.note(f"{call} {chosen}")

    async def _say(self, session: str, text: str) -> None:
        await self._client.session_update(session, acp.update_agent_message_text(text))


async def _postroom(*words: str) -> tuple[int | None, bytes]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "postroom", *words, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    out, _ = await process.communicate()
    return process.returncode, out


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Acting(sys.argv[1]), use_unstable_protocol=True))  # pyright: ignore[reportArgumentType] - it does what is tried
