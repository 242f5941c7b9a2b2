"""The agents' own tools over HTTP: real clients of both eras, a real server."""

import asyncio
import errno
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator

from postroom.config import Settings
from postroom.errors import StoreBusy
from postroom.mcp_server import act, prompt, question, shown, tool
from postroom.model.ladder import Evidence, State
from postroom.room.local import LocalRoom
from tests.commandline import COMMAND
from tests.process import environment, until
from tests.served import Served, served
from tests.toolbox import ERAS, by_command, call, is_next, over_http, refused

T = TypeVar("T")
Json = dict[str, Any]

eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    """A served room with `planner`, `builder` and a person, `human:ana`."""
    room.join("human:ana")
    with served(room) as found:
        yield found


def client(web: Served, name: str = "builder", era: str = ERAS[0], **options: Any) -> Any:
    return over_http(web.url, web.token(name), era, **options)


async def found(look: Callable[[], list[T]]) -> list[T]:
    """What is there, once there is something."""
    await asyncio.to_thread(until, look)
    return look()


def state(web: Served, ref: str) -> State:
    return web.room.receipts(ref).deliveries[0].state


# ------------------------------------------------------------------------------------------- the list


@eras
@pytest.mark.promise("mcp-short")
def test_the_whole_list_of_tools_takes_little_of_a_context(web: Served, era: str):
    """Under 6,000 characters, with room for three more."""

    async def run() -> str:
        async with client(web, era=era) as one:
            listed = await one.list_tools()
            return listed.model_dump_json(by_alias=True, exclude_none=True)

    text = asyncio.run(run())
    listed = json.loads(text)["tools"]
    each = sum(len(json.dumps(one, separators=(",", ":"))) + 1 for one in listed) / len(listed)
    assert len(text) + 3 * each < 6000
    assert [one["name"] for one in json.loads(text)["tools"]] == [one.name for one in tool.TOOLS]


def test_no_tool_is_told_who_calls_and_each_says_what_it_gives():
    for one in tool.TOOLS:
        assert not {"agent", "sender", "from", "as", "name", "identity"} & set(one.takes), one.name
        assert one.gives, one.name
        assert one.about.endswith("."), one.name


def strict(one: tool.Tool) -> Any:
    """What it says it gives, and no more and no less: what it has to note may come with anything."""
    schema = one.as_json()["outputSchema"]
    known = schema["properties"] | {"note": {"type": "string"}}
    must = [name for name in schema["properties"] if name != "answer"]
    return Draft202012Validator(
        schema | {"properties": known, "required": must, "additionalProperties": False}
    )


class Held:
    """A client's tools, each of whose answers is held against what it says it gives."""

    def __init__(self, one: Any) -> None:
        self._client = one
        self.called: set[str] = set()

    async def __call__(self, name: str, /, **args: Any) -> Any:
        result = await self._client.call_tool(name, args)
        assert not result.is_error, result.content
        strict(tool.BY_NAME[name]).validate(result.structured_content)
        assert json.loads(result.content[0].text) == result.structured_content
        self.called.add(name)
        return result.structured_content

    def begin(self, name: str, /, **args: Any) -> "asyncio.Future[Any]":
        return asyncio.ensure_future(self(name, **args))


async def _takes(web: Served, held: Held) -> None:
    hello = web.room.send("builder", "hello", subject="s", priority="high")
    unwanted, note = web.room.send("builder", "not for you"), web.room.send("builder", "seen that?")
    gate = web.room.send("builder", "Deploy?", type="decision_gate")
    assert len((await held("inbox"))["messages"]) == 4
    assert (await held("read", id=note.id))["messages"][0]["body"] == "seen that?"
    assert len((await held("read"))["messages"]) == 3
    assert await held("read") == {"messages": [], "waiting": 0}
    assert (await held("ack", id=note.id))["state"] == "acked"
    assert (await held("ack", id=unwanted.id, refuse="not my work"))["state"] == "bounced"
    sent = await held("reply", id=hello.id, body="hi")
    assert sent["to"] == [{"name": "planner", "state": "stored", "reach": "not listening now"}]
    assert "note" in await held("reply", id=gate.id, body="yes")
    assert (await held("reply", id=gate.id, body="yes", option="approve"))["to"]
    assert (await held("reply", id=gate.id, body="yes", option="approve"))["to"] == []


async def _gives(web: Served, held: Held) -> None:
    here = await held("agents")
    assert (here["you"], len(here["agents"])) == ("p/builder", 2)
    assert (await held("send", to="@all", body="x"))["to"][0]["name"] == "planner"
    await held("handoff", to="planner", needed="all of it", files=["a.py"])
    for mail in web.room.peek("planner"):
        web.room.ack(mail, agent="planner")
    asking = held.begin("ask", to="planner", body="how far?", wait=30)
    [asked] = await found(lambda: web.room.peek("planner"))
    web.room.reply(asked, "half of it", agent="planner")
    assert (await asking)["answer"]["body"] == "half of it"
    assert not (await held("ask", to="planner", body="and now?", wait=0))["answered"]


