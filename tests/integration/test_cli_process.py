"""The command line as the process it is: pipes that break, disks that fill, and what a start loads."""

import json
import os
import subprocess
import sys

import pytest

from postroom import host
from postroom.config import Settings
from postroom.room.berth import occupy
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, is_told_well
from tests.machine import unshare
from tests.player import Player
from tests.process import BOUND

# What would cost a start more than the whole of sending: measured, see docs/explanation/performance.md.
HEAVY = frozenset((
    "asyncio", "concurrent", "contextvars", "ctypes", "dataclasses", "decimal", "difflib", "email",
    "getpass", "hashlib", "http", "importlib.metadata", "importlib.resources", "inspect", "ipaddress",
    "locale", "logging", "multiprocessing", "pathlib", "platform", "pprint", "queue", "random",
    "secrets", "selectors", "shutil", "signal", "socket", "ssl", "statistics", "string", "subprocess",
    "tempfile", "textwrap", "threading", "tomllib", "traceback", "unittest", "urllib", "uuid", "zipfile",
))  # fmt: skip

OTHERS = frozenset((
    "postroom.store.contract", "postroom.runtimes.process", "postroom.runtimes.wiring",
    "postroom.runtimes.tool", "postroom.hooks.wake", "postroom.room.reach",
))  # fmt: skip


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner")
    cli.ok("join", "builder")
    return cli


def loaded_by(cli: CommandLine, *argv: str) -> set[str]:
    """The modules a command has loaded when it ends."""
    script = (
        "import os, sys; sys.argv[1:] = " + repr(list(argv)) + "; end = os._exit\n"
        "def leave(code):\n"
        "    sys.stderr.write('\\n' + ' '.join(sys.modules)); sys.stderr.flush(); end(code)\n"
        "os._exit = leave\n"
        "from postroom.cli.main import main; main()"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")} | cli.environment
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, timeout=BOUND, check=True
    )
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize("command", ["send", "inbox", "read", "ack", "wait"])
def test_the_commands_agents_use_all_day_load_little(cli: CommandLine, command: str):
    message = cli.sent("builder", "hello")
    arguments = {"send": ["builder", "again"], "ack": [message]}.get(command, [])
    loaded = loaded_by(cli, command, *arguments, "--as", "builder")
    assert sorted(HEAVY & loaded) == []
    assert "postroom.cli.person" not in loaded, "nobody asks who sits here where somebody is named"
    assert len([name for name in loaded if name.startswith("postroom.cli.commands.")]) <= 2


@pytest.mark.parametrize("command", ["send", "inbox", "read", "ack"])
def test_no_type_is_given_as_text_where_that_would_be_compiled(cli: CommandLine, command: str):
    """Who compiles text has the interpreter make a class of every kind of syntax."""
    message = cli.sent("builder", "hello")
    arguments = {"send": ["builder", "again"], "ack": [message]}.get(command, [])
    script = (
        f"import sys, typing; sys.argv[1:] = {[command, *arguments, '--as', 'builder']!r}\n"
        "def refuse(*what, **_): raise AssertionError(what)\n"
        "typing.ForwardRef = refuse\n"
        "from postroom.cli.main import main; main()"
    )
    env = os.environ | cli.environment
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("runtime", "event"), [("claude", "PostToolBatch"), ("codex", "PostToolUse")])
def test_a_hook_that_shows_mail_loads_little(
    cli: CommandLine, tmp_path: os.PathLike[str], runtime: str, event: str
):
    """What only wakers, set-up and type checkers need is not among it."""
    told = {"session_id": "s1", "cwd": str(tmp_path), "source": "startup"}
    with Player(cli.home, str(tmp_path), runtime=runtime, POSTROOM_AGENT="builder") as player:
        player.hook("SessionStart", **told)
        cli.sent("builder", "hello")
        script = (
            "import os, sys; end = os._exit\n"
            "def leave(code):\n"
            "    sys.stderr.write('\\n' + ' '.join(sys.modules)); sys.stderr.flush(); end(code)\n"
            "os._exit = leave\n"
            f"from postroom.hooks.main import main; main({cli.home!r}, [{runtime!r}, {event!r}, 's1'])"
        )
        done = player.run([sys.executable, "-c", script], json.dumps(told))
    assert "hello" in done.out
    loaded = set(done.err.splitlines()[-1].split())
    assert sorted(HEAVY & loaded) == []
    assert sorted(OTHERS & loaded) == []


def test_a_look_at_the_room_loads_nothing_for_a_daemon_that_is_not_there(cli: CommandLine):
    loaded = loaded_by(cli, "status")
    assert not loaded & {"logging", "subprocess", "socket", "pickle", "threading", "concurrent.futures"}
    assert [name for name in loaded if name.startswith("postroom.daemon.")] == ["postroom.daemon.place"]


def test_a_send_to_who_is_reached_by_a_bridge_loads_nothing_of_its_daemon(cli: CommandLine):
    with (
        subprocess.Popen(["cat"], stdin=subprocess.PIPE) as agent,
        LocalRoom(cli.home, Settings(), project="p") as room,
    ):
        process = host.identity_of(agent.pid)
        occupy(room, room.known("builder"), "tmux", process, pane="%1@/nowhere,1.2")
        loaded = loaded_by(cli, "send", "builder", "hello", "--as", "planner")
    assert "postroom.cli.bridged" in loaded
    assert not loaded & {"logging", "subprocess", "socket", "pickle", "threading", "concurrent.futures"}


