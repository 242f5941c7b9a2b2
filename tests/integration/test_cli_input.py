"""Bad input: a clear error with the right exit code, nothing stored, never a traceback."""

import os
import re

import pytest

from postroom.config import Settings
from tests.commandline import CommandLine, is_told_well

LIMIT = Settings().max_body_bytes


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "builder")
    return cli


def refused(cli: CommandLine, *options: str, body: str = "hello", code: int = 2, stdin: bytes = b"") -> str:
    """A send that is refused, well told, and stores nothing; what was said."""
    result = cli("send", "builder", body, "--as", "planner", *options, stdin=stdin)
    assert (result.code, result.out) == (code, "")
    assert is_told_well(result)
    assert len(result.err.splitlines()) == 2, "it says what to do next"
    assert cli.ok("inbox", "--as", "builder", "--json").json == {"messages": []}
    return result.err


def test_an_empty_body(cli: CommandLine):
    assert "the body is empty" in refused(cli, body="")
    assert "the body is empty" in refused(cli, body="-")
    assert cli("send", "builder", "--as", "planner").code == 2
    cli.ok("send", "builder", "--as", "planner", "--subject", "a subject is enough")
    cli.ok("send", "builder", "--as", "planner", "--payload", '{"so": "is a payload"}')


def test_a_body_of_ten_megabytes(cli: CommandLine):
    assert f"more than {LIMIT:,} bytes" in refused(cli, body="-", stdin=b"x" * 10_000_000)


def test_a_body_just_within_the_limit_and_just_beyond(cli: CommandLine):
    cli.ok("send", "builder", "-", "--as", "planner", stdin=b"x" * LIMIT + b"\n")
    assert len(cli.ok("read", "--as", "builder", "--json").json["body"]) == LIMIT
    assert "limit" in refused(cli, body="-", stdin=b"x" * (LIMIT + 1))


def test_a_body_that_is_not_utf8(cli: CommandLine):
    assert "not valid UTF-8 (byte 2)" in refused(cli, body="-", stdin=b"ab\xff\xfe")
    assert "not valid UTF-8" in refused(cli, body="ab\udcff")


def test_arguments_that_are_not_utf8(cli: CommandLine):
    for call in (
        ["send", b"build\xff", b"hi", b"--as", b"planner"],
        ["send", "builder", b"hi \xff", "--as", "planner"],
        ["send", "builder", "hi", "--as", b"\xff"],
        ["send", "builder", "hi", "--as", "planner", "--subject", b"\xff"],
        ["join", "x", "--description", b"\xff"],
        ["join", "x", "--capability", b"\xff"],
        ["read", b"\xff\xff", "--as", "builder"],
        ["status", "--home", b"/tmp/\xff"],
        ["agents", "--project", b"\xff"],
        [b"se\xffnd"],
    ):
        result = cli.process(*call)
        assert result.code == 2, (call, result)
        assert is_told_well(result), (call, result)


def test_nul_bytes(cli: CommandLine):
    assert "NUL" in refused(cli, body="-", stdin=b"a\0b")
    assert "NUL" in refused(cli, "--subject", "a\0b")
    assert cli("join", "x", "--description", "a\0b").code == 2
    assert cli("nack", "5f0c9a1e", "--reason", "a\0b", "--as", "builder").code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": -Infinity}', "-Infinity is no JSON number"),
        ("[1, 2]", "must be a JSON object, not a list"),
        ('"text"', "not a string"),
        ("null", "not null"),
        ("true", "not true or false"),
        ("12", "not a number"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ('{"a": "\\ud800"}', "cannot be written as JSON"),
        ('{"a": 1e999}', "cannot be written as JSON"),
        ('{"a": "' + "x" * 300_000 + '"}', "the limit is 262,144"),
    ],
)
def test_a_bad_payload(cli: CommandLine, text: str, said: str):
    assert said in refused(cli, "--payload", text)
    assert refused(cli, "--metadata", text)


@pytest.mark.parametrize("priority", ["", "-1", "9999999999", "very", "urgent!", "0", "haute\n"])
def test_an_absurd_priority(cli: CommandLine, priority: str):
    assert "priority must be urgent, high, normal or low" in refused(cli, f"--priority={priority}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "-5s",
        "1e400",
        "nan",
        "inf",
        "5 parsecs",
        "1_000",
        "٣s",
        "99999999999d",
        "--",
        "1:30",
        "0x10",
    ],
)
def test_an_absurd_span(cli: CommandLine, text: str):
    assert refused(cli, f"--expires={text}")
    assert refused(cli, "--wait", "seen", f"--timeout={text}")
    result = cli("wait", "--as", "builder", f"--timeout={text}")
    assert result.code == 2
    assert is_told_well(result)


@pytest.mark.parametrize(
    "text", ["2020-01-01", "2020-01-01T00:00:00Z", "2999-13-45", "99999-01-01", "20200101"]
)
def test_a_moment_that_is_none_or_has_passed(cli: CommandLine, text: str):
    assert refused(cli, f"--after={text}")


def test_a_hint_names_a_moment_only_where_one_may_be_given(cli: CommandLine):
    assert "a moment like" in refused(cli, "--after", "soon")
    result = cli("wait", "--as", "builder", "--timeout", "2026-12-01")
    assert result.err.endswith("  Write a span like 90s, 10m, 2h or 1d.\n")


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize(
    "text", ["2020-01-01T10:00", "00:00", "10m", "soon", "", "25:00", "2026-02-30", "-1"]
)
def test_a_schedule_in_the_past_or_by_no_clock(cli: CommandLine, text: str):
    assert refused(cli, f"--at={text}")


