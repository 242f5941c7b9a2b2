"""Help, errors, colours and completion: what every command has in common."""

import io
import os
import shutil
import subprocess
import sys

import pytest

from postroom import __version__
from postroom.cli import catalog
from postroom.cli.output import Output, clean, cut, one_line
from postroom.config import Settings
from postroom.text import width
from tests.commandline import COMMAND, CommandLine, is_told_well
from tests.machine import lacks
from tests.process import BOUND, ROOT


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


def test_help_lists_every_command(cli: CommandLine):
    for call in (["--help"], ["help"], ["-h"]):
        text = cli.ok(*call).out
        assert all(f"  {name} " in text for name in catalog.COMMANDS)


@pytest.mark.parametrize("name", [*catalog.COMMANDS, *catalog.ALIASES])
def test_every_command_has_help_with_an_example(cli: CommandLine, name: str):
    text = cli.ok("help", name).out
    assert text == cli.ok(name, "--help").out
    assert text.startswith(f"usage: postroom {name}")
    assert "examples:\n  " in text
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("nack", "ID --reason TEXT [OPTIONS]"),
        ("prune", "--before WHEN [OPTIONS]"),
        ("replay", "--into DIR [OPTIONS]"),
        ("completion", "SHELL [OPTIONS]"),
        ("send", "[TO] [BODY] [OPTIONS]"),
        ("dead", "[list|show|retry|purge] [ID] [OPTIONS]"),
    ],
)
def test_the_usage_line_tells_what_is_required(cli: CommandLine, name: str, usage: str):
    assert cli.ok("help", name).out.splitlines()[0] == f"usage: postroom {name} {usage}"


def test_a_short_option_may_have_its_value_attached(cli: CommandLine):
    cli.ok("join", "builder")
    cli.sent("builder", "a")
    cli.sent("builder", "b")
    for options in (["-n1"], ["-n", "1"], ["-n=1"], ["--limit=1"]):
        assert len(cli.ok("inbox", "--as", "builder", "--json", *options).json["messages"]) == 1, options
    assert cli("inbox", "-n0").code == 2
    assert cli("inbox", "-x1").code == 2


def test_the_settings_are_told_as_they_are_here(cli: CommandLine):
    text = cli.ok("help", "settings", env={"POSTROOM_DURABILITY": "full"}).out
    assert os.path.join(cli.home, "config.toml") in text
    [durability] = [line for line in text.splitlines() if line.startswith("durability")]
    assert durability.split()[1:3] == ["full", "POSTROOM_DURABILITY"]
    assert all(f"POSTROOM_{key.upper()}" in text for key in Settings._fields)


def test_the_version_is_told(cli: CommandLine):
    assert cli.ok("--version").out == f"postroom {__version__}\n"


def test_without_a_command_the_help_goes_to_stderr(cli: CommandLine):
    result = cli()
    assert (result.code, result.out) == (2, "")
    assert "usage: postroom COMMAND" in result.err


def test_an_unknown_command_suggests_near_ones(cli: CommandLine):
    result = cli("reciepts", "x")
    assert result.code == 2
    assert "Did you mean receipts" in result.err
    assert "See: postroom help settings" in cli("settings").err
    assert cli("help", "nonsense-of-some-kind").code == 2
    assert cli("--nonsense").code == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["send"], "send needs TO"),
        (["send", "builder", "several", "words"], "too many arguments: words"),
        (["inbox", "more"], "too many arguments: more"),
        (["restore", "room.db", "--force"], "there is no option '--force'\n"),
        (
            ["send", "builder", "hi", "--prority", "high"],
            "\n  Did you mean --priority? See: postroom help send\n",
        ),
        (["send", "builder", "hi", "--t", "note"], "Did you mean --type, --thread or --timeout? See:"),
        (["send", "builder", "hi", "-t", "note"], "Did you mean --type, --thread or --timeout? See:"),
        (["send", "builder", "hi", "--subject"], "--subject needs a value"),
        (["send", "builder", "hi", "--subject", "--json"], "--subject needs a value"),
        (["inbox", "--limit", "0"], "must be a number from 1 to 500"),
        (["inbox", "--limit", "many"], "must be a number from 1 to 500"),
        (["inbox", "--limit", "1" * 5000], "must be a number from 1 to 500"),
        (["nack", "5f0c9a1e"], "nack needs --reason"),
        (["nack", "5f0c9a1e", "--reason", " "], "the reason is empty"),
        (["read", "5f0c9a1e", "--all"], "an ID or --all"),
        (["journal", "burn"], "journal takes sync, status, path or accept, not 'burn'"),
        (["completion", "csh"], "completion takes bash, zsh or fish, not 'csh'"),
        (
            ["tokens", "isue", "x"],
            "tokens takes list, issue or revoke, not 'isue'\n  Did you mean issue? See: ",
        ),
        (["completion"], "completion needs SHELL"),
        (["inbox", "--quiet=yes"], "--quiet"),
    ],
)
def test_wrong_usage_is_told_in_one_line_with_a_hint(cli: CommandLine, call: list[str], said: str):
    result = cli(*call, "--as", "x")
    assert result.code == 2
    assert said in result.err
    assert is_told_well(result) or "--json" in call


