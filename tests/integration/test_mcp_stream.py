"""The tools over one stream of lines: what counts as given to the client, and whose questions it answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from postroom.mcp_server import stream
from postroom.mcp_server.alone import Alone
from postroom.mcp_server.place import EARLY, PASSED
from postroom.mcp_server.port import Caller, Guest
from postroom.mcp_server.whole import Stream, made
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.process import BOUND

OPENING = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "x", "version": "1"}}


class Wire:
    """A client of `builder`'s that says each line when it likes."""

    def __init__(self, room: LocalRoom, *, process: str = "") -> None:
        self.room = room
        host = Alone(room, "p")
        caller = Caller(room.who("builder"), room.on_behalf("builder", "p", None))
        guest = Guest("", lambda *_: caller, process)
        self._said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        _, server = made(host)
        self.stream = Stream(server, host, guest, "v", self._write, confirms=True)
        self._number = 0

    async def _write(self, text: str) -> None:
        self._heard.put_nowait(json.loads(text))

    async def _lines(self) -> AsyncIterator[bytes]:
        while (line := await self._said.get()) is not None:
            yield line

    async def __aenter__(self) -> "Wire":
        self._serving = asyncio.ensure_future(self.stream.serve(self._lines()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._said.put_nowait(None)
        await asyncio.wait_for(self._serving, BOUND)

    def say(self, **said: Any) -> None:
        self._said.put_nowait(json.dumps({"jsonrpc": "2.0", **said}).encode())

    async def hear(self) -> Any:
        return await asyncio.wait_for(self._heard.get(), BOUND)

    def ask(self, method: str, **params: Any) -> int:
        self._number += 1
        self.say(id=self._number, method=method, params=params)
        return self._number

    async def open(self, **capabilities: Any) -> None:
        self.ask("initialize", **OPENING, capabilities=capabilities)
        await self.hear()
        self.say(method="notifications/initialized")

    async def call(self, name: str, **args: Any) -> Any:
        self.ask("tools/call", name=name, arguments=args)
        return (await self.hear())["result"]["structuredContent"]

    def passed(self, *numbers: Any) -> None:
        self.say(method=PASSED, params={"ids": [*numbers]})

    def state(self, ref: str) -> State:
        return self.room.receipts(ref).deliveries[0].state


@pytest.mark.promise("mcp-seen")
def test_no_call_proves_an_answer_that_was_not_passed_on_to_the_client(room: LocalRoom):
    async def run() -> None:
        async with Wire(room) as wire:
            await wire.open()
            sent = room.send("builder", "hello")
            [mail] = (await wire.call("read"))["messages"]
            assert mail["body"] == "hello"
            await wire.call("agents")
            assert wire.state(sent.id) is State.OFFERED
            wire.passed([], {}, None, "2", 99)  # nothing of ours
            wire.passed(2)
            await wire.call("agents")
            assert wire.state(sent.id) is State.SEEN

    asyncio.run(run())


@pytest.mark.promise("mcp-dies")
@pytest.mark.parametrize("process", ["", "1.2.3.4"])
def test_an_answer_that_was_on_its_way_when_the_stream_ended_may_have_been_shown(
    room: LocalRoom, process: str
):
    async def run() -> None:
        async with Wire(room, process=process) as wire:
            await wire.open()
            room.send("builder", "hello")
            await wire.call("read")

    asyncio.run(run())
    [mail] = room.peek("builder")
    assert (mail.delivery.state, mail.delivery.shown_before) == (State.STORED, True)


@pytest.mark.promise("mcp-dies")
def test_a_number_that_is_used_twice_at_once_holds_no_mail_back(room: LocalRoom):
    """Which the protocol forbids: of two requests only one can be told by it."""

    async def run() -> str:
        async with Wire(room, process="1.2.3.4") as wire:
            await wire.open()
            sent = room.send("builder", "hello")
            for _ in range(2):
                wire.say(id=7, method="tools/call", params={"name": "read", "arguments": {}})
            for _ in range(2):
                await wire.hear()
            wire.passed(7)
            return sent.id

    [delivery] = room.receipts(asyncio.run(run())).deliveries
    assert delivery.state is State.STORED or delivery.handed_at


def test_an_answer_to_the_question_of_an_earlier_server_is_none_to_ours(room: LocalRoom):
    room.join("human:ana")

    def chosen(option: str) -> Any:
        return {"action": "accept", "content": {"answer": option}}

    async def run() -> Any:
        async with Wire(room) as wire:
            await wire.open(elicitation={})
            wire.ask("tools/call", name="ask_human", arguments={"question": "Now?", "options": ["no", "yes"]})
            asked = await wire.hear()
            assert asked["method"] == "elicitation/create"
            for number in (0, 1, 2, "1", f"x-{asked['id']}", f"{asked['id']}x"):
                wire.say(id=number, result=chosen("no"))
            wire.ask("ping")
            assert (await wire.hear())["result"] == {}
            wire.say(id=asked["id"], result=chosen("yes"))
            return (await wire.hear())["result"]["structuredContent"]

    assert asyncio.run(run())["answer"]["body"] == "yes"


@pytest.mark.promise("mcp-answers")
@pytest.mark.parametrize("number", [None, True, 1.5, {"a": 1}, [1]])
def test_a_number_that_is_none_is_complained_of(room: LocalRoom, number: Any):
    async def run() -> Any:
        async with Wire(room) as wire:
            wire.say(id=number, method="ping")
            return await wire.hear()

    assert asyncio.run(run())["error"]["code"] == -32600


def test_of_more_requests_than_may_be_under_way_each_is_refused_until_one_ends(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream, "MOST", 2)

    async def run() -> None:
        async with Wire(room) as wire:
            await wire.open()
            waiting = [wire.ask("tools/call", name="inbox", arguments={"wait": 3000}) for _ in range(2)]
            refused = wire.ask("ping")
            said = await wire.hear()
            assert (said["id"], said["error"]["code"]) == (refused, -32000)
            assert "2 requests are under way" in said["error"]["message"]
            follows = wire.ask("resources/subscribe", uri="postroom://inbox")  # as who comes back says it
            assert await wire.hear() == {"jsonrpc": "2.0", "id": follows, "result": {}}
            wire.say(method="notifications/cancelled", params={"requestId": str(waiting[0])})
            wire.ask("ping")
            assert (await wire.hear())["result"] == {}
            room.send("builder", "hello")
            while "id" not in (said := await wire.hear()):
                pass  # it is told of what it follows
            assert said["id"] == waiting[1]

    asyncio.run(run())


def test_a_number_that_is_under_way_is_not_begun_again_by_itself_or_as_a_text(room: LocalRoom):
    async def run() -> None:
        async with Wire(room) as wire:
            await wire.open()
            number = wire.ask("tools/call", name="inbox", arguments={"wait": 3000})
            for again in (number, str(number)):
                wire.say(id=again, method="ping")
                said = await wire.hear()
                assert (said["id"], said["error"]["code"]) == (None, -32600)
            room.send("builder", "hello")
            assert (await wire.hear())["id"] == number
            wire.say(id=number, method="ping")
            assert (await wire.hear())["result"] == {}

    asyncio.run(run())


def test_what_a_client_says_of_its_calls_is_kept_up_to_a_bound(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream, "_MOST_EARLY", 3)
    monkeypatch.setattr(stream, "_MOST_META", 2)

    async def run() -> None:
        async with Wire(room) as wire:
            await wire.open()
            for first in (0, 2):
                wire.say(
                    method=EARLY, params={"ids": ["x" * 300, *(f"n{n}" for n in range(first, first + 4))]}
                )
            for meta in (
                {"a": "1", "long": "x" * 300, "n": 5},
                {"x" * 300: "1", "b": "2"},
                {"c": "3", "a": "4"},
            ):
                wire.ask("ping", _meta=meta)
                await wire.hear()
            assert wire.stream._early == {"n0", "n1", "n2"}
            assert wire.stream._meta == {"a": "4", "b": "2"}

    asyncio.run(run())