async def _asks_people(web: Served, held: Held) -> None:
    assert (await held("notify_human", body="done"))["to"][0]["name"] == "human:ana"
    assert not (await held("ask_human", question="Which port?", wait=0))["answered"]
    asking = held.begin("ask_human", question="Merge?", options=["merge", "wait"], wait=30)
    [gate] = await found(web.room.gates)
    web.room.decide(gate.message.id, "merge", agent="human:ana")
    assert (await asking)["answer"]["payload"]["decision"]["option"] == "merge"


@eras
def test_what_a_tool_gives_is_what_it_says_it_gives(web: Served, era: str):
    """Each of them, in each of the ways it may end well."""

    async def run() -> None:
        async with client(web, era=era) as one:
            held = Held(one)
            for scene in (_takes, _gives, _asks_people):
                await scene(web, held)
            assert held.called == tool.BY_NAME.keys()
        async with client(web, era=era, elicitation_callback=_says_wait) as one:
            assert (await Held(one)("ask_human", question="?", options=["merge", "wait"]))["answered"]

    asyncio.run(run())
    [handoff] = [message for message, _ in web.room.sent("builder") if message.type == "handoff"]
    assert handoff.payload is not None
    assert (handoff.payload["needed"], handoff.payload["files"]) == ("all of it", ["a.py"])


OTHERWISE: dict[str, list[Any]] = {
    "string": [7, None, {}], "boolean": ["true"], "integer": [0.5, "7"],
    "array": ["x", {}, ["x"], [7]], "object": ["x", [], {}],
}  # fmt: skip


@pytest.mark.parametrize("one", tool.TOOLS, ids=lambda one: one.name)
def test_what_a_tool_says_it_gives_is_refused_where_it_is_of_another_kind(one: tool.Tool):
    item = {"id": "x", "from": "x", "body": "x", "name": "x"}
    sound = {"string": "x", "boolean": True, "integer": 1, "array": [item], "object": {"body": "x"}}
    kinds = {name: schema["type"] for name, schema in one.gives.items()}
    given = {name: sound[kind] for name, kind in kinds.items()}
    schema = strict(one)
    schema.validate(given)
    for name, kind in kinds.items():
        for wrong in OTHERWISE[kind]:
            assert not schema.is_valid(given | {name: wrong}), (name, wrong)
        for lacking in one.gives[name].get("items", {}).get("required", ()):
            rest = [{key: value for key, value in item.items() if key != lacking}]
            assert not schema.is_valid(given | {name: rest}), (name, lacking)
    assert not schema.is_valid(given | {"more": 1})
    assert not schema.is_valid({})


@eras
@pytest.mark.parametrize("wrong", [str, lambda id: {"id": id}], ids=["of another kind", "lacks who sent it"])
def test_a_client_holds_what_a_tool_gives_against_what_it_says(
    web: Served, era: str, wrong: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
):
    """The client itself refuses what does not fit."""
    monkeypatch.setattr(shown, "line", lambda mail: wrong(mail.handle))

    async def run() -> None:
        web.room.send("builder", "hello")
        async with client(web, era=era) as one:
            await one.list_tools()
            with pytest.raises(Exception, match=r"[Ii]nvalid structured content"):
                await one.call_tool("inbox", {})

    asyncio.run(run())


def test_a_message_of_nothing_but_what_is_hidden_is_still_an_answer(web: Served):
    async def run() -> Any:
        async with client(web) as one:
            await one.list_tools()
            asking = asyncio.ensure_future(call(one, "ask", to="planner", body="how far?", wait=30))
            [asked] = await found(lambda: web.room.peek("planner"))
            web.room.reply(asked, "\u202e\U000e0041", agent="planner")
            return await asking

    assert asyncio.run(run())["answer"]["body"] == ""


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read", {"id": "zzzz"}),
        ("ack", {"id": "12345678"}),
        ("send", {"to": "planner", "body": "x", "type": "handoff"}),
        ("send", {"to": "planner", "body": "x", "type": "nonesuch"}),
        ("send", {"to": "planner", "body": ""}),
        ("send", {"to": "nobody", "body": "x"}),
        ("send", {"to": "planner,builder", "body": "x"}),
        ("send", {"to": "topic:x", "body": "x"}),
        ("send", {"to": "@up", "body": "x"}),
        ("send", {"to": "@reviewers", "body": "x"}),
        ("send", {"to": "planner", "body": "x", "type": "decision_gate", "payload": {"options": [7]}}),
        ("send", {"to": "planner", "body": "x", "subject": "two\nlines"}),
        ("notify_human", {"to": "bob", "body": "x"}),
    ],
)
def test_who_has_only_tools_is_told_of_no_command(web: Served, name: str, args: dict[str, Any]):
    async def run() -> str:
        async with client(web) as one:
            return await refused(one, name, **args)

    words = asyncio.run(run())
    assert is_next(words), words


def _bounced(room: LocalRoom) -> tuple[str, Json]:
    sent = room.send("builder", "x")
    room.nack(sent.id, "not my work", agent="builder")
    return "ack", {"id": sent.message.handle}


def _withdrawn(room: LocalRoom) -> tuple[str, Json]:
    sent = room.send("builder", "x")
    room.withdraw(sent.id)
    return "read", {"id": sent.message.handle}


def _decided(room: LocalRoom) -> tuple[str, Json]:
    sent = room.send("builder", "x", type="decision_gate", payload={"options": ["a", "b"]})
    room.decide(sent.id, "a", agent="builder")
    return "reply", {"id": sent.message.handle, "body": "x", "option": "b"}


