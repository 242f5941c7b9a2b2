"""A daemon of another version than the command: whoever talks to it is told, with the command that helps."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from postroom import config, host
from postroom.bridges import registry
from postroom.daemon import control, verb
from postroom.daemon.place import lock_path
from postroom.errors import BridgeError, NotFound, StoreNewer
from tests.commandline import CommandLine, Running

RESTART = "postroom down && postroom up"
PING = {"process": "1", "since": 0, "agents": 0, "crashes": 0, "paused": {}, "instead": {}}
UNKNOWN = {"error": "usage", "message": "the daemon knows no 'screen'", "hint": "Is it of another version?"}
# What a daemon of each edition can be asked for: whoever adds to it raises `_TALK`.
KNOWN = {
    1: (
        "attach command down interrupt observe ping release reload screen start unwatch watch",
        "acp claude-team codex files lines opencode pty stream tmux",
    ),
    2: (
        "attach command down interrupt observe page ping release reload screen start unwatch watch",
        "acp claude-team codex files lines opencode pty stream tmux",
    ),
    3: (
        "attach command down interrupt observe page ping release reload renew screen start unwatch watch",
        "acp claude-team codex files lines opencode pty stream tmux",
    ),
}


class Daemon:
    """One that answers to each verb what it is told to, and speaks no edition unless that is in it."""

    def __init__(self, home: str) -> None:
        host.private_directory(config.beside(home))
        with open(lock_path(home), "w", encoding="ascii") as file:
            file.write(host.identity())
        self.answers: dict[str, Any] = {"ping": {"ok": PING}, "reload": {"ok": 0}}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(config.beside(home, "daemon.sock"))
        self._listener.listen()
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            with link, link.makefile("rwb") as file:
                asked = json.loads(file.readline())
                file.write(json.dumps(self.answers.get(asked["verb"], UNKNOWN)).encode() + b"\n")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def line(home: str) -> CommandLine:
    return CommandLine(home)


@pytest.fixture
def daemon(home: str) -> Iterator[Daemon]:
    daemon = Daemon(home)
    yield daemon
    daemon.close()


def test_what_it_does_not_know_is_its_version_and_not_your_usage(home: str, daemon: Daemon):
    with pytest.raises(BridgeError, match="knows no 'screen'") as caught:
        control.ask(home, "screen", agent="a1")
    assert caught.value.hint.endswith(RESTART)
    assert control.EDITION in caught.value.hint


def test_other_errors_of_it_stay_what_they_are(home: str, daemon: Daemon):
    daemon.answers["screen"] = {"error": "not_found", "message": "there is none", "edition": "9.9+9", "x": 1}
    with pytest.raises(NotFound, match="there is none") as caught:
        control.ask(home, "screen")
    assert "9.9+9" in caught.value.hint
    assert caught.value.facts == {"x": 1}
    daemon.answers["screen"] |= {"edition": control.EDITION, "hint": "Look again."}
    with pytest.raises(NotFound) as caught:
        control.ask(home, "screen")
    assert caught.value.hint == "Look again."


def test_who_adds_a_mailbox_to_one_that_does_not_know_any_is_told(
    home: str, line: CommandLine, daemon: Daemon, tmp_path: os.PathLike[str]
):
    line.ok("join", "planner")
    mail = os.path.join(tmp_path, "mail")
    os.makedirs(os.path.join(mail, "builder"))
    done = line.process("mailbox", "add", mail)
    assert done.code == 0, done
    [warning] = [one for one in " ".join(done.err.split()).split("warning: ") if RESTART in one]
    assert "another version" in warning
    assert any(RESTART in one for one in line.ok("status", "--json").json["warnings"])


def test_one_that_cannot_read_the_room_any_more_is_ended_all_the_same(
    home: str, line: CommandLine, daemon: Daemon
):
    """What is said to restart it must do so: nothing else ends it."""
    line.ok("join", "planner")
    daemon.answers["down"] = StoreNewer().as_json()
    with Running([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        Thread(target=process.wait, daemon=True).start()  # a zombie would be there still
        with open(lock_path(home), "w", encoding="ascii") as file:
            file.write(host.identity_of(process.pid))
        assert f"the daemon has ended (process {process.pid})" in line.ok("down").out


def test_of_one_of_the_same_version_nothing_is_said(home: str, line: CommandLine, daemon: Daemon):
    line.ok("join", "planner")
    daemon.answers["ping"] = {"ok": PING | {"edition": control.EDITION}, "edition": control.EDITION}
    daemon.answers["renew"] = {"ok": {"changed": [], "problem": None}, "edition": control.EDITION}
    assert not any(RESTART in one for one in line.ok("status", "--json").json["warnings"])
    assert RESTART not in line.process("up").err


def test_whatever_a_daemon_must_know_is_in_its_edition():
    verbs, bridges = KNOWN[control._TALK]
    assert sorted(verb._VERBS) == verbs.split()
    assert sorted(registry.names()) == bridges.split()
