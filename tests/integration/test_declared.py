"""Agents that the config declares have a mailbox before anything of them has ever run."""

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import postroom
from postroom.errors import InvalidValue, UnknownRecipient
from postroom.room import backup, journal, keep, replay
from postroom.room.verify import verify
from postroom.store import sqlite
from tests.commandline import CommandLine
from tests.repository import make_repository

TEAM = """
[agents.lead]
role = "lead"

[agents.reviewer]
role = "reviewer"
capabilities = ["python", "sql"]
description = "reads diffs"
supervisor = "lead"

[agents."shop/clerk"]
role = "clerk"

[agents."human:ana"]
"""


def declare(home: str, text: str = TEAM) -> None:
    os.makedirs(home, mode=0o700, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.promise("declared")
def test_who_is_declared_gets_mail_before_it_has_ever_run(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home)
    with postroom.open(home, agent="planner", project="p") as room:
        for to in ("reviewer", "@reviewers", "one:@python", "shop/clerk", "human:ana"):
            assert room.send(to, f"for {to}").deliveries[0].state == "stored"
        assert [a.agent.name for a in room.agents() if a.agent.role == "reviewer"] == ["reviewer"]
    with postroom.open(home, agent="reviewer", project="p") as room:
        me = room.join("reviewer")
        assert (me.role, me.capabilities, me.description) == ("reviewer", ["python", "sql"], "reads diffs")
        assert [mail.body for mail in room.peek()] == ["for reviewer", "for @reviewers", "for one:@python"]
        assert room.send("@up", "done").deliveries[0].recipient == "lead"


def test_who_has_a_directory_is_of_the_project_of_that_and_of_no_other(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    for name in ("bakery", "three"):
        make_repository(tmp_path / name)
    declare(home, f'[agents.oven]\ndirectory = "{tmp_path}/bakery"\n[agents.guest]\n')
    addresses: dict[str, set[str]] = {}
    for name in ("bakery", "three"):
        monkeypatch.chdir(tmp_path / name)
        with postroom.open(home, agent="baker") as room:
            sent = room.send("@all", "hello")
            addresses[name] = {delivery.recipient for delivery in sent.deliveries}
            there = {status.agent.address for status in room.agents()}
    assert addresses == {"bakery": {"oven", "guest"}, "three": {"guest"}}
    assert "bakery/oven" in there
    assert "three/oven" not in there


def test_several_are_introduced_by_the_first_message_in_a_repository_that_the_room_does_not_know(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home)
    make_repository(tmp_path / "bakery")
    monkeypatch.chdir(tmp_path / "bakery")
    with postroom.open(home, agent="baker") as room:
        assert room.send("reviewer", "hello").deliveries[0].state == "stored"
        assert {project.name for project in room.projects()} == {"shop", "bakery"}


def test_what_is_known_of_an_agent_outlasts_what_the_config_says(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home)
    with postroom.open(home, agent="reviewer", project="p") as room:
        room.join("reviewer", role="poet")
    with postroom.open(home, agent="reviewer", project="p") as room:
        assert room.who("reviewer").role == "poet"


def test_looking_from_a_project_that_the_room_does_not_know_makes_nobody_there(
    home: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    with postroom.open(home, project="p") as room:
        room.join("planner")
    declare(home)
    with postroom.open(home, project="elsewhere") as room:
        assert {a.agent.address for a in room.agents()} == {"p/planner", "shop/clerk", "human:ana"}
    with postroom.open(home, project="p") as room:
        assert "p/reviewer" in {a.agent.address for a in room.agents()}


def test_who_was_declared_and_has_another_name_now_has_no_twin(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home)
    with postroom.open(home, agent="planner", project="p") as room:
        room.send("reviewer", "hello")
        room.rename("critic", agent="reviewer")
    with postroom.open(home, agent="planner", project="p") as room, pytest.raises(UnknownRecipient):
        room.send("reviewer", "hello")


@pytest.mark.parametrize("way", ["replayed", "pruned and replayed", "restored", "restored from before"])
@pytest.mark.parametrize("first", ["declared", "joined"])
def test_who_was_introduced_has_no_twin_in_a_room_that_was_rebuilt(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, first: str
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    if first == "joined":
        with postroom.open(home, agent="planner", project="p") as room:
            room.join("reviewer")
    declare(home, "[agents.reviewer]\n")
    copy = str(tmp_path / "copy.db")
    with postroom.open(home, agent="planner", project="p") as room:
        room.join("planner")
        if way == "restored from before":
            room.send("reviewer", "hello")
            backup.backup(room, copy)
        room.send("reviewer", "hello")
        room.rename("critic", agent="reviewer")
        if way == "restored":
            backup.backup(room, copy)
        if way.startswith("restored"):
            backup.restore(room, copy)
        if way == "restored from before":
            room.rename("critic", agent="reviewer")
        if way == "pruned and replayed":
            room.join("somebody")
            keep.prune(room, room.now() + 1000)
            assert room.store.whole().first() > 1
        journal.sync(room)
    if way.endswith("replayed"):
        home = str(tmp_path / "rebuilt")
        replay.replay(os.path.join(os.environ["POSTROOM_HOME"], "events"), home)
        declare(home, "[agents.reviewer]\n")
        monkeypatch.setenv("POSTROOM_HOME", home)
    with postroom.open(home, agent="planner", project="p") as room:
        room.send("critic", "hello again")
        assert {one.agent.name for one in room.agents()} == {"planner", "critic"} | (
            {"somebody"} if way == "pruned and replayed" else set()
        )
        with pytest.raises(UnknownRecipient):
            room.send("reviewer", "who is that?")
        assert verify(room).problems == []


@pytest.mark.promise("migrations")
def test_whom_an_earlier_version_introduced_has_no_twin_in_a_room_that_was_rebuilt(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    with postroom.open(home, agent="planner", project="p") as room:
        for name in ("planner", "reviewer", "lead"):
            room.join(name)
        room.rename("critic", agent="reviewer")
    with closing(sqlite3.connect(os.path.join(home, "room.db"))) as db:
        for name in ("reviewer", "lead"):  # as version 9 noted it, without an event
            db.execute("INSERT INTO follower VALUES ('local', ?, 1)", (f"declared.p/{name}",))
        db.execute(re.findall(r"^UPDATE follower [^;]+", migration(10), re.MULTILINE)[0])
        db.commit()
    team = "[agents.reviewer]\n[agents.lead]\n"
    declare(home, team)
    with postroom.open(home, agent="planner", project="p") as room:
        assert {one.agent.name for one in room.agents()} == {"planner", "critic", "lead"}
        journal.sync(room)
        assert verify(room).problems == []
    rebuilt = str(tmp_path / "rebuilt")
    replay.replay(os.path.join(home, "events"), rebuilt)
    declare(rebuilt, team)
    monkeypatch.setenv("POSTROOM_HOME", rebuilt)
    with postroom.open(rebuilt, agent="planner", project="p") as room:
        assert {one.agent.name for one in room.agents()} == {"planner", "critic", "lead"}
        assert [event.type for event in room.events()].count("agent.declared") == 2
        assert verify(room).problems == []


def migration(number: int) -> str:
    [path] = Path(sqlite.__file__).parent.glob(f"migrations/{number:04}_*.sql")
    return path.read_text(encoding="utf-8")


def test_who_came_before_it_was_declared_has_no_twin_either(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_HOME", home)
    with postroom.open(home, agent="planner", project="p") as room:
        room.join("planner")
        room.join("reviewer")
    declare(home)
    with postroom.open(home, agent="planner", project="p") as room:
        room.rename("critic", agent="reviewer")
    with postroom.open(home, agent="planner", project="p") as room, pytest.raises(UnknownRecipient):
        room.send("reviewer", "hello")


def test_a_supervisor_is_looked_for_in_the_project_of_who_is_under_it(
    home: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home, '[agents.lead]\n[agents."shop/reviewer"]\nsupervisor = "lead"\n')
    with postroom.open(home, project="fresh") as room:
        room.join("planner")
    with postroom.open(home, agent="shop/reviewer", project="fresh") as room:
        assert room.send("@up", "done").deliveries[0].recipient == "lead"
        assert {a.agent.address for a in room.agents()} >= {"shop/lead", "shop/reviewer", "fresh/lead"}


def test_who_is_not_declared_has_no_mailbox(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home)
    with postroom.open(home, agent="planner", project="p") as room, pytest.raises(UnknownRecipient):
        room.send("revewer", "hello")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[agents.x]\nrole = 7\n", r"\[agents.x\] in the config: role must be a text, not 7"),
        ('[agents.x]\ncapabilities = "sql"\n', "capabilities must be a list of texts"),
        ('[agents.x]\nrule = "x"\n', "there is no 'rule'"),
        ('[agents."@x"]\n', "is not the address of one agent"),
        ("agents = 7\n", r"agents is written as \[agents.NAME\]"),
        ("[agents]\nx = 7\n", "it is no table"),
        ('[agents.x]\nsupervisor = "nobody"\n[agents."p/y"]\n', "nobody is called 'nobody'"),
        ('[agents.x]\nsupervisor = "x"\n', "nobody is above themselves"),
        ("[agents.postroom]\n", "'postroom' is the room itself"),
        ("[agents.x]\n[agents.X]\n", r"\[agents.x\] is the same"),
        ('[agents.x]\nrole = "a\\u0000b"\n', "contains a NUL"),
        ("[agent.x]\n", "there is no setting 'agent'"),
        ("[[routes]]\n", r"routes are written as \[\[route\]\]"),
        ("sender_rate = 0.5\n", "sender_rate must be a whole number, not 0.5"),
        ("sender_rate = true\n", "sender_rate must be a whole number, not True"),
        ("sender_rate = " + "9" * 4000 + "\n", "sender_rate"),
        ("x = " + "[" * 5000, "nested too deep|config.toml"),
        ("route = 7\n", r"route is written as \[\[route\]\]"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_said(
    home: str, monkeypatch: pytest.MonkeyPatch, text: str, says: str
):
    monkeypatch.setenv("POSTROOM_HOME", home)
    with postroom.open(home, agent="planner", project="p") as room:
        room.join("planner")
    declare(home, text)
    for _ in range(2):  # what cannot be used is not kept either
        with pytest.raises(InvalidValue, match=says):
            postroom.open(home, agent="planner", project="p")


def test_the_declaration_is_read_from_what_was_compiled(home: str, monkeypatch: pytest.MonkeyPatch):
    from postroom import config

    monkeypatch.setenv("POSTROOM_HOME", home)
    declare(home, TEAM + '\n[[route]]\nto = "human:*"\nallow = false\n')
    first = config.load(home)
    monkeypatch.setattr(config, "document", lambda _: pytest.fail("TOML was read again"))
    assert config.load(home) == first
    assert first[1].routes == [{"to": "human:*", "allow": False}]


# the command line


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    for name in ("planner", "builder"):
        cli.ok("join", name, "--role", name)
    cli.ok("join", "human:ana")
    return cli


@pytest.mark.promise("policy")
def test_every_refusal_exits_with_5_and_names_its_rule(cli: CommandLine):
    declare(cli.home, '[[route]]\nfrom = "@builders"\nto = "human:*"\nallow = false\n')
    env = {"POSTROOM_SENDER_RATE": "1", "POSTROOM_RECIPIENT_QUOTA": "1"}
    refused = cli("send", "human:ana", "hello", "--as", "builder")
    assert refused.code == 5
    assert "route 1 refuses @builder → human:*" in refused.err
    assert "postroom routes" in refused.err
    cli.ok("send", "builder", "one", "--as", "planner", env=env)
    full = cli("send", "builder", "two", "--as", "human:ana", "--json", env=env)
    assert (full.code, full.error["error"], full.error["rule"]) == (5, "mailbox_full", "recipient_quota")
    fast = cli("send", "human:ana", "three", "--as", "planner", "--json", env=env)
    assert (fast.code, fast.error["error"], fast.error["rule"]) == (5, "rate_limited", "sender_rate")
    assert 59 < fast.error["retry_after"] <= 60
    assert len(cli.ok("sent", "--as", "planner", "--json").json["messages"]) == 1


def test_routes_lists_them_and_tells_what_would_happen(cli: CommandLine):
    empty = cli.ok("routes")
    assert "There are no routes: everybody may write to everybody (routes = open)" in empty.err
    declare(
        cli.home,
        '[[route]]\nfrom = "@builders"\nto = ["human:*", "@planner"]\ntype = "note"\nallow = false\n',
    )
    listed = cli.ok("routes").out
    assert listed.splitlines()[1].split() == ["1", "refuse", "@builder", "human:*,", "@planner", "note"]
    assert cli.ok("routes", "--json").json == {
        "routes": [
            {"number": 1, "rule": "refuse", "from": "@builder", "to": "human:*, @planner", "type": "note"}
        ],
        "otherwise": "open",
    }
    assert cli.ok("routes", "--from", "planner", "--to", "builder").out == "allowed: planner → p/builder\n"
    assert cli("routes", "--from", "builder", "--to", "human:ana").code == 5
    assert cli.ok("routes", "--from", "builder", "--to", "human:ana", "--type", "request").out.startswith(
        "allowed"
    )
    assert cli("routes", "--from", "builder").code == 2
    assert cli("routes", "--from", "nobody", "--to", "builder").code == 3


@pytest.mark.promise("manners")
def test_mute_says_how_it_is_and_what_is_held(cli: CommandLine):
    assert cli.ok("mute", "--as", "builder").out == "not muted\n"
    assert "muted until" in cli.ok("mute", "2h", "--as", "builder").out
    answer = cli.ok("send", "builder", "hello", "--as", "planner")
    assert "held until" in answer.out
    assert "(muted)" in answer.out
    looked = cli.ok("inbox", "--as", "builder")
    assert "1 message held" in looked.err
    assert "you are muted" in looked.err
    shown = cli.ok("mute", "--as", "builder", "--json").json
    assert shown["muted"]
    assert [(held["reason"], held["messages"]) for held in shown["held"]] == [("muted", 1)]
    assert "0 + 1 held" in cli.ok("agents").out
    receipts = cli.ok("receipts", answer.out.split()[0]).out
    assert "its recipient is muted" in receipts
    assert cli.ok("mute", "--off", "--as", "builder").out == "not muted\n"
    assert "hello" in cli.ok("inbox", "--as", "builder").out


def test_quiet_hours_and_digests_are_set_and_taken_back(cli: CommandLine):
    set_up = ("--hours", "22:00-07:00", "--zone", "UTC", "--digest", "10m")
    quiet, together = cli.ok("mute", *set_up, "--as", "human:ana").out.splitlines()
    assert quiet.startswith("quiet from 22:00 to 07:00 (UTC), every day")
    assert together == "small messages come together, every 10 min"
    assert cli.ok("mute", "--hours", "off", "--digest", "off", "--as", "human:ana").out == "not muted\n"
    for wrong in (["2h", "--off"], ["--hours", "late"], ["--zone", "UTC"], ["0s"], ["--until", "yesterday"]):
        assert cli("mute", *wrong, "--as", "builder").code == 2, wrong
    assert cli.ok("mute", "--on", "--as", "builder").out == "muted, until: postroom mute --off\n"
