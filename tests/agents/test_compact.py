"""Real agents that are compacted: mail that comes meanwhile is shown without anyone typing."""

import os

import pytest

from tests.agents.conftest import MakeDesk
from tests.agents.desk import ANA, BIN, TOOL, Desk
from tests.agents.log import BOUND, until
from tests.agents.terminal import Terminal
from tests.agents.test_terminal import WOKEN, begin

TOLD = ("claude", "qwen")  # which run a hook when a compaction is over
AT_ONCE, SLOWLY = "[[bash echo RE''ADY]] [[say BEGUN]]", "[[say BEGUN]] [[sleep 3]]"


def begin_with(desk: Desk, terminal: Terminal, script: str) -> None:
    """A first turn; what is left of its script is played for the summary."""
    terminal.wait_idle()
    terminal.submit(script)
    terminal.wait_screen(r"(?m)^\W*BEGUN")
    until(lambda: desk.presence() == "idle", BOUND, "idle session")
    terminal.wait_idle()


def compact(desk: Desk, terminal: Terminal) -> None:
    """Begin to compact it, until the model is asked for a summary."""
    asked = len(desk.rig.log.requests())
    terminal.submit(desk.rig.cli.compact)
    until(lambda: len(desk.rig.log.requests()) > asked, BOUND, "request for a summary")


@pytest.mark.parametrize("script", [AT_ONCE, SLOWLY], ids=["at-once", "slowly"])
@pytest.mark.parametrize(
    ("name", "has_daemon"), [*((name, False) for name in WOKEN), ("claude", True), ("codex", True)]
)
def test_mail_that_comes_as_an_idle_agent_is_compacted_is_in_a_request_without_anyone_typing(
    make_desk: MakeDesk, name: str, has_daemon: bool, script: str
) -> None:
    desk = make_desk(name)
    if has_daemon:
        done = desk.rig.command(os.path.join(BIN, "postroom"), "up", "--as", ANA, **desk.env)
        assert done.code == 0, done
    with desk.terminal(*desk.rig.cli.wakeable) as terminal:
        begin_with(desk, terminal, script)
        compact(desk, terminal)
        one = desk.post()
        desk.rig.log.wait(one.mark)
        desk.wait_seen(one.id)
        assert desk.rig.log.conversation(one.mark)[-1].text.count(one.mark) == 1


@pytest.mark.parametrize("name", TOLD)
def test_mail_that_waits_when_an_idle_agent_is_compacted_is_in_a_request_without_anyone_typing(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.terminal(*desk.rig.cli.wakeable) as terminal:
        begin(desk, terminal)
        desk.let_sleep()
        one = desk.send()
        compact(desk, terminal)
        desk.rig.log.wait(one.mark)
        desk.wait_seen(one.id)
        assert desk.rig.log.conversation(one.mark)[-1].text.count(one.mark) == 1


def test_mail_that_comes_as_claude_code_compacts_by_itself_is_shown_in_the_turn_that_goes_on(
    make_desk: MakeDesk,
) -> None:
    """What the end of the turn has shown just before is shown once more, with a label."""
    desk = make_desk("claude")
    # It compacts between the first request, of some 14,000 tokens, and the third, of 22,000.
    desk.env |= {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "22"}
    with desk.terminal("--allowedTools", "Bash") as terminal:
        terminal.wait_idle()
        terminal.submit(f"[[bash seq 1 6000]] [[bash {TOOL}; echo LA''TER]] [[sleep 3]] [[say SUMMARY]]")
        desk.wait_tool()
        desk.end_tool()
        desk.rig.log.wait("LATER")
        one = desk.send()
        desk.wait_seen(one.id)
        last = desk.rig.log.conversation(one.mark)[-1].text
        assert "LATER" not in last, "nothing was compacted"
        assert last.count("may have been shown before") == last.count(one.mark) - 1
