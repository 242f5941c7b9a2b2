"""Every door into the room, and every door out of it: what is sent by any is heard at all others."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from postroom.room.local import LocalRoom
from tests.integration.test_server import at_socket
from tests.postal import Postal
from tests.relayed import Link, linked, linked_locally
from tests.served import BOUND, Served, served
from tests.toolbox import call
from tests.toolbox import over_http as over_mcp

pytestmark = pytest.mark.promise("relay-doors")

BODY = "through the door"
COMPAT = "/ws/agent/messages/p"


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    room.join("human:ana")
    with served(room) as found:
        yield found


def compat(web: Served, name: str) -> Link:
    return linked(web, name, path=f"{COMPAT}?agent_id={name}")


def mailbox(web: Served, name: str) -> Postal:
    """Of files, carried by hand."""
    return Postal(web.room, os.path.join(os.path.dirname(web.room.home), "tree"), name)


# Each sends BODY to `builder`, in the name of `planner`.


def in_process(web: Served) -> None:
    web.room.send("builder", BODY)


def over_unix(web: Served) -> None:
    at_socket(web, "POST", "/messages", {"to": "builder", "body": BODY}, {"Postroom-Agent": "planner"})


def over_http(web: Served) -> None:
    assert web.post("/messages", {"to": "builder", "body": BODY}, token=web.token("planner")).status == 200


def over_websocket(web: Served) -> None:
    with linked(web, "planner") as planner:
        assert "ok" in planner.ask("send", to="builder", body=BODY)


def over_unix_websocket(web: Served) -> None:
    with linked_locally(web, "/ws/projects/p?agent=planner") as planner:
        assert "ok" in planner.ask("send", to="builder", body=BODY)


def over_compat(web: Served) -> None:
    with compat(web, "planner") as planner, linked(web, "human:ana", path=COMPAT) as ana:
        planner.say(agent_type="planner", content=BODY)
        assert ana.raw()["content"] == BODY  # it is stored: the connection may end


def to_a_session(web: Served) -> None:
    body, token = {"message": BODY}, web.token("planner")
    assert web.post("/api/sessions/builder/send", body, token=token, prefix="").status == 200


def by_tool(web: Served) -> None:
    async def run() -> None:
        async with over_mcp(web.url, web.token("planner")) as planner:
            await call(planner, "send", to="builder", body=BODY)

    asyncio.run(run())


def by_file(web: Served) -> None:
    with closing(mailbox(web, "planner")) as planner:
        planner.put("letter.json", {"id": "1", "to": "builder", "payload": {"text": BODY}})
        planner.carry()


SENDING = [
    in_process, over_unix, over_http, over_websocket, over_unix_websocket, over_compat, to_a_session, by_tool,
    by_file,
]  # fmt: skip


# Each gives what hears the next message that reaches `builder`: its body.


def taking(web: Served, stack: ExitStack) -> Callable[[], str]:
    def hear() -> str:
        mail = web.room.take("builder", timeout=30)
        assert mail is not None
        return mail.body

    return hear


def taking_over_http(web: Served, stack: ExitStack) -> Callable[[], str]:
    token = web.token("builder")
    return lambda: web.post("/inbox/take", {"timeout": 30}, token=token).json["mail"]["body"]


def taking_over_unix(web: Served, stack: ExitStack) -> Callable[[], str]:
    who = {"Postroom-Agent": "builder"}
    return lambda: at_socket(web, "POST", "/inbox/take", {"timeout": 30}, who)["mail"]["body"]


def pushed(web: Served, stack: ExitStack) -> Callable[[], str]:
    builder = stack.enter_context(linked(web, "builder"))
    return lambda: builder.mail()["mail"]["body"]


def pushed_over_unix(web: Served, stack: ExitStack) -> Callable[[], str]:
    builder = stack.enter_context(linked_locally(web, "/ws/projects/p?agent=builder"))
    return lambda: builder.mail()["mail"]["body"]


def pushed_compat(web: Served, stack: ExitStack) -> Callable[[], str]:
    builder = stack.enter_context(compat(web, "builder"))
    return lambda: builder.raw()["content"]


def watched(web: Served, stack: ExitStack) -> Callable[[], str]:
    ana = stack.enter_context(linked(web, "human:ana", path="/ws/projects/p"))
    return lambda: ana.hear("message")["message"]["body"]


def streamed(web: Served, stack: ExitStack) -> Callable[[], str]:
    events = told(web, stack, "/api/v1/stream")
    return lambda: next(one for one in events if "message" in one.get("payload", {}))["payload"]["message"][
        "body"
    ]


def listening(web: Served, stack: ExitStack) -> Callable[[], str]:
    events = told(web, stack, "/api/v1/inbox/listen")
    assert "listener" in next(events)  # from now on the mailbox is its own
    return lambda: next(events)["body"]


def told(web: Served, stack: ExitStack, path: str) -> Iterator[Any]:
    """What each event that `builder` is told there has with it."""
    link = web.connection()
    stack.callback(link.close)
    link.request("GET", path, headers={"Authorization": f"Bearer {web.token('builder')}"})
    stream = link.getresponse()
    return (json.loads(line[6:]) for line in iter(stream.readline, b"") if line.startswith(b"data: "))


def reading_by_tool(web: Served, stack: ExitStack) -> Callable[[], str]:
    async def run() -> str:
        async with over_mcp(web.url, web.token("builder")) as builder:
            return (await call(builder, "read"))["messages"][0]["body"]

    return lambda: asyncio.run(run())


def in_its_files(web: Served, stack: ExitStack) -> Callable[[], str]:
    builder = stack.enter_context(closing(mailbox(web, "builder")))

    def hear() -> str:
        builder.carry()
        return builder.inbox()[0]["body"]

    return hear


HEARING = [
    taking, taking_over_http, taking_over_unix, pushed, pushed_over_unix, pushed_compat, watched, streamed,
    listening, reading_by_tool, in_its_files,
]  # fmt: skip


@pytest.mark.parametrize("hearing", HEARING)
@pytest.mark.parametrize("sending", SENDING)
def test_what_is_sent_by_any_door_is_heard_at_every_other(web: Served, sending: Any, hearing: Any):
    with ExitStack() as stack:
        hear = hearing(web, stack)
        sending(web)
        assert hear() == BODY


def test_a_frame_of_another_system_goes_to_everybody_else_as_it_came(web: Served):
    with compat(web, "planner") as planner, compat(web, "builder") as builder:
        planner.say(agent_type="claude", content="at work", metadata={"task": 7})
        heard = builder.raw()
        assert (heard["agent_type"], heard["type"], heard["content"]) == ("claude", "status", "at work")
        assert (heard["metadata"]["task"], heard["metadata"]["agent_id"]) == (7, "planner")
        builder.say(agent_type="codex", type="chatter", content="so am I", metadata={"to": "planner"})
        heard = planner.raw()
        assert (heard["type"], heard["content"]) == ("chatter", "so am I")  # and not its own
        builder.say(content=7)
        assert builder.raw()["metadata"]["error"] == "invalid_body"


@pytest.mark.parametrize("name", ["builder", "human:ana"])
def test_every_frame_for_another_system_has_the_id_of_its_message(web: Served, name: str):
    path = f"{COMPAT}?agent_id=builder" if name == "builder" else COMPAT
    sent = ""
    for is_labelled in (False, name == "builder"):  # the second time it comes again, or is another message
        with linked(web, name, path=path) as link:
            if not is_labelled:
                sent = web.room.send("builder", "x", metadata={"id": "not this one", "cursor": "nor this"}).id
            frame = link.raw()
            assert (frame["id"], frame["metadata"]["id"]) == (sent, sent)
            assert frame["metadata"].get("shown_before", False) == is_labelled


def test_what_another_system_was_pushed_is_seen_with_its_next_frame_and_else_comes_again(web: Served):
    first = web.room.send("builder", "one").id
    with compat(web, "builder") as builder:
        assert builder.raw()["content"] == "one"
        builder.say(content="going on")
        assert web.room.wait("planner", timeout=BOUND)  # so that it was said before there was a second
        second = web.room.send("builder", "two").id
        assert builder.raw()["content"] == "two"
    with compat(web, "builder") as builder:
        again = builder.raw()
        assert (again["content"], again["metadata"]["shown_before"]) == ("two", True)
        receipts = [web.room.receipts(one).deliveries[0] for one in (first, second)]
        assert [(one.state, one.evidence) for one in receipts] == [("seen", "boundary"), ("offered", None)]


def test_one_that_names_no_agent_is_an_observer(web: Served):
    with linked(web, "human:ana", path=COMPAT) as ana:
        web.room.send("builder", "look")
        assert ana.raw()["content"] == "look"
        assert len(web.room.peek("builder")) == 1


def test_a_new_name_is_given_an_address_where_names_are_believed(web: Served):
    with linked_locally(web, f"{COMPAT}?agent_id=newcomer") as newcomer:
        web.room.send("newcomer", "welcome")
        assert newcomer.raw()["content"] == "welcome"


def test_a_session_is_sent_a_message_by_one_request(web: Served):
    payload = {
        "id": "claude:s1:main", "runtime": "claude", "process": "1.1.other.1", "pane": None,
        "worktree": "/x", "branch": None, "epoch": 0, "details": {},
    }  # fmt: skip
    with web.room.write() as tx:
        tx.append("session.started", web.room.known("builder").id, payload=payload, role="agent")
    token = web.token("human:ana")
    for session in ("claude:s1:main", "s1", "builder"):
        body = {"message": f"to {session}"}
        answer = web.post(f"/api/sessions/{session}/send", body, token=token, prefix="")
        assert (answer.status, answer.json) == (200, {"success": True})
    assert [mail.sender for mail in web.room.peek("builder")] == ["human:ana"] * 3
    wrong = web.post("/api/sessions/nobody/send", {"message": "x"}, token=token, prefix="")
    assert (wrong.status, wrong.json["error"]) == (404, "unknown_agent")
    assert web.post("/api/sessions/builder/send", {"text": "x"}, token=token, prefix="").status == 400
