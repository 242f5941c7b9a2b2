"""A mailbox for an agent of the OpenAI Agents SDK.

async with Mailbox(postroom.open(agent="builder")) as mailbox:
    agent = Agent(name="builder", tools=mailbox.tools)
    result = await mailbox.run(agent, "Do what your mail asks for.")
"""

import json
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from postroom import extra
from postroom.errors import InvalidValue
from postroom.mcp_server.tool import TOOLS
from postroom.model.message import Json, Mail
from postroom.room.local import LocalRoom
from postroom.sdk.desk import Desk, Run

try:
    from agents import FunctionTool, RunConfig, RunHooks, Runner
    from agents.run import CallModelData, ModelInputData
except ImportError as exc:
    raise InvalidValue("the OpenAI Agents SDK is not installed", hint=extra.hint("openai-sdk")) from exc

if TYPE_CHECKING:
    from agents import Agent, ModelResponse, RunContextWrapper, RunResult, TResponseInputItem

    Items = list[TResponseInputItem]


class Mailbox:
    """Of the agent that a room is opened for. When it is left, what nothing has proven waits again."""

    def __init__(self, room: LocalRoom) -> None:
        self._desk = Desk(room)
        self.history: Items = []
        """All that was said up to the end of the last run, and the mail where it came: what to go on with."""
        self.tools: list[Any] = [
            FunctionTool(
                name=one.name, description=one.about, params_json_schema=one.schema,
                on_invoke_tool=_Invocation(self._desk, one.name), strict_json_schema=False,
            )
            for one in TOOLS
        ]  # fmt: skip

    async def wait(self, timeout: float | None = None) -> list[Mail]:
        """Sleep until mail comes, and look at it; nothing is taken."""
        return await self._desk.wait(timeout)

    async def run(self, agent: "Agent[Any]", input: "str | Items", **options: Any) -> "RunResult":
        """As `Runner.run`, and the model is shown what waits for the agent, before each answer of its."""
        run = self._desk.begin()
        try:
            turns = _Turns(run, options.pop("run_config", None) or RunConfig())
            hooks = _Hooks(run, options.pop("hooks", None))
            first = await turns.begin(input)
            result = await Runner.run(agent, first, run_config=turns.config, hooks=hooks, **options)
        finally:
            await self._desk.end(run)
        self.history = _inserted(result.to_input_list(), turns.shown)
        return result

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        await self._desk.close()


class _Invocation:
    """One tool, as the library calls it."""

    def __init__(self, desk: Desk, name: str) -> None:
        self._desk, self._name = desk, name

    async def __call__(self, _: Any, arguments: str) -> str:
        try:
            given: Any = json.loads(arguments or "{}")
        except ValueError:
            return "The arguments are no JSON object."
        found, trouble = await self._desk.call(self._name, given)
        return trouble or json.dumps(found, ensure_ascii=False)


class _Turns:
    """Puts mail into what a model is asked. What it was shown once is there again in each later request."""

    def __init__(self, run: Run, config: Any) -> None:
        self.shown: list[tuple[int, Any]] = []
        self.config = replace(config, call_model_input_filter=self._ask)
        self._run = run
        self._theirs = config.call_model_input_filter

    async def begin(self, input: "str | Items") -> "Items":
        given = [_item(input)] if isinstance(input, str) else list(input)
        text = await self._run.ask()
        return [*given, _item(text)] if text else given

    async def _ask(self, data: "CallModelData[Any]") -> "ModelInputData":
        asked = data.model_data
        if self._theirs is not None:
            found: Any = self._theirs(data)
            asked = cast("ModelInputData", await found if hasattr(found, "__await__") else found)
        if text := await self._run.ask():
            self.shown.append((len(asked.input), _item(text)))
        return ModelInputData(input=_inserted(asked.input, self.shown), instructions=asked.instructions)


class _Hooks(RunHooks[Any]):
    """Hears of answers, and passes all on to the program's own hooks."""

    def __init__(self, run: Run, theirs: Any) -> None:
        self._run, self._theirs = run, theirs
        for name in dir(RunHooks) if theirs is not None else ():
            if name.startswith("on_") and name != "on_llm_end":
                setattr(self, name, getattr(theirs, name))

    async def on_llm_end(
        self, context: "RunContextWrapper[Any]", agent: "Agent[Any]", response: "ModelResponse"
    ) -> None:
        await self._run.answered()
        if self._theirs is not None:
            await self._theirs.on_llm_end(context, agent, response)


def _item(text: str) -> Any:
    said: Json = {"role": "user", "content": text}
    return said


def _inserted(items: "Items", shown: list[tuple[int, Any]]) -> "Items":
    found = list(items)
    for at, item in reversed(shown):
        found.insert(min(at, len(found)), item)
    return found
