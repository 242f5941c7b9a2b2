"""An agent in a pane, told of by the room's daemon to who is elsewhere: a command line, and a page."""

import os
import socket
from collections.abc import Iterator

import pytest

from postroom.room import glance
from tests.commandline import CommandLine, Result
from tests.yard import Yard, eventually, tutoring


class Afar:
    """A person's command line, for which the room is an address and a token."""

    def __init__(self, yard: Yard, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        issued = yard.ok("tokens", "issue", "human:ana", "--json").json
        self._env = {"POSTROOM_TOKEN": issued["token"]}

    def __call__(self, *argv: str) -> Result:
        return CommandLine(self.url).process(*argv, env=self._env)


@pytest.fixture
def yard(home: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        monkeypatch.setenv("POSTROOM_HTTP_PORT", str(found.getsockname()[1]))
    with Yard(home) as yard:
        yard.line.ok("join", "human:ana")
        looks = ("--pattern", "ask> ", "--submit", "Enter")
        path = os.pathsep.join(filter(None, ("src", os.environ.get("PYTHONPATH", ""))))
        yard.ok("spawn", "tutor", *looks, "--", "env", f"PYTHONPATH={path}", *tutoring(yard))
        yield yard


@pytest.fixture
def afar(yard: Yard) -> Afar:
    return Afar(yard, int(os.environ["POSTROOM_HTTP_PORT"]))


@pytest.mark.promise("remote-cli")
def test_who_is_in_a_pane_is_told_of_and_written_to_from_anywhere(yard: Yard, afar: Afar):
    told = afar("agents")
    assert (told.code, told.err) == (0, ""), told
    assert "idle in a program (tmux), typed" in told.out
    sent = afar("send", "p/tutor", "hey", "--wait", "stored")
    assert (sent.code, sent.err) == (0, ""), sent
    assert "\n  tutor: " in sent.out  # whatever has become of it by then


def test_after_a_restart_it_is_known_what_an_idle_pane_does(yard: Yard, afar: Afar):
    """Nobody had to ask for it, and who asks over HTTP has it looked at anew."""
    yard.ok("down")
    party = yard.manifest("tutor").agent
    assert glance.get(yard.home, party) is None  # who had looked is gone
    yard.ok("up")
    eventually(lambda: glance.get(yard.home, party))
    glance.forget(yard.home, party)
    [seen] = [one for one in afar("agents", "--json").json["agents"] if one["name"] == "tutor"]
    assert [(one["presence"], bool(one["because"])) for one in seen["sessions"]] == [("idle", True)]