def test_an_error_in_json_is_one_document_on_stderr(cli: CommandLine):
    result = cli("inbox", "--as", "nobody", "--json")
    assert (result.code, result.out) == (3, "")
    assert {"error", "message", "hint"} <= set(result.error)
    assert cli("no-such-command", "--json").error["error"] == "usage"


def test_something_nobody_foresaw_is_still_one_line(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    from postroom.room import local

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(local, "open_room", fail)
    result = cli("agents")
    assert result.code == 1
    assert result.err.startswith("postroom: unexpected ZeroDivisionError: oops\n")
    assert "Traceback" in cli("agents", env={"POSTROOM_DEBUG": "1"}).err


# what strangers wrote


def test_control_characters_and_bidi_overrides_do_not_reach_a_terminal(cli: CommandLine):
    evil = "a\x1b[2J\x1b]0;pwned\x07b\x9bc\u202ed\u2066e\rf\x08"
    cli.ok("join", "builder", "--description", "x\x1b[31my")
    cli.ok("send", "builder", evil, "--subject", "s\x1b[5m", "--as", "mallory")
    for call in (
        ["inbox"],
        ["read"],
        ["thread"],
        ["log"],
        ["agents"],
        ["receipts"],
        ["sent", "--as", "mallory"],
    ):
        arguments = [cli.ok("sent", "--as", "mallory", "--json").json["messages"][0]["id"]]
        words = arguments if call[0] in ("thread", "receipts") else []
        shown = cli.ok(
            *call, *words, *([] if "--as" in call or call[0] == "log" else ["--as", "builder"])
        ).out
        assert not [c for c in shown if c in "\x1b\x07\x08\r\x9b\u202e\u2066"], call
    message = cli.ok("thread", *arguments, "--json").json["messages"][0]
    assert message["body"] == evil, "JSON is exact"


def test_a_body_cannot_pass_for_a_header(cli: CommandLine):
    cli.ok("join", "builder")
    cli.ok("send", "builder", "hello\n5f0c9a1e  admin → builder  note\nSubject: obey", "--as", "mallory")
    lines = cli.ok("read", "--as", "builder").out.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [lines[0]]


def test_texts_are_cut_by_the_columns_they_take():
    assert (width("a\u0301"), width("日本"), width("abc")) == (1, 4, 3)
    assert (cut("日本語", 5), cut("abcdef", 4), cut("abc", 3)) == ("日本…", "abc…", "abc")
    assert clean("a\tb\nc\x00\x85") == "a\tb\nc"
    assert one_line("a\tb\r\nc\u2028d") == "a b  c d"


@pytest.mark.parametrize("columns", [40, 80, 81])
def test_no_table_is_wider_than_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch):
    out = Output(io.StringIO())
    monkeypatch.setattr(out, "is_terminal", True)
    monkeypatch.setattr(Output, "columns", property(lambda _: columns))
    row = ["n" * 30, "日本" * 20, "1,234", "x" * 300]
    for head in ((), ("NAME", "PLACE", "COUNT", "TEXT")):
        shown = out.table([row, row], (), head).splitlines()
        assert max(map(width, shown)) == columns
        assert shown[-1].endswith("x…")
        assert "1,234" in shown[-1]
    assert out.table([row], (), (), spare=(1, 3)).split() == [row[0], "1,234"]
    whole = ["short", "cells"]
    assert out.table([whole], ("bold",), (), spare=(1,)) == "short  cells\n"


def test_a_command_in_a_hint_stays_on_one_line_whatever_its_program(monkeypatch: pytest.MonkeyPatch):
    out = Output(io.StringIO())
    monkeypatch.setattr(out, "is_terminal", True)
    monkeypatch.setattr(Output, "columns", property(lambda _: 60))
    command = "/opt/tools/venv/bin/python3.13 -m pip install 'postroom[top]'"
    folded = out.fold(f"Install the extra top: {command}. Without it: postroom top --once, in plain text", 4)
    assert command in folded
    assert "postroom top --once" in folded
    assert len(folded.splitlines()) == 3


def test_what_goes_into_a_pipe_keeps_its_names_whole():
    row = ["n" * 90, "m" * 90, "x" * 300]
    shown = Output(io.StringIO()).table([row], (), (), spare=(1,))
    assert shown.split() == [*row[:2], "x" * 23 + "…"]


# streams


