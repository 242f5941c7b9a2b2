"""Who is calling, by evidence: processes that play agent CLIs run real hooks and real commands."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from postroom import host
from postroom.errors import NoIdentity
from postroom.room.local import LocalRoom, open_room
from postroom.room.seat import Seat
from postroom.room.session import current
from tests.commandline import COMMAND
from tests.conftest import OpenRoom
from tests.machine import unshare
from tests.player import Player
from tests.process import BOUND, ROOT, environment

Play = Callable[..., Player]


@pytest.fixture
def play(home: str, tmp_path: os.PathLike[str], open_room: OpenRoom) -> Iterator[Play]:
    """Starts agent CLIs in a directory; each begins a session, unless told otherwise."""
    room = open_room()
    room.join("human:ana")
    room.join("builder")
    with ExitStack() as stack:

        def start(session: str = "s1", *, at: str = "work", begin: bool = True, **options: Any) -> Player:
            player = stack.enter_context(Player(home, os.path.join(tmp_path, at), session, **options))
            if begin:
                player.hook("SessionStart", source="startup")
            return player

        yield start


def message(player: Player, *argv: str, **options: Any) -> dict[str, Any]:
    """Send something; the message as the room has it."""
    sent = player.ok("send", "builder", *argv, **options)
    return player.ok("receipts", sent["id"])["message"]


@pytest.mark.promise("identity")
def test_an_agents_shell_needs_no_name_and_its_mail_says_how_it_was_verified(play: Play):
    player = play(POSTROOM_AGENT="backend")
    sent = message(player, "hi")
    assert (sent["sender"], sent["verified"]) == ("backend", "session")
    assert (sent["sender_session"], sent["sender_runtime"]) == ("claude:s1:main", "claude")


@pytest.mark.promise("identity")
def test_without_a_variable_the_process_above_is_the_evidence(play: Play):
    player = play(POSTROOM_AGENT="backend")
    sent = message(player, "hi", CLAUDE_CODE_SESSION_ID="")
    assert (sent["sender"], sent["verified"], sent["sender_session"]) == (
        "backend",
        "process",
        "claude:s1:main",
    )


@pytest.mark.promise("identity")
def test_a_name_that_contradicts_the_evidence_is_refused_and_both_are_named(play: Play):
    player = play(POSTROOM_AGENT="backend")
    for command in (["send", "human:ana", "hi"], ["inbox"], ["read"]):
        for name in ("builder", "human:ana", "nobody"):
            refused = player.shell(*command, "--as", name, "--json")
            assert refused.code == 5
            assert refused.error["error"] == "not_your_name"
            assert f"you are backend, not {name}: process " in refused.error["message"]
            assert (refused.error["claimed"], refused.error["evident"]) == (name, "p/backend")


def test_its_own_name_and_those_under_it_are_not_refused(play: Play):
    player = play(POSTROOM_AGENT="backend")
    assert message(player, "hi", "--as", "backend")["verified"] == "session"
    child = message(player, "hi", "--as", "backend.explore")
    assert (child["sender"], child["verified"]) == ("backend.explore", "session")
    assert message(player, "again", "--as", "backend.explore")["sender"] == "backend.explore"
    assert player.shell("send", "builder", "hi", "--as", "backend2").code == 5


@pytest.mark.promise("identity")
def test_a_name_in_the_environment_gives_way_to_the_evidence_and_that_is_told(play: Play):
    player = play(POSTROOM_AGENT="backend")
    done = player.shell("send", "human:ana", "hi", POSTROOM_AGENT="builder")
    assert done.code == 0
    assert "POSTROOM_AGENT=builder is ignored: you are backend" in done.err
    assert message(player, "hi", POSTROOM_AGENT="builder")["sender"] == "backend"
    assert "ignored" not in player.shell("send", "human:ana", "hi").err


@pytest.mark.promise("identity")
def test_an_inherited_session_id_is_not_taken_for_evidence(play: Play):
    """As in a pane of a tmux server that an agent started, or in another agent's shell."""
    outer, other = play("s1", POSTROOM_AGENT="backend"), play("s2", at="elsewhere", begin=False)
    nowhere = other.shell("send", "builder", "hi", "--json", CLAUDE_CODE_SESSION_ID="s1")
    assert (nowhere.code, nowhere.error["error"]) == (2, "no_identity")
    other.hook("SessionStart")
    assert message(other, "hi", CLAUDE_CODE_SESSION_ID="s1")["sender"] != "backend"
    assert message(outer, "hi", CLAUDE_CODE_SESSION_ID="s2")["sender"] == "backend"


