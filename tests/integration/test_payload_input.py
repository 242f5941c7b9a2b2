"""Other names of the fields of a task, types that need no body or no address, and groups elsewhere."""

import json
from collections.abc import Iterator

import pytest

from postroom.errors import InvalidAddress, InvalidBody, InvalidPayload, UnknownRecipient
from postroom.model.address import parse
from postroom.payloads import Assign, Dispatch
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.conftest import OpenRoom
from tests.served import Served, served

FIELDS = {"task_id": "T-1", "file_scope": ["src/"]}


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    for name in ("builder", "planner", "lead"):
        cli.ok("join", name)
    cli.ok("join", "planner", "--supervisor", "lead")
    cli.ok("join", "human:ana")
    return cli


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    room.join("lead")
    room.join("planner", supervisor="lead")
    room.join("human:ana")
    with served(room) as found:
        yield found


def stored(cli: CommandLine, *argv: str) -> dict[str, object]:
    ref = cli.ok("send", *argv, "--as", "planner", "--quiet").out.strip()
    return cli.ok("receipts", ref, "--json").json["message"]


# the names of other tools


@pytest.mark.promise("types")
@pytest.mark.parametrize("type", ["dispatch", "assign"])
@pytest.mark.parametrize(
    "given",
    [
        {"task": "T-1", "files": ["src/"]},
        {"task": "T-1", "task_id": "T-1", "file_scope": ["src/"]},
        {"taskId": "T-1", "task": "T-1", "files": ["src/"], "fileScope": ["src/"]},
        {"task": "T-1", "task_id": None, "files": ["src/"], "file_scope": None},
        {"task": None, "task_id": "T-1", "files": None, "file_scope": ["src/"]},
    ],
)
def test_a_task_may_be_called_as_other_tools_call_it(room: LocalRoom, type: str, given: dict[str, object]):
    sent = room.send("builder", "", type=type, payload=given)
    assert sent.message.payload == FIELDS
    cls = Dispatch if type == "dispatch" else Assign
    assert sent.message.payload_as(cls).task_id == "T-1"


@pytest.mark.promise("types")
@pytest.mark.parametrize("type", ["dispatch", "assign"])
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"task": "T-1", "task_id": "T-2"}, "payload.task"),
        ({"task_id": "T-2", "task": "T-1"}, "payload.task"),
        ({"task": "T-1", "taskId": "T-2"}, "payload.task"),
        ({"taskId": "T-2", "task": "T-1"}, "payload.task"),
        ({"task": "T-1", "files": ["a"], "file_scope": ["b"]}, "payload.files"),
        ({"files": ["a"]}, "payload.task_id"),
        ({"task": ""}, "payload.task_id"),
        ({"task": 7}, "payload.task_id"),
        ({"task": "T-1", "files": "src/"}, "payload.file_scope"),
    ],
)
def test_two_names_that_disagree_are_refused_and_the_field_is_named(
    room: LocalRoom, type: str, given: dict[str, object], field: str
):
    with pytest.raises(InvalidPayload) as refusal:
        room.send("builder", "", type=type, payload=given)
    assert refusal.value.facts["field"] == field
    assert room.peek("builder") == []


def test_other_types_have_no_other_names(room: LocalRoom):
    with pytest.raises(InvalidPayload, match="task"):
        room.send("builder", "", type="worker_done", payload={"task": "T-1"})


def test_the_names_are_shown_with_the_type(cli: CommandLine):
    shown = cli.ok("types", "show", "dispatch").out
    assert "task" in shown
    assert "is stored as file_scope" in shown


# no body, no address


def test_a_health_check_needs_no_body(room: LocalRoom, cli: CommandLine, web: Served):
    sent = room.send("builder", type="health_check")
    assert (sent.message.body, sent.message.payload) == ("", None)
    assert stored(cli, "builder", "--type", "health_check")["body"] == ""
    answer = web.post("/messages", {"to": "builder", "type": "health_check"}, token=web.token("planner"))
    assert answer.status == 200
    shown = room.frame(room.peek("builder")).text
    assert shown.count("health_check") >= 3
    with pytest.raises(InvalidBody):
        room.send("builder", type="status")


@pytest.mark.promise("types")
@pytest.mark.parametrize(("type", "whom"), [("escalation", ["lead"]), ("broadcast", ["builder", "lead"])])
def test_what_goes_up_or_to_all_needs_no_address(web: Served, room: LocalRoom, type: str, whom: list[str]):
    sent = room.send(body="help", type=type)
    assert sorted(d.recipient for d in sent.deliveries) == whom
    answer = web.post("/messages", {"body": "help", "type": type}, token=web.token("planner"))
    assert sorted(d["recipient"] for d in answer.json["deliveries"]) == whom