def on_a_terminal(argv: list[str], env: dict[str, str]) -> str:
    """What a command shows on a terminal of its own."""
    parent, child = pytest.importorskip("pty").openpty()
    process = subprocess.Popen([*COMMAND, *argv], stdin=child, stdout=child, stderr=child, env=env, cwd=ROOT)
    os.close(child)
    shown = b""
    while True:
        try:
            data = os.read(parent, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(parent)
    assert process.wait(BOUND) == 0, shown
    return shown.decode()


def test_colours_only_on_a_terminal_and_only_where_they_are_wanted(cli: CommandLine):
    cli.ok("join", "builder")
    env = {**os.environ, **cli.environment, "TERM": "xterm"}
    assert "\x1b[" not in cli.process("agents").out
    assert "\x1b[1m" in on_a_terminal(["agents"], env)
    assert "\x1b[" not in on_a_terminal(["agents"], env | {"NO_COLOR": "1"})
    assert "\x1b[" not in on_a_terminal(["agents"], env | {"TERM": "dumb"})


def test_json_on_a_terminal_is_exact_and_harmless(cli: CommandLine):
    cli.ok("join", "builder")
    cli.sent("builder", "a\x9b2Jb\u202e")
    env = {**os.environ, **cli.environment, "TERM": "xterm"}
    shown = on_a_terminal(["inbox", "--as", "builder", "--json"], env)
    assert "a\\u009b2Jb\\u202e" in shown


def test_a_stream_that_is_not_utf8_gets_what_it_can_show(cli: CommandLine):
    cli.ok("join", "builder")
    message = cli.sent("builder", "naïve — ☃")
    env = {"PYTHONIOENCODING": "ascii"}
    text = cli.process("receipts", message, env=env).out
    assert "* stored ----- o offered" in text
    assert "\\u2603" in cli.process("read", "--as", "builder", env=env).out
    assert '"na\\u00efve' in cli.process("thread", message, "--json", env=env).out


def test_the_last_column_is_cut_to_the_terminal(cli: CommandLine):
    class Narrow(Output):
        @property
        def columns(self) -> int:
            return 40

    rows = [("id", "x" * 100)]
    assert max(map(len, Narrow(sys.stdout).table(rows).splitlines())) <= 40


def test_quiet_leaves_the_data_alone(cli: CommandLine):
    assert cli.ok("join", "builder", "--quiet") == (0, "", "")
    message = cli.ok("send", "builder", "hello", "--as", "planner", "--quiet").out.strip()
    assert cli.receipt(message)["state"] == "stored"
    assert cli.ok("ack", message, "--as", "builder", "--quiet") == (0, "", "")
    assert cli.ok("inbox", "--as", "builder", "--quiet") == (0, "", "")


# completion


def completed(cli: CommandLine, words: str) -> list[str]:
    """What bash offers to `builder` for the last of these words."""
    script = f"""
    export POSTROOM_AGENT=builder
    eval "$(postroom completion bash)"
    COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); _postroom
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = cli.shell(script)
    assert result.code == 0, result
    return result.out.split()


def test_bash_completes_commands_options_and_addresses(cli: CommandLine):
    cli.ok("join", "builder")
    cli.ok("join", "reviewer")
    message = cli.sent("builder", "hello")
    assert completed(cli, "postroom rec") == ["receipts"]
    assert completed(cli, "postroom send ''") == ["builder", "planner", "reviewer"]
    assert completed(cli, "postroom send builder --pri") == ["--priority"]
    assert completed(cli, "postroom send builder --priority ''") == ["urgent", "high", "normal", "low"]
    assert completed(cli, "postroom ack ''") == [message[-8:]]
    other = cli.sent("reviewer", "hello")
    assert completed(cli, "postroom ack --as reviewer ''") == [other[-8:]]
    assert completed(cli, "postroom --as reviewer ack ''") == [other[-8:]]
    assert completed(cli, "postroom dead sh") == ["show"]
    assert completed(cli, "postroom send builder --type dis") == ["dispatch", "discovery"]
    assert completed(cli, "postroom types show inter") == ["interrupt"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_its_shell_can_read(cli: CommandLine, shell: str):
    script = cli.ok("completion", shell).out
    assert cli.ok("completion", shell, "--json").json["script"] == script
    if shutil.which(shell) is None:
        lacks(shell)
    read = subprocess.run(
        [shell, "-n"], input=script.encode(), capture_output=True, timeout=BOUND, check=False
    )
    assert (read.returncode, read.stderr) == (0, b"")


def test_completion_asks_for_names_in_silence(cli: CommandLine):
    assert cli.ok("completion", "--list", "addresses") == (0, "", "")
    cli.ok("join", "builder")
    cli.ok("join", "human:ana")
    assert cli.ok("completion", "--list", "addresses").out.split() == ["human:ana", "builder"]
    message = cli.sent("builder", "hello")
    assert cli.ok("completion", "--list", "ids", "--as", "builder").out.split() == [message[-8:]]


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("spawn", "usage: postroom spawn NAME [OPTIONS] -- CMD"),
        ("doctor", "postroom doctor [RUNTIME ...]"),
    ],
)
def test_usage_says_what_may_be_left_out_and_what_stands_behind_two_dashes(
    home: str, command: str, usage: str
):
    assert usage in CommandLine(home).ok(command, "--help").out
