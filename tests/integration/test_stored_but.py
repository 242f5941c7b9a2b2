"""What is stored although something after it fails: the exit code is 6, and the error has the id."""

import argparse
import json
import os
import sqlite3
import threading
from typing import Any

import pytest

from postroom import errors
from postroom.cli import context
from postroom.room import blob, file, unit
from postroom.room.local import LocalRoom
from tests.attached import MakeFile
from tests.commandline import CommandLine
from tests.conftest import OpenRoom
from tests.process import BOUND
from tests.served import served

pytestmark = pytest.mark.promise("stored-but")
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="NOT TESTED HERE: no /dev/full")
EXIT = 6


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner")
    cli.ok("join", "builder")
    return cli


def sent(cli: CommandLine, *options: str) -> str:
    return cli.ok("send", "builder", "hello", "--as", "planner", "--json", *options).json["id"]


def waiting(cli: CommandLine, name: str = "builder") -> list[str]:
    return [one["id"] for one in cli.ok("inbox", "--json", "--as", name).json["messages"]]


def lost(cli: CommandLine, command: str, where: str = ">/dev/full") -> dict[str, Any]:
    """What a command says on standard error whose output nobody takes."""
    result = cli.shell(f"postroom {command} --json {where}")
    assert result.code == EXIT, result.err
    said = json.loads(result.err.splitlines()[-1])
    assert said["error"] == "stored_but"
    assert said["hint"]
    return said


@full
def test_an_answer_that_could_not_be_shown_is_named(cli: CommandLine, open_room: OpenRoom):
    """It counts as seen, so the inbox does not have it any more."""
    room = open_room("builder")

    def answer() -> None:
        [asked] = room.wait("builder", timeout=BOUND)
        room.reply(asked.id, "4711", agent="builder")

    answering = threading.Thread(target=answer)
    answering.start()
    result = cli.shell("postroom ask builder 'Which port?' --as planner --timeout 30s >/dev/full")
    answering.join()
    [(reply, _)] = room.sent("builder")
    assert (result.code, f"is answered with {reply.handle}" in result.err) == (6, True), result


@full
@pytest.mark.parametrize(
    "options", ["", "--attach pyproject.toml", "--wait stored", "--quiet", "--type broadcast"]
)
def test_a_message_whose_answer_nobody_takes_is_stored_and_says_so_with_its_id(
    cli: CommandLine, options: str
):
    command = f"send builder hello --as planner {options}"
    if "broadcast" in options:
        command = f"send hello --as planner {options}"
    said = lost(cli, command)
    assert waiting(cli) == [said["id"]]
    assert "No space left on device" in said["message"]


@full
def test_in_words_it_names_the_message_and_the_next_command(cli: CommandLine):
    result = cli.shell("postroom send builder hello --as planner >/dev/full")
    [id] = waiting(cli)
    assert (result.code, result.out) == (EXIT, "")
    assert f"message {id[-8:]} is stored, but" in result.err
    assert f"postroom receipts {id[-8:]}" in result.err


@full
@pytest.mark.parametrize(
    ("act", "state"),
    [("ack {} --as builder", "acked"), ("nack {} --reason no --as builder", "bounced"),
     ("withdraw {} --as planner", "withdrawn"), ("reply {} yes --as builder", "acked")],
)  # fmt: skip
def test_what_is_done_with_a_message_is_done_and_says_so(cli: CommandLine, act: str, state: str):
    id = sent(cli)
    said = lost(cli, act.format(id))
    words = {"acked": "acknowledged", "bounced": "refused", "withdrawn": "withdrawn"}
    if not act.startswith("reply"):
        assert said["message"].startswith(f"message {id[-8:]} is {words[state]}, but ")
    document = cli.ok("receipts", id, "--json", "--as", "planner").json
    assert document["deliveries"][0]["state"] == state
    assert said["id"] == (waiting(cli, "planner")[0] if act.startswith("reply") else id)


