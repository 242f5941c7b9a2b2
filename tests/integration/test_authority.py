"""Who may steer: people, and nobody who runs in an agent's session, whatever they call themselves."""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest

from postroom.bridges import manifest as manifests
from postroom.daemon import control, instance, watch
from postroom.errors import Refused
from postroom.room import authority
from tests.commandline import is_told_well
from tests.kept import Kept
from tests.player import Player
from tests.process import BOUND

FOR_PEOPLE = (
    ["adopt", "stage:0.0", "--runtime", "claude"],
    ["adopt", "--release", "stage:0.0"],
    ["watch", "stage:0.0", "--match", "x", "--to", "backend"],
    ["watch", "--stop", "abc123"],
    ["spawn", "other", "--bridge", "lines", "--", "cat"],
    ["stop", "backend"],
    ["up"],
    ["down"],
    ["command", "backend", "/compact"],
    ["interrupt", "backend"],
    ["resume", "backend"],
)


@pytest.fixture
def builder(kept: Kept, cwd: str) -> Iterator[Player]:
    """An agent whose hooks have told of its session."""
    with Player(kept.home, cwd, POSTROOM_AGENT="builder", TMUX=kept.tmux["TMUX"]) as player:
        player.hook("SessionStart", source="startup")
        yield player


@pytest.fixture
def backend(kept: Kept) -> str:
    """The manifest's agent, with a watch on its pane, both kept by a daemon."""
    pane = kept.keep("backend")
    kept.up()
    agent = kept.room.known("backend")
    ana = kept.room.known("human:ana")
    one = watch.Watch("abc123", pane.target, "stage:0.0", "x", agent.address, ana.id, ana.address)
    control.ask(kept.home, "watch", watch=one._asdict())
    return agent.id


def test_whoever_runs_in_an_agents_session_is_refused_all_that_is_for_people(
    kept: Kept, builder: Player, backend: str
):
    before, daemon = manifests.every(kept.home), instance.running(kept.home)
    for words in FOR_PEOPLE:
        refused = builder.shell(*words)
        assert (refused.code, is_told_well(refused)) == (5, True), (words, refused)
        assert "only a person may" in refused.err
        if words[0] != "adopt":  # there, --as says who the pane is
            assert builder.shell(words[0], "--as", "human:ana", *words[1:]).code == 5, words
    assert (manifests.every(kept.home), instance.running(kept.home)) == (before, daemon)
    assert [one.id for one in watch.every(kept.home)] == ["abc123"]


def test_who_calls_itself_an_agent_is_refused_what_is_for_people(kept: Kept, backend: str):
    kept.room.join("builder")
    for words in FOR_PEOPLE:
        if words[0] != "adopt":  # there, --as says who the pane is
            refused = kept.cli(words[0], "--as", "builder", *words[1:], env=kept.tmux)
            assert (refused.code, is_told_well(refused)) == (5, True), (words, refused)
    assert manifests.get(kept.home, backend) is not None


def test_what_only_looks_is_for_anybody(kept: Kept, builder: Player, backend: str):
    assert builder.shell("adopt", "--dry-run", "--match", ".").code == 0
    assert builder.shell("watch", "--list").code == 0
    assert builder.shell("screen", "backend").code == 0
    verbs = {"ping": {}, "reload": {}, "observe": {"agents": [backend]}, "screen": {"agent": backend}}
    script = f"""
from postroom.daemon.control import ask
for verb, words in {verbs!r}.items():
    ask({kept.home!r}, verb, **words)
print("answered")
"""
    assert builder.python(script) == "answered"


def test_the_daemon_refuses_an_agent_all_but_what_only_looks(kept: Kept, builder: Player, backend: str):
    verbs = ["start", "attach", "interrupt", "command", "watch", "unwatch", "release", "down"]
    script = f"""
from postroom.daemon.control import ask
from postroom.errors import Refused
for verb in {verbs!r}:
    try:
        ask({kept.home!r}, verb, agent={backend!r}, id="abc123", kind="stop", by="human:ana", text="/clear")
    except Refused:
        print(verb)
"""
    assert builder.python(script).split() == verbs
    assert manifests.get(kept.home, backend) is not None


def test_an_agent_inside_of_an_agent_is_no_person_though_nobody_knows_it(kept: Kept, builder: Player):
    """Its hooks have told nothing; that it runs in the session of another has been seen."""
    inner = os.path.join(builder.cwd, "codex")
    os.symlink("/bin/sh", inner)
    words = f"{sys.executable} -m postroom down; true"
    kept.up()
    refused = builder.run([inner, "-c", words], "")
    assert "only a person may end the daemon" in refused.err
    assert instance.running(kept.home)


def test_a_process_that_cannot_be_seen_is_refused(kept: Kept):
    with subprocess.Popen(["true"]) as gone:
        gone.wait(BOUND)
    with pytest.raises(Refused, match="nobody can tell who asks"):
        authority.check(kept.room.store.look(), gone.pid, "do that")
    with pytest.raises(Refused):
        authority.check(kept.room.store.look(), 0, "do that")


def test_where_the_system_tells_of_no_process_its_user_is_believed(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("postroom.host.boot", lambda: "")
    authority.check(kept.room.store.look(), 0, "do that")


def test_on_a_mac_the_caller_is_known_by_another_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(socket, "SO_PEERCRED")
    monkeypatch.setattr(sys, "platform", "darwin")

    class Link:
        def getsockopt(self, level: int, name: int, size: int) -> bytes:
            assert (level, name, size) == (0, 2, 4)
            return struct.pack("i", 4711)

    class Mute:
        def getsockopt(self, *_: int) -> bytes:
            raise OSError

    peer = vars(control)["_peer"]
    assert peer(Link()) == (os.getuid(), 4711)
    assert peer(Mute()) == (os.getuid(), 0)
    monkeypatch.setattr(sys, "platform", "freebsd")
    assert peer(Link()) == (os.getuid(), 0)


def test_a_person_with_a_token_is_a_person(kept: Kept, backend: str):
    token = kept.cli.ok("tokens", "issue", "human:ana", "--quiet").out.strip()
    done = kept.cli.ok("interrupt", "backend", "--json", env={"POSTROOM_TOKEN": token})
    assert json.loads(done.out)["by"] == "human:ana"
