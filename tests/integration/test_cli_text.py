"""What the command line makes of moments, messages and failures, in words and in JSON."""

import sqlite3
import sys
import time

import pytest

from postroom.cli import fault, letter, moment
from postroom.cli.context import Context
from postroom.cli.parser import Parser
from postroom.clock import wall
from postroom.errors import NoRoom, PostroomError, StoreBusy, TimedOut, UsageError
from tests.commandline import CommandLine


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner")
    cli.ok("join", "builder")
    return cli


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (12, "12 s"), (300, "5 min"), (7200, "2 h"), (200_000, "2 d"), (-50, "now")],
)
def test_ages(seconds: int, said: str):
    assert moment.age(wall() - seconds * 1000 - 500) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0034, "3 ms"), (1.0, "1 s"), (1.25, "1.2 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d")],
)
def test_lengths(seconds: float, said: str):
    assert moment.long(seconds) == said


def test_a_time_of_another_day_carries_its_date():
    assert moment.clock(None) == ""
    assert len(moment.clock(wall())) == len("12:34:56")
    then = 1_000_000_000_000
    assert moment.clock(then) == time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(then // 1000))


def test_a_failure_has_the_exit_code_of_its_kind():
    assert [fault.exit_code(kind()) for kind in (PostroomError, UsageError, NoRoom, TimedOut, StoreBusy)] == [
        1,
        2,
        3,
        4,
        1,
    ]


def test_what_the_system_or_the_driver_says_is_told_in_our_words(capsys: pytest.CaptureFixture[str]):
    assert fault.tell(PermissionError(13, "Permission denied", "/some/where"), as_json=False) == 1
    assert fault.tell(OSError("odd"), as_json=False) == 1
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = 5
    assert fault.tell(error, as_json=True) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "postroom: /some/where: Permission denied"
    assert said[2] == "postroom: odd"
    assert '"error": "store_busy"' in said[-1]


def test_a_failure_is_silent_when_nobody_can_hear_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert fault.tell(UsageError("x"), as_json=False) == 2


def test_a_message_is_summed_up_in_a_line(cli: CommandLine):
    cli.sent("builder", "", "--payload", '{"task_id": "T-1"}')
    cli.sent("builder", "\n\n  first line\nsecond", "--priority", "urgent")
    lines = cli.ok("inbox", "--as", "builder").out.splitlines()
    assert lines[1].endswith("urgent: first line")
    assert lines[2].endswith('{"task_id": "T-1"}')


def test_a_message_shows_all_its_parts(cli: CommandLine):
    cli.sent("builder", "", "--subject", "Only a subject", "--requires-ack")
    shown = cli.ok("read", "--as", "builder").out
    assert "Subject: Only a subject" in shown
    assert "The sender asks for an acknowledgement." in shown
    first = cli.sent("builder", "hello")
    cli.ok("send", "planner", "hi", "--reply-to", first, "--payload", '{"a": "ü"}', "--as", "builder")
    shown = cli.ok("read", "--as", "planner").out
    assert f"In reply to {first[-8:]}" in shown
    assert 'Payload: {"a": "ü"}' in shown


def test_notes_go_nowhere_when_standard_error_is_closed(monkeypatch: pytest.MonkeyPatch):
    parser = Parser("inbox")
    parser.add_everywhere()
    context = Context(parser.read([]))
    monkeypatch.setattr(sys, "stderr", None)
    context.note("nobody hears this")


def test_letters_are_listed_even_when_wide(cli: CommandLine):
    cli.sent("builder", "日本語 " * 60)
    out = cli.ok("inbox", "--as", "builder").out
    assert "…" in out
    assert letter.SHOWN_BEFORE not in out


@pytest.mark.parametrize(
    "call",
    [
        "ack ID --as builder",
        "nack ID --reason x --as builder",
        "reply ID x --as builder",
        "withdraw ID --as planner",
        "redact ID --yes",
        "leave builder",
        "join builder",
        "rename maker-VOICE --as builder",
        "journal",
        "prune --before 1d --yes",
        "projects delete p --yes",
    ],
)
def test_every_change_can_be_had_in_json_in_words_and_in_silence(cli: CommandLine, call: str):
    def answer(voice: str) -> str:
        cli.ok("join", "builder")
        message = cli.sent("builder", "hello")
        words = call.replace("ID", message).replace("VOICE", voice.strip("-") or "words").split()
        return cli.ok(*words, *voice.split()).out

    assert answer("--json").startswith("{")
    assert answer("").endswith("\n")
    assert answer("--quiet") == "" or "reply" in call, "the id is data"


def test_what_is_waited_for_can_be_asked_in_json(cli: CommandLine):
    with cli.start(
        "ask", "builder", "which?", "--as", "planner", "--json", "--thread", cli.sent("builder", "x")
    ) as asker:
        cli.ok("read", "--as", "builder")
        [mail] = cli.ok("wait", "--as", "builder", "--json").json["messages"]
        cli.ok("reply", mail["id"], "", "--payload", '{"it": "this"}', "--as", "builder")
        out, _ = asker.communicate(timeout=30)
    assert b'"it": "this"' in out
    with cli.start("ask", "builder", "which?", "--as", "planner") as asker:
        [mail] = cli.ok("wait", "--as", "builder", "--json").json["messages"]
        cli.ok("reply", mail["id"], "", "--payload", '{"it": "this"}', "--as", "builder")
        out, _ = asker.communicate(timeout=30)
    assert out == b'{"it": "this"}\n'
