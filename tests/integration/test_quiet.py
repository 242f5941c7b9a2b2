"""The quiet marker: a valid one means that nothing of that agent is due or offered, whoever dies, or when."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from postroom import config, host
from postroom.bell.quiet import LONGEST
from postroom.clock import wall
from postroom.hooks.stub import stub
from postroom.room.local import LocalRoom
from tests import kill_at
from tests.clockwork import Clock
from tests.conftest import OpenRoom
from tests.machine import lacks
from tests.process import ROOT, Child, environment

# Steps of other protocols, which have kill tests of their own.
ELSEWHERE = (
    "journal-", "snapshot-", "prune-", "redact-", "backup-", "restore-", "attachment-", "blob-", "spill-",
    "migrating", "hook-", "before-typing", "typed", "submitted", "letter-", "copied", "after-import",
    "follow-", "room-made",
)  # fmt: skip


def steps_in_the_source() -> set[str]:
    found: set[str] = set()
    for where, _, files in os.walk(os.path.join(ROOT, "src", "postroom")):
        for name in files:
            if name.endswith(".py"):
                with open(os.path.join(where, name), encoding="utf-8") as file:
                    found.update(re.findall(r'label\.here\("([\w-]+)"\)', file.read()))
    return {step for step in found if not step.startswith(ELSEWHERE)}


def rounds(name: str, home: str, *wrong: str) -> list[dict]:
    command = [sys.executable, "-m", "tests.kill_at", name, home, *wrong]
    ran = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=100
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.promise("quiet")
@pytest.mark.parametrize("name", kill_at.SCENARIOS)
def test_the_promise_of_quiet_holds_whenever_a_process_is_killed(name: str, scratch: str):
    played = rounds(name, scratch)
    assert len(played) > 3
    assert played[-1]["step"] == ""  # at last it lived to the end
    assert [one for one in played if one["broken"]] == []


def test_together_the_scenarios_die_at_every_labelled_step(scratch: str):
    died = {
        one["step"] for name in ("send_later", "listen") for one in rounds(name, os.path.join(scratch, name))
    }
    assert steps_in_the_source() <= died


@pytest.mark.parametrize(
    ("wrong", "name"), [("lift_after_commit", "send"), ("lower_while_settling", "take_and_settle")]
)
def test_a_wrong_order_would_be_noticed(wrong: str, name: str, scratch: str):
    """The test of the test: the orders PROTOCOLS found wanting are found wanting here."""
    broken = [one for one in rounds(name, scratch, wrong) if one["broken"]]
    assert broken, "the wrong order was not noticed"
    assert all("quiet is promised" in complaint for one in broken for complaint in one["broken"])


@pytest.mark.promise("quiet")
def test_the_promise_holds_while_many_send_take_and_hush_and_are_killed(room: LocalRoom, home: str):
    checks, killed = 0, 0
    cast = [("send_for_ever", "planner"), ("send_for_ever", "builder"), ("serve_for_ever", "builder")]
    cast += [("serve_for_ever", "planner"), ("serve_for_ever", "builder")]
    children = [Child(scene, home, agent) for scene, agent in cast]
    try:
        for child in children:
            child.hear()
        for number in range(8):
            for _ in range(40):
                assert kill_at.broken(home) == []
                checks += 1
            child = children[number % len(children)]
            child.__exit__(None, None, None)
            killed += 1
            assert kill_at.broken(home) == []
            children[number % len(children)] = again = Child(*_args(cast[number % len(cast)], home))
            again.hear()
    finally:
        for child in children:
            child.__exit__(None, None, None)
    assert (checks, killed) == (320, 8)
    lowered = [event for event in room.events() if event.type == "delivery.seen"]
    assert len(lowered) > 20, "too little happened to prove anything"


def _args(part: tuple[str, str], home: str) -> tuple[str, str, str]:
    return part[0], home, part[1]


# what a marker says


def test_an_agent_with_nothing_due_is_promised_an_hour(open_room: OpenRoom, clock: Clock):
    room = open_room("builder", clock=clock)
    agent = room.join("builder")
    assert room.hush() == clock.now + LONGEST == room.quiet.until(agent.id)


def test_no_promise_is_made_while_mail_is_ready_or_offered(room: LocalRoom):
    builder = room.who("builder").id
    room.send("builder", "one")
    assert room.hush("builder") is None
    mail = room.take("builder")
    assert mail is not None
    assert room.hush("builder") is None
    assert room.quiet.until(builder) is None
    room.settle(mail)
    assert room.hush("builder") is not None


def test_the_promise_ends_when_scheduled_mail_is_due(open_room: OpenRoom, clock: Clock):
    room = open_room("builder", clock=clock)
    room.join("builder")
    room.send("builder", "later", after=60)
    assert room.hush() == clock.now + 60_000


@pytest.mark.promise("quiet")
def test_whatever_makes_mail_due_lifts_the_promise_of_its_recipient_and_of_no_other(room: LocalRoom):
    builder, planner = room.who("builder").id, room.who("planner").id
    room.hush("builder")
    room.hush("planner")
    sent = room.send("builder", "one")
    assert room.quiet.until(builder) is None
    assert room.quiet.until(planner) is not None
    room.nack(sent.id, "no", agent="builder")  # the bounce goes to the planner
    assert room.quiet.until(planner) is None


def test_what_is_refused_lifts_nothing(room: LocalRoom):
    from postroom.errors import KeyConflict

    room.send("builder", "one", key="k")
    room.ack(room.peek("builder")[0].id, agent="builder")
    room.hush("builder")
    with pytest.raises(KeyConflict):
        room.send("builder", "two", key="k")
    assert room.quiet.until(room.who("builder").id) is not None


def test_a_session_finds_its_agents_marker_by_its_own_link(room: LocalRoom):
    builder = room.who("builder").id
    room.quiet.link("session-1", builder)
    room.quiet.link("session-1", builder)
    link = os.path.join(room.home, "run", "quiet", "s", "session-1")
    assert not os.path.exists(link)
    room.hush("builder")
    assert os.path.samefile(link, room.quiet.path(builder))
    room.send("builder", "one")
    assert not os.path.exists(link)


@pytest.mark.promise("quiet")
def test_a_link_that_serves_two_agents_promises_nothing(room: LocalRoom):
    builder, planner = room.who("builder").id, room.who("planner").id
    room.hush("builder")
    room.hush("planner")
    link = os.path.join(room.home, "run", "quiet", "s", "shared")
    os.makedirs(os.path.dirname(link))
    os.symlink("left behind by one who was killed", link + ".new")
    for agent in (builder, planner, builder, planner):
        room.quiet.link("shared", agent)
    assert os.path.islink(link)
    assert not os.path.exists(link)


# what a hook does with it


def hook(room: LocalRoom, shell: str) -> bool:
    """Run the shell stub of a hook of session `s1`; whether it went on to start the command."""
    script = stub(room.home, "PostToolUse", "echo started", key="s1")
    ran = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert ran.stderr == ""
    return ran.stdout == "started s1\n"


@pytest.fixture(params=["sh", "dash", "bash", "zsh"])
def shell(request: pytest.FixtureRequest) -> str:
    found = shutil.which(request.param)
    if found is None:
        lacks(request.param)
    return str(found)


@pytest.mark.promise("quiet")
def test_a_hook_starts_nothing_while_quiet_is_promised_and_something_otherwise(room: LocalRoom, shell: str):
    builder = room.who("builder").id
    assert hook(room, shell), "no marker, no link"
    room.quiet.link("s1", builder)
    assert hook(room, shell), "no marker"
    room.hush("builder")
    assert not hook(room, shell)
    room.send("builder", "one")
    assert hook(room, shell), "mail is there"
    mail = room.take("builder")
    assert mail is not None
    room.hush("builder")
    assert hook(room, shell), "it is offered"
    room.settle(mail)
    room.hush("builder")
    assert not hook(room, shell)
    os.utime(room.quiet.path(builder), (1, 1))
    assert hook(room, shell), "the promise has ended"


def test_a_hook_leaves_a_sign_of_life(room: LocalRoom, shell: str):
    room.quiet.link("s1", room.who("builder").id)
    room.hush("builder")
    path = config.beside(room.home, "life", "s1")
    for earlier in ("", "a longer word that was there before\n"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(earlier)
        os.utime(path, (1, 1))
        hook(room, shell)
        assert os.path.getmtime(path) > 1
        with open(path, encoding="utf-8") as file:
            assert file.readline() == "PostToolUse\n"


@pytest.mark.promise("quiet")
def test_scheduled_mail_starts_a_hook_at_its_moment(room: LocalRoom, shell: str):
    room.quiet.link("s1", room.who("builder").id)
    room.send("builder", "soon", after=0.3)
    until = room.hush("builder")
    assert until is not None
    started = hook(room, shell)
    assert not started or wall() >= until  # a slow machine may be late
    room.wait("builder", timeout=10)
    assert hook(room, shell)


def test_without_proc_no_quiet_is_promised_while_something_is_scheduled(room: LocalRoom, monkeypatch):
    """A hook cannot tell the time there, so that the promise must hold until it is withdrawn."""
    monkeypatch.setattr(host, "_boot", "")
    assert room.hush("builder") is not None
    room.send("builder", "later", after=60)
    assert room.hush("builder") is None
    assert room.quiet.until(room.who("builder").id) is None