def test_a_typed_send_loads_its_schema_and_nothing_heavy(cli: CommandLine):
    plain = loaded_by(cli, "send", "builder", "hello", "--as", "planner")
    answer = loaded_by(cli, "reply", cli.sent("builder", "hello"), "done", "--as", "builder")
    assert [name for name in plain | answer if name.startswith("postroom.protocol")] == []
    payload = ["--type", "dispatch", "--payload", '{"task_id": "T-1"}']
    typed = loaded_by(cli, "send", "builder", *payload, "--as", "planner")
    assert sorted(HEAVY & typed) == []
    assert sorted(name for name in typed - plain if name.startswith("postroom.protocol")) == [
        "postroom.protocol",
        "postroom.protocol.admission",
        "postroom.protocol.builtin",
        "postroom.protocol.registry",
        "postroom.protocol.schema",
    ]


def test_a_send_of_a_type_of_yours_reads_no_toml_and_looks_for_no_packages(cli: CommandLine):
    with open(os.path.join(cli.home, "config.toml"), "w", encoding="utf-8") as file:
        file.write('[types.deploy]\nmeaning = "Deploy."\nschema.type = "object"\n')
    send = ["send", "builder", "go", "--type", "deploy", "--as", "planner"]
    cli.ok(*send)  # compiles it
    assert sorted(HEAVY & loaded_by(cli, *send)) == []


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_message_counts_as_seen_only_after_all_of_it_was_written(cli: CommandLine, unbuffered: str):
    message = cli.sent("builder", "x" * 1_000_000)
    pipe = "postroom read --whole --as builder | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}"
    result = cli.shell(f"export PYTHONUNBUFFERED={unbuffered}; {pipe}")
    assert (result.out, result.err) == ("1\n", "")
    assert cli.receipt(message)["state"] == "stored"
    history = cli.ok("receipts", message, "--json").json["deliveries"][0]["history"]
    assert [attempt["outcome"] for attempt in history] == ["unproven"]
    again = cli.ok("read", "--as", "builder", "--json").json
    assert (len(again["body"]), again["shown_before"]) == (1_000_000, True), "a part of it may have been seen"


def test_a_full_disk_behind_the_output_leaves_the_message_unread(cli: CommandLine):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    message = cli.sent("builder", "hello")
    result = cli.shell("postroom read --as builder >/dev/full")
    assert result.code == 1
    assert "cannot write to standard output: No space left on device" in result.err
    assert is_told_well(result)
    [attempt] = cli.receipt(message)["history"]
    assert attempt["outcome"] == "lost", "not a byte was written"
    assert not cli.ok("read", "--as", "builder", "--json").json["shown_before"]


def test_nothing_is_done_when_standard_output_is_closed(cli: CommandLine):
    message = cli.sent("builder", "hello")
    for command in (
        "read --as builder",
        "send builder hi --as planner",
        "inbox --as builder",
        "--version",
        "help send",
    ):
        result = cli.shell(f"postroom {command} >&-")
        assert result.code == 1, command
        assert "standard output is closed: nothing was done" in result.err
    assert [m["id"] for m in cli.ok("inbox", "--as", "builder", "--json").json["messages"]] == [message]


def test_closed_standard_input_and_error_are_no_trouble(cli: CommandLine):
    assert cli.shell("postroom send builder hi --as planner --quiet <&- 2>&-").code == 0
    result = cli.shell("postroom send builder - --as planner <&-")
    assert result.code == 2
    assert "standard input is closed" in result.err
    assert cli.shell("postroom inbox --as nobody 2>&-").code == 3


def test_a_reader_that_has_enough_ends_the_command_in_silence(cli: CommandLine):
    cli.sent("builder", "x" * 1_000_000)
    result = cli.shell("postroom inbox --as builder --json | head -c 1; echo ${PIPESTATUS[0]}")
    assert (result.out, result.err) == ("{1\n", "")


def test_a_home_that_cannot_be_written_can_be_read(cli: CommandLine):
    cli.sent("builder", "hello")
    cli.ok("journal")
    frozen = f"mount --bind '{cli.home}' '{cli.home}' && mount -o remount,ro,bind '{cli.home}' && "
    for command, code in (
        ("inbox --as builder", 0),
        ("agents", 0),
        ("status", 0),
        ("log", 0),
        ("send builder hi --as planner", 1),
        ("read --as builder", 1),
        ("join newcomer", 1),
        ("journal", 0),
    ):
        result = cli.shell(f"{frozen} postroom {command}", unshare("-m"))
        assert result.code == code, (command, result)
        assert code == 0 or is_told_well(result), (command, result)
    assert [m["body"] for m in cli.ok("inbox", "--as", "builder", "--json").json["messages"]] == ["hello"]


def test_a_room_that_cannot_be_made_is_told(cli: CommandLine, tmp_path: os.PathLike[str]):
    result = cli.process("join", "x", "--home", "/proc/no/such/place")
    assert result.code == 1
    assert is_told_well(result)


def test_python_can_run_it_as_a_module(cli: CommandLine):
    assert json.loads(cli.process("agents", "--json").out)["agents"]


def test_a_directory_that_is_gone_is_no_trouble(cli: CommandLine):
    script = 'd=$(mktemp -d); cd "$d"; rmdir "$d"; postroom agents --project p'
    assert cli.shell(script).code == 0
