"""The rig itself: each CLI asks the model, runs its tool, and is gone afterwards."""

import os

import pytest

from tests.agents.clis import CLIS
from tests.agents.conftest import MakeRig

WITH_TOOLS = [name for name in CLIS if name != "aider"]


@pytest.mark.parametrize("name", WITH_TOOLS)
def test_a_headless_prompt_reaches_the_model_and_its_tool_runs(make_rig: MakeRig, name: str) -> None:
    rig = make_rig(name)
    done = rig.run("MARKER-1 [[bash echo res''ult | tee made.txt]] [[say GOODBYE]]")
    assert done.code == 0, done
    assert "GOODBYE" in done.out
    assert rig.log.count("MARKER-1") == 1
    assert rig.log.count("result") >= 1
    assert os.path.exists(os.path.join(rig.place.project, "made.txt"))


def test_aider_which_has_no_tools_asks_the_model(make_rig: MakeRig) -> None:
    rig = make_rig("aider")
    done = rig.run("MARKER-1 [[say GOODBYE]]")
    assert "GOODBYE" in done.out
    assert [request for request in rig.log.requests() if "MARKER-1" in request.text]


@pytest.mark.parametrize("name", WITH_TOOLS)
def test_a_terminal_waits_at_its_prompt_and_takes_a_script(make_rig: MakeRig, name: str) -> None:
    rig = make_rig(name)
    with rig.terminal() as terminal:
        terminal.wait_idle()
        terminal.submit("MARKER-1 [[say GOODBYE]]")
        rig.log.wait("MARKER-1")
        terminal.wait_screen("GOODBYE")
        terminal.wait_idle()
    rig.close()
    assert not os.path.exists(rig.place.root)


def test_the_agents_world_has_no_network_but_loopback(make_rig: MakeRig) -> None:
    rig = make_rig(next(name for name in CLIS))
    done = rig.command("cat", "/proc/net/route", "/proc/net/if_inet6")
    assert "eth" not in done.out
    assert [line for line in done.out.splitlines()[1:] if not line.endswith(" lo")] == []