@pytest.mark.promise("types")
@pytest.mark.parametrize(
    ("argv", "to", "body", "payload"),
    [
        (["backend", "hello", "--payload", '{"a":1}'], "backend", "hello", {"a": 1}),
        (["backend", "--payload", '{"a":1}', "hello"], "backend", "hello", {"a": 1}),
        (["--payload", '{"a":1}', "backend", "hello"], "backend", "hello", {"a": 1}),
        (["--type", "broadcast", "hello"], "@all", "hello", None),
        (["--type", "broadcast", "hello", "--payload", '{"a":1}'], "@all", "hello", {"a": 1}),
        (["--type", "broadcast", "@all", "hello"], "@all", "hello", None),
        (["--type", "broadcast", "--payload", '{"a":1}'], "@all", "", {"a": 1}),
        (["--type", "broadcast", "@all", "--payload", '{"a":1}'], "@all", "", {"a": 1}),
        (["--type", "escalation", "hello"], "@up", "hello", None),
        (["--type", "escalation", "hello", "--payload", '{"severity":"error"}'], "@up", "hello",
         {"severity": "error"}),
        (["--type", "escalation", "--payload", '{"severity":"error"}'], "@up", "", {"severity": "error"}),
        (["--type", "escalation", "human:ana", "--payload", '{"severity":"error"}'], "human:ana", "",
         {"severity": "error"}),
        (["lead", "hello", "--type", "escalation"], "lead", "hello", None),
    ],
)  # fmt: skip
def test_one_word_beside_a_payload_is_the_text(
    cli: CommandLine, argv: list[str], to: str, body: str, payload: dict[str, object] | None
):
    cli.ok("join", "backend")
    message = stored(cli, *argv)
    assert (message["to"], message["body"], message.get("payload")) == (to, body, payload)


def test_a_word_that_could_be_a_name_is_told_to_be_the_text(cli: CommandLine):
    found = cli.ok(
        "send", "--type", "escalation", "lead", "--payload", '{"severity":"info"}', "--as", "planner"
    )
    assert "'lead' is the text" in found.err


def test_everything_else_needs_an_address(cli: CommandLine):
    found = cli("send", "--type", "dispatch", "--payload", json.dumps(FIELDS), "--json")
    assert (found.code, found.error["message"]) == (2, "send needs TO")


# a group of another project


@pytest.fixture
def shop(room: LocalRoom, open_room: OpenRoom) -> LocalRoom:
    """Another project of the same room."""
    shop = LocalRoom(room.home, room.settings, agent="clerk", project="shop")
    for name, role in (("clerk", "seller"), ("keeper", "builder")):
        shop.join(name, role=role)
    return shop


@pytest.mark.promise("groups")
@pytest.mark.parametrize(
    ("to", "whom"),
    [
        ("shop/@all", ["shop/clerk", "shop/keeper"]), ("shop/@builders", ["shop/keeper"]),
        ("SHOP/@All", ["shop/clerk", "shop/keeper"]), ("p/@all", ["builder"]),
    ],
)  # fmt: skip
def test_a_group_of_another_project_is_an_address(room: LocalRoom, shop: LocalRoom, to: str, whom: list[str]):
    sent = room.send(to, "hello")
    assert sorted(d.recipient for d in sent.deliveries) == whom
    assert sent.message.to == to.lower()
    assert room.send(to, "again").message.to == to.lower()  # by the lane that is remembered
    assert [hit.message.id for hit in room.search("hello", to=to.lower())] == [sent.id]
    assert sorted(room.may_write("planner", to)) == sorted(
        name if "/" in name else f"p/{name}" for name in whom
    )
    taken = room.take(whom[0])
    assert taken is not None
    assert f"to {to.lower()}" in room.frame([taken]).text
    answer = room.reply(taken.id, "yes", agent=whom[0])
    assert [d.recipient for d in answer.deliveries] == ["planner" if "/" not in whom[0] else "p/planner"]


def test_who_writes_to_its_own_group_elsewhere_is_not_among_them(room: LocalRoom, shop: LocalRoom):
    assert [d.recipient for d in shop.send("shop/@all", "x").deliveries] == ["keeper"]


@pytest.mark.parametrize(
    "to", ["shop/@up", "@shop/all", "shop/@", "/@all", "a/b/@all", "shop/#x", "shop/@a/b"]
)
def test_what_is_no_group_of_a_project_is_refused(room: LocalRoom, shop: LocalRoom, to: str):
    with pytest.raises(InvalidAddress):
        room.send(to, "x")


@pytest.mark.parametrize("to", ["nowhere/@all", "shop/@painters"])
def test_a_group_that_nobody_is_in_is_refused(room: LocalRoom, shop: LocalRoom, to: str):
    with pytest.raises(UnknownRecipient):
        room.send(to, "x")


def test_an_address_is_written_as_it_was_read():
    for text in ("shop/@all", "shop/@builders:live", "@all", "one:@all", "shop/backend"):
        assert str(parse(text)) == text


@pytest.mark.promise("groups")
def test_a_broadcast_may_go_to_another_project(cli: CommandLine):
    cli.ok("join", "shop/clerk")
    message = stored(cli, "shop/@all", "hello", "--type", "broadcast")
    assert message["to"] == "shop/@all"
    assert stored(cli, "shop/@all", "hello")["to"] == "shop/@all"


def test_a_route_may_name_a_group_of_another_project(home: str, cli: CommandLine):
    cli.ok("join", "shop/clerk", "--role", "seller")
    cli.ok("join", "seller", "--role", "seller")
    with open(f"{home}/config.toml", "w", encoding="utf-8") as file:
        file.write('[[route]]\nfrom = "p/@all"\nto = "shop/@sellers"\nallow = false\n')
    refused = cli("send", "shop/clerk", "x", "--as", "planner", "--json")
    assert (refused.code, refused.error["error"]) == (5, "route_closed")
    assert cli("send", "shop/@all", "x", "--as", "planner").code == 5
    cli.ok("send", "seller", "x", "--as", "planner")
    cli.ok("send", "builder", "x", "--as", "shop/clerk")
