"""A program that runs Claude Code by the Claude Agent SDK: its agent has a mailbox."""

import json
import os
import signal

import pytest

from tests.agents.conftest import MakeRig
from tests.agents.desk import Desk
from tests.agents.log import BOUND, until
from tests.agents.pin import cache, program
from tests.process import ROOT

EXAMPLE = os.path.join(ROOT, "examples", "claude_agent.py")


@pytest.mark.promise("sdk")
@pytest.mark.parametrize("is_set_up", [False, True])
def test_the_example_of_the_claude_agent_sdk_is_shown_mail_and_answers_it(
    make_rig: MakeRig, is_set_up: bool
) -> None:
    """Also where the user's own sessions have our hooks: they do not run twice."""
    rig = make_rig("claude")
    python = program("claude-sdk") or pytest.skip(f"NOT TESTED HERE: no claude-sdk in {cache()}: make agents")
    desk = Desk(rig).set_up() if is_set_up else Desk(rig).move_in()
    desk.room.join("builder")
    desk.room.join("planner")
    had = {path: os.path.exists(os.path.join(rig.place.home, path)) for path in (".claude/settings.json",)}
    env = desk.env | {"PYTHONPATH": os.path.join(ROOT, "src"), "ENABLE_TOOL_SEARCH": "false"}
    env.pop("POSTROOM_AGENT", None)
    first = desk.send("Please build it.", to="builder")
    said = json.dumps({"to": "planner", "body": "BUILT"})
    process = rig.start(python, EXAMPLE, f"[[tool mcp__postroom__send {said}]] [[say READY]]", "60", **env)
    try:
        until(lambda: desk.is_seen(first.id) or process.poll() is not None, BOUND, "first mail")
        assert process.poll() is None, process.communicate()
        until(lambda: desk.room.peek("planner"), BOUND, "answer")
        second = desk.send("And test it.", to="builder")
        until(lambda: desk.is_seen(second.id) or process.poll() is not None, BOUND, "second mail")
        assert process.poll() is None, process.communicate()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
    [answer] = desk.room.peek("planner")
    sent = answer.message
    assert (sent.body, sent.sender, sent.sender_runtime) == ("BUILT", "builder", "claude")
    assert sent.verified in ("session", "process")
    for one in (first, second):
        assert rig.log.count(one.mark, about=one.mark) == 1
        assert (desk.delivery(one.id).route or "").startswith("hook:")
    assert {path: os.path.exists(os.path.join(rig.place.home, path)) for path in had} == had
    assert desk.complaints() == ""
    desk.close()
