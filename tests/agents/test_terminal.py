"""Real agents in a terminal: idle at the prompt, with a draft, after a compaction, with a subagent."""

import json
import os

import pytest

from postroom.runtimes import load
from postroom.runtimes.contract import Kind
from tests.agents.conftest import MakeDesk
from tests.agents.desk import NAME, TOOL, Desk, Posted
from tests.agents.log import BOUND, until
from tests.agents.terminal import Terminal
from tests.agents.test_delivery import ALL, LAST_ANSWER, MAIN, STEPS, check, check_killed, stop

WOKEN = ("claude", "codex", "opencode", "qwen", "copilot")
WOKEN_BY_PROMPT = WOKEN[1:]
DRAFT = "half a sentence"
ADDRESS = f"Your address in Postroom is {NAME} "


def begin(desk: Desk, terminal: Terminal) -> None:
    """A first turn: some runtimes tell of a session only when somebody has said something."""
    terminal.wait_idle()
    terminal.submit("[[bash echo RE''ADY]] [[say BEGUN]]")
    desk.rig.log.wait("READY")
    until(lambda: desk.presence() == "idle", BOUND, "idle session")
    terminal.wait_idle()


def check_shown(desk: Desk, one: Posted) -> None:
    desk.wait_seen(one.id)
    check(desk, one)


