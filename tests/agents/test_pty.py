"""Real agents in an emulated terminal of ours: read as in tmux, and mail is typed into them."""

import re

import pytest

from postroom.bridges.contract import Assent, Doing, Launch, Result, Text
from postroom.bridges.process import pty
from tests.agents.conftest import MakeRig
from tests.agents.log import until

MAIL = "Postroom: what does the build say?\nAnd what do the tests say?"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "goose", "aider"])
def test_an_agent_in_a_terminal_of_ours_gets_its_mail(make_rig: MakeRig, name: str) -> None:
    rig = make_rig(name)
    command = [*rig.prefix, rig.program, *rig.cli.interactive]
    berth = pty.start(Launch("a1", "p/builder", command, rig.place.project, rig.env, name))
    bridge = pty.open(berth)
    try:
        if consent := rig.cli.consent(rig.place):
            pattern, digit = consent
            until(lambda: re.search(pattern, bridge.screen()), what="question at the start")
            bridge.terminal.press(digit)
        until(lambda: bridge.observe().doing is Doing.IDLE, what="idle screen")
        until(lambda: (bridge.terminal.look().moved_ago or 0) > 1, what="screen at rest")
        delivered = bridge.deliver(Text(MAIL), Assent(lambda: None, lambda: True))
        assert delivered.result is Result.PROVEN, (delivered, bridge.screen())
        rig.log.wait("what does the build say?")
        until(lambda: bridge.observe().doing is Doing.IDLE, what="end of the turn")
    finally:
        bridge.close()
