"""The table of what works with which agent says nothing that the runtimes' own modules contradict."""

import importlib
import json
import os
import re
import runpy
from typing import Any

import pytest

from postroom.runtimes import NAMES, load, wiring
from tests.agents.pin import PINS
from tests.agents.test_delivery import LAST_ANSWER
from tests.process import ROOT

GENERATE = runpy.run_path(os.path.join(ROOT, "docs", "generate.py"))
NOT_TICKS = ("no way in", "nothing wakes it", "nothing is typed", "no sandbox", "hooks do not work")
with open(os.path.join(ROOT, "docs", "reference", "compatibility.json"), encoding="utf-8") as table:
    FOUND: dict[str, Any] = json.load(table)


def cells(page: str, name: str) -> dict[str, str]:
    """What a row says, by the heading of its column."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"
    ]
    row = next(row for row in rows if row[0] == load(name).title)  # of the first table
    return dict(zip(rows[0], row, strict=True))


def untried(name: str) -> dict[str, str]:
    """What the page would say if the tests had shown nothing of it."""
    return cells(GENERATE["compatibility"]({name: {"version": "1", "points": {}}}), name)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_of_what_can_be_done_with_claude_and_codex_the_page_says_at_worst_that_it_was_not_shown(
    name: str,
) -> None:
    told = {point: words for point, words in untried(name).items() if words != "no server"}
    assert set(list(told.values())[2:]) == {"not shown"}
    assert len(told) == len(untried(name)) or name == "claude", "Codex has one"
    page = cells(GENERATE["compatibility"](), name)
    assert not set(page.values()) & set(NOT_TICKS)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cursor"])  # of which nothing was tried
def test_what_the_page_says_of_sandboxes_is_what_the_modules_know(name: str) -> None:
    known = wiring.of(name)
    events = {point.event: "" for point in load(name).points}
    place = wiring.Place("/here", "/user", "", "/room", "/hook", events, {})
    opens = any('["/room"]' in json.dumps(edit.content) for edit in known.edits(place))
    told = "not shown" if opens else "hooks do not work" if known.hindrance else "no sandbox"
    assert untried(name)["sandbox"] == untried(name)["spool"] == told
    with open(os.path.join(ROOT, "docs", "explanation", "runtimes.md"), encoding="utf-8") as file:
        [row] = [
            line
            for line in file.read().partition("## Sandboxes")[2].partition("##")[0].splitlines()
            if line.startswith("|") and load(name).title in line.split("|")[1]
        ]
    assert ("stored, or spooled" in row) == opens
    assert ("failed when tried" in row) == (known.hindrance is not None)
    assert row.endswith("| ✓ |") == (known.confined is not None)


@pytest.mark.parametrize("name", FOUND)
def test_what_was_shown_is_what_the_module_says_can_be(name: str) -> None:
    why_not = untried(name)
    assert {point: why_not[point] for point in FOUND[name]["points"]} == dict.fromkeys(
        FOUND[name]["points"], "not shown"
    )


@pytest.mark.parametrize("name", FOUND)
def test_the_version_in_the_table_is_the_one_that_the_module_and_the_tests_name(name: str) -> None:
    about = importlib.import_module(f"postroom.runtimes.{name}").__doc__ or ""
    assert f"({FOUND[name]['version']})" in about.partition("\n")[0]
    assert FOUND[name]["version"] == PINS[name].version


def test_the_page_says_how_long_the_model_went_on_before_the_end_of_its_turn() -> None:
    [seconds] = re.findall(r"\[\[sleep (\d+)\]\]", LAST_ANSWER)
    assert f"which took {seconds} s more" in GENERATE["compatibility"]()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_knows_which_runtimes_have_a_server_of_their_own(name: str) -> None:
    told = {text for point, text in untried(name).items() if point.startswith("server ")}
    assert told == {"not shown" if load(name).server else "no server"}