def _not_asked(room: LocalRoom) -> tuple[str, Json]:
    room.join("other")
    gate = room.send("other", "x", type="decision_gate")
    sent = room.send("builder", "what do you think of it?", thread=gate.message.thread)
    assert sent.message.thread == gate.message.thread
    return "reply", {"id": gate.message.handle, "body": "x", "option": "deny"}


def _no_option(room: LocalRoom) -> tuple[str, Json]:
    sent = room.send("builder", "x", type="decision_gate", payload={"options": ["a", "b"]})
    return "reply", {"id": sent.message.handle, "body": "x", "option": "c"}


@pytest.mark.parametrize("scene", [_bounced, _withdrawn, _decided, _not_asked, _no_option])
def test_who_does_what_cannot_be_done_any_more_is_told_what_to_do_next(
    web: Served, scene: Callable[[LocalRoom], tuple[str, Json]]
):
    name, args = scene(web.room)

    async def run() -> str:
        async with client(web) as one:
            return await refused(one, name, **args)

    words = asyncio.run(run())
    assert is_next(words), words


@pytest.mark.parametrize(
    ("settings", "what"),
    [(Settings(routes="strict"), "may not write"), (Settings(max_hops=1), "without a person")],
)
def test_who_may_not_write_any_more_is_told_what_to_do_next(home: str, settings: Settings, what: str):
    room = LocalRoom(home, settings, project="p", agent="planner")
    for name in ("planner", "builder"):
        room.join(name)

    async def run(web: Served) -> str:
        async with client(web) as one:
            if settings.routes == "strict":
                return await refused(one, "send", to="planner", body="x")
            asked = room.send("builder", "how far?")
            return await refused(one, "reply", id=asked.message.handle, body="half of it")

    with served(room) as web:
        words = asyncio.run(run(web))
    room.close()
    assert what in words
    assert is_next(words), words


def test_who_would_wait_in_a_circle_is_told_what_to_answer_first(web: Served):
    async def run() -> str:
        async with client(web) as one:
            asking = asyncio.create_task(asyncio.to_thread(web.room.ask, "builder", "how far?", timeout=30))
            [asked] = await found(lambda: web.room.peek("builder"))
            note = (await call(one, "ask", to="planner", body="and you?", wait=30))["note"]
            await call(one, "reply", id=asked.handle, body="half of it")
            assert (await asking).body == "half of it"
            assert f"`reply` and `id` {asked.handle}" in note
            return note

    assert is_next(asyncio.run(run()))


def test_a_gate_is_read_with_its_options_and_an_answer_without_one_says_what_is_missing(web: Served):
    web.room.send("builder", "Deploy?", type="decision_gate")

    async def run() -> tuple[Any, Any]:
        async with client(web) as one:
            [gate] = (await call(one, "read"))["messages"]
            return gate, await call(one, "reply", id=gate["id"], body="yes")

    gate, answer = asyncio.run(run())
    assert gate["expects"] == "reply with option: approve or deny"
    assert answer["note"] == "this decides nothing; to decide, reply with `option`"


def test_who_sent_a_message_can_look_how_far_it_got(web: Served):
    async def run() -> Any:
        async with client(web) as one:
            sent = await call(one, "send", to="planner", body="x")
            web.room.ack(sent["id"], agent="planner")
            found: Any = await one.read_resource(f"postroom://message/{sent['id']}")
            return json.loads(found.contents[0].text)["receipts"]

    assert asyncio.run(run()) == [{"name": "planner", "state": "acked"}]


# --------------------------------------------------------------------------------- who has seen what


@eras
@pytest.mark.promise("mcp-seen")
def test_what_was_read_is_offered_until_the_next_call_proves_that_it_was_seen(web: Served, era: str):
    sent = web.room.send("builder", "hello")

    async def run() -> None:
        async with client(web, era=era) as one:
            [mail] = (await call(one, "read"))["messages"]
            assert (mail["body"], mail["from"], mail["verified"]) == ("hello", "planner", "unverified")
            assert state(web, sent.id) is State.OFFERED
            await one.list_tools()  # which no model asks for
            assert state(web, sent.id) is State.OFFERED
            await call(one, "inbox")
            assert state(web, sent.id) is State.SEEN

    asyncio.run(run())
    assert web.room.receipts(sent.id).deliveries[0].evidence is Evidence.AGENT


@eras
@pytest.mark.promise("mcp-seen")
def test_a_call_that_was_under_way_when_the_answer_was_written_proves_nothing(web: Served, era: str):
    sent = web.room.send("builder", "hello", priority="high")

    async def run() -> None:
        async with client(web, era=era) as one:
            [first] = (await call(one, "read"))["messages"]
            await call(one, "ack", id=first["id"])
            waiting = asyncio.ensure_future(call(one, "ask", to="planner", body="how far?", wait=30))
            asked = await found(lambda: web.room.peek("planner"))
            again = web.room.send("builder", "again")
            [second] = (await call(one, "read"))["messages"]
            assert second["body"] == "again"
            web.room.reply(asked[0], "half of it", agent="planner")
            answer = (await waiting)["answer"]
            assert answer["body"] == "half of it"
            assert (state(web, again.id), state(web, answer["id"])) == (State.OFFERED, State.OFFERED)
            await call(one, "inbox")
            assert (state(web, again.id), state(web, answer["id"])) == (State.SEEN, State.SEEN)

    asyncio.run(run())
    assert state(web, sent.id) is State.ACKED


