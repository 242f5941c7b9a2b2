"""The protocol's own suite, both requirement sets, and its Inspector: `make conformance`."""

import glob
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import host
from postroom.config import Settings
from postroom.daemon.place import running
from postroom.mcp_server.tool import BY_NAME
from postroom.room.local import LocalRoom
from tests.agents.pin import program
from tests.conformance.fixture import fixture
from tests.process import eventually, free_port
from tests.served import Served, served

PROGRAMS: dict[str, str] = {}
LIMIT = 500  # seconds for one run of the suite
PLAIN = (  # what needs no tool of the suite's own, of the real server
    "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list",
    "resources-subscribe", "resources-unsubscribe", "prompts-list", "dns-rebinding-protection",
    "sep-2164-resource-not-found", "caching", "http-header-validation",
)  # fmt: skip


class Signed:
    """Puts a token to what brings none: the suite has no way to. All that follows is the real guard."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not any(name == b"authorization" for name, _ in scope["headers"]):
            bearer = (b"authorization", f"Bearer {self._token}".encode())
            scope = {**scope, "headers": [*scope["headers"], bearer]}
        await self._app(scope, receive, send)


@pytest.fixture(scope="module")
def node() -> dict[str, str]:
    """The environment in which they run; found before a test has another home."""
    found, suite, inspector = program("node"), program("conformance"), program("inspector")
    if found is None or suite is None or inspector is None:
        pytest.skip("install it first: make conformance")
    PROGRAMS.update(conformance=suite, inspector=inspector)
    return {**os.environ, "PATH": f"{os.path.dirname(found)}:{os.environ['PATH']}"}


def _served(folder: Path, make: Any = None) -> Iterator[tuple[Served, str]]:
    from postroom.room.token import issue

    room = LocalRoom(str(folder / "room"), Settings(sender_rate=0), project="p", agent="planner")
    room.join("planner")
    builder = room.join("builder")
    token = issue(room, builder, ())
    with served(room, make=make, around=lambda app: Signed(app, token)) as web:
        yield web, f"http://localhost:{web.port}/mcp"
    room.close()


@pytest.fixture(scope="module")
def equipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the suite's own tools beside the real ones."""
    for _, url in _served(tmp_path_factory.mktemp("equipped"), fixture):
        yield url


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """The server as it is."""
    yield from _served(tmp_path_factory.mktemp("real"))


def _run(name: str, node: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAMS[name], *words], env=node, capture_output=True, text=True, timeout=LIMIT, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.filterwarnings("default:.*deprecated as of 2026-07-28")  # which the older set still tests
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_all_scored_checks_of_a_requirement_set_pass(
    equipped: str, node: dict[str, str], revision: str, tmp_path: Path
):
    done = _run(
        "conformance", node, "server", "--url", equipped, "--requirements", revision, "-o", str(tmp_path)
    )
    summary = re.findall(r".*(?:passed|failed|not scored).*", done.stdout)
    print("\n".join(summary[-60:]))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert glob.glob(f"{tmp_path}/**/checks.json", recursive=True), "nothing was tested"


@pytest.mark.parametrize("scenario", PLAIN)
def test_the_real_server_passes_what_needs_no_tool_of_the_suite(
    real: tuple[Served, str], node: dict[str, str], scenario: str
):
    done = _run("conformance", node, "server", "--url", real[1], "--scenario", scenario)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def _inspect(real: tuple[Served, str], node: dict[str, str], *words: str) -> Any:
    done = _run("inspector", node, "--cli", real[1], "--transport", "http", *words)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_the_tools(real: tuple[Served, str], node: dict[str, str]):
    listed = _inspect(real, node, "--method", "tools/list")
    assert "ask_human" in [one["name"] for one in listed["tools"]]
    sent = real[0].room.send("builder", "for the inspector")
    called = _inspect(real, node, "--method", "tools/call", "--tool-name", "read")
    [mail] = called["structuredContent"]["messages"]
    assert (mail["body"], mail["id"]) == ("for the inspector", sent.id[-8:])
    said = ("--tool-name", "send", "--tool-arg", "to=planner", "--tool-arg", "body=from the inspector")
    _inspect(real, node, "--method", "tools/call", *said)
    assert [mail.body for mail in real[0].room.peek("planner")] == ["from the inspector"]


def test_the_inspector_reads_resources_and_prompts(real: tuple[Served, str], node: dict[str, str]):
    found = _inspect(real, node, "--method", "resources/read", "--uri", "postroom://inbox")
    assert json.loads(found["contents"][0]["text"])["messages"] == []
    prompts = _inspect(real, node, "--method", "prompts/list")
    assert [one["name"] for one in prompts["prompts"]] == ["hand_over", "review_request", "stand_up"]


# ------------------------------------------------------------------ over pipes, with a real daemon


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[LocalRoom]:
    """A room that has no daemon yet; whichever was started for it is ended."""
    room = LocalRoom(str(tmp_path / "home"), Settings(sender_rate=0), project="p", agent="planner")
    room.join("planner")
    room.join("builder")
    yield room
    if process := running(room.home):
        os.kill(host.pid_of(process), signal.SIGTERM)
        eventually(lambda: host.is_gone(process))
    room.close()


def _inspect_command(room: LocalRoom, node: dict[str, str], port: int, name: str, *words: str) -> Any:
    said = {
        "POSTROOM_HOME": room.home, "POSTROOM_HTTP_PORT": port, "POSTROOM_PROJECT": "p",
        "POSTROOM_AGENT": name,
    }  # fmt: skip
    environment = [word for key, value in said.items() for word in ("-e", f"{key}={value}")]
    command = [os.path.join(os.path.dirname(sys.executable), "postroom"), "mcp"]
    place = ("--cwd", os.path.dirname(room.home), "--transport", "stdio")
    done = _run("inspector", node, "--cli", *environment, *place, *command, *words)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_inspector_has_mail_over_pipes_from_a_real_daemon(piped: LocalRoom, node: dict[str, str]):
    """What one agent sends by `postroom mcp`, another finds by its own, with the same daemon behind both."""
    port = free_port()

    def inspect(name: str, method: str, *words: str) -> Any:
        return _inspect_command(piped, node, port, name, "--method", method, *words)

    listed = inspect("builder", "tools/list", "--strict")
    assert [one["name"] for one in listed["tools"]] == list(BY_NAME)
    said = ("--tool-arg", "to=planner", "--tool-arg", "body=from the inspector")
    sent = inspect("builder", "tools/call", "--tool-name", "send", *said)["structuredContent"]
    daemon = running(piped.home)
    assert daemon, "nothing was started"
    inbox = inspect("planner", "tools/call", "--tool-name", "inbox")["structuredContent"]
    [mail] = inbox["messages"]
    assert (mail["id"], mail["from"], mail["subject"]) == (sent["id"], "builder", "from the inspector")
    assert running(piped.home) == daemon
    [mail] = piped.peek("planner")
    assert (mail.body, mail.message.verified) == ("from the inspector", "process")