@pytest.mark.parametrize("option", ["--at", "--after", "--expires"])
def test_a_moment_that_has_passed_is_told_with_what_time_it_is(cli: CommandLine, option: str):
    told = refused(cli, option, "2020-01-01T10:00")
    assert re.search(r"lies in the past: it is 20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)? now\n", told)
    example = re.search(r"a moment like (\S+?)[.,]", told)
    assert example is not None
    cli.ok("send", "builder", "later", "--as", "planner", option, example[1])


def test_a_schedule_given_twice(cli: CommandLine):
    assert "Give one of them." in refused(cli, "--at", "2199-01-01", "--after", "10m")


def test_moments_and_spans_that_make_sense(cli: CommandLine):
    for text in ("90", "90s", "1.5h", "2d", "10 min", "2099-01-01T00:00Z", "2199-12-31 23:59", "21991231"):
        cli.ok("send", "builder", "hello", "--as", "planner", "--after", text)
    assert (
        "before it could be delivered"
        in cli("send", "builder", "x", "--as", "planner", "--after", "2h", "--expires", "1h").err
    )


@pytest.mark.parametrize(
    "ref",
    ["", "x", "5f0c9a1", "5F0C9A1E-", "00000000-0000-0000-0000-00000000000g", "../../etc", "a" * 5000, "★"],
)
def test_an_id_that_is_none(cli: CommandLine, ref: str):
    for call in (
        "ack",
        "nack --reason x",
        "read",
        "reply",
        "receipts",
        "thread",
        "withdraw",
        "dead show",
        "redact",
    ):
        result = cli(*call.split(), ref or " ", "--as", "builder")
        assert result.code == 2, (call, result)
        assert is_told_well(result), call
    assert refused(cli, f"--thread={ref}", code=3)


def test_an_id_nobody_has(cli: CommandLine):
    for call in (["ack"], ["read"], ["receipts"], ["thread"], ["withdraw"], ["redact"]):
        result = cli(*call, "00000000", "--as", "builder")
        assert result.code == 3, call
        assert is_told_well(result), call


def test_somebody_elses_message(cli: CommandLine):
    cli.ok("join", "reviewer")
    message = cli.sent("builder", "for your eyes only")
    for call in (
        ["read", message],
        ["ack", message],
        ["reply", message, "x"],
        ["nack", message, "--reason", "x"],
    ):
        assert cli(*call, "--as", "reviewer").code == 3, call


@pytest.mark.parametrize(
    "address", ["", "a b", "Ω", "a/b/c", "/", ".", "a..b", "-x", "x" * 65, "postroom", "@", "topic:", "one:"]
)
def test_an_address_that_is_none(cli: CommandLine, address: str):
    for call in (["send", "--", address, "hi"], ["join", "--", address]):
        result = cli("--as", "planner", *call)
        assert result.code in (2, 3), (call, result)
        assert is_told_well(result), (call, result)


def test_an_unknown_recipient_stores_nothing(cli: CommandLine):
    result = cli("send", "nobody-at-all", "hello", "--as", "planner")
    assert result.code == 3
    assert is_told_well(result)
    assert [agent["name"] for agent in cli.ok("agents", "--json").json["agents"]] == ["builder"], (
        "nor the sender"
    )


def test_lines_that_are_too_long_or_too_many(cli: CommandLine):
    assert "subject must be one line" in refused(cli, "--subject", "a\nb")
    assert "longer than" in refused(cli, "--subject", "x" * 5000)
    assert "longer than" in refused(cli, "--key", "x" * 5000)
    assert "type is empty" in refused(cli, "--type", "")
    assert "class must be one of" in refused(cli, "--class", "first")


# homes


def test_a_home_that_is_a_file(cli: CommandLine, tmp_path: os.PathLike[str]):
    path = os.path.join(tmp_path, "file")
    with open(path, "w", encoding="utf-8") as file:
        file.write("not a room")
    for call in (["join", "x"], ["inbox", "--as", "x"], ["status"], ["send", "x", "y", "--as", "z"]):
        result = cli(*call, "--home", path)
        assert result.code == 2, (call, result)
        assert "is a file, not a directory" in result.err
        inside = cli(*call, "--home", os.path.join(path, "deeper"))
        assert inside.code in (1, 3), (call, inside)
        assert is_told_well(inside), (call, inside)


def test_a_store_that_is_no_store(cli: CommandLine, tmp_path: os.PathLike[str]):
    with open(os.path.join(tmp_path, "room.db"), "w", encoding="utf-8") as file:
        file.write("this is not SQLite\n" * 100)
    for call in (["join", "x"], ["agents"], ["status"]):
        result = cli(*call, "--home", str(tmp_path))
        assert result.code == 1, (call, result)
        assert "is damaged, or is not a room" in result.err


def test_settings_that_make_no_sense(cli: CommandLine):
    for value in ("sometimes", ""):
        assert cli("agents", env={"POSTROOM_DURABILITY": value}).code == 2
    wrong = cli("agents", env={"POSTROOM_BUSY_SECONDS": "soon"})
    assert wrong.code == 2
    assert wrong.err.endswith("See: postroom help settings\n")
    assert (
        "busy_seconds must be a number"
        in cli.ok("help", "settings", env={"POSTROOM_BUSY_SECONDS": "soon"}).out
    )
    with open(os.path.join(cli.home, "config.toml"), "w", encoding="utf-8") as file:
        file.write("durability = [")
    result = cli("agents")
    assert result.code == 2
    assert is_told_well(result)