@full
def test_a_decision_that_nobody_hears_of_is_made(cli: CommandLine):
    gate = sent(cli, "--type", "decision_gate", "--payload", '{"question": "?", "options": ["yes", "no"]}')
    said = lost(cli, f"decide {gate} yes --as builder")
    assert waiting(cli, "planner") == [said["id"]]


@full
@pytest.mark.parametrize(
    "command", ["join reviewer", "rename smith --as builder", "mute 1h --as builder", "leave --as builder"]
)
def test_what_is_about_no_message_says_that_it_is_done(cli: CommandLine, command: str):
    assert "the change is stored, but" in lost(cli, command)["message"]


@full
def test_a_token_that_nobody_got_is_issued(cli: CommandLine):
    assert "a token of builder is issued, but" in lost(cli, "tokens issue builder")["message"]


@full
@pytest.mark.parametrize(
    "command", ["inbox --as builder", "receipts {}", "agents", "read --as builder", "thread {}"]
)
def test_what_only_looks_or_gives_back_what_it_took_fails_as_before(cli: CommandLine, command: str):
    id = sent(cli)
    result = cli.shell(f"postroom {command.format(id)} >/dev/full")
    assert result.code == 1
    assert waiting(cli) == [id]


@full
def test_what_is_refused_for_now_is_said_in_words(cli: CommandLine):
    id = sent(cli)
    said = lost(cli, f"nack {id} --reason no --retry-after 5m --as builder")
    assert said["message"].startswith(f"message {id[-8:]} is refused for now, but ")
    assert said["hint"] == f"Do not repeat the command. See: postroom receipts {id[-8:]}"


@full
def test_a_decision_is_said_in_words(cli: CommandLine):
    gate = sent(cli, "--type", "decision_gate", "--payload", '{"question": "?", "options": ["yes", "no"]}')
    assert " is gate decided" not in lost(cli, f"decide {gate} yes --as builder")["message"]


@pytest.mark.parametrize("command", ["inbox", "read", "agents"])
def test_a_command_that_changes_nothing_never_says_that_it_did(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
):
    """The room may have something to write before it looks: here a hook has pushed mail."""

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    looked = context.Context.room

    def room(self: context.Context, **options: Any) -> LocalRoom:
        found = looked(self, **options)
        with found.write() as tx:
            tx.append("agent.pushed", found.who("planner").id, payload={"what": "mail"})
        return found

    sent(cli)
    monkeypatch.setattr(context.Context, "room", room)
    monkeypatch.setattr("postroom.cli.output.Output.write", broken)
    assert cli(command, "--as", "builder").code == 1


def test_only_a_command_that_makes_one_change_remembers_what_it_stored(home: str, cli: CommandLine):
    """A command that runs for days must not remember each event."""
    seen = list[Any]()
    for name in ("send", "join", "mcp", "wait", "import", "up", "dashboard", "read"):
        args = argparse.Namespace(home=home, project=None, caller=None)
        found = context.Context(args, name).room()
        seen.append((name, found.committed is not None))
        found.close()
    assert [name for name, is_noted in seen if is_noted] == ["send", "join"]


