"""The direction of a type: the roles of sender and recipient are checked against it, as the room is set."""

import os

import pytest

from postroom.errors import WrongDirection
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.conftest import UNLIMITED, OpenRoom
from tests.served import served

TASK = {"task_id": "T-1"}
PEOPLE = {
    "boss": "coordinator", "lead": "lead", "maker": "builder", "merger": "merger", "critic": "reviewer",
    "plain": "",
}  # fmt: skip
ROWS = [
    ("boss", "dispatch", "lead", True), ("maker", "dispatch", "lead", False),
    ("boss", "dispatch", "maker", False),
    ("lead", "assign", "maker", True), ("maker", "assign", "lead", False), ("boss", "assign", "maker", True),
    ("maker", "worker_done", "lead", True), ("lead", "worker_done", "maker", False),
    ("maker", "merge_ready", "merger", True), ("merger", "merged", "maker", True),
    ("maker", "merged", "merger", False), ("critic", "changes_requested", "maker", True),
    ("maker", "changes_requested", "critic", False), ("lead", "health_check", "maker", True),
    ("maker", "health_check", "lead", False), ("human:ana", "dispatch", "lead", True),
    ("human:ana", "human_message", "maker", True), ("maker", "human_message", "lead", False),
    ("maker", "agent_message", "human:ana", True), ("maker", "agent_message", "lead", False),
    ("plain", "dispatch", "lead", True), ("boss", "dispatch", "plain", True),
    ("maker", "status", "lead", True), ("lead", "note", "boss", True), ("maker", "request", "lead", True),
]  # fmt: skip
PAYLOADS = {
    "dispatch": TASK, "assign": TASK, "worker_done": TASK, "merge_ready": {"branch": "b"},
    "merged": {"branch": "b"}, "changes_requested": {"pr": 1},
}  # fmt: skip


def peopled(open_room: OpenRoom, directions: str) -> LocalRoom:
    room = open_room("boss", settings=UNLIMITED._replace(directions=directions))
    for name, role in PEOPLE.items():
        room.join(name, role=role)
    room.join("human:ana")
    return room


def write(room: LocalRoom, sender: str, type: str, to: str):
    return room.send(to, "x", sender=sender, type=type, payload=PAYLOADS.get(type))


@pytest.mark.promise("directions")
@pytest.mark.parametrize(("sender", "type", "to", "fits"), ROWS)
def test_a_type_is_sent_in_its_direction_or_the_sender_is_told(
    open_room: OpenRoom, sender: str, type: str, to: str, fits: bool
):
    told, strict, off = (peopled(open_room, how) for how in ("warn", "refuse", "off"))
    assert write(off, sender, type, to).note == ""
    sent = write(told, sender, type, to)
    assert [d.state for d in sent.deliveries] == ["stored"]
    assert (sent.note == "") is fits
    if fits:
        assert write(strict, sender, type, to).note == ""
        return
    assert f"{type} goes " in sent.note
    before = len(strict.peek(to))
    with pytest.raises(WrongDirection) as refusal:
        write(strict, sender, type, to)
    assert refusal.value.facts["type"] == type
    assert "→" in refusal.value.facts["direction"]
    assert len(strict.peek(to)) == before


def test_the_supervisor_of_an_agent_may_do_what_those_above_do(open_room: OpenRoom):
    room = peopled(open_room, "refuse")
    room.join("maker", role="builder", supervisor="critic")
    assert write(room, "critic", "assign", "maker").note == ""
    assert write(room, "maker", "worker_done", "critic").note == ""


def test_of_a_group_whoever_does_not_fit_is_named_and_nobody_gets_it(open_room: OpenRoom):
    room = peopled(open_room, "refuse")
    with pytest.raises(WrongDirection, match="maker is a builder"):
        room.send("@all", "x", type="dispatch", payload=TASK)
    assert room.peek("lead") == []


def test_a_reply_is_checked_as_well(open_room: OpenRoom):
    room = peopled(open_room, "warn")
    asked = room.send("maker", "how far?", sender="lead")
    assert room.reply(asked.id, "done", agent="maker", type="worker_done", payload=TASK).note == ""
    asked = room.send("lead", "how far?", sender="maker")
    told = room.reply(asked.id, "done", agent="lead", type="worker_done", payload=TASK)
    assert "worker_done goes worker → lead" in told.note


@pytest.mark.promise("directions")
def test_a_reply_to_a_gate_says_both_that_it_decides_nothing_and_that_its_direction_is_wrong(
    open_room: OpenRoom,
):
    room = peopled(open_room, "warn")
    payload = {"question": "?", "options": ["yes", "no"]}
    asked = room.send("lead", "?", sender="maker", type="decision_gate", payload=payload)
    plain = room.reply(asked.id, "hm", agent="lead").note
    told = room.reply(asked.id, "done", agent="lead", type="worker_done", payload=TASK).note
    assert plain
    assert plain in told
    assert "worker_done goes worker → lead" in told


def test_a_refusal_because_of_the_direction_is_forbidden_over_http(open_room: OpenRoom):
    room = peopled(open_room, "refuse")
    with served(room) as web:
        said = {"to": "lead", "body": "x", "type": "dispatch", "payload": TASK}
        answer = web.post("/messages", said, token=web.token("maker"))
    assert (answer.status, answer.json["error"]) == (403, "wrong_direction")


OWN = """
[types.deploy]
meaning = "Deploy this version."
direction = "release → operations"
schema = { type = "object" }
"""


def test_the_roles_of_a_type_of_yours_are_its_own_words(open_room: OpenRoom, home: str):
    os.makedirs(home, exist_ok=True)
    with open(f"{home}/config.toml", "w", encoding="utf-8") as file:
        file.write(OWN)
    room = peopled(open_room, "warn")
    room.join("shipper", role="release")
    room.join("ops", role="sre", capabilities=["operations"])
    assert room.send("ops", "x", sender="shipper", type="deploy").note == ""
    assert room.send("plain", "x", sender="shipper", type="deploy").note == ""
    assert "ops is a sre" in room.send("shipper", "x", sender="ops", type="deploy").note


@pytest.mark.promise("directions")
def test_the_command_line_tells_it_on_standard_error_and_in_json(home: str):
    line = CommandLine(home)
    for name, role in PEOPLE.items():
        line.ok("join", name, *(("--role", role) if role else ()))
    said = ("send", "boss", "--as", "maker", "--type", "dispatch", "--payload", '{"task":"T-1"}')
    found = line.ok(*said)
    assert "dispatch goes coordinator → lead" in " ".join(found.err.split())
    assert "coordinator → lead" not in found.out
    assert "dispatch goes coordinator → lead" in line.ok(*said, "--json").json["note"]
    with open(f"{home}/config.toml", "w", encoding="utf-8") as file:
        file.write('directions = "refuse"\n')
    refused = line(*said, "--json")
    assert (refused.code, refused.error["error"]) == (5, "wrong_direction")
