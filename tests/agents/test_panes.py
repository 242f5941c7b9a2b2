"""Real agents in panes of tmux, adopted, reached by the daemon: typed into when it is safe, and only then.

The request log of the scripted model is the witness again; the screen is what a person would see.
"""

import json
import os
import time

import pytest

from postroom.runtimes.contract import NUDGE
from tests.agents.beginning import BEGINNINGS
from tests.agents.conftest import MakeDesk
from tests.agents.desk import ANA, NAME, Desk
from tests.agents.hostile import Rounds, behind, plans
from tests.agents.log import BOUND, until
from tests.agents.pane import Pane, Person
from tests.agents.test_terminal import begin

ALL = ("claude", "codex", "gemini", "opencode", "goose", "aider", "qwen", "copilot")
ROUNDS, TIMES = 100, 20
DRAFT = "half a sentence"
SLOW = "[[sleep 5]] [[say SLOWLY]]"
LONG = "[[bash touch begun.txt; sleep 6; touch ran.txt]] [[say TOOLED]]"
ENDLESS = "[[sleep 40]] [[say NEVER]]"
SILENT = ("aider",)  # which ask nothing once they run
ASKED = {name: BEGINNINGS[name]["dialog"] for name in ("opencode", "goose")}  # which ask only if told to


def open_pane(desk: Desk) -> Pane:
    """The agent in a pane, where it asks before it runs a tool."""
    beginning = ASKED.get(desk.rig.cli.name)
    if beginning is not None:
        beginning.prepare(desk.rig.place)
    return Pane(desk, desk.rig.terminal(**desk.env | (beginning.also if beginning else {})))


@pytest.mark.parametrize("name", ALL)
def test_an_agent_without_hooks_has_its_mail_typed_when_it_is_idle_and_nothing_is_in_the_way(
    make_bare_desk: MakeDesk, name: str
) -> None:
    pane = open_pane(make_bare_desk(name))
    pane.begin()
    found = pane.adopt("--no-server")
    assert (found["runtime"], found["doing"], found["mail"]) == (name, "idle", "typed")
    check_idle(pane)
    check_busy(pane)
    check_draft(pane)
    if name not in SILENT:
        check_tool(pane)
        check_dialog(pane)
    check_interrupt(pane)


def check_idle(pane: Pane) -> None:
    took = pane.wait_typed(pane.desk.send("It is idle."))
    pane.desk.note("typed idle", took)
    pane.wait_idle()


def check_busy(pane: Pane) -> None:
    """It waits, and goes in as a turn of its own."""
    pane.terminal.submit(SLOW)
    until(lambda: pane.asked("SLOWLY"), BOUND, "request")
    pane.wait_reading(lambda seen: seen.state.value == "busy", "busy screen")
    one = pane.desk.send("It is busy.")
    pane.wait_reason(one, "busy")
    took = pane.wait_typed(one)
    assert pane.times("SLOWLY") >= 2, "the turn was not over"
    pane.desk.note("typed busy", took)
    pane.wait_idle()


def check_tool(pane: Pane) -> None:
    """A tool that a person has allowed is let run to its end."""
    begun, ran = (os.path.join(pane.rig.place.project, name) for name in ("begun.txt", "ran.txt"))
    pane.terminal.submit(LONG)
    pane.allow(until_done=begun)
    pane.wait_reading(lambda seen: seen.state.value == "busy", "busy screen")
    one = pane.desk.send("A tool runs.")
    pane.wait_reason(one, "busy")
    assert not os.path.exists(ran)
    took = pane.wait_typed(one)
    assert os.path.exists(ran), "the tool was not let run"
    pane.desk.note("typed at a tool", took)
    pane.wait_idle()


def check_draft(pane: Pane) -> None:
    pane.terminal.type(DRAFT)
    pane.wait_reading(lambda seen: seen.draft == DRAFT, "draft")
    one = pane.desk.send("There is a draft.")
    pane.wait_reason(one, "draft")
    assert pane.reading().draft == DRAFT
    pane.clear()
    pane.wait_typed(one)
    assert pane.asked(DRAFT) == []
    pane.wait_idle()


def check_dialog(pane: Pane) -> None:
    tool = os.path.join(pane.rig.place.project, "asked.txt")
    pane.terminal.submit(f"May I? {pane.rig.cli.question} [[say GRANTED]]")
    pane.wait_reading(lambda seen: seen.state.value == "dialog", "dialog")
    one = pane.desk.send("There is a dialog.")
    pane.wait_reason(one, "approval")
    assert pane.reading().state.value == "dialog"
    assert not os.path.exists(tool)
    pane.decline(until_seen=one)
    pane.wait_typed(one)
    assert not os.path.exists(tool)
    pane.wait_idle()


