"""The files of a daemon's sockets: put back when they are gone, or others are in their place."""

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroom import config, host
from postroom.daemon import control, instance
from postroom.errors import BridgeError
from postroom.room.local import LocalRoom
from tests.process import BOUND, eventually
from tests.tended import Tended


def serves(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(BOUND)
            link.connect(path)
            link.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in link.recv(64)
    except OSError:
        return False


def overwrite(path: str) -> None:
    os.unlink(path)
    Path(path).write_text("not a socket", encoding="utf-8")


@pytest.mark.parametrize("lose", [os.unlink, overwrite])
def test_a_daemon_whose_sockets_are_gone_is_reached_again_and_ends_as_ever(
    room: LocalRoom, lose: Callable[[str], None]
):
    paths = [config.beside(room.home, name) for name in ("daemon.sock", "http.sock")]
    with Tended(room) as house:
        house.configure("http_port = PORT\n")
        house.start(serves=True)
        process = house.process.pid
        for _ in range(2):  # before anybody came to the page, and after
            for path in paths:
                lose(path)
            eventually(lambda: control.ping(room.home) and serves(paths[1]))
        assert instance.ensure(room.home) is False
        assert host.pid_of(control.ask(room.home, "ping")["process"]) == process
        house.process.terminate()
        assert house.process.wait(BOUND) == 0
    assert not any(map(os.path.exists, paths))


def test_of_a_daemon_that_does_not_answer_is_said_which_it_is_and_how_it_ends(
    home: str, monkeypatch: pytest.MonkeyPatch
):
    started: list[Any] = []

    def start(_: str) -> Any:
        started.append(subprocess.Popen(["true"], stderr=subprocess.PIPE))
        return started[-1]

    def no_answer(_: str) -> bool:
        return False

    monkeypatch.setattr(instance, "_start", start)
    monkeypatch.setattr(instance, "_STARTS", 0.0)
    monkeypatch.setattr(control, "ping", no_answer)
    held = instance.Instance(home)
    try:
        with pytest.raises(BridgeError, match=rf"process {os.getpid()}\) does not answer") as found:
            instance.ensure(home)
    finally:
        held.close()
    assert "postroom down && postroom up" in found.value.hint
    assert len(started) == 1