@pytest.mark.parametrize("name", WOKEN)
def test_an_idle_agent_gets_its_mail_without_anyone_typing_and_a_draft_stays(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.terminal(*desk.rig.cli.wakeable) as terminal:
        begin(desk, terminal)
        terminal.type(DRAFT)
        terminal.wait_screen(DRAFT)
        one = desk.post()
        desk.rig.log.wait(one.mark, 20)
        check_shown(desk, one)
        terminal.wait_screen(DRAFT)
        desk.note("idle wake", desk.latency(one))
        desk.note("draft kept")


def test_an_idle_claude_code_is_woken_sooner_by_its_socket(make_desk: MakeDesk) -> None:
    desk = make_desk("claude")
    desk.env["POSTROOM_WAKE_BY_SOCKET"] = "on"
    with desk.terminal() as terminal:
        begin(desk, terminal)
        terminal.type(DRAFT)
        terminal.wait_screen(DRAFT)
        one = desk.post()
        desk.rig.log.wait(one.mark, 20)
        check_shown(desk, one)
        assert "there is mail for you" in desk.rig.log.last(), "by the socket"
        terminal.wait_screen(DRAFT)


@pytest.mark.parametrize("name", ALL)
def test_mail_that_came_while_an_agent_was_idle_is_shown_with_the_next_prompt(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.terminal() as terminal:
        begin(desk, terminal)
        desk.let_sleep()
        one = desk.send()
        terminal.submit("[[bash echo hi]] [[say NEXT]]")
        desk.rig.log.wait(one.mark)
        check_shown(desk, one)
        desk.note("prompt", desk.latency(one))


def unwatch(desk: Desk) -> None:
    """Take from Claude Code the hook that wakes it."""
    path = os.path.join(desk.rig.place.home, ".claude", "settings.json")
    with open(path, encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    del hooks["FileChanged"]
    desk.rig.place.merge(path, {"hooks": hooks})


@pytest.mark.parametrize("name", MAIN)
def test_hooks_killed_at_a_prompt_lose_nothing(make_desk: MakeDesk, name: str) -> None:
    """Somebody's prompt, or that of a wake. Claude Code does without its watch, which offers by itself."""
    desk = make_desk(name)
    if name == "claude":
        unwatch(desk)
    [event] = [point.event for point in load(name).points if point.kind is Kind.PROMPT]
    with desk.terminal(*desk.rig.cli.wakeable) as terminal:
        begin(desk, terminal)
        for n, step in enumerate(STEPS):
            desk.kill_once_at(step, event)
            one = desk.post()
            if name not in WOKEN_BY_PROMPT:
                terminal.submit(f"[[say KILLED-{n}]]")
            desk.wait_killed()
            terminal.wait_idle()
            terminal.submit(f"[[bash echo CAL''LED-{n}]] [[say AFTER-{n}]]")
            desk.rig.log.wait(f"CALLED-{n}")
            desk.wait_seen(one.id)
            check_killed(desk, one, step)
            until(lambda: desk.presence() == "idle", BOUND, "idle session")
            terminal.wait_idle()


def test_hooks_killed_at_a_wake_of_claude_code_lose_nothing(make_desk: MakeDesk) -> None:
    desk = make_desk("claude")
    [event] = [point.event for point in load("claude").points if point.kind is Kind.WAKE]
    with desk.terminal() as terminal:
        begin(desk, terminal)
        for n, step in enumerate(STEPS):
            desk.kill_once_at(step, event)
            one = desk.post()
            desk.wait_killed()
            terminal.wait_idle()
            # An answer tells that a wake was dropped only when it could have been noted long before.
            terminal.submit(f"[[bash echo CAL''LED-{n}]] [[sleep 3]] [[say AFTER-{n}]]")
            desk.rig.log.wait(f"CALLED-{n}")
            desk.wait_seen(one.id)
            check_killed(desk, one, step)
            until(lambda: desk.presence() == "idle", BOUND, "idle session")
            terminal.wait_idle()


def test_mail_that_comes_before_the_end_of_a_turn_keeps_opencode_going(make_desk: MakeDesk) -> None:
    desk = make_desk("opencode")
    with desk.terminal() as terminal:
        terminal.wait_idle()
        terminal.submit(LAST_ANSWER)
        desk.rig.log.wait("begun")
        one = desk.send()
        desk.rig.log.wait(one.mark)
        check_shown(desk, one)
        assert desk.delivery(one.id).route == f"hook:{stop('opencode')}"
        desk.note("stop", desk.latency(one))


@pytest.mark.parametrize("name", ALL)
def test_after_a_compaction_an_agent_knows_its_address_and_gets_its_mail_once(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.terminal() as terminal:
        first = desk.send()
        begin(desk, terminal)
        desk.wait_seen(first.id)
        before, asked = desk.session(), len(desk.rig.log.requests())
        terminal.submit(desk.rig.cli.compact)
        until(lambda: len(desk.rig.log.requests()) > asked, BOUND, "request for a summary")
        terminal.wait_idle()
        desk.let_sleep()
        second = desk.send()
        terminal.submit("[[bash echo hi]] [[say NEXT]]")
        desk.rig.log.wait(second.mark)
        check_shown(desk, second)
        last = desk.rig.log.last()
        assert "READY" not in last, "nothing was compacted"
        assert last.count(ADDRESS) == 1
        assert last.count(first.mark) <= 1
        assert desk.is_seen(first.id)
        after = desk.session()
        assert (after.id, after.epoch) == (before.id, before.epoch + 1)
        desk.note("compaction")


@pytest.mark.parametrize("name", ALL)
def test_a_cleared_agent_has_the_same_address_and_gets_its_mail_once(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    with desk.terminal() as terminal:
        begin(desk, terminal)
        before = desk.session()
        terminal.slash(desk.rig.cli.clear)
        terminal.wait_idle()
        terminal.submit("[[bash echo AG''AIN]] [[say THEN]]")
        desk.rig.log.wait("AGAIN")
        until(lambda: desk.presence() == "idle", BOUND, "idle session")
        terminal.wait_idle()
        desk.let_sleep()
        one = desk.send()
        terminal.submit("[[bash echo hi]] [[say NEXT]]")
        desk.rig.log.wait(one.mark)
        check_shown(desk, one)
        last = desk.rig.log.last()
        assert "READY" not in last, "nothing was cleared"
        assert last.count(ADDRESS) == 1
        assert desk.session().id != before.id
        desk.note("clear")


@pytest.mark.parametrize("name", ALL)
def test_mail_for_an_agent_is_not_shown_to_its_subagent(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    script = desk.rig.cli.subagent.replace("echo sub", f"{TOOL}; echo sub")
    with desk.starting(f"PARENT {script} [[bash echo outer]] [[say GOODBYE]]") as running:
        desk.wait_tool()
        one = desk.send()
        desk.end_tool()
        assert running.finish() == 0
    shown = [request for request in desk.rig.log.conversation(one.mark) if "PARENT" not in request.text]
    assert shown == [], "the subagent was shown its parent's mail"
    check(desk, one, about="PARENT")
    desk.note("subagent")
