"""Agents of the OpenAI Agents SDK inside a program: their tools, the mail they are shown, what proves it."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, OpenAIResponsesModel, RunConfig, function_tool
from openai import APIError, AsyncOpenAI

from postroom.errors import PostroomError
from postroom.model.message import Delivery
from postroom.room.local import LocalRoom, open_room
from postroom.sdk.openai import Mailbox
from tests.agents.model import HOST, Model
from tests.process import BOUND, ROOT


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    with Model(str(tmp_path / "requests.jsonl")) as found:
        yield found


@pytest.fixture
def room(home: str) -> Iterator[LocalRoom]:
    with open_room(home, agent="builder", project="p") as found:
        found.join("builder")
        found.join("planner")
        yield found


async def run(port: int, mailbox: Mailbox, input: Any, *tools: Any, **more: Any) -> Any:
    """Run an agent whose model answers at a port."""
    config = more.pop("run_config", None) or RunConfig(tracing_disabled=True)
    url = f"http://{HOST}:{port}/v1"
    async with AsyncOpenAI(base_url=url, api_key="dummy", max_retries=0) as client:
        model = OpenAIResponsesModel("gpt-5", client)
        agent = Agent(name="builder", model=model, tools=[*tools, *mailbox.tools])
        return await mailbox.run(agent, input, run_config=config, **more)


def delivery(room: LocalRoom, id: str) -> Delivery:
    [found] = room.receipts(id).deliveries
    return found


def play(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, BOUND))


@pytest.mark.promise("sdk")
def test_waiting_mail_is_in_the_request_and_seen_when_that_was_answered(room: LocalRoom, model: Model):
    sent = room.send("builder", "Please build it.", sender="planner")

    async def work() -> None:
        async with Mailbox(room) as mailbox:
            result = await run(model.port, mailbox, "[[say DONE]]")
            assert result.final_output == "DONE"
            found = delivery(room, sent.id)
            assert (found.state, found.evidence, found.route) == ("seen", "runtime_ack", "sdk")

    play(work())
    [request] = model.log.requests()
    assert request.text.count("Please build it.") == 1
    assert {tool["name"] for tool in request.body["tools"]} >= {"send", "read", "reply", "ask_human"}


@pytest.mark.promise("sdk")
def test_what_a_model_did_not_answer_waits_again_and_says_so(room: LocalRoom, model: Model):
    sent = room.send("builder", "Please build it.", sender="planner")

    async def fail() -> None:
        async with Mailbox(room) as mailbox:
            with pytest.raises(APIError):
                await run(9, mailbox, "[[say DONE]]")
            assert delivery(room, sent.id).state == "stored"
            await run(model.port, mailbox, "[[say DONE]]")
            assert delivery(room, sent.id).state == "seen"

    play(fail())
    assert "shown before" in model.log.requests()[0].text


def test_mail_that_comes_during_a_tool_is_in_the_next_request_and_stays(room: LocalRoom, model: Model):
    @function_tool
    def look() -> str:
        """Look around."""
        room.send("builder", "MIDWAY", sender="planner")
        return "nothing there"

    async def work() -> None:
        async with Mailbox(room) as mailbox:
            script = "[[tool look {}]] [[tool agents {}]] [[say FIRST]]"
            await run(model.port, mailbox, script, look)
            assert [request.text.count("MIDWAY") for request in model.log.requests()] == [0, 1, 1]
            again = [*mailbox.history, {"role": "user", "content": "[[say SECOND]]"}]
            result = await run(model.port, mailbox, again, look)
            assert result.final_output == "SECOND"

    play(work())
    last = model.log.requests()[-1].text
    assert last.count("MIDWAY") == 1
    assert last.index("nothing there") < last.index("MIDWAY") < last.rindex("FIRST")
    assert not room.peek()


def test_tools_send_and_answer_and_tell_what_is_wrong(room: LocalRoom, model: Model):
    asked = room.send("builder", "Which port?", sender="planner", type="request")
    reply = json.dumps({"id": asked.message.handle, "body": "4711"})
    calls = ["send {}", 'send {"to": "nobody", "body": "x"}', f"reply {reply}", "read {}"]
    script = " ".join(f"[[tool {call}]]" for call in calls)

    async def work() -> None:
        async with Mailbox(room) as mailbox:
            await run(model.port, mailbox, f"{script} [[say DONE]]")

    play(work())
    said = [item["output"] for item in model.log.requests()[-1].body["input"] if "output" in item]
    assert "body" in said[0]
    assert "Call `agents`" in said[1]
    assert json.loads(said[3]) == {"messages": [], "waiting": 0}
    [told] = [message for message, _ in room.sent("builder")]
    assert (told.to, told.body, told.reply_to) == ("planner", "4711", asked.id)
    assert delivery(room, asked.id).state == "acked"


@pytest.mark.promise("sdk")
def test_what_a_tool_has_read_is_proven_by_an_answer_or_by_the_next_call(room: LocalRoom, model: Model):
    during: list[str] = []

    @function_tool
    def look() -> str:
        """Look how far it is."""
        during.append(delivery(room, sent[-1].id).state)
        return ""

    @function_tool
    def post() -> str:
        """Post something, behind what is shown by itself."""
        sent.append(room.send("builder", "BY TOOL", sender="planner", priority="low"))
        return ""

    sent: list[Any] = []

    async def work() -> None:
        async with Mailbox(room) as mailbox:
            tools = {tool.name: tool for tool in mailbox.tools}
            sent.append(room.send("builder", "BY TOOL", sender="planner"))
            assert "BY TOOL" in await tools["read"].on_invoke_tool(None, "{}")
            assert delivery(room, sent[-1].id).state == "offered"
            await tools["agents"].on_invoke_tool(None, "{}")
            assert delivery(room, sent[-1].id).state == "seen"
            await run(model.port, mailbox, "[[tool post {}]] [[tool look {}]] [[say DONE]]", post, look)

    play(work())
    assert during == ["seen"], "the request after it was answered by the call of a tool"


def test_programs_hooks_and_filters_still_run(room: LocalRoom, model: Model):
    from agents import RunHooks
    from agents.run import CallModelData, ModelInputData

    heard: list[str] = []

    class Hooks(RunHooks[Any]):
        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            heard.append("answer")

        async def on_agent_start(self, context: Any, agent: Any) -> None:
            heard.append("start")

    def mine(data: CallModelData[Any]) -> ModelInputData:
        heard.append("filter")
        return data.model_data

    async def work() -> None:
        async with Mailbox(room) as mailbox:
            config = RunConfig(tracing_disabled=True, call_model_input_filter=mine)
            await run(model.port, mailbox, "[[say DONE]]", run_config=config, hooks=Hooks())

    play(work())
    assert heard == ["start", "filter", "answer"]


def test_two_agents_of_one_program_have_two_mailboxes(home: str, room: LocalRoom, model: Model):
    planner = open_room(home, agent="planner", project="p")

    async def one(own: LocalRoom, other: str) -> None:
        said = json.dumps({"to": other, "body": f"for {other}"})
        async with Mailbox(own) as mailbox:
            script = f"[[tool send {said}]] [[tool agents {{}}]] [[say DONE]]"
            await run(model.port, mailbox, script)

    async def both() -> None:
        await asyncio.gather(one(room, "planner"), one(planner, "builder"))

    play(both())
    assert {message.sender for message, _ in room.sent("builder")} == {"builder"}
    assert {message.sender for message, _ in room.sent("planner")} == {"planner"}
    planner.close()


@pytest.mark.promise("examples")
def test_the_example_does_what_its_mail_asks_for(home: str, room: LocalRoom, model: Model):
    env = {
        **os.environ, "POSTROOM_HOME": home, "POSTROOM_PROJECT": "p", "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": f"http://{HOST}:{model.port}/v1", "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }  # fmt: skip
    asked = room.send(
        "builder", '[[tool send {"to": "planner", "body": "BUILT"}]] [[say WELL]]', sender="planner"
    )
    command = [sys.executable, os.path.join(ROOT, "examples", "openai_agent.py"), "Begin.", "0"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=BOUND, check=False)
    assert (done.returncode, done.stdout) == (0, "WELL\n"), done
    assert [mail.body for mail in room.peek("planner")] == ["BUILT"]
    assert delivery(room, asked.id).state == "seen"


def test_who_lacks_the_library_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in ("agents", "postroom.sdk.openai"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, "postroom.sdk.openai", raising=False)
    with pytest.raises(PostroomError) as raised:
        __import__("postroom.sdk.openai")
    assert "openai-sdk" in raised.value.hint
