"""The command line against a room elsewhere: the same commands, by its address and a token."""

import os
from collections.abc import Callable, Iterator

import pytest

from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, Result, is_told_well
from tests.served import Served, served

As = Callable[..., Result]


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    room.join("human:ana")
    with served(room) as found:
        yield found


@pytest.fixture
def run(web: Served, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> As:
    """`run("planner", "send", …)`: as somebody who has nothing of the room but a token."""
    monkeypatch.chdir(tmp_path)
    tokens = {name: web.token(name) for name in ("planner", "builder", "human:ana")}

    def command(who: str, *argv: str, code: int = 0) -> Result:
        result = CommandLine(web.url)(*argv, env={"POSTROOM_TOKEN": tokens[who]})
        assert result.code == code, result
        assert os.listdir(tmp_path) in ([], ["home"], ["home", "home-hooks"], ["home-hooks", "home"])
        return result

    return command


def test_mail_goes_there_and_back(run: As, web: Served):
    sent = run("planner", "send", "builder", "over http", "--json").json
    assert sent["deliveries"][0]["state"] == "stored"
    [waiting] = run("builder", "inbox", "--json").json["messages"]
    assert waiting["id"] == sent["id"]
    assert "over http" in run("builder", "read").out
    assert web.room.receipts(sent["id"]).deliveries[0].state is State.SEEN
    assert "sent" in run("builder", "reply", sent["id"], "done").out
    assert "● acked" in run("planner", "receipts", sent["id"]).out
    assert [one["body"] for one in run("planner", "thread", sent["id"], "--json").json["messages"]] == [
        "over http",
        "done",
    ]
    assert "done" in run("planner", "wait", "--timeout", "20s").out


@pytest.mark.parametrize(
    "argv",
    [["sent"], ["threads"], ["search", "hi"], ["agents"], ["groups"], ["topics"],
     ["topics", "subscribe", "news"],
     ["gates"], ["mute", "1h"], ["projects"], ["log"], ["idle"], ["join", "planner.kid"], ["read", "--all"]],
)  # fmt: skip
def test_what_an_agent_may_do_it_does_from_anywhere(run: As, argv: list[str]):
    run("builder", "send", "planner", "hi")
    assert not run("planner", *argv).err.startswith("postroom:")
    run("planner", *argv, "--json")


@pytest.mark.parametrize(
    "argv",
    [["stats"], ["dead"], ["status"], ["interrupt", "builder"], ["resume", "builder"], ["log", "builder"]],
)
def test_what_a_person_may_do_they_do_from_anywhere(run: As, argv: list[str]):
    run("planner", "send", "builder", "hi")
    assert not run("human:ana", *argv).err.startswith("postroom:")
    assert run("human:ana", *argv, "--json").out


def test_a_refusal_is_told_as_it_is_at_home(run: As):
    refused = run("planner", "send", "nobody", "x", code=3)
    assert is_told_well(refused)
    assert run("planner", "send", "builder", "x", "--as", "builder", code=5).err.startswith(
        "postroom: you are"
    )
    assert "scope" in run("planner", "stats", code=5).err


@pytest.mark.parametrize(
    "argv", [["verify"], ["tokens"], ["tokens", "issue", "planner"], ["backup", "x"], ["up"], ["down"],
             ["dashboard", "--no-open"], ["prune", "--before", "1d", "--yes"], ["spawn", "x", "--", "cat"],
             ["journal", "sync"], ["redact", "00000000"], ["watch"], ["adopt"], ["routes"], ["types"],
             ["setup", "claude"]],
)  # fmt: skip
def test_what_needs_the_rooms_own_files_is_refused_and_makes_none(run: As, web: Served, argv: list[str]):
    result = CommandLine(web.url)(*argv, env={"POSTROOM_TOKEN": web.token("human:ana")})
    assert result.code in (1, 2, 3, 5), result
    assert is_told_well(result), result
    run("planner", "sent")


def test_an_address_at_which_nobody_answers_is_told_as_that():
    result = CommandLine("http://127.0.0.1:9")("inbox", env={"POSTROOM_TOKEN": "x"})
    assert result.code == 1
    assert is_told_well(result)
