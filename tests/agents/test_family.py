"""Real agents that came of another: forks of a session, and subagents with mail of their own."""

import re

import pytest

from tests.agents.conftest import MakeDesk
from tests.agents.desk import NAME, TOOL, Desk
from tests.agents.test_delivery import check

FORKING = ("claude", "codex", "opencode")
FORK = "[[bash echo FOR''KED]] [[say BYE]]"


def told(desk: Desk) -> str:
    """The last address that a fork was told."""
    return re.findall(r"Your address in Postroom is (\S+) ", desk.rig.log.last("FORKED"))[-1]


@pytest.mark.parametrize("name", FORKING)
def test_a_fork_is_another_agent_while_its_origin_runs_and_mail_is_shown_in_the_origin(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.starting(f"[[bash {TOOL}]] [[bash echo ORI''GIN]] [[say GOODBYE]]") as running:
        desk.wait_tool()
        one = desk.send()
        done = desk.fork(desk.session(), FORK)
        assert done.code == 0, done
        desk.end_tool()
        assert running.finish() == 0
    assert told(desk) != NAME
    assert one.mark not in desk.rig.log.last("FORKED")
    check(desk, one, about="ORIGIN")
    desk.note("fork")


@pytest.mark.parametrize("name", FORKING)
def test_a_fork_of_a_session_that_has_ended_has_its_address_and_its_mail(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    first = desk.send()
    with desk.starting(f"[[bash {TOOL}]] [[say GOODBYE]]") as running:
        desk.wait_tool()
        origin = desk.session()
        desk.end_tool()
        assert running.finish() == 0
    second = desk.send()
    done = desk.fork(origin, FORK)
    assert done.code == 0, done
    assert told(desk) == NAME
    assert desk.rig.log.last("FORKED").count(first.mark) <= 1
    check(desk, second, about="FORKED")


@pytest.mark.parametrize("name", FORKING)
def test_mail_for_a_subagent_is_shown_to_it_and_not_to_its_parent(make_desk: MakeDesk, name: str) -> None:
    desk = make_desk(name)
    script = desk.rig.cli.subagent.replace("echo sub", f"{TOOL}; echo sub")
    with desk.starting(f"PARENT {script} [[bash echo outer]] [[say GOODBYE]]") as running:
        desk.wait_tool()
        [child] = [one.agent.name for one in desk.room.agents() if one.agent.name.startswith(f"{NAME}.")]
        one = desk.send(to=child)
        desk.end_tool()
        assert running.finish() == 0
    requests = desk.rig.log.conversation(one.mark)
    assert requests, (desk.room.receipts(one.id), desk.complaints())
    assert all("PARENT" not in request.text for request in requests)
    assert requests[-1].text.count(one.mark) == 1
    assert desk.is_seen(one.id), desk.room.receipts(one.id)
    assert desk.complaints() == ""
