"""Other platforms: the core works with what they do not have hidden, and nothing asks for it unguarded."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.room.local import LocalRoom
from tests.conftest import OpenRoom
from tests.process import ROOT, environment

HIDEABLE = ["fcntl", "AF_UNIX", "/proc", "pty"]
HIDING = os.path.join(ROOT, "tests", "hidden")
SOURCE = os.path.join(ROOT, "src", "postroom")

# Where the machine is asked, each behind a test of whether it can answer.
GUARDED = {
    os.path.join(*path.split("/"))
    for path in (
        "host.py",
        "bell/local.py",
        "bridges/files/hold.py",
        "bridges/files/tenure.py",
        "bridges/files/watch.py",
        "room/carriage.py",
    )
}  # fmt: skip
# What only a Unix can do: terminals of our own, and the daemon, which is refused elsewhere.
UNIX = {
    os.path.join(*path.split("/"))
    for path in ("bridges/process/child.py", "cli/mirror.py", "daemon/control.py", "daemon/web.py")
}
# Text for a shell, which tests for it itself.
SHELL = {os.path.join("hooks", "stub.py")}


def hidden(what: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [HIDING, os.environ.get("PYTHONPATH")]))
    return environment(PYTHONPATH=path, HIDDEN_IN_TESTS=what)


def run(command: list[str], env: dict[str, str], bound: float = 110) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=bound
    )


# the core, told once here and again by whatever is marked so


@pytest.mark.core
def test_a_message_goes_up_the_whole_ladder(room: LocalRoom):
    sent = room.send("builder", "hello", priority="high", payload={"n": 1})
    [mail] = room.wait("builder", timeout=5)
    assert (mail.id, mail.payload) == (sent.id, {"n": 1})
    taken = room.take("builder", timeout=5)
    assert taken is not None
    room.settle(taken)
    answer = room.reply(taken, "thanks")
    assert room.until(sent.id, "acked", timeout=5)[0].acked_at is not None
    assert [mail.id for mail in room.listen("planner", timeout=0.05)] == [answer.id]
    assert [delivery.evidence for delivery in room.receipts(answer.id).deliveries] == ["agent"]


@pytest.mark.core
def test_who_waits_gets_what_comes_later(open_room: OpenRoom, room: LocalRoom):
    """With a bell at once, without one within a tenth of a second."""
    room.send("builder", "later", after=0.05)
    assert [mail.body for mail in room.wait("builder", timeout=10)] == ["later"]
    room.ack(room.peek("builder")[0].id, agent="builder")
    assert room.wait("builder", timeout=0.05) == []


@pytest.mark.core
def test_a_room_says_whether_it_must_poll(room: LocalRoom):
    import socket

    assert room.bell.polls == (not hasattr(socket, "AF_UNIX"))


@pytest.mark.core
def test_a_home_too_long_for_a_socket_still_delivers(open_room: OpenRoom, tmp_path):
    room = open_room("planner", home=str(tmp_path / ("x" * 100) / ("y" * 60)))
    room.join("builder")
    room.send("builder", "hello", after=0.02)
    assert [mail.body for mail in room.wait("builder", timeout=10)] == ["hello"]


@pytest.mark.core
def test_the_command_line_sends_shows_and_reads(home: str):
    env = {**os.environ, "POSTROOM_HOME": home, "POSTROOM_PROJECT": "p"}

    def postroom(*words: str) -> str:
        ran = run([sys.executable, "-m", "postroom", *words], env)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    postroom("join", "builder")
    postroom("send", "builder", "hello there", "--as", "planner")
    assert "hello there" in postroom("inbox", "--as", "builder")
    assert "hello there" in postroom("read", "--as", "builder")
    assert "hello there" not in postroom("inbox", "--as", "builder")


# hiding


def core() -> list[str]:
    """The files in which something is marked as core."""
    return [
        os.path.join(where, name)
        for where, _, names in os.walk(os.path.join(ROOT, "tests"))
        for name in names
        if name.startswith("test_")
        and name.endswith(".py")
        and "mark.core" in _text(os.path.join(where, name))
    ]


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.mark.promise("platforms")
@pytest.mark.parametrize("what", HIDEABLE)
def test_the_core_works_without(what: str, tmp_path: Path):
    """Its temporary files apart: in the usual place it would shut out the other users of other tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "core", "-p", "no:cacheprovider"]
    ran = run([*command, f"--basetemp={tmp_path}/inner", "-k", "not sqlite-full", *core()], hidden(what))
    assert ran.returncode == 0, ran.stdout[-5000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed, ran.stdout
    assert int(passed[1]) > 20


@pytest.mark.parametrize(
    ("what", "asking"),
    [
        ("fcntl", "import fcntl"),
        ("pty", "import pty"),
        ("AF_UNIX", "import socket; socket.AF_UNIX"),
        ("/proc", "open('/proc/self/stat')"),
        ("/proc", "import os; os.readlink('/proc/self/ns/pid')"),
        ("/proc", "import os; os.listdir('/proc')"),
    ],
)
def test_what_is_hidden_cannot_be_found(what: str, asking: str):
    assert run([sys.executable, "-c", asking], environment()).returncode == 0
    assert run([sys.executable, "-c", asking], hidden(what)).returncode == 1


# the source itself


def modules() -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(where, name), SOURCE)
        for where, _, names in os.walk(SOURCE)
        for name in names
        if name.endswith(".py")
    )


def parsed(module: str) -> ast.Module:
    with open(os.path.join(SOURCE, module), encoding="utf-8") as file:
        return ast.parse(file.read())


def documentation(tree: ast.Module) -> set[int]:
    """Where strings are only docstrings."""
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }


@pytest.mark.promise("platforms")
@pytest.mark.parametrize("module", modules())
def test_a_module_asks_nothing_of_the_platform_unguarded(module: str):
    tree = parsed(module)
    docs = documentation(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
            found += [name for name in names if name in ("fcntl", "pty", "termios", "resource", "pwd", "grp")]
        elif isinstance(node, ast.Attribute) and node.attr in ("AF_UNIX", "fork", "forkpty", "getuid"):
            found.append(node.attr)
        elif (
            isinstance(node, ast.Constant)
            and id(node) not in docs
            and re.search(r"(?<!\w)/proc\b", str(node.value))
        ):
            found.append(node.value)
    if module not in GUARDED | SHELL | UNIX:
        assert found == []


def test_without_unix_sockets_the_daemon_is_refused_with_a_sentence():
    code = "from postroom.daemon.instance import ensure; ensure('/nowhere/at/all')"
    ran = run([sys.executable, "-c", code], hidden("AF_UNIX"))
    assert "BridgeError: the daemon needs Unix sockets" in ran.stderr


@pytest.mark.parametrize("module", sorted(GUARDED))
def test_the_modules_that_may_ask_are_there_and_do(module: str):
    with open(os.path.join(SOURCE, module), encoding="utf-8") as file:
        text = file.read()
    assert "/proc" in text or "AF_UNIX" in text or "fcntl" in text


def test_the_local_bell_is_only_loaded_where_there_are_sockets():
    code = "import sys, postroom; postroom.open(sys.argv[1]); sys.exit('postroom.bell.local' in sys.modules)"
    for what, expected in (("AF_UNIX", 0), ("pty", 1)):
        ran = run([sys.executable, "-c", code, "/nowhere/at/all"], hidden(what))
        assert ran.returncode == expected, ran.stderr
