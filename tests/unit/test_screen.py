"""Screens of real agents, captured with their colours: what each shows, by the profile of its runtime."""

import json
import os
import re
from typing import Any

import pytest

from postroom.bridges.terminal.reading import Reading, State, read
from postroom.bridges.terminal.screen import parse
from postroom.runtimes import NAMES
from postroom.runtimes.screen import Look, of
from tests.process import ROOT

DATA = os.path.join(ROOT, "tests", "data", "screens")
LINES = "\n".join(f"line {n} of what was pasted" for n in range(1, 13))
HALF = "half a sentence"
TYPED = {"draft": HALF, "busy-draft": HALF, "pasted-line": "[[say SEEN]] one pasted line"}


def index(name: str) -> dict[str, Any]:
    with open(os.path.join(DATA, name, "index.json"), encoding="utf-8") as file:
        return json.load(file)["cases"]


def reading(name: str, case: str) -> Reading:
    with open(os.path.join(DATA, name, f"{case}.ansi"), encoding="utf-8") as file:
        captured = file.read().removesuffix("\n")
    return read(parse(captured, index(name)[case]["cursor"][1]), of(name))


def cases(*states: str) -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name}-{case}")
        for name in NAMES
        for case in index(name)
        if case.startswith(states)
    ]


@pytest.mark.parametrize(("name", "case"), cases("idle"))
def test_an_agent_at_rest_is_idle_and_its_placeholder_is_no_draft(name: str, case: str):
    assert reading(name, case) == Reading(State.IDLE, "")


@pytest.mark.parametrize(("name", "case"), cases("draft", "pasted"))
def test_what_somebody_has_typed_is_read_as_it_is(name: str, case: str):
    found = reading(name, case)
    assert found.state is State.IDLE
    assert found.draft is not None
    if case == "pasted-lines" and (pasted := of(name).pasted):
        assert re.fullmatch(pasted + r".*\]", found.draft)
    else:
        assert found.draft == TYPED.get(case, LINES)


@pytest.mark.parametrize(("name", "case"), cases("busy"))
def test_an_agent_at_work_is_not_taken_for_idle(name: str, case: str):
    found = reading(name, case)
    assert found.state in (State.BUSY, State.UNKNOWN)
    assert found.draft in (None, TYPED.get(case, ""))


@pytest.mark.parametrize(("name", "case"), cases("dialog"))
def test_a_question_is_a_dialog_whatever_else_is_shown(name: str, case: str):
    assert reading(name, case) == Reading(State.DIALOG, None, "permission")


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_of_something_else_is_not_known(name: str):
    for text in ("", "$ ls\nREADME.md\n$ ", "> \nmore\n> quoted\n\nend", "\u276f 1. Yes\n"):
        assert read(parse(text, 1), of(name)).draft in (None, "")
        assert read(parse(text + "\nline below", 0), of(name)).state is not State.BUSY


def test_looks_last_over_ends_of_lines_and_are_taken_back():
    first, second = parse("a\x1b[2mb\nc\x1b[0;38;5;7md\x1b[22;39;48:5:9me").lines
    assert [look.dim for look in first.looks] == [False, True]
    assert [look.dim for look in second.looks] == [True, False, False]
    assert second.looks[1].foreground == "38;5;7"
    assert second.looks[2] == Look(dim=False, foreground="", background="48;5;9")
