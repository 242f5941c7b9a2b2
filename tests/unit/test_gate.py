"""The gate, as a table: what keeps a text from being typed, and which of several reasons is told."""

import itertools
from typing import Any

import pytest

from postroom.bridges.contract import Text
from postroom.bridges.terminal.gate import QUIET, refusal
from postroom.bridges.terminal.port import View
from postroom.bridges.terminal.reading import Reading, State, read
from postroom.bridges.terminal.screen import parse
from postroom.model.ladder import Reason
from postroom.runtimes.contract import NUDGE
from tests.tui.profile import PROFILE

RULE = "─" * 20
HELLO = Text("hello")
IDLE = Reading(State.IDLE, "")
NEVER_QUEUES = PROFILE._replace(queues=False)

# What may be in the way, in the order in which it is told, by what it changes in the view and in the reading.
HINDRANCES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("offline", {"alive": False}, {}),
    ("background", {"foreground": False}, {}),
    ("copy_mode", {"in_mode": True}, {}),
    ("synchronised", {"synchronised": True}, {}),
    ("approval", {}, {"state": State.DIALOG, "dialog": "permission", "draft": None}),
    ("launch_blocked:trust", {}, {"state": State.DIALOG, "dialog": "trust", "draft": None}),
    ("busy", {}, {"state": State.BUSY}),
    ("unknown_screen", {}, {"state": State.UNKNOWN, "draft": None}),
    ("typing", {"typed_ago": QUIET - 0.1}, {}),
    ("draft", {}, {"draft": "half a sentence"}),
]
BARS = {reason: (view, reading) for reason, view, reading in HINDRANCES}


def view(**facts: Any) -> View:
    return View(parse(""), 0.0, **facts)


def reason(view: View, reading: Reading, text: Text = HELLO, held: str = "") -> str:
    refused = refusal(view, reading, PROFILE, text, held)
    if refused:
        assert refused.words
    return refused.reason if refused else ""


def test_an_idle_agent_with_an_empty_composer_may_be_typed_to():
    assert reason(view(), IDLE) == ""
    assert reason(view(typed_ago=QUIET, moved_ago=0.0), IDLE) == ""


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("bar", BARS)
def test_each_thing_that_is_in_the_way_is_told_by_its_reason(bar: str):
    facts, changes = BARS[bar]
    assert reason(view(**facts), IDLE._replace(**changes)) == bar
    assert bar.startswith("launch_blocked:") or Reason(bar)


@pytest.mark.parametrize(("first", "then"), list(itertools.combinations(BARS, 2)))
def test_of_two_things_in_the_way_the_graver_is_told(first: str, then: str):
    (facts, changes), (more, others) = BARS[first], BARS[then]
    if set(changes) & set(others):
        return  # a screen shows one of them
    assert reason(view(**more, **facts), IDLE._replace(**others, **changes)) == first


@pytest.mark.parametrize("bar", [bar for bar in BARS if bar != "busy"])
def test_work_that_takes_texts_excuses_nothing_else(bar: str):
    facts, changes = BARS[bar]
    reading = Reading(State.BUSY, "")._replace(**changes)
    assert reason(view(**facts), reading, Text("hello", while_busy=True)) == bar


@pytest.mark.parametrize(
    ("queues", "asked", "told"), [(True, True, ""), (True, False, "busy"), (False, True, "busy")]
)
def test_an_agent_at_work_is_typed_to_only_if_it_queues_and_that_is_wanted(
    queues: bool, asked: bool, told: str
):
    profile = PROFILE if queues else NEVER_QUEUES
    refused = refusal(view(), Reading(State.BUSY, ""), profile, Text("hello", while_busy=asked))
    assert (refused.reason if refused else "") == told


def test_work_that_hides_the_composer_is_busy_and_where_it_takes_texts_unknown():
    hidden = Reading(State.BUSY, None)
    assert reason(view(), hidden) == "busy"
    assert reason(view(), hidden, Text("hello", while_busy=True)) == "unknown_screen"


def test_what_we_have_typed_is_no_draft_and_anything_else_is():
    ours = Reading(State.IDLE, "hello")
    assert reason(view(), ours, held="hello") == ""
    assert reason(view(), ours, held="something else") == "draft"


def test_a_person_who_types_is_waited_for_though_the_composer_shows_only_what_is_ours():
    assert reason(view(typed_ago=0.5), Reading(State.IDLE, "hello"), held="hello") == "typing"


@pytest.mark.parametrize(("mode", "told"), [("INSERT", ""), ("NORMAL", "unknown_screen")])
def test_a_mode_in_which_enter_submits_nothing_is_not_typed_into(mode: str, told: str):
    screen = parse(f"{RULE}\n\u276f \n{RULE}\n  -- {mode} --", 1)
    assert reason(view(), read(screen, PROFILE)) == told


@pytest.mark.promise("never-typed-blind")
def test_a_shell_is_never_typed_into_though_it_shows_what_is_known():
    assert reason(view(shell=True), IDLE) == "background"
    refused = refusal(view(shell=True), IDLE, PROFILE, HELLO)
    assert refused is not None
    assert "shell" in refused.words


@pytest.mark.parametrize(
    "draft",
    [
        f"{NUDGE} (0kq3x1 and 2 more)",
        "%%abcdefgh Postroom: 1 message for p/builder. Lines that begin\nwith",
        "Postroom: there is\nmail for you. (0kq3x1)",
        "mine, and %%abcdefgh Postroom: 2 messages",
    ],
)
def test_an_earlier_text_of_ours_in_the_composer_is_told_as_that(draft: str):
    assert reason(view(), Reading(State.IDLE, draft)) == "left_text"
    assert reason(view(), Reading(State.IDLE, draft), held=draft) == ""
