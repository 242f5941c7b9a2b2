"""Real agents in an emulated terminal of ours: read as in tmux, and mail is typed into them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from postroom.bridges.contract import Assent, Doing, Launch, Result, Text
from postroom.bridges.process import pty
from postroom.bridges.process.pty import PtyBridge
from tests.agents.conftest import MakeRig
from tests.agents.log import until
from tests.agents.rig import Rig

MAIL = "Postroom: what does the build say?\nAnd what do the tests say?"
READ = ("claude", "codex", "qwen", "copilot", "opencode", "goose", "aider")
WILLING = Assent(lambda: None, lambda: True)


@contextmanager
def opened(rig: Rig) -> Iterator[PtyBridge]:
    command = [*rig.prefix, rig.program, *rig.cli.interactive]
    berth = pty.start(Launch("a1", "p/builder", command, rig.place.project, rig.env, rig.cli.name))
    bridge = pty.open(berth)
    try:
        if consent := rig.cli.consent(rig.place):
            pattern, digit = consent
            until(lambda: re.search(pattern, bridge.screen()), what="question at the start")
            bridge.terminal().press(digit)
        yield bridge
    finally:
        bridge.close()


def is_asked(rig: Rig) -> bool:
    return any("what does the build say?" in request.text for request in rig.log.requests())


@pytest.mark.parametrize("name", READ)
def test_an_agent_in_a_terminal_of_ours_gets_its_mail(make_rig: MakeRig, name: str) -> None:
    rig = make_rig(name)
    with opened(rig) as bridge:
        until(lambda: bridge.observe().doing is Doing.IDLE, what="idle screen")
        until(lambda: (bridge.terminal().look().moved_ago or 0) > 1, what="screen at rest")
        delivered = bridge.deliver(Text(MAIL), WILLING)
        assert delivered.result is Result.PROVEN, (delivered, bridge.screen())
        until(lambda: is_asked(rig), what="mail in a request")
        until(lambda: bridge.observe().doing is Doing.IDLE, what="end of the turn")


def test_gemini_looks_otherwise_outside_of_tmux_and_is_not_typed_into(make_rig: MakeRig) -> None:
    """It draws no border round its composer there, and nothing else tells where that ends."""
    rig = make_rig("gemini")
    with opened(rig) as bridge:
        until(lambda: "Type your message" in bridge.screen(), what="composer")
        refused = bridge.deliver(Text(MAIL), WILLING)
        assert (refused.result, refused.reason) == (Result.REFUSED, "unknown_screen")
    assert not is_asked(rig)
