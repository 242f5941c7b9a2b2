"""Mail in the requests of real agents: each message once, at each point where its runtime can be reached.

The request log of the scripted model is the witness: a message was delivered when its text stands in what
the model was asked, and `seen` may be claimed for nothing else.
"""

import pytest

from postroom.model.ladder import State
from postroom.runtimes import load
from postroom.runtimes.contract import Kind
from tests.agents.conftest import MakeDesk
from tests.agents.desk import TOOL, Desk, Posted, tool

MAIN = ("claude", "codex", "gemini", "opencode")
OTHERS = ("qwen", "copilot")
ALL = (*MAIN, *OTHERS)
# goose is reached at the end of a turn only; opencode, headless, ends with it.
KEPT_GOING = (*(name for name in ALL if name != "opencode"), "goose")

LAST_ANSWER = "[[bash echo be''gun]] [[sleep 4]] [[say GOODBYE]]"

STEPS = ("hook-begun", "hook-claimed", "hook-writing", "hook-written", "hook-handed")
AFTER_WRITING = STEPS[3:]

agents = pytest.mark.parametrize("name", ALL)


def check(desk: Desk, *posted: Posted, about: str = "") -> None:
    """Each was in the model's context exactly once, and is seen."""
    last = desk.rig.log.last(about)
    for one in posted:
        assert last.count(one.mark) == 1, (one.mark, last.count(one.mark), desk.complaints())
        assert desk.is_seen(one.id), (desk.room.receipts(one.id), desk.complaints())
    assert desk.complaints() == ""


def stop(name: str) -> str:
    """The event at which a runtime's turn is about to end."""
    [event] = [point.event for point in load(name).points if point.kind is Kind.STOP]
    return event