@pytest.mark.promise("identity")
def test_an_agent_inside_another_is_not_the_one_around_it(play: Play):
    """It inherits both variables, and the processes of the outer one are above it, too."""
    outer = play("s1", POSTROOM_AGENT="backend")
    script = """
import json, subprocess, sys
beat = json.dumps({"session_id": "s2", "cwd": "."})
hook = [sys.executable, "-m", "postroom.hooks.main", "claude", "SessionStart", "s2"]
send = [sys.executable, "-m", "postroom", "send", "builder", "hi", "--json"]
subprocess.run(hook, input=beat, text=True, check=True, capture_output=True)
sys.stdout.write(subprocess.run(send, text=True, check=True, capture_output=True).stdout)
"""
    sent = json.loads(outer.python(script))
    inner = outer.ok("receipts", sent["id"])["message"]
    assert (inner["verified"], inner["sender_session"]) == ("process", "claude:s2:main")
    assert inner["sender"] != "backend"
    assert outer.name == "backend"


@pytest.mark.promise("identity")
def test_an_agent_whose_hooks_tell_nothing_is_not_the_one_around_it(play: Play, tmp_path: os.PathLike[str]):
    """Codex skips hooks that nobody has reviewed, in silence."""
    codex = os.path.join(tmp_path, "codex")
    with open(codex, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n"$@"\nexit $?\n')
    os.chmod(codex, 0o755)
    player = play()
    assert player.shell("inbox").code == 0
    assert player.shell("inbox", prefix=(codex,)).code == 2, "it must say who it is"
    assert player.shell("inbox", "--as", "builder", prefix=(codex,)).code == 0


@pytest.mark.skipif(not host.lineage(), reason="NOT TESTED HERE: no /proc")
def test_a_program_that_is_older_than_its_session_is_known_once_that_has_begun(room: LocalRoom):
    with open_room(room.home, project="p") as early:
        with pytest.raises(NoIdentity):
            early.send("builder", "too early")
        seat = Seat("claude", "s1", "", "", host.lineage()[0], "", {})
        with room.write() as tx:
            current(room, tx, seat, anew=True)
        assert early.send("builder", "hi").message.verified == "process"


@pytest.mark.promise("identity")
def test_a_process_with_two_sessions_is_evidence_only_with_the_one_that_is_named(play: Play):
    server = play("s1", POSTROOM_AGENT="backend")
    server.hook("SessionStart", "s2")
    names = {message(server, "hi", CLAUDE_CODE_SESSION_ID=one)["sender"] for one in ("s1", "s2")}
    assert len(names) == 2
    assert "backend" in names
    unnamed = server.shell("send", "builder", "hi", "--json", CLAUDE_CODE_SESSION_ID="", POSTROOM_AGENT="")
    assert unnamed.error["error"] == "no_identity"
    believed = message(server, "hi", "--as", "builder", CLAUDE_CODE_SESSION_ID="")
    assert (believed["sender"], believed["verified"]) == ("builder", "unverified")


def test_behind_a_sandbox_that_hides_processes_the_environment_gives_a_name_and_no_proof(play: Play):
    player = play(POSTROOM_AGENT="backend")
    hidden = tuple(unshare("--pid", "--fork", "--mount-proc"))
    sent = message(player, "hi", prefix=hidden)
    assert (sent["sender"], sent["verified"], sent["sender_session"]) == ("backend", "unverified", None)
    assert message(player, "hi", "--as", "builder", prefix=hidden)["sender"] == "builder"


@pytest.mark.parametrize(
    ("around", "verified"),
    [({}, "terminal"), ({"CODEX_THREAD_ID": "t"}, "unverified"), ({"GEMINI_CLI": "1"}, "unverified")],
)
def test_a_person_is_one_at_a_terminal_with_no_agent_around(
    home: str, room: LocalRoom, around: dict[str, str], verified: str
):
    send = [*COMMAND, "send", "builder", "hi", "--as", "human:ana", "--quiet", "--home", home]
    env = environment(POSTROOM_PROJECT="p", **around)
    script = (  # below nobody: an agent may run the tests
        "import os, pty\nabove = os.getpid()\nif os.fork(): os._exit(0)\nwhile os.getppid() == above: pass\n"
        f"os._exit(os.waitstatus_to_exitcode(pty.spawn({send!r})))"
    )
    subprocess.run([sys.executable, "-c", script], env=env, cwd=ROOT, check=True, timeout=BOUND,
                   capture_output=True, stdin=subprocess.DEVNULL)  # fmt: skip
    [at_terminal] = room.peek("builder")
    subprocess.run(
        send, env=env, cwd=ROOT, check=True, timeout=BOUND, capture_output=True, start_new_session=True
    )
    _, without = room.peek("builder")
    assert (at_terminal.message.verified, without.message.verified) == (verified, "unverified")


def test_a_person_below_an_agent_without_hooks_only_claims_to_be_one(home: str, room: LocalRoom):
    """An agent whose shells have a terminal of their own, and which leaves nothing in the environment."""
    send = [*COMMAND, "send", "builder", "hi", "--as", "human:ana", "--quiet", "--home", home]
    env = environment(POSTROOM_PROJECT="p")
    script = (
        "import os, pty\nopen('/proc/self/comm', 'w').write('goose')\n"
        f"os._exit(os.waitstatus_to_exitcode(pty.spawn({send!r})))"
    )
    subprocess.run([sys.executable, "-c", script], env=env, cwd=ROOT, check=True, timeout=BOUND,
                   capture_output=True, stdin=subprocess.DEVNULL)  # fmt: skip
    [mail] = room.peek("builder")
    assert mail.message.verified == "unverified"


def test_a_program_in_an_agents_shell_is_that_agent_unless_it_says_who_it_is(play: Play):
    player = play(POSTROOM_AGENT="backend")
    script = "import postroom\nroom = postroom.open({})\nprint(room.send('builder', 'hi').message.verified)"
    assert player.python(script.format("")) == "session"
    assert player.python(script.format("agent='worker'")) == "unverified"


@pytest.mark.promise("address-kept")
def test_the_next_session_in_the_same_process_is_the_same_agent(play: Play):
    player = play("s1")
    first = player.name
    player.hook("SessionEnd", reason="clear")
    player.session, player.cwd = "s2", os.path.dirname(player.cwd)
    player.hook("SessionStart", source="clear")
    assert player.name == first


@pytest.mark.promise("address-kept")
@pytest.mark.parametrize("ending", ["SessionEnd", "killed"])
def test_a_session_resumed_in_another_process_and_place_is_the_same_agent(play: Play, ending: str):
    player = play("s1")
    first = player.name
    if ending == "SessionEnd":
        player.hook(ending)
    player.end()
    other = play("s2")  # takes the address that is free
    assert other.name == first
    resumed = play("s1", at="elsewhere", begin=False)
    resumed.hook("SessionStart", source="resume")
    assert resumed.name == first


@pytest.mark.promise("address-kept")
def test_compaction_and_resumption_change_nothing(play: Play):
    player = play("s1")
    first = player.name
    for source in ("compact", "resume"):
        player.hook("SessionStart", source=source)
        assert player.name == first


@pytest.mark.promise("address-kept")
def test_two_live_sessions_in_one_place_are_two_agents(play: Play):
    first, second = play("s1"), play("s2")
    assert first.name != second.name
    assert play("s3", POSTROOM_AGENT="backend").name == "backend"
    assert play("s4", POSTROOM_AGENT="backend").name not in ("backend", first.name, second.name)


def test_a_fork_is_another_agent_while_its_origin_lives(play: Play):
    first = play("s1")
    forked = play("s2", begin=False)
    forked.hook("SessionStart", source="fork")
    assert forked.name != first.name


@pytest.mark.promise("address-kept")
def test_a_renamed_agent_keeps_its_session_and_its_children(play: Play):
    player = play(POSTROOM_AGENT="backend")
    message(player, "hi", "--as", "backend.x")
    player.ok("rename", "api")
    assert (player.name, message(player, "hi")["verified"]) == ("api", "session")
    player.hook("SessionStart", source="compact")
    assert player.name == "api"
    assert message(player, "hi", "--as", "backend.x")["verified"] == "session"


@pytest.mark.parametrize("name", ["human:ana", "@all", "No Name"])
def test_a_name_that_no_agent_can_bear_keeps_no_session_from_its_mail(play: Play, name: str):
    player = play(POSTROOM_AGENT=name)
    assert "-" in player.name


def test_the_end_of_one_process_does_not_end_a_session_that_goes_on_in_another(play: Play):
    old, new = play("s1"), play("s1", begin=False)
    new.hook("SessionStart", source="resume")
    old.hook("SessionEnd")
    assert message(new, "hi")["verified"] == "session"
    new.hook("SessionEnd")
    assert new.shell("send", "builder", "hi").code == 2


def test_who_is_named_in_a_question_need_not_be_who_asks(play: Play):
    player = play(POSTROOM_AGENT="backend")
    for command in (
        ["log", "builder"],
        ["routes", "--from", "builder", "--to", "backend"],
        ["join", "x", "--supervisor", "builder"],
    ):
        assert player.shell(*command).code == 0, command


@pytest.mark.promise("identity")
def test_a_subagent_that_its_runtime_calls_main_is_not_the_conversation(play: Play):
    player = play(POSTROOM_AGENT="backend")
    said = player.hook("SubagentStart", agent_id="main", agent_type="explore").out
    assert "Your own address in Postroom is backend.explore." in said
    assert message(player, "hi")["sender_session"] == "claude:s1:main"
    player.hook("SubagentStop", agent_id="main", agent_type="explore")
    assert player.name == "backend"
