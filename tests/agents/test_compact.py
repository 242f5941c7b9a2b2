"""Real agents that are compacted: mail that comes meanwhile is shown without anyone typing."""

import pytest

from tests.agents.conftest import MakeDesk
from tests.agents.log import BOUND, until
from tests.agents.test_terminal import WOKEN, begin, check_shown


@pytest.mark.parametrize("name", WOKEN)
def test_mail_that_waits_when_an_idle_agent_is_compacted_is_in_a_request_without_anyone_typing(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.terminal(*desk.rig.cli.wakeable) as terminal:
        begin(desk, terminal)
        before = desk.session()
        asked = len(desk.rig.log.requests())
        desk.let_sleep()
        one = desk.send()
        terminal.submit(desk.rig.cli.compact)
        until(lambda: len(desk.rig.log.requests()) > asked, BOUND, "request for a summary")
        desk.rig.log.wait(one.mark)
        check_shown(desk, one)
        assert desk.session().epoch == before.epoch + 1
        desk.note("compaction at an idle prompt")


@pytest.mark.parametrize("name", WOKEN)
def test_mail_that_comes_as_a_compaction_begins_is_in_a_request_without_anyone_typing(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    with desk.terminal(*desk.rig.cli.wakeable) as terminal:
        begin(desk, terminal)
        asked = len(desk.rig.log.requests())
        terminal.submit(desk.rig.cli.compact)
        until(lambda: len(desk.rig.log.requests()) > asked, BOUND, "request for a summary")
        one = desk.post()
        desk.rig.log.wait(one.mark)
        check_shown(desk, one)