@pytest.mark.promise("mcp-seen")
def test_a_call_of_another_connection_of_the_same_agent_proves_nothing(web: Served):
    sent = web.room.send("builder", "hello")

    async def run() -> None:
        async with client(web, era="legacy") as one, client(web, era="legacy") as other:
            await call(one, "read")
            await call(other, "inbox")
            assert state(web, sent.id) is State.OFFERED
            await call(one, "inbox")
            assert state(web, sent.id) is State.SEEN

    asyncio.run(run())


def test_what_a_session_did_not_prove_comes_back_when_it_ends_and_says_so(web: Served):
    sent = web.room.send("builder", "hello")

    async def run() -> Any:
        async with client(web, era="legacy") as one:
            await call(one, "read")
            assert state(web, sent.id) is State.OFFERED
        assert state(web, sent.id) is State.STORED
        async with client(web) as one:
            return await call(one, "read")

    [mail] = asyncio.run(run())["messages"]
    assert "before" in mail["note"]


def test_a_program_that_begins_anew_has_not_proven_what_the_one_before_was_shown(web: Served):
    """The newer era has no sessions: who asks what there is has just begun."""
    sent = web.room.send("builder", "hello")

    async def run() -> None:
        token = web.token("builder")
        async with over_http(web.url, token, "auto") as one:
            await call(one, "read")
        async with over_http(web.url, token, "auto") as one:
            await call(one, "inbox")
            assert state(web, sent.id) is State.STORED

    asyncio.run(run())


@eras
@pytest.mark.promise("mcp-seen")
def test_an_answer_that_tells_of_an_error_has_shown_no_mail(
    web: Served, era: str, monkeypatch: pytest.MonkeyPatch
):
    sent = web.room.send("builder", "x" * 2 * web.room.settings.spill_bytes)

    def fail(*_: Any) -> str:
        raise OSError(errno.ENOSPC, "no space left")

    async def run() -> Any:
        async with client(web, era=era) as one:
            with monkeypatch.context() as patch:
                patch.setattr(LocalRoom, "spill", fail)
                assert "OSError" in await refused(one, "read")
            assert state(web, sent.id) is State.STORED
            await call(one, "inbox")
            assert state(web, sent.id) is State.STORED
            return await call(one, "read")

    [mail] = asyncio.run(run())["messages"]
    assert ("missing" in mail, "note" in mail) == (True, False)


@eras
def test_who_asks_is_told_once_why_nobody_will_answer(web: Served, era: str):
    async def run() -> Any:
        async with client(web, era=era) as one:
            asking = asyncio.ensure_future(call(one, "ask", to="planner", body="how far?", wait=30))
            [asked] = await found(lambda: web.room.peek("planner"))
            web.room.nack(asked, "not my work", agent="planner")
            answer = await asking
            assert (await call(one, "inbox"))["messages"] == []
            return answer

    answer = asyncio.run(run())
    assert (answer["answered"], "not my work" in answer["note"]) == (False, True)


@pytest.mark.promise("mcp-dies")
def test_what_was_shown_by_a_call_that_outlives_its_visit_comes_back(web: Served):
    """A program begins anew while a call of it is under way."""

    async def run() -> None:
        token = web.token("builder")
        async with over_http(web.url, token, "auto") as one:
            asking = asyncio.ensure_future(call(one, "ask", to="planner", body="how far?", wait=20))
            [asked] = await found(lambda: web.room.peek("planner"))
            async with over_http(web.url, token, "auto"):
                pass
            answer = web.room.reply(asked, "half of it", agent="planner")
            assert (await asking)["answered"]
            await asyncio.to_thread(until, lambda: state(web, answer.id) is State.STORED)

    asyncio.run(run())


@eras
def test_nothing_hidden_reaches_a_model_in_a_payload(web: Served, era: str):
    hidden = "a\u202eb\U000e0041"
    web.room.send("builder", "hello", type="note", payload={"k" + hidden: [hidden, {"x": hidden}]})

    async def run() -> Any:
        async with client(web, era=era) as one:
            return (await call(one, "read"))["messages"][0]["payload"]

    assert asyncio.run(run()) == {"kab": ["ab", {"x": "ab"}]}


@pytest.mark.promise("mcp-dies")
def test_an_answer_that_comes_after_the_client_died_waits_in_the_inbox(web: Served):
    async def run() -> None:
        async with client(web) as one:
            asking = asyncio.ensure_future(call(one, "ask", to="planner", body="how far?", wait=60))
            [asked] = await found(lambda: web.room.peek("planner"))
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        web.room.reply(asked, "half of it", agent="planner")

    asyncio.run(run())
    [mail] = web.room.peek("builder")
    assert (mail.body, mail.delivery.state, mail.delivery.shown_before) == ("half of it", State.STORED, False)


DIES = """
import asyncio, sys
from tests.toolbox import call, over_http

async def run(url, token, era):
    async with over_http(url, token, era) as one:
        asking = None
        for _ in range(2):
            print((await call(one, "read"))["messages"][0]["body"], flush=True)
            asking = asking or asyncio.create_task(call(one, "ask_human", question="Which port?", wait=60))
            await asyncio.to_thread(sys.stdin.readline)

asyncio.run(run(*sys.argv[1:]))
"""


