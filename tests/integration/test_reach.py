"""How an agent can be reached: what its sessions do, by their signs of life, and what that means for mail."""

import json
import os
from contextlib import nullcontext
from typing import Any

import pytest

from postroom import config
from postroom.bell.ring import RingFiles
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, Result
from tests.player import Player
from tests.process import BOUND, until


@pytest.fixture
def player(home: str, room: LocalRoom, tmp_path: os.PathLike[str]):
    """An agent `backend` whose session has begun, in a room with `planner` and `builder`."""
    with Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        sign(player, "SessionStart")
        player.hook("SessionStart", source="startup")
        yield player


def sign(player: Player, event: str) -> None:
    """Leave a sign of life, as the shell half of a hook does."""
    path = config.beside(player.home, "life", player.session)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{event}\n")


def session(room: LocalRoom, name: str = "backend") -> Any:
    [status] = [status for status in room.agents(everyone=True) if status.agent.name == name]
    return status


def reason(room: LocalRoom, ref: str) -> str | None:
    [delivery] = room.receipts(ref).deliveries
    return delivery.reason


@pytest.mark.promise("presence")
def test_a_session_that_ends_while_the_ring_files_are_listed_hides_no_other(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    for name in ("a1", "a2", "a3"):
        room.ring.put(name)
    scandir = os.scandir

    def listed(path: str) -> Any:
        with scandir(path) as entries:
            found = list(entries)
        room.ring.remove(found[0].name)
        return nullcontext(found)

    monkeypatch.setattr(os, "scandir", listed)
    assert len(room.ring.all()) == 2


@pytest.mark.promise("presence")
@pytest.mark.parametrize(
    ("event", "presence", "why"),
    [
        ("SessionStart", "idle", "waking"),
        ("Stop", "idle", "waking"),
        ("UserPromptSubmit", "busy", "busy"),
        ("PostToolBatch", "busy", "busy"),
        ("Notification", "permission", "approval"),
        ("", "unknown", None),
    ],
)
def test_presence_is_what_the_last_sign_of_life_says_and_names_it(
    room: LocalRoom, player: Player, event: str, presence: str, why: str | None
):
    sign(player, event)
    status = session(room)
    [sight] = status.sessions
    assert (status.reach, sight.presence, sight.event, sight.title) == (
        presence,
        presence,
        event,
        "Claude Code",
    )
    assert sight.since is not None
    sent = room.send("backend", "hi")
    assert sent.reach == [presence]
    assert reason(room, sent.id) == why


@pytest.mark.promise("presence")
def test_a_session_whose_process_is_gone_is_gone_and_its_mail_waits_for_it(room: LocalRoom, player: Player):
    player.end()
    status = session(room)
    assert (status.reach, status.sessions[0].presence) == ("stored", "gone")
    sent = room.send("backend", "hi")
    assert (sent.reach, reason(room, sent.id)) == (["stored"], "offline")


def test_after_its_end_a_session_is_not_listed_and_mail_says_offline(room: LocalRoom, player: Player):
    player.hook("SessionEnd")
    assert session(room).sessions == ()
    assert not RingFiles(room.run).has(session(room).agent.id)
    assert reason(room, room.send("backend", "hi").id) == "offline"


def test_who_never_had_a_session_is_told_of_as_before(room: LocalRoom, player: Player):
    sent = room.send("builder", "hi")
    assert (sent.reach, sent.ways, reason(room, sent.id)) == (["stored"], None, None)


@pytest.mark.promise("presence")
def test_mail_at_the_end_of_a_turn_makes_the_session_busy(room: LocalRoom, player: Player):
    room.send("backend", "hi")
    sign(player, "Stop")
    assert "hi" in player.hook("Stop").out
    assert session(room).reach == "busy"


def test_after_three_turns_made_longer_by_mail_the_reason_is_the_cap(room: LocalRoom, player: Player):
    for n in range(3):
        room.send("backend", f"hi {n}")
        sign(player, "Stop")
        assert player.hook("Stop").out
    sent = room.send("backend", "once more")
    sign(player, "Stop")
    assert player.hook("Stop").out == ""
    assert reason(room, sent.id) == "stop_cap"
    assert reason(room, room.send("backend", "when it is idle").id) == "waking"


@pytest.mark.promise("presence")
def test_a_session_that_a_person_has_interrupted_is_idle(
    room: LocalRoom, home: str, tmp_path: os.PathLike[str]
):
    path = os.path.join(tmp_path, "transcript.jsonl")
    with Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="startup", transcript_path=path)
        for event in ("PostToolBatch", "Notification"):
            sign(player, event)
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"type":"assistant"}\n')
            assert session(room).reach != "idle"
            with open(path, "a", encoding="utf-8") as file:
                file.write('{"type":"user","text":"[Request interrupted by user]"}\n')
            assert session(room).reach == "idle"