def check_interrupt(pane: Pane) -> None:
    pane.terminal.submit(ENDLESS)
    until(lambda: pane.asked("NEVER"), BOUND, "request")
    pane.wait_reading(lambda seen: seen.state.value == "busy", "busy screen")
    done = pane.postroom("interrupt", NAME, "--as", ANA, "--json")
    assert done.code == 0, (done, pane.terminal.screen())
    ended = time.time()
    assert json.loads(done.out)["proven"] is True
    pane.wait_reading(lambda seen: seen.state.value == "idle", "idle screen")
    assert [request for request in pane.asked("") if request.time > ended] == [], "the model was asked again"
    pane.desk.note("interrupt")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "goose", "qwen", "copilot"])
def test_an_agent_whose_hooks_carry_mail_has_no_more_than_a_line_typed(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    pane = Pane(desk, desk.terminal())
    begin(desk, pane.terminal)
    assert pane.adopt()["mail"] == "hooks"
    one = desk.send("Hooks carry it.")
    took = pane.wait_asked(one)
    done = desk.wait_seen(one.id)
    assert str(done.route).startswith("hook:")
    assert pane.times(one.mark) == 1
    assert pane.times(NUDGE) <= 1
    desk.note("pane wake", took)


def test_gemini_cli_which_nothing_else_wakes_is_woken_by_a_typed_line(make_desk: MakeDesk) -> None:
    desk = make_desk("gemini")
    pane = Pane(desk, desk.terminal())
    begin(desk, pane.terminal)
    pane.adopt()
    one = desk.send()
    pane.wait_asked(one)
    assert pane.times(NUDGE) == 1
    desk.wait_seen(one.id)


def test_a_claude_code_that_asks_for_trust_is_left_alone(make_bare_desk: MakeDesk) -> None:
    desk = make_bare_desk("claude")
    beginning = BEGINNINGS["claude"]["launch-trust"]
    os.unlink(os.path.join(desk.rig.place.home, ".claude.json"))
    beginning.altered(desk.rig.cli).seed(desk.rig.place)
    pane = open_pane(desk)
    pane.terminal.wait_screen(beginning.shown)
    assert pane.adopt()["reason"] == "launch_blocked:trust"
    one = desk.send()
    pane.wait_reason(one, "launch_blocked:trust")
    pane.terminal.wait_screen(beginning.shown)
    pane.terminal.press("Down")
    pane.terminal.wait_screen(r"\u276f Yes, I trust")
    pane.terminal.press("Enter")
    pane.wait_typed(one)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_hundred_hostile_rounds_approve_nothing_and_send_no_draft(
    make_bare_desk: MakeDesk, name: str
) -> None:
    desk = make_bare_desk(name)
    script = behind(desk.rig)
    pane = open_pane(desk)
    pane.begin()
    pane.adopt("--no-server")
    pane.terminal.tmux("split-window", "-d", "-l", "5", "cat")  # where synchronised keys would go, too
    with Person(pane) as person:
        rounds = Rounds(pane, person, script)
        for plan in plans(name, ROUNDS):
            rounds.play(plan)
    count = rounds.count()
    desk.count("hostile rounds", count._asdict())
    assert (count.approvals, count.drafts, count.doubles, count.lost) == (0, 0, 0, 0), (
        count,
        rounds.lost,
        rounds.notes,
        pane.words(),
    )
    assert "MAIL-" not in pane.terminal.tmux("capture-pane", "-p", "-S", "-", "-t", "{bottom}")


@pytest.mark.parametrize("name", ALL)
def test_mail_for_an_idle_pane_is_with_the_model_soon(make_bare_desk: MakeDesk, name: str) -> None:
    desk = make_bare_desk(name)
    pane = open_pane(desk)
    pane.begin()
    pane.adopt("--no-server")
    own = sorted(pane.own(f"[[say OWN-{n:02}]]") for n in range(TIMES))
    took: list[float] = []
    for n in range(TIMES):
        pane.rest()
        took.append(pane.wait_typed(desk.send(f"Number {n}.")))
        pane.wait_idle()
    took.sort()
    middle, late = TIMES // 2 - 1, TIMES * 95 // 100 - 1
    ours = {"p50": took[middle], "p95": took[late]}
    desk.count("typed idle", {"times": TIMES} | ours | {"own p50": own[middle], "own p95": own[late]})
