"""Agents, people and projects by the command line."""

import os
from pathlib import Path

import pytest

from tests.clockwork import Clock
from tests.commandline import CommandLine, is_told_well
from tests.conftest import OpenRoom
from tests.process import BOUND
from tests.repository import make_repository


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "builder", "--role", "builder", "--capability", "python", "--capability", "sql")
    return cli


def test_agents_shows_who_is_here_and_what_waits_for_them(cli: CommandLine):
    cli.ok("join", "reviewer", "--description", "before you merge", "--supervisor", "builder")
    cli.sent("reviewer", "please look")
    lines = cli.ok("agents").out.splitlines()
    [reviewer] = [line for line in lines if "p/reviewer" in line]
    assert reviewer.split()[2:6] == ["1", "0", "not", "running"]
    assert "ADDRESS" in lines[0]
    assert "ADDRESS" not in cli.ok("agents", "--quiet").out
    assert "before you merge" in reviewer
    found = {agent["name"]: agent for agent in cli.ok("agents", "--json").json["agents"]}
    assert found["builder"]["capabilities"] == ["python", "sql"]
    assert found["reviewer"]["supervisor"] == found["builder"]["id"]
    assert found["reviewer"]["waiting"] == 1


def test_whoever_is_waiting_is_live(cli: CommandLine):
    with cli.start("wait", "--as", "builder") as waiter:
        while not (live := [a for a in cli.ok("agents", "--json").json["agents"] if a["reach"] == "live"]):
            assert waiter.poll() is None
        assert [agent["name"] for agent in live] == ["builder"]
        assert "builder: stored, listening now" in cli.ok("send", "builder", "hello", "--as", "planner").out


def test_whoever_only_waits_for_an_answer_is_not_listening(cli: CommandLine):
    cli.ok("join", "planner")
    with cli.start("ask", "builder", "which?", "--as", "planner") as asker:
        while "waits for an answer" not in (told := cli.ok("agents").out):
            assert asker.poll() is None
        assert "listening " not in told.replace("not listening", "")
        sent = cli.ok("send", "planner", "x", "--as", "builder").out
        assert "planner: stored, waits for an answer now" in sent
        [request] = cli.ok("inbox", "--as", "builder", "--json").json["messages"]
        cli.ok("reply", request["id"], "this", "--as", "builder")
        assert asker.wait(BOUND) == 0


def test_whoever_left_is_listed_only_when_asked_for(cli: CommandLine):
    assert "has left" in cli.ok("leave", "--as", "builder").out
    assert cli.ok("agents", "--json").json == {"agents": []}
    [gone] = cli.ok("agents", "--all", "--json").json["agents"]
    assert (gone["reach"], gone["left_at"] is None) == ("left", False)
    assert "has left" in cli.ok("send", "builder", "still there?", "--as", "planner").out
    cli.ok("join", "builder")
    assert "still there?" in cli.ok("inbox", "--as", "builder").out


def test_a_name_can_be_given_to_leave(cli: CommandLine):
    cli.ok("leave", "builder")
    assert cli.ok("agents").out == ""


def test_a_new_name_keeps_the_mail(cli: CommandLine):
    cli.sent("builder", "hello")
    assert cli.ok("rename", "maker", "--as", "builder", "--json").json["name"] == "maker"
    assert "hello" in cli.ok("read", "--as", "maker").out
    cli.ok("join", "builder")
    taken = cli("rename", "maker", "--as", "builder")
    assert taken.code == 5
    assert is_told_well(taken)


def test_a_person_has_an_address_too(cli: CommandLine):
    cli.ok("join", "human:ana")
    cli.ok("send", "human:ana", "Tests are red.", "--as", "builder", "--priority", "urgent")
    read = cli.ok("read", "--as", "human:ana").out
    assert "builder → human:ana" in read
    assert "urgent" in read


def test_an_unknown_agent_is_not_found_and_near_ones_are_named(cli: CommandLine):
    for command in (["inbox"], ["read"], ["sent"], ["wait"], ["leave"], ["rename", "x"]):
        result = cli(*command, "--as", "bilder")
        assert result.code == 3, command
        assert "p/builder" in result.err, command
    wrong = cli("send", "bilder", "hello", "--as", "planner", "--json")
    assert (wrong.code, wrong.error["error"], wrong.error["near"]) == (3, "unknown_recipient", ["p/builder"])


def test_without_a_name_it_is_not_clear_who_calls(cli: CommandLine):
    for command in (
        ["inbox"],
        ["read"],
        ["send", "builder", "hello"],
        ["ask", "builder", "hello"],
        ["sent"],
        ["leave"],
    ):
        result = cli(*command)
        assert result.code == 2, command
        assert result.err.splitlines()[0] == "postroom: it is not clear who is calling", command
        assert "--as NAME" in result.err, command
    assert cli("inbox", "--json").error["message"] == "it is not clear who is calling"