@agents
def test_mail_that_waited_is_in_the_first_request(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    one = desk.send()
    done = desk.run("[[bash echo hi]] [[say GOODBYE]]")
    assert done.code == 0, done
    assert one.mark in desk.rig.log.conversation()[0].text
    check(desk, one)
    desk.note("start", desk.latency(one))


@agents
def test_mail_that_comes_while_parallel_tools_run_is_in_the_next_request(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.starting(
        f"[[both {TOOL} ||| echo TWIN''RESULT]] [[bash echo next]] [[say GOODBYE]]"
    ) as running:
        desk.wait_tool()
        one = desk.send()
        desk.end_tool()
        assert running.finish() == 0
    assert one.mark in desk.rig.log.conversation("TWINRESULT")[0].text
    check(desk, one)
    desk.note("tool", desk.latency(one))


@pytest.mark.parametrize("name", KEPT_GOING)
def test_mail_that_comes_before_the_end_of_a_turn_keeps_it_going(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    with desk.starting(LAST_ANSWER) as running:
        desk.rig.log.wait("begun")
        one = desk.send()
        assert running.finish() == 0
    check(desk, one)
    assert desk.delivery(one.id).route == f"hook:{stop(name)}"
    desk.note("stop", desk.latency(one))


def test_mail_that_comes_in_the_last_moment_of_a_headless_opencode_waits_for_the_next(
    make_desk: MakeDesk,
) -> None:
    desk = make_desk("opencode")
    with desk.starting(LAST_ANSWER) as running:
        desk.rig.log.wait("begun")
        one = desk.send()
        assert running.finish() == 0
    assert desk.delivery(one.id).state is State.STORED
    assert desk.run("[[bash echo hi]] [[say GOODBYE]]").code == 0
    check(desk, one)


@agents
def test_twenty_messages_at_once_are_each_shown_once(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    posted = [desk.send() for _ in range(20)]
    done = desk.run("[[bash echo hi]] [[bash echo ho]] [[say GOODBYE]]")
    assert done.code == 0, done
    check(desk, *posted)


@agents
def test_what_was_seen_before_a_resumption_is_not_shown_again_and_new_mail_is(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    first = desk.send()
    assert desk.run("[[bash echo hi]] [[say GOODBYE]]").code == 0
    second = desk.send()
    done = desk.resume("[[bash echo ho]] [[say AGAIN]]")
    assert done.code == 0, done
    assert desk.rig.log.last().count(first.mark) <= 1, "not all keep what a hook said at the start"
    assert desk.is_seen(first.id)
    check(desk, second)
    [status] = [status for status in desk.room.agents() if status.agent.name == "backend"]
    assert status.waiting == 0


@agents
def test_an_agent_that_starts_has_its_address_and_its_guide(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    assert desk.run("[[say GOODBYE]]").code == 0
    first = desk.rig.log.conversation()[0]
    assert first.text.count("Your address in Postroom is backend") == 1
    assert desk.complaints() == ""


def check_killed(desk: Desk, one: Posted, step: str) -> None:
    """Shown once, or twice with a label if it may have been written; and seen."""
    last = desk.rig.log.last()
    shown = last.count(one.mark)
    assert 1 <= shown <= (2 if step in AFTER_WRITING else 1), (step, shown, desk.room.receipts(one.id))
    if shown == 2:
        assert "may have been shown before" in last
    assert desk.delivery(one.id).state is State.SEEN, (step, desk.room.receipts(one.id))


@pytest.mark.parametrize("step", STEPS)
@agents
def test_a_hook_killed_at_a_labelled_step_loses_nothing(make_desk: MakeDesk, name: str, step: str) -> None:
    desk = make_desk(name)
    one = desk.send()
    offers = [p.event for p in load(name).points if p.proven_by]
    desk.kill_once_at(step, offers[0] if step == STEPS[0] else "")
    done = desk.run("[[bash echo a]] [[bash echo b]] [[bash echo c]] [[say GOODBYE]]")
    assert done.code == 0, done
    assert desk.has_killed(), "no hook came to that step"
    check_killed(desk, one, step)


@pytest.mark.parametrize("name", MAIN)
def test_hooks_killed_after_a_tool_lose_nothing(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    [event] = [point.event for point in load(name).points if point.kind is Kind.TOOL]
    tools = "".join(f"[[bash {tool(n)}]] [[bash echo after {n}]] " for n in range(len(STEPS)))
    with desk.starting(f"{tools} [[say GOODBYE]]") as running:
        posted: list[Posted] = []
        for n, step in enumerate(STEPS):
            desk.wait_tool(n)
            desk.kill_once_at(step, event)
            posted.append(desk.send())
            desk.end_tool(n)
            desk.wait_killed()
        assert running.finish() == 0
    for one, step in zip(posted, STEPS, strict=True):
        check_killed(desk, one, step)


@pytest.mark.parametrize("name", KEPT_GOING)
def test_a_hook_killed_at_the_end_of_a_turn_claims_only_what_the_model_got(
    make_desk: MakeDesk, name: str
) -> None:
    """Some take what a hook said that dies in its last instant, some drop it."""
    desk = make_desk(name)
    desk.kill_once_at("hook-handed", stop(name))
    with desk.starting(LAST_ANSWER) as running:
        desk.rig.log.wait("begun")
        one = desk.send()
        assert running.finish() == 0
    assert desk.has_killed(), "the hook never came to that step"
    assert desk.is_seen(one.id) <= (desk.rig.log.count(one.mark) == 1)
    if not desk.is_seen(one.id):
        assert desk.run("[[bash echo hi]] [[say AGAIN]]").code == 0
        assert desk.is_seen(one.id), desk.room.receipts(one.id)
        assert desk.rig.log.count(one.mark) == 1
        assert "may have been shown before" in desk.rig.log.last()


def test_goose_is_shown_what_waited_at_the_end_of_its_first_turn(make_desk: MakeDesk) -> None:
    desk = make_desk("goose")
    posted = [desk.send() for _ in range(20)]
    assert desk.run("[[bash echo hi]] [[say GOODBYE]]").code == 0
    check(desk, *posted)