def test_a_client_over_http_is_not_told_to_try_again(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(24, "Too many open files")

    with served(room) as web:
        token = web.token("planner")
        monkeypatch.setattr(unit.Unit, "_ring", fail)
        answer = web.post("/messages", {"to": "builder", "body": "hello"}, token=token)
        monkeypatch.undo()
        assert (answer.status, answer.json["error"]) == (424, "stored_but")
        assert [mail.id for mail in room.peek("builder")] == [answer.json["id"]]


def test_a_reader_that_is_gone_is_no_reason_to_send_again(cli: CommandLine):
    result = cli.shell(
        "exec 3>&1; { { postroom send builder hello --as planner 2>&4; echo $? >&3; } | head -c 0; } 4>&2"
    )
    assert result.out.strip() in ("0", str(EXIT))  # whether it was there still is chance
    [id] = waiting(cli)
    assert result.out.strip() == "0" or id[-8:] in result.err


def test_a_pipe_without_a_reader_is_told_by_code_and_id(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("postroom.cli.output.Output.write", broken)
    result = cli("send", "builder", "hello", "--as", "planner", "--json")
    monkeypatch.undo()
    assert result.code == EXIT
    assert waiting(cli) == [result.error["id"]]


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files of attachments cannot be removed."""
    remove = file.remove

    def refuse(path: str) -> None:
        if os.path.exists(path) and os.sep + "blobs" + os.sep in path:
            raise OSError(5, "Input/output error", path)
        remove(path)

    monkeypatch.setattr(blob.file, "remove", refuse)


def test_a_temporary_file_that_stays_does_not_make_its_message_fail(
    room: LocalRoom, stuck: None, make: MakeFile
):
    room.send("builder", "one", attachments=[make("a.txt")])  # what takes its place is not removed
    with pytest.raises(errors.StoredBut) as caught:
        room.send("builder", "two", attachments=[make("b.txt")])  # the same content, so it is
    [_, stored] = room.peek("builder")
    assert (caught.value.id, stored.body) == (stored.id, "two")
    with pytest.raises(errors.StoredBut) as caught:
        room.reply(stored.id, "three", agent="builder", attachments=[make("c.txt")])
    assert room.peek("planner")[0].id == caught.value.id


def test_by_the_command_too(cli: CommandLine, stuck: None, make: MakeFile):
    sent(cli, "--attach", make("a.txt"))
    result = cli("send", "builder", "two", "--as", "planner", "--json", "--attach", make("b.txt"))
    assert result.code == EXIT
    assert waiting(cli)[1] == result.error["id"]


def test_what_was_not_stored_is_not_said_to_be(room: LocalRoom, stuck: None, make: MakeFile):
    room.send("builder", "one", attachments=[make("a.txt")])
    with pytest.raises(errors.UnknownRecipient):
        room.send("nobody", "two", attachments=[make("b.txt")])


@pytest.mark.parametrize("failure", [OSError(24, "Too many open files"), sqlite3.OperationalError("no")])
@pytest.mark.parametrize("act", ["send", "reply", "ack"])
def test_a_failure_after_the_commit_has_the_id(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch, failure: Exception, act: str
):
    first = room.send("builder", "one")

    def fail(*_: Any, **__: Any) -> None:
        raise failure

    monkeypatch.setattr(unit.Unit, "_ring", fail)
    acts = {
        "send": lambda: room.send("builder", "two"),
        "reply": lambda: room.reply(first.id, "two", agent="builder"),
        "ack": lambda: room.ack(first.id, agent="builder"),
    }
    with pytest.raises(errors.StoredBut) as caught:
        acts[act]()
    monkeypatch.undo()
    stored = {"send": lambda: room.peek("builder")[1].id, "reply": lambda: room.peek("planner")[0].id}
    assert caught.value.id == (stored[act]() if act in stored else "")
    assert caught.value.hint


def test_a_server_whose_answer_fails_after_the_store_says_so_with_the_id(
    room: LocalRoom, open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch
):
    import postroom

    with served(room) as web, postroom.open(web.url, token=web.token("planner")) as elsewhere:

        def fail(*_: Any, **__: Any) -> None:
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(unit.Unit, "_ring", fail)
        with pytest.raises(errors.StoredBut) as caught:
            elsewhere.send("builder", "hello")
        monkeypatch.undo()
        [stored] = room.peek("builder")
        assert caught.value.id == stored.id


def test_what_is_done_elsewhere_and_cannot_be_told_has_its_id(
    room: LocalRoom, home: str, monkeypatch: pytest.MonkeyPatch
):
    with served(room) as web:
        monkeypatch.setenv("POSTROOM_TOKEN", web.token("planner"))
        away = CommandLine(web.url)

        def broken(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("postroom.cli.output.Output.write", broken)
        result = away("send", "builder", "hello", "--json")
        assert result.code == EXIT
        assert [mail.id for mail in room.peek("builder")] == [result.error["id"]]