def test_whoever_is_named_and_unknown_may_be_among_those_who_are_listed(cli: CommandLine):
    message = cli.sent("builder", "hello")
    for command in (["leave", "nobody"], ["log", "nobody"], ["dead", "retry", message, "--to", "nobody"]):
        result = cli(*command)
        assert result.code == 3, command
        assert result.err.endswith("See who is here: postroom agents --all\n"), command
    assert "postroom join nobody" in cli("inbox", "--as", "nobody").err, "who calls may want an address"


def test_a_name_that_is_none_is_refused_with_the_rules_for_names(cli: CommandLine):
    result = cli("join", "Big Name")
    assert result.code == 2
    assert "A name is lower-case letters, digits, - and _" in result.err


def test_projects_keep_equal_names_apart(cli: CommandLine):
    cli.ok("join", "builder", "--project", "other")
    cli.ok("send", "other/builder", "over there", "--as", "builder")
    assert cli.ok("inbox", "--as", "builder").out == ""
    assert "over there" in cli.ok("inbox", "--as", "builder", "--project", "other").out
    assert [project["name"] for project in cli.ok("projects", "--json").json["projects"]] == ["other", "p"]


def test_a_writer_of_another_project_is_shown_with_it(cli: CommandLine):
    cli.ok("join", "builder", "--project", "other")
    cli.ok("send", "p/builder", "from over there", "--as", "builder", "--project", "other")
    assert " other/builder " in cli.ok("inbox", "--as", "builder").out
    assert " other/builder → " in cli.ok("read", "--as", "builder").out
    [mail] = cli.ok("sent", "--as", "builder", "--project", "other", "--json").json["messages"]
    cli.ok("reply", mail["id"], "welcome", "--as", "builder")
    assert " other/builder " in cli.ok("sent", "--as", "builder").out