@pytest.mark.promise("presence")
def test_only_what_was_rung_for_an_idle_session_just_now_is_said_to_wake_it(
    room: LocalRoom, home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    path = os.path.join(tmp_path, "transcript.jsonl")
    with Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="startup", transcript_path=path)
        sign(player, "PostToolBatch")
        sent = room.send("backend", "while it works")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"type":"user","text":"[Request interrupted by user]"}\n')
        later = os.stat(path).st_mtime + 1
        os.utime(path, (later, later))
        assert (session(room).reach, reason(room, sent.id)) == ("idle", None), "nobody rings again"
        sign(player, "Stop")
        woken = room.send("backend", "at rest")
        assert reason(room, woken.id) == "waking"
        ring = room.ring.path(session(room).agent.id)
        long_ago = os.stat(ring).st_mtime - 60
        os.utime(ring, (long_ago, long_ago))
        os.utime(config.beside(home, "life", "s1"), (1, 1))
        with monkeypatch.context() as patched:
            patched.setattr(LocalRoom, "rouse", lambda _: None)
            assert reason(room, woken.id) is None, "it has come to nothing"
        assert reason(room, woken.id) == "waking", "who looks has it rung once more"


@pytest.mark.promise("presence")
@pytest.mark.parametrize("runtime", ["qwen", "copilot"])
def test_who_was_not_started_so_that_it_can_be_woken_is_not_said_to_wake(
    home: str, room: LocalRoom, tmp_path: os.PathLike[str], runtime: str
):
    with Player(home, os.path.join(tmp_path, "work"), runtime=runtime, POSTROOM_AGENT="backend") as player:
        sign(player, "SessionStart")
        player.hook("SessionStart", source="startup")
        sent = room.send("backend", "hi")
        assert (sent.reach, reason(room, sent.id)) == (["idle"], None)
        assert "until its next prompt" in CommandLine(home).ok("agents").out


@pytest.mark.promise("presence")
def test_a_session_that_is_older_than_our_hooks_is_not_said_to_wake_before_it_starts_anew(
    home: str, room: LocalRoom, tmp_path: os.PathLike[str]
):
    """What to watch is told when a session starts, and at no other event."""
    with Player(home, os.path.join(tmp_path, "work"), POSTROOM_AGENT="backend") as player:
        player.hook("UserPromptSubmit", prompt="go on")
        sign(player, "Stop")
        player.hook("Stop")
        assert session(room).sessions[0].wake == ""
        assert "until its next prompt" in CommandLine(home).ok("agents").out
        player.hook("SessionStart", source="compact")
        assert session(room).sessions[0].wake == "watch"


