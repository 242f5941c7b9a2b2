"""Tokens: who has one is that agent, whatever it is called, and nobody else is."""

import os
import re
import stat

import pytest

from postroom import config
from postroom.server import login
from tests.commandline import CommandLine, Result
from tests.conftest import OpenRoom
from tests.player import Player


@pytest.fixture
def cli(home: str, open_room: OpenRoom) -> CommandLine:
    room = open_room()
    for name in ("worker", "builder", "human:ana"):
        room.join(name)
    return CommandLine(home)


def issue(cli: CommandLine, name: str = "worker") -> str:
    return cli.ok("tokens", "issue", name, "--json").json["token"]


def send(cli: CommandLine, token: str, *argv: str) -> Result:
    return cli("send", "builder", "hi", "--json", *argv, env={"POSTROOM_TOKEN": token})


def message(cli: CommandLine, sent: Result) -> dict[str, str]:
    assert sent.code == 0, sent
    return cli.ok("receipts", sent.json["id"], "--json").json["message"]


@pytest.mark.promise("token")
def test_who_has_a_token_is_that_agent_and_its_mail_says_so(cli: CommandLine):
    sent = message(cli, send(cli, issue(cli)))
    assert (sent["sender"], sent["verified"]) == ("worker", "token")
    person = message(cli, send(cli, issue(cli, "human:ana")))
    assert (person["sender"], person["verified"]) == ("human:ana", "token")


@pytest.mark.promise("token")
def test_another_name_is_refused_and_both_are_named(cli: CommandLine):
    refused = send(cli, issue(cli), "--as", "builder")
    assert (refused.code, refused.error["error"]) == (5, "not_your_name")
    assert "you are worker, not builder: POSTROOM_TOKEN is its token" in refused.error["message"]
    assert message(cli, send(cli, issue(cli), "--as", "worker.child"))["verified"] == "token"


def test_a_name_in_the_environment_gives_way_to_a_token(cli: CommandLine):
    env = {"POSTROOM_TOKEN": issue(cli), "POSTROOM_AGENT": "human:ana"}
    sent = cli("send", "builder", "hi", "--json", env=env)
    assert message(cli, sent)["sender"] == "worker"


@pytest.mark.promise("token")
def test_what_is_no_token_or_was_revoked_is_refused_and_nothing_is_stored(cli: CommandLine):
    token = issue(cli)
    assert cli.ok("tokens", "revoke", "worker").out == "1 token of worker revoked\n"
    for text in (token, "pr_no", "../../x", "\udc80", " "):
        refused = send(cli, text)
        assert (refused.code, refused.error["error"]) == (5, "unknown_token")
        assert send(cli, text, "--as", "worker").code == 5
    assert cli.ok("inbox", "--as", "builder", "--json").json["messages"] == []


def test_who_revokes_a_persons_token_is_told_of_the_browsers_that_stay_logged_in(
    cli: CommandLine, home: str, open_room: OpenRoom
):
    ana = open_room().known("human:ana").id
    for person in (ana, ana, "another"):
        login.begin(home, person)
    done = cli.ok("tokens", "revoke", "human:ana")
    assert "2 browsers of human:ana stay logged in. Log every" in done.err
    cli.ok("dashboard", "--forget", "--as", "human:ana")
    assert "browser" not in cli.ok("tokens", "revoke", "human:ana").err


def test_a_token_is_shown_once_and_kept_by_its_hash_for_our_eyes_only(cli: CommandLine, home: str):
    token = issue(cli)
    folder = config.beside(home, "tokens")
    [name] = os.listdir(folder)
    with open(os.path.join(folder, name), encoding="ascii") as file:
        assert token not in name + file.read()
    assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    listed = cli.ok("tokens")
    assert re.search(r"^worker +(just now|\d+ s ago)$", listed.out, re.MULTILINE)
    assert token not in listed.out
    assert [one["agent"] for one in cli.ok("tokens", "--json").json["tokens"]] == ["p/worker"]


def test_a_damaged_file_among_the_tokens_harms_nobody(cli: CommandLine, home: str):
    token = issue(cli)
    with open(config.beside(home, "tokens", "junk"), "wb") as file:
        file.write(b"\xff\xfe x y z")
    assert len(cli.ok("tokens", "--json").json["tokens"]) == 1
    assert send(cli, token).code == 0


def test_wrong_words_are_told(cli: CommandLine):
    assert cli("tokens", "issue").code == 2
    assert cli("tokens", "list", "worker").code == 2
    unknown = cli("tokens", "issue", "nobody")
    assert (unknown.code, unknown.err.splitlines()[1]) == (
        3,
        "  Give it an address first: postroom join nobody",
    )
    refused = cli("inbox", env={"POSTROOM_TOKEN": "xyz"})
    assert refused.err.startswith("postroom: POSTROOM_TOKEN is no token of this room\n")
    assert "no token yet" in cli.ok("tokens").err


@pytest.mark.promise("token")
def test_a_token_that_contradicts_the_session_around_is_refused(
    cli: CommandLine, home: str, tmp_path: os.PathLike[str]
):
    """A variable is inherited: that it is there does not make this process its agent."""
    token = issue(cli)
    with Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="startup")
        refused = player.shell("send", "builder", "hi", "--json", POSTROOM_TOKEN=token)
        assert (refused.code, refused.error["error"]) == (5, "not_your_name")
        assert "token of worker, but you are backend: process " in refused.error["message"]
        foreign = player.shell("tokens", "issue", "builder")
        assert foreign.code == 5
        assert "An agent can have only its own." in foreign.err
        assert "--as" not in foreign.err
        own = player.ok("tokens", "issue", "backend")["token"]
        sent = player.ok("send", "builder", "hi", POSTROOM_TOKEN=own)
        told = player.ok("receipts", sent["id"])["message"]
        assert (told["verified"], told["sender_session"]) == ("token", "claude:s1:main")


def test_a_session_that_is_started_with_a_token_is_that_agents(
    cli: CommandLine, home: str, tmp_path: os.PathLike[str]
):
    token, work = issue(cli), os.path.join(tmp_path, "work")
    with Player(home, work, POSTROOM_TOKEN=token) as player:
        player.hook("SessionStart", source="startup")
        assert player.name == "worker"
        with Player(home, work, "s2", POSTROOM_TOKEN=token) as second:
            told = second.hook("SessionStart", source="startup")
            assert "p/worker was asked for (POSTROOM_TOKEN), but claude in" in told.out