def test_the_project_is_that_of_the_repository_around_the_caller(
    home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    repository = os.path.join(tmp_path, "My Site")
    make_repository(repository)
    os.makedirs(os.path.join(repository, "src"))
    monkeypatch.chdir(os.path.join(repository, "src"))
    cli = CommandLine(home)
    joined = cli.ok("join", "builder", "--json", env={"POSTROOM_PROJECT": ""}).json
    assert joined["address"] == "my-site/builder"
    assert repository in cli.ok("projects").out


def test_deleting_a_project_must_be_meant(cli: CommandLine):
    cli.sent("builder", "hello")
    unsure = cli("projects", "delete", "p")
    assert unsure.code == 2
    assert "--yes" in unsure.err
    assert cli.ok("projects", "delete", "p", "--yes", "--json").json == {"deleted": "p", "messages": 1}
    assert cli.ok("projects", "--json").json == {"projects": []}
    assert cli("projects", "delete", "p", "--yes").code == 3
    assert cli("projects", "delete").code == 2
    assert cli("projects", "list", "p").code == 2


def test_a_group_is_written_to_and_listed(cli: CommandLine):
    cli.ok("join", "bob", "--role", "builders")
    assert "bob: stored" in (told := cli.ok("send", "@builders", "hello", "--as", "planner").out)
    assert "builder: stored" in told
    table = cli.ok("groups").out.splitlines()
    assert table[1].split() == ["@builder", "2", "bob,", "builder"]
    groups = cli.ok("groups", "--json").json["groups"]
    assert groups[0] == {"group": "@builder", "agents": ["p/bob", "p/builder"]}
    refused = cli("send", "@bilders", "hello", "--as", "planner")
    assert refused.code == 3
    is_told_well(refused)


def test_a_topic_is_followed_written_to_shown_and_left(cli: CommandLine):
    assert (
        cli.ok("topics", "subscribe", "front", "--as", "builder").out == "builder subscribes to topic:front\n"
    )
    assert "already" in cli.ok("topics", "subscribe", "#front", "--as", "builder").out
    cli.ok("send", "topic:front", "green again", "--as", "planner")
    assert "green again" in cli.ok("read", "--as", "builder").out
    assert cli.ok("topics").out.splitlines()[1].split()[:3] == ["topic:front", "1", "1"]
    assert "green again" in cli.ok("topics", "show", "front").out
    shown = cli.ok("topics", "show", "front", "--json").json
    assert shown["subscribers"] == ["p/builder"]
    assert [message["body"] for message in shown["messages"]] == ["green again"]
    assert cli.ok("topics", "--json").json["topics"][0]["subscribers"] == 1
    assert cli.ok("topics", "unsubscribe", "front", "--as", "builder", "--json").json["changed"] is True
    assert cli("send", "topic:front", "nobody", "--as", "planner").code == 3
    assert cli("topics", "show").code == 2
    assert cli("topics", "subscribe", "a b", "--as", "builder").code == 2


def test_an_escalation_needs_no_address(cli: CommandLine):
    cli.ok("join", "human:ana")
    assert "human:ana: stored" in cli.ok("send", "--type", "escalation", "help", "--as", "builder").out
    assert "human:ana: stored" in cli.ok(
        "send", "--type", "escalation", "-", "--as", "builder", stdin=b"long text"
    ).out  # fmt: skip
    cli.ok("send", "--type", "escalation", "words", "--subject", "s", "--as", "builder")
    cli.ok(
        "send", "--type", "escalation", "disk full", "--payload", '{"severity": "error"}', "--as", "builder"
    )
    found = cli.ok("inbox", "--as", "human:ana", "--json").json["messages"]
    assert {message["to"] for message in found} == {"@up"}
    assert [message["body"] for message in found] == ["help", "long text", "words", "disk full"]
    assert cli("send", "hello", "--as", "builder").code == 2


def test_what_is_for_one_of_a_group_says_so_to_the_others(cli: CommandLine):
    cli.ok("join", "bob", "--role", "builder")
    sent = cli.ok("send", "one:@builders", "build it", "--as", "planner", "--json").json["id"]
    cli.ok("read", "--as", "bob")
    assert "another has taken" in cli("ack", sent, "--as", "builder").err
    cli.ok("ack", sent, "--as", "bob")
    assert "bob has done it" in cli.ok("receipts", sent).out


def test_a_gate_is_listed_shown_and_decided(cli: CommandLine):
    cli.ok("join", "human:ana")
    gate = cli.ok(
        "send", "human:ana", "May I deploy?", "--type", "decision_gate", "--as", "builder", "--json"
    ).json["id"]  # fmt: skip
    assert "approve | deny" in cli.ok("gates").out
    assert f"postroom decide {gate[-8:]} OPTION, which is one of approve, deny" in cli.ok("gates", gate).out
    assert cli.ok("gates", "--json").json["gates"][0]["asked"] == ["human:ana"]
    refused = cli("decide", gate, "approve", "--as", "builder")
    assert refused.code == 5
    is_told_well(refused)
    assert cli("decide", gate, "perhaps", "--as", "human:ana").code == 2
    told = cli.ok("decide", gate, "appr", "--note", "after six", "--as", "human:ana").out
    assert told == "decided: approve: after six  (p/builder is told)\n"
    assert cli("decide", gate, "deny", "--as", "human:ana").code == 5
    assert "Decided by human:ana: approve (after six)" in cli.ok("gates", gate).out
    assert "Nothing waits" in cli.ok("gates").err
    assert "after six" in cli.ok("read", "--as", "builder").out


def test_threads_are_listed_and_messages_forwarded(cli: CommandLine):
    first = cli.sent("builder", "build the parser")
    cli.ok("reply", first, "on it", "--as", "builder")
    [row] = cli.ok("threads", "--as", "planner", "--quiet").out.splitlines()
    assert row.split()[1:5] == ["builder,", "planner", "2", "1"]
    [thread] = cli.ok("threads", "--as", "builder", "--json").json["threads"]
    assert (thread["summary"], thread["messages"], thread["unread"]) == ("build the parser", 2, 0)
    assert "reviewer: stored" in cli.ok("join", "reviewer").out + cli.ok(
        "forward", first, "reviewer", "yours?", "--as", "builder"
    ).out  # fmt: skip
    assert "> build the parser" in cli.ok("read", "--as", "reviewer").out


def test_what_the_guard_holds_back_is_told(cli: CommandLine):
    asked = cli.sent("builder", "which?", "--type", "request")
    cli.ok("reply", asked, "that one", "--as", "builder")
    answer = cli.ok("inbox", "--as", "planner", "--json").json["messages"][0]["id"]
    told = cli.ok("reply", answer, "thanks!", "--as", "planner").out
    assert "held back" in told
    assert "not delivered" in told


def test_waiting_for_a_rung_of_one_of_many_is_done_when_one_is_there(cli: CommandLine):
    cli.ok("join", "bob", "--role", "builder")
    for rung in ("seen", "acked"):
        with cli.start("send", "one:@builders", rung, "--as", "planner", "--wait", rung) as sending:
            while not (found := cli.ok("inbox", "--as", "bob", "--json").json["messages"]):
                assert sending.poll() is None
            cli.ok("read", "--as", "bob")
            if rung == "acked":
                cli.ok("ack", found[0]["id"], "--as", "bob")
            assert sending.wait(30) == 0


def test_who_is_idle_says_so_and_whoever_waits_for_it_is_told(cli: CommandLine):
    for agent in ("planner", "builder"):
        cli.ok("join", agent)
    asked = cli.sent("builder", "How far is it?", "--type", "request")
    assert cli.ok("idle", "--as", "builder").err == "Nobody had to be told.\n"
    cli.ok("read", "--as", "builder")
    done = cli.ok("idle", "--as", "builder")
    assert asked[-8:] in done.out
    assert "How far is it?" in done.out
    assert cli.ok("idle", "--as", "builder", "--json").json == {"told": []}
    [letter] = cli.ok("inbox", "--json", "--as", "planner").json["messages"]
    assert letter["payload"]["unanswered"]["reason"] == "idle"
    assert (letter["reply_to"], letter["sender"]) == (asked, "postroom")


def test_who_answers_or_acknowledges_a_gate_is_told_how_to_decide_it(cli: CommandLine):
    for agent in ("builder", "human:ana"):
        cli.ok("join", agent)
    gate = cli.sent("human:ana", "May I deploy?", "--type", "decision_gate", sender="builder")
    note = f"this decides nothing; to decide: postroom decide {gate[-8:]} OPTION"
    told = note.replace("postroom", "postroom --as human:ana")
    done = cli.ok("reply", gate, "approve", "--as", "human:ana")
    assert done.err == f"Sent, but {told}\n"
    assert "held back" not in done.out
    assert cli.ok("reply", gate, "yes", "--json", "--as", "human:ana").json["note"] == note
    assert cli.ok("ack", gate, "--as", "human:ana").err == f"Acknowledged, but {told}\n"
    assert cli.ok("ack", gate, "--json", "--as", "human:ana").json["note"] == note
    cli.ok("decide", gate, "approve", "--as", "human:ana")
    assert cli.ok("ack", gate, "--as", "human:ana").err == ""


def test_the_log_shows_no_denial_that_was_not_said(cli: CommandLine):
    for agent in ("builder", "human:ana"):
        cli.ok("join", agent)
    gate = cli.sent("human:ana", "May I deploy?", "--type", "decision_gate", sender="builder")
    letter = cli.ok("log", "--json").items[-1]
    assert (letter["type"], letter["refs"]["message"]) == ("message.sent", gate)
    assert len(cli.ok("log", "--limit", "3").out.splitlines()) == 3, "what is left out is made up for"
    cli.ok("decide", gate, "approve", "--as", "human:ana")
    assert "Denied" not in cli.ok("log").out
    assert "delivery.withdrawn" not in cli.ok("log").out


def test_the_log_and_the_inbox_show_a_denial_from_its_moment_on(home: str, clock: Clock, open_room: OpenRoom):
    room = open_room("builder", clock=clock)
    room.join("builder")
    room.join("human:ana")
    room.send("human:ana", "May I deploy?", type="decision_gate", expires=60)
    clock.advance(61)
    room.sweep()
    room.close()
    lines = [line for line in CommandLine(home).ok("log").out.splitlines() if "Denied" in line]
    assert len(lines) == 1
    assert "delivery.due" in lines[0]


def test_agents_can_be_those_of_one_project_and_show_no_empty_column(cli: CommandLine):
    for agent in ("p/planner", "shop/clerk"):
        cli.ok("join", agent)
    bare = cli.ok("agents", "shop").out
    assert bare.split("\n")[0].split() == ["ADDRESS", "WAITING", "IN", "HAND", "REACH"]
    shown = cli.ok("agents").out
    assert ("p/planner" in shown, "shop/clerk" in shown) == (True, True)
    assert shown == cli.ok("agents", "--project", "shop").out  # where the caller stands hides nobody
    cli.ok("join", "shop/cook", "--role", "cook", "--description", "makes the soup")
    of_one = cli.ok("agents", "shop").out
    assert of_one.split("\n")[0].split() == ["ADDRESS", "ROLE", "WAITING", "IN", "HAND", "REACH", "ABOUT"]
    assert ("p/planner" in of_one, "shop/clerk" in of_one) == (False, True)
    found = cli.ok("agents", "shop", "--json").json["agents"]
    assert [agent["name"] for agent in found] == ["clerk", "cook"]
    missing = cli("agents", "shopp")
    assert (missing.code, missing.err.splitlines()[0]) == (3, "postroom: there is no project 'shopp'")


def test_a_project_that_gets_another_name_than_its_directory_is_said_to(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for place, told in (("one", ""), ("two", "This project is called shop-2 here"), ("two", "")):
        where = tmp_path / place / "shop"
        if not where.exists():
            make_repository(str(where))
        monkeypatch.chdir(where)
        result = cli.ok("join", "builder", env={"POSTROOM_PROJECT": ""})
        assert ("is called" in result.err, told in result.err) == (bool(told), True), result