@eras
@pytest.mark.promise("mcp-dies")
@pytest.mark.promise("mcp-people")
def test_a_client_that_is_killed_in_the_middle_of_a_call_loses_nothing(
    web: Served, era: str, monkeypatch: pytest.MonkeyPatch
):
    """Killed after it was given mail, and while it waits for a person; from then on it is silent."""
    hello = web.room.send("builder", "hello")
    command = [sys.executable, "-c", DIES, web.url, web.token("builder"), era]
    with subprocess.Popen(
        command, env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        assert one.stdin
        assert one.stdout
        assert one.stdout.readline() == "hello\n"
        until(lambda: web.room.peek("human:ana"))
        assert state(web, hello.id) is State.SEEN  # by the call after it
        again = web.room.send("builder", "again")
        one.stdin.write("\n")
        one.stdin.flush()
        assert one.stdout.readline() == "again\n"
        assert state(web, again.id) is State.OFFERED
        monkeypatch.setattr("postroom.mcp_server.http._SILENCE", 0.0)
        one.kill()
    until(lambda: state(web, again.id) is State.STORED)
    [asked] = web.room.peek("human:ana")
    web.room.reply(asked, "7678", agent="human:ana")
    waiting = {mail.body: mail.delivery.shown_before for mail in web.room.peek("builder")}
    assert waiting == {"again": True, "7678": False}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("inbox", {}),
        ("ask", {"to": "planner", "body": "how far?"}),
        ("ask_human", {"question": "Which port?"}),
    ],
)
def test_no_call_waits_longer_than_there_is_a_limit(
    web: Served, name: str, args: Json, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(act, "_LONGEST", 0.0)

    async def run() -> Any:
        async with client(web) as one:
            return await call(one, name, **args, wait=1e9)

    assert not asyncio.run(run()).get("answered")


# ---------------------------------------------------------------------------------------- who is who


def test_the_command_speaks_to_a_daemon_elsewhere(web: Served, tmp_path: Path):
    env = environment(POSTROOM_HOME=web.url, POSTROOM_TOKEN=web.token("builder"))

    async def run() -> Any:
        async with by_command([*COMMAND, "mcp"], env, str(tmp_path)) as one:
            return await call(one, "agents")

    assert asyncio.run(run())["you"] == "p/builder"


def test_nobody_comes_in_without_a_token_or_by_another_name_of_the_server(web: Served):
    said = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert web.ask("POST", "/mcp", said, prefix="").status == 401
    assert web.ask("POST", "/mcp", said, prefix="", token="nonsense").status == 401
    token = web.token("builder")
    elsewhere = {"Host": "evil.example"}
    assert web.ask("POST", "/mcp", said, prefix="", token=token, headers=elsewhere).status == 403
    page = {"Origin": "http://evil.example"}
    assert web.ask("POST", "/mcp", said, prefix="", token=token, headers=page).status == 403


def test_a_session_is_nobodys_but_whose_who_began_it(web: Served):
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    token = web.token("builder")
    begun = web.ask("POST", "/mcp", opening, prefix="", token=token, headers=accept)
    session = begun.headers["mcp-session-id"]
    said = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    mine = accept | {"Mcp-Session-Id": session}
    assert web.ask("POST", "/mcp", said, prefix="", token=web.token("planner"), headers=mine).status == 404
    assert web.ask("POST", "/mcp", said, prefix="", token=token, headers=mine).status == 200


def test_a_message_sent_by_a_tool_is_verified_by_the_token(web: Served):
    async def run() -> None:
        async with client(web) as one:
            await call(one, "send", to="planner", body="hello", subject="s", priority="high")

    asyncio.run(run())
    [mail] = web.room.peek("planner")
    assert (mail.sender, mail.message.verified, mail.subject) == ("builder", "token", "s")


@eras
def test_nobody_sees_what_was_neither_written_nor_sent_to_it(web: Served, era: str):
    web.room.join("other")
    theirs, mine = web.room.send("other", "secret"), web.room.send("builder", "mine")

    async def run() -> None:
        async with client(web, era=era) as one:
            found: Any = await one.read_resource(f"postroom://message/{mine.id}")
            assert json.loads(found.contents[0].text)["body"] == "mine"
            for uri in (
                f"postroom://message/{theirs.id}",
                f"postroom://thread/{theirs.id}",
                "postroom://x/y",
            ):
                with pytest.raises(Exception, match="not found"):
                    await one.read_resource(uri)
            assert "was not sent to" in await refused(one, "read", id=theirs.id[-8:])

    asyncio.run(run())


# ------------------------------------------------------------------------------------------ resources


@eras
def test_a_client_is_told_of_each_resource_and_how_the_others_are_named(web: Served, era: str):
    async def run() -> None:
        async with client(web, era=era) as one:
            listed: Any = await one.list_resources()
            assert [str(found.uri) for found in listed.resources] == ["postroom://inbox"]
            templates: Any = await one.list_resource_templates()
            assert {found.name: found.uri_template for found in templates.resource_templates} == {
                "message": "postroom://message/{id}",
                "thread": "postroom://thread/{id}",
                "agent": "postroom://agent/{name}",
            }
            for found in (*listed.resources, *templates.resource_templates):
                assert found.mime_type == "application/json", found.name
                assert found.description.endswith("."), found.name

    asyncio.run(run())


async def looked(one: Any, uri: str) -> Any:
    """What a resource holds."""
    [content] = (await one.read_resource(uri)).contents
    assert (str(content.uri), content.mime_type) == (uri, "application/json")
    return json.loads(content.text)


@eras
def test_a_thread_is_read_by_the_id_of_any_message_of_it_without_what_is_others(web: Served, era: str):
    web.room.join("other")
    first = web.room.send("builder", "how far?")
    answer = web.room.reply(first.id, "half of it", agent="builder")
    web.room.send("other", "not for builder", thread=first.id)
    web.room.send("builder", "something else")

    async def run() -> None:
        async with client(web, era=era) as one:
            for message in (first, answer):
                for name in (message.id, message.id[-8:]):
                    found = (await looked(one, f"postroom://thread/{name}"))["messages"]
                    assert [(mail["from"], mail["body"]) for mail in found] == [
                        ("planner", "how far?"), ("builder", "half of it"),
                    ]  # fmt: skip
            assert (found[1]["thread"], found[1]["reply_to"]) == (first.id[-8:], first.id[-8:])
            assert state(web, answer.id) is State.STORED  # looking marks nothing

    asyncio.run(run())


@eras
def test_an_agent_is_read_by_its_name_or_its_address(web: Served, era: str):
    web.room.join("critic", role="reviewer", description="reads every line")
    web.room.send("critic", "hello")

    async def run() -> None:
        async with client(web, era=era) as one:
            known = {
                "name": "critic", "role": "reviewer", "about": "reads every line",
                "reach": "not listening now", "waiting": 1,
            }  # fmt: skip
            for name in ("critic", "p/critic"):
                assert await looked(one, f"postroom://agent/{name}") == known
            assert (await looked(one, "postroom://agent/human:ana"))["name"] == "human:ana"
            with pytest.raises(Exception, match="not found"):
                await one.read_resource("postroom://agent/nobody")

    asyncio.run(run())


# -------------------------------------------------------------------------------------------- errors


@eras
def test_an_error_says_what_to_do_next(web: Served, era: str):
    async def run() -> None:
        async with client(web, era=era) as one:
            assert "Call `agents`" in await refused(one, "send", to="nobody", body="x")
            assert "Call `inbox`" in await refused(one, "ack", id="00000000")
            assert "Change `body`" in await refused(one, "send", to="planner")
            assert "`reply` takes id*, body*" in await refused(one, "reply", id="00000000")
            assert "takes" in await refused(one, "inbox", agent="planner")
            assert "8 digits" in await refused(one, "read", id="nonsense")
            assert "human:ana" in await refused(one, "notify_human", body="x", to="human:bob")
            with pytest.raises(Exception, match="there are send, inbox"):
                await one.call_tool("steal", {})

    asyncio.run(run())


# -------------------------------------------------------------------------------------------- people


@eras
@pytest.mark.promise("mcp-people")
def test_a_person_answers_what_an_agent_asks(web: Served, era: str):
    async def run() -> None:
        async with client(web, era=era) as one:
            asking = asyncio.ensure_future(
                call(one, "ask_human", question="Merge?", options=["merge", "wait"], wait=30)
            )
            [gate] = await found(web.room.gates)
            assert (gate.asked, gate.options) == (["human:ana"], ["merge", "wait"])
            web.room.decide(gate.message.id, "merge", note="go on", agent="human:ana")
            answer = await asking
            assert answer["answered"]
            assert answer["answer"]["payload"]["decision"]["option"] == "merge"

    asyncio.run(run())


@pytest.mark.promise("mcp-people")
def test_an_answer_that_comes_too_late_comes_to_the_inbox(web: Served):
    async def run() -> None:
        async with client(web) as one:
            found = await call(one, "ask_human", question="Which port?", wait=0)
            assert not found["answered"]
            assert "inbox" in found["note"]
            web.room.reply(found["id"], "7678", agent="human:ana")
            [mail] = (await call(one, "read"))["messages"]
            assert (mail["body"], mail["from"]) == ("7678", "human:ana")

    asyncio.run(run())


def test_where_nobody_has_an_address_whoever_the_room_belongs_to_is_given_one(room: LocalRoom):
    async def run(web: Served) -> Any:
        async with client(web) as one:
            return await call(one, "notify_human", body="done")

    with served(room) as web:
        assert asyncio.run(run(web))["to"][0]["name"].startswith("human:")


async def _says_wait(_: Any, params: Any) -> types.ElicitResult:
    assert params.requested_schema["properties"]["answer"]["enum"] == ["merge", "wait"]
    return types.ElicitResult(action="accept", content={"answer": "wait"})


async def _says_nothing(_: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="decline")


@eras
def test_where_the_client_can_ask_whoever_sits_before_it_decides(web: Served, era: str):
    async def run() -> Any:
        async with client(web, era=era, elicitation_callback=_says_wait) as one:
            return await call(one, "ask_human", question="Merge?", options=["merge", "wait"], wait=30)

    found = asyncio.run(run())
    assert (found["answered"], found["answer"]["body"]) == (True, "wait")
    assert web.room.gates() == []
    assert "own window" in web.room.gate(found["id"]).withdrawn, "it was no person's decision"


@eras
def test_where_nobody_there_wants_to_say_others_still_may(web: Served, era: str):
    async def run() -> Any:
        async with client(web, era=era, elicitation_callback=_says_nothing) as one:
            asking = asyncio.ensure_future(
                call(one, "ask_human", question="Merge?", options=["merge", "wait"], wait=30)
            )
            [gate] = await found(web.room.gates)
            web.room.decide(gate.message.id, "merge", agent="human:ana")
            return await asking

    assert asyncio.run(run())["answer"]["payload"]["decision"]["option"] == "merge"


MERGE: Json = {"question": "Merge?", "options": ["merge", "wait"]}
SAYS_MERGE: Any = {"answer": types.ElicitResult(action="accept", content={"answer": "merge"})}


async def asks(one: Any, args: Json) -> str:
    """As what a client of the newer protocol knows its question, which it is to put to its user."""
    asked = await one.session.call_tool("ask_human", args | {"wait": 30}, allow_input_required=True)
    assert isinstance(asked, types.InputRequiredResult)
    return asked.request_state or ""


@pytest.mark.promise("mcp-people")
def test_what_a_client_brings_back_to_a_question_that_is_not_its_own_is_refused(web: Served):
    """That of another agent, another one of its own, no question, and nonsense: all stays as it is."""
    note = web.room.send("planner", MERGE["question"], sender="builder")

    async def run() -> None:
        async with client(web, "planner", elicitation_callback=_says_wait) as other:
            theirs = await asks(other, MERGE)
        async with client(web, elicitation_callback=_says_wait) as one:
            mine, another = await asks(one, MERGE), await asks(one, MERGE | {"question": "Deploy?"})
            wrong = [theirs, another, note.id, note.id[:-1] + "x", mine[:-8] + theirs[-8:], "nonsense", "%00"]
            for state in wrong:
                result: Any = await one.call_tool(
                    "ask_human", MERGE, input_responses=SAYS_MERGE, request_state=state
                )
                assert result.is_error, state
                assert is_next(result.content[0].text)
                assert {gate.message.id for gate in web.room.gates()} == {mine, theirs, another}
            result = await one.call_tool("ask_human", MERGE, input_responses=SAYS_MERGE, request_state=mine)
            assert result.structured_content["answer"]["body"] == "merge"
            assert {gate.message.id for gate in web.room.gates()} == {theirs, another}

    asyncio.run(run())
    assert web.room.receipts(note.id).deliveries[0].state is State.STORED


@eras
@pytest.mark.promise("mcp-people")
def test_what_a_person_decides_while_the_question_is_on_the_screen_counts(web: Served, era: str):
    async def too_late(_: Any, __: Any) -> types.ElicitResult:
        [gate] = web.room.gates()
        await asyncio.to_thread(web.room.decide, gate.message.id, "merge", agent="human:ana")
        return types.ElicitResult(action="accept", content={"answer": "wait"})

    async def run() -> Any:
        async with client(web, era=era, elicitation_callback=too_late) as one:
            return await call(one, "ask_human", **MERGE, wait=30)

    assert asyncio.run(run())["answer"]["payload"]["decision"]["option"] == "merge"


def test_a_room_that_fails_after_its_user_has_answered_is_told_to_the_agent(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> None:
        raise StoreBusy("somebody writes")

    monkeypatch.setattr(question, "_take_back", fail)

    async def run() -> str:
        async with client(web, era="legacy", elicitation_callback=_says_wait) as one:
            return await refused(one, "ask_human", question="Merge?", options=["merge", "wait"], wait=30)

    assert "somebody writes" in asyncio.run(run())


@eras
def test_an_agent_decides_what_it_is_asked(web: Served, era: str):
    gate = web.room.send("builder", "Merge?", type="decision_gate", payload={"options": ["merge", "wait"]})

    async def run() -> None:
        async with client(web, era=era) as one:
            [mail] = (await call(one, "read"))["messages"]
            assert mail["expects"] == "reply with option: merge or wait"
            await call(one, "reply", id=mail["id"], body="tests pass", option="merge")
            assert (
                "decided"
                in (await call(one, "reply", id=mail["id"], body="tests pass", option="merge"))["note"]
            )

    asyncio.run(run())
    decision = web.room.gate(gate.id).decision
    assert decision is not None
    assert (decision.option, decision.by) == ("merge", "p/builder")


# ----------------------------------------------------------------------------------- what has changed


def test_who_listens_to_a_thread_is_told_by_the_name_it_gave(web: Served):
    first = web.room.send("builder", "how far?")
    answer = web.room.reply(first.id, "half of it", agent="builder")
    names = [f"postroom://thread/{answer.id[-8:]}", f"postroom://message/{answer.id}"]

    async def run() -> set[str]:
        async with client(web) as one, one.listen(resource_subscriptions=names) as news:
            web.room.reply(answer.id, "and the rest?")
            web.room.ack(answer.id, agent="planner")
            told = aiter(news)
            heard: list[Any] = [await asyncio.wait_for(anext(told), 30) for _ in names]
            return {event.uri for event in heard}

    assert asyncio.run(run()) == set(names)


def test_who_listens_is_told_of_its_own_mail_alone(web: Served):
    web.room.join("other")

    async def run() -> None:
        async with client(web) as one, one.listen(resource_subscriptions=["postroom://inbox"]) as news:
            web.room.send("other", "not for builder")
            sent = web.room.send("builder", "hello")
            event: Any = await asyncio.wait_for(anext(aiter(news)), 30)
            assert event.uri == "postroom://inbox"
            assert state(web, sent.id) is State.STORED

    asyncio.run(run())


Hear = Callable[[], Awaitable[str]]


@asynccontextmanager
async def following(web: Served, era: str, *names: str) -> AsyncIterator[Hear]:
    """A client of `builder`'s that follows these: what it is told of next."""
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await told.put(str(message.params.uri))

    async with client(web, era=era, message_handler=hear) as one:
        if era == "legacy":
            for name in names:
                await one.subscribe_resource(name)
            yield lambda: asyncio.wait_for(told.get(), 30)
            return
        async with one.listen(resource_subscriptions=[*names]) as news:
            found: Any = aiter(news)

            async def next_one() -> str:
                return (await asyncio.wait_for(anext(found), 30)).uri

            yield next_one


@eras
@pytest.mark.filterwarnings("default:resources/.*subscribe is removed")
@pytest.mark.parametrize("whose", ["critic", "p/critic", "human:ana"])
@pytest.mark.parametrize("by", ["mail to it", "mail to many", "its acknowledgement"])
def test_who_follows_an_agent_is_told_when_what_waits_for_it_changes(
    web: Served, era: str, whose: str, by: str
):
    """By mail that is none of the follower's: that it waits is no secret, and what it is stays one."""
    web.room.join("critic")
    uri = f"postroom://agent/{whose}"
    for name in (whose, "builder"):
        web.room.subscribe("news", agent=name)
    waits = web.room.send(whose, "hello") if by == "its acknowledgement" else None

    async def run() -> None:
        async with client(web, era=era) as one, following(web, era, uri, "postroom://agent/planner") as hear:
            web.room.send("builder", "for somebody else")
            if waits:
                web.room.ack(waits.id, agent=whose)
            else:
                web.room.send("topic:news" if by == "mail to many" else whose, "hello")
            assert await hear() == uri
            assert (await looked(one, uri)).get("waiting", 0) == (0 if waits else 1)

    asyncio.run(run())


@pytest.mark.filterwarnings("default:resources/.*subscribe is removed")
def test_who_has_subscribed_is_told_until_it_wants_no_more(web: Served):
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await told.put(str(message.params.uri))

    async def run() -> None:
        async with client(web, era="legacy", message_handler=hear) as one:
            await one.subscribe_resource("postroom://inbox")
            web.room.send("builder", "hello")
            assert await asyncio.wait_for(told.get(), 30) == "postroom://inbox"
            await one.unsubscribe_resource("postroom://inbox")
            await one.subscribe_resource("postroom://agent/other")
            web.room.send("builder", "not told")
            web.room.join("other")
            while (uri := await asyncio.wait_for(told.get(), 30)) == "postroom://inbox":
                pass  # of the first message: it was stored, and rung
            assert uri == "postroom://agent/other"

    asyncio.run(run())


# ------------------------------------------------------------------------------------------- prompts


@eras
@pytest.mark.parametrize("wanted", prompt.PROMPTS, ids=lambda one: one.name)
def test_a_prompt_says_what_to_do_with_all_that_it_is_given(web: Served, era: str, wanted: prompt.Prompt):
    """And of what is left out, what that means."""
    given = {name: f"<the {name}: {{to}} {{0}}>" for name, _, _ in wanted.arguments}
    needed = {name: given[name] for name, _, must in wanted.arguments if must}

    async def run() -> list[str]:
        async with client(web, era=era) as one:
            return [await said(one, wanted.name, args) for args in (given, needed)]

    full, brief = asyncio.run(run())
    assert given
    assert [text for text in given.values() if text not in full] == []
    left_out = {name: prompt.OTHERWISE[name] for name in given.keys() - needed.keys()}
    assert [text for text in (*needed.values(), *left_out.values()) if text not in brief] == []
    assert set(re.findall(r"`([a-z_]+)`", full)) & {"send", "handoff", "read"}, "it names no tool"
    assert set(re.findall(r"the tool `([a-z_]+)`", full)) <= set(tool.BY_NAME)


async def said(one: Any, name: str, args: dict[str, str]) -> str:
    found: Any = await one.get_prompt(name, args)
    [message] = found.messages
    assert (message.role, found.description) == ("user", prompt.BY_NAME[name].about)
    return message.content.text


@eras
def test_a_prompt_is_not_said_without_what_must_be_given(web: Served, era: str):
    async def run() -> None:
        async with client(web, era=era) as one:
            listed: Any = await one.list_prompts()
            assert [found.name for found in listed.prompts] == list(prompt.BY_NAME)
            for found in listed.prompts:
                for needed in [arg.name for arg in found.arguments if arg.required]:
                    args = {arg.name: "x" for arg in found.arguments if arg.name != needed}
                    for lacking in (args, args | {needed: ""}):
                        with pytest.raises(Exception, match=f"{found.name} needs {needed}"):
                            await one.get_prompt(found.name, lacking)
            with pytest.raises(Exception, match="there are hand_over, review_request, stand_up"):
                await one.get_prompt("steal", {})

    asyncio.run(run())