@pytest.mark.promise("presence")
def test_whom_nobody_can_call_from_here_is_not_said_to_wake(
    home: str, room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    """As from a PATH on which the agent's program is not."""
    own, tools = os.path.join(tmp_path, "user"), os.path.join(tmp_path, "tools")
    transcript = os.path.join(own, ".codex", "sessions", "t.jsonl")
    os.makedirs(os.path.dirname(transcript))
    os.makedirs(tools)
    with open(os.path.join(tools, "codex"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n")
    os.chmod(os.path.join(tools, "codex"), 0o700)
    monkeypatch.setenv("HOME", own)
    with_it = f"{tools}:{os.environ['PATH']}"
    work, start = os.path.join(tmp_path, "work"), {"POSTROOM_AGENT": "backend", "HOME": own, "PATH": with_it}
    with Player(home, work, "s1", "codex", None, **start) as player:
        sign(player, "Stop")
        player.hook("SessionStart", source="startup", transcript_path=transcript)
        assert session(room).sessions[0].wake == ""
        monkeypatch.setenv("PATH", with_it)
        assert session(room).sessions[0].wake == "call"


def test_a_live_session_counts_for_groups_of_those_who_are_live(room: LocalRoom, player: Player):
    room.join("backend", role="worker")
    room.join("builder", role="worker")
    assert [d.recipient for d in room.send("@workers:live", "hi").deliveries] == ["backend"]
    player.end()
    room.join("x", role="worker")
    with pytest.raises(Exception, match="worker"):
        room.send("@workers:live", "hi")


def test_a_program_that_listens_comes_before_what_a_session_does(room: LocalRoom, player: Player):
    waiter = room.bell.waiter(session(room).agent.id)
    assert (session(room).reach, room.send("backend", "hi").reach) == ("live", ["live"])
    waiter.close()


@pytest.mark.promise("unproven-route")
def test_a_sender_is_told_when_nothing_was_ever_proven_to_arrive(room: LocalRoom, player: Player, home: str):
    [sight] = session(room).sessions
    assert not sight.proven
    proof = os.path.join(home, "run", "proven")
    os.makedirs(proof)
    for document, proven in (("{}", False), ('{"ok": false}', False), ("[]", False), ('{"ok": true}', True)):
        with open(os.path.join(proof, "claude.json"), "w", encoding="utf-8") as file:
            file.write(document)
        assert session(room).sessions[0].proven is proven


@pytest.mark.promise("unproven-route")
def test_mail_that_was_seen_in_a_session_proves_its_route(room: LocalRoom, player: Player):
    room.send("backend", "hi")
    assert "hi" in player.hook("UserPromptSubmit", prompt="go").out
    assert not session(room).sessions[0].proven
    player.hook("Stop")
    assert session(room).sessions[0].proven


@pytest.mark.promise("unproven-route")
def test_a_route_is_not_called_unproven_beside_mail_that_was_seen_by_it(home: str, player: Player):
    cli = CommandLine(home)
    sign(player, "UserPromptSubmit")
    with cli.start("send", "backend", "hi", "--as", "builder", "--wait", "seen") as sender:
        until(lambda: "hi" in player.hook("UserPromptSubmit", prompt="go").out)
        player.hook("Stop")
        out, _ = sender.communicate(timeout=BOUND)
    assert "backend: seen\n" in out.decode()


def test_the_command_line_says_how_each_can_be_reached(home: str, player: Player):
    cli = CommandLine(home)
    sign(player, "Stop")
    told = cli.ok("send", "backend", "hi", "--as", "builder").out
    assert "backend: stored, idle in Claude Code, wakes (route not proven)" in told
    sign(player, "PostToolBatch")
    [sent] = json.loads(cli.ok("send", "backend", "hi", "--as", "builder", "--json").out)["deliveries"]
    assert (sent["reach"], sent["session"]["event"], sent["session"]["proven"]) == (
        "busy",
        "PostToolBatch",
        False,
    )
    assert "busy in Claude Code: after its tool" in cli.ok("agents").out
    [agent] = [a for a in cli.ok("agents", "--json").json["agents"] if a["name"] == "backend"]
    [known] = agent["sessions"]
    assert (known["id"], known["runtime"], known["presence"], known["wake"]) == (
        "claude:s1:main", "claude", "busy", "watch",
    )  # fmt: skip
    assert known["since"]
    assert (known["worktree"], known["branch"], known["pane"]) == (os.path.realpath(player.cwd), None, None)
    assert "its agent is at work" in cli.ok("receipts", cli.sent("backend", "hi", sender="builder")).out
    player.end()
    assert "not running" in cli.ok("agents").out
    assert "backend: stored, not running" in cli.ok("send", "backend", "hi", "--as", "builder").out


def sent_to_all(room: LocalRoom, player: Player, *options: str) -> Result:
    """Waited for in vain: `backend` is idle in a session, `api` listens, and the others do neither.

    The store has them in the order of their ids, which are random: that is another than they were found in.
    """
    for name in ("z1", "api", "z2", "a1", "a2", "a3"):
        room.join(name)
    sign(player, "Stop")
    waiter = room.bell.waiter(room.who("api").id)
    try:
        argv = ("send", "@all", "hi", "--as", "planner", "--wait", "seen", "--timeout", "10ms", *options)
        return CommandLine(room.home)(*argv)
    finally:
        waiter.close()


@pytest.mark.promise("presence")
def test_after_a_wait_each_of_several_is_told_of_by_its_own_reach(room: LocalRoom, player: Player):
    result = sent_to_all(room, player)
    assert result.code == 4, result
    told = dict(line.strip().split(": ", 1) for line in result.out.splitlines()[1:])
    assert told.pop("api") == "stored, listening now"
    assert told.pop("backend") == "stored, idle in Claude Code, wakes (route not proven)"
    assert len(told) == 6
    assert set(told.values()) == {"stored, not running"}
    named = [line.split(":")[0].strip() for line in result.out.splitlines()[1:]]
    assert f"not seen by {', '.join(named)} within" in result.err


@pytest.mark.promise("presence")
def test_after_a_wait_the_document_gives_each_of_several_its_own_reach(room: LocalRoom, player: Player):
    [document] = sent_to_all(room, player, "--json").items
    found = {each["recipient"]: (each["reach"], "session" in each) for each in document["deliveries"]}
    assert (found.pop("api"), found.pop("backend")) == (("live", False), ("idle", True))
    assert set(found.values()) == {("stored", False)}


def test_what_was_sent_is_told_before_the_wait_and_what_is_so_after_it(home: str, player: Player):
    cli = CommandLine(home)
    sign(player, "Stop")
    with cli.start("send", "one:@all", "hi", "--as", "planner", "--wait", "seen") as sender:
        assert sender.stdout is not None
        handle, verb, id = sender.stdout.readline().decode().split()
        assert (verb, id[-8:]) == ("sent", handle)
        player.end()
        cli.ok("read", "--as", "builder")
        told = sender.stdout.read().decode()
    assert "  builder: seen\n" in told
    assert "  backend: stored (taken), not running\n" in told
