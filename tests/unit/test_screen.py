"""Screens of real agents, captured with their colours: what each shows, by the profile of its runtime."""

import json
import os
from typing import Any

import pytest

from postroom.bridges.terminal.reading import CUT, Reading, State, holds, read
from postroom.bridges.terminal.screen import Screen, parse
from postroom.errors import InvalidValue
from postroom.runtimes import NAMES
from postroom.runtimes.screen import Look, Profile, given, of
from tests.agents.screens import LINES, PASTES
from tests.process import ROOT

DATA = os.path.join(ROOT, "tests", "data", "screens")
HALF = "half a sentence"
LINE = "[[say SEEN]] one pasted line"
PASTED = {"line": LINE, "lines": LINES, **PASTES}
SCROLLED = {("codex", "many"), ("codex", "many-80"), ("goose", "many-80"), ("aider", "many-80")}
RULE = "─" * 60
PANES = tuple(name for name in NAMES if name != "cursor")  # which is given tools alone


def index(name: str) -> dict[str, Any]:
    with open(os.path.join(DATA, name, "index.json"), encoding="utf-8") as file:
        return json.load(file)


def screen(name: str, case: str) -> Screen:
    with open(os.path.join(DATA, name, f"{case}.ansi"), encoding="utf-8") as file:
        captured = file.read().removesuffix("\n")
    facts = index(name)["cases"][case]
    return parse(captured, facts["cursor"][1], facts["size"][0])


def reading(name: str, case: str) -> Reading:
    return read(screen(name, case), of(name))


def cases(*states: str) -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name}-{case}")
        for name in PANES
        for case in index(name)["cases"]
        if case.startswith(states)
    ]


@pytest.mark.parametrize(("name", "case"), cases("idle"))
def test_an_agent_at_rest_is_idle_and_its_placeholder_is_no_draft(name: str, case: str):
    assert reading(name, case) == Reading(State.IDLE, "")


@pytest.mark.parametrize(("name", "case"), cases("draft"))
def test_what_somebody_has_typed_is_read_as_it_is(name: str, case: str):
    assert reading(name, case) == Reading(State.IDLE, HALF)


@pytest.mark.parametrize(("name", "case"), cases("pasted"))
def test_a_composer_is_known_to_hold_what_was_pasted_and_nothing_else(name: str, case: str):
    profile, kind = of(name), case.removeprefix("pasted-")
    text = PASTED[kind.removesuffix("-80")]
    draft = reading(name, case).draft
    if (name, kind) in SCROLLED:
        assert draft is None or draft.startswith(CUT)
    else:
        assert draft is not None
        assert holds(draft, text, profile)
    for other in (text + "!", text + "\nmore", "x" + text, text[:-1], "", "word"):
        assert not holds(draft or "", other, profile) or _is_marked(draft, other, text)
    for more in (f"{draft} and", f"and {draft}", f"{draft}{draft}"):
        assert not holds(more, text, profile)


def _is_marked(draft: str | None, other: str, text: str) -> bool:
    """Whether a marker stands for both: it counts lines, and they have as many."""
    return draft is not None and draft.startswith("[Paste") and other.count("\n") == text.count("\n")


@pytest.mark.parametrize(("name", "case"), cases("busy", "hostile-busy"))
def test_an_agent_at_work_is_not_taken_for_idle(name: str, case: str):
    found = reading(name, case)
    assert found.state is (State.BUSY if of(name).composer.below else found.state)
    assert found.state in (State.BUSY, State.UNKNOWN)
    assert found.draft in (None, HALF if case == "busy-draft" else "")


@pytest.mark.parametrize(("name", "case"), cases("dialog", "hostile-dialog"))
def test_a_question_is_a_dialog_whatever_else_is_shown(name: str, case: str):
    found = reading(name, case)
    expected = "question" if case.endswith("question") else "permission"
    assert found == Reading(State.DIALOG, None, expected)


@pytest.mark.parametrize(("name", "case"), cases("launch"))
def test_what_is_asked_before_an_agent_can_work_is_named(name: str, case: str):
    found, asked = reading(name, case), case.removeprefix("launch-")
    if asked == "begun":  # nothing asked yet, but it may come
        assert found.state is State.UNKNOWN
    else:
        assert found == Reading(State.DIALOG, None, {"notes": "theme"}.get(asked, asked))
        assert [dialog.is_first for dialog in of(name).dialogs if dialog.name == found.dialog] == [True]


@pytest.mark.parametrize(("name", "case"), cases("mode"))
def test_a_picker_or_a_mode_is_never_an_empty_composer(name: str, case: str):
    found = reading(name, case)
    assert found.state in (State.DIALOG, State.UNKNOWN) or found.draft


@pytest.mark.parametrize(("name", "case"), cases("hostile-idle", "stopped"))
def test_a_composer_that_an_agent_prints_is_not_the_composer(name: str, case: str):
    """It is at rest: what is really there is read, or nothing."""
    assert reading(name, case).state in (State.IDLE, State.DIALOG)


@pytest.mark.parametrize(("name", "case"), cases("idle", "draft"))
def test_without_the_cursor_in_it_a_composer_is_none(name: str, case: str):
    whole = screen(name, case)
    for cursor in (-1, 0, len(whole.lines) - 1):
        if cursor != whole.cursor:
            assert read(whole._replace(cursor=cursor), of(name)).state is not State.IDLE


@pytest.mark.parametrize("name", PANES)
def test_each_profile_has_a_screen_of_each_state(name: str):
    found = index(name)
    assert found["version"]
    states = {reading(name, case).state for case in found["cases"]}
    wanted = {"idle", "draft", "busy", "dialog", "mode", "hostile", "stopped"}
    if any(dialog.is_first for dialog in of(name).dialogs):
        wanted.add("launch")
    assert {State.IDLE, State.BUSY, State.DIALOG} <= states
    assert wanted <= {case.partition("-")[0] for case in found["cases"]}
    assert {dialog.name for dialog in of(name).dialogs} <= {
        reading(name, case).dialog for case in found["cases"]
    }


@pytest.mark.parametrize("name", PANES)
def test_a_screen_of_something_else_is_not_known(name: str):
    for text in ("", "$ ls\nREADME.md\n$ ", "> \nmore\n> quoted\n\nend", "\u276f 1. Yes\n"):
        assert read(parse(text, 1), of(name)).draft in (None, "")
        assert read(parse(text + "\nline below", 0), of(name)).state is not State.BUSY


@pytest.mark.parametrize("name", PANES)
def test_a_question_that_an_agent_prints_does_not_make_it_idle(name: str):
    """A question in the output is safe to believe; that there is none, or no work, is not."""
    asked = " Do you want to proceed?\n \u276f 1. Yes\n   2. No\n"
    fake = f"{RULE}\n\u276f \n{RULE}\n> \n\u203a \n{asked}"
    busy = screen(name, "busy-text")
    lines = (*parse(fake).lines, *busy.lines)
    shown = Screen(lines, busy.cursor + len(lines) - len(busy.lines))
    assert read(shown, of(name)).state is not State.IDLE


def test_a_painted_cursor_on_a_suggestion_is_no_draft_but_on_a_word_it_is():
    def typed(line: str) -> str | None:
        return read(parse(f"{RULE}\n\u276f {line}\n{RULE}" + "\n" * 20, 1), of("claude")).draft

    assert typed("\x1b[7mP\x1b[0;2mress up\x1b[0m") == ""
    assert typed("\x1b[7mP\x1b[0mress up") == "Press up"
    assert typed("\x1b[7mP\x1b[0m") == "P"
    assert typed("\x1b[7m \x1b[0m") == ""


def test_a_composer_with_room_for_one_line_is_not_known_to_be_empty():
    small = parse(f"{RULE}\n\u276f \n{RULE}", 1)
    assert read(small, of("claude")) == Reading(State.UNKNOWN, None)


def test_a_composer_in_colours_that_are_not_known_is_not_known_to_be_empty():
    whole = screen("opencode", "draft")
    other = Look(dim=False, foreground="", background="48;5;1", reverse=False)
    lines = tuple(line._replace(looks=(other,) * len(line.looks)) for line in whole.lines)
    assert read(whole._replace(lines=lines), of("opencode")) == Reading(State.UNKNOWN, None)


def test_a_further_line_of_a_draft_that_looks_like_an_empty_prompt_is_no_empty_composer():
    assert read(parse("> something\n> \n", 1), of("goose")).draft != ""


def test_a_text_that_fills_its_last_row_is_still_in_the_composer_though_the_cursor_is_in_an_empty_one():
    by_hand = given({"prompt": "ask> "})

    def found(shown: str, cursor: int, width: int = 10) -> Reading:
        return read(parse(shown + "\n\n", cursor, width), by_hand)

    assert found("ask> 12345", 1) == Reading(State.IDLE, "12345")
    assert found("ask> 12345\n1234567890", 2) == Reading(State.IDLE, "12345\n1234567890")
    assert found("ask> 日本5", 1) == Reading(State.IDLE, "日本5"), "columns count, not characters"
    for shown in ("ask> 1234", "ask> 12345\n123456789", "ask> ", "ask> 12345\n", "ask>      "):
        assert found(shown, shown.count("\n") + 1).state is State.UNKNOWN, shown
    assert found("ask> ", 1, width=5).state is State.UNKNOWN, "a prompt alone is no text"
    assert found("ask> 12345", 1, width=0).state is State.UNKNOWN
    assert read(parse("ask> 12345\n\nmore", 1, 10), by_hand).state is State.UNKNOWN


def test_a_marker_that_counts_nothing_stands_for_a_long_line_only():
    profile = of("claude")
    assert holds("[Pasted text #2]", PASTES["long"], profile)
    assert not holds("[Pasted text #2]", "a short line", profile)
    assert not holds("[Pasted text #2]", PASTES["many"], profile)
    assert not holds("[Pasted text #2 +3 lines]", PASTES["many"], profile)
    assert not holds("[Pasted text #1 +39 lines][Pasted text #2 +39 lines]", PASTES["many"], profile)


def test_white_space_and_what_cannot_be_seen_do_not_count_when_texts_are_compared():
    profile = of("aider")
    assert holds("one two\nthree\u200b", "one  two three", profile)
    assert not holds("one two", "one two three", profile)
    assert not holds("", "", profile)
    assert not holds(CUT + "one", "one", profile)


def test_looks_last_over_ends_of_lines_and_are_taken_back():
    first, second = parse("a\x1b[2;7mb\nc\x1b[0;38;5;7md\x1b[22;39;48:5:9me").lines
    assert [look.dim for look in first.looks] == [False, True]
    assert [look.reverse for look in first.looks] == [False, True]
    assert [look.dim for look in second.looks] == [True, False, False]
    assert second.looks[1].foreground == "38;5;7"
    assert second.looks[2] == Look(dim=False, foreground="", background="48;5;9", reverse=False)


REPL: dict[str, Any] = {
    "prompt": r"^>>> ", "submit": "Enter", "busy": [r"^Working"], "dialogs": {"confirm": "Are you sure"},
    "stop": ["C-c"], "lines": False, "programs": ["python3"],
}  # fmt: skip


def shown(text: str, profile: Profile) -> Reading:
    return read(parse(text + "\n\n", text.count("\n")), profile)


def test_a_profile_given_by_hand_reads_what_follows_its_prompt():
    profile = given(REPL)
    assert (profile.submit, profile.stop, profile.lines) == ("Enter", ("C-c",), False)
    assert profile.programs == ("python3",)
    assert shown("Python 3\n>>> 1\n1\n>>> ", profile) == Reading(State.IDLE, "")
    assert shown(">>> 1\n1\n>>> print(", profile) == Reading(State.IDLE, "print(")
    assert shown(">>> def f():\n... ", profile).draft == "def f():\n..."
    assert shown(">>> sleep(9)\n", profile).state is State.UNKNOWN
    assert shown("Working\n>>> ", profile).state is State.BUSY
    assert shown("Are you sure?\n>>> ", profile) == Reading(State.DIALOG, None, "confirm")
    assert read(parse(">>> \nsomething below", 0), profile).state is State.UNKNOWN
    assert given({"prompt": ">"}) == Profile(given({"prompt": ">"}).composer, stop=(), lines=False)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"prompt": None}, "prompt"), ({"prompt": "("}, "prompt"), ({"prompt": "^"}, "prompt"),
        ({"busy": "Working"}, "busy"), ({"busy": [""]}, "busy"), ({"busy": [".*"]}, "busy"),
        ({"dialogs": ["sure"]}, "dialogs"), ({"dialogs": {"confirm": 1}}, "dialogs.confirm"),
        ({"submit": "Enter please"}, "submit"), ({"stop": ["Control c"]}, "stop"), ({"stop": "C-c"}, "stop"),
        ({"lines": "yes"}, "lines"), ({"programs": [1]}, "programs"), ({"promt": ">"}, "promt"),
    ],
)  # fmt: skip
def test_a_profile_that_makes_no_sense_is_refused_by_the_name_of_its_key(change: dict[str, Any], key: str):
    with pytest.raises(InvalidValue, match=rf"profiles\.repl\.{key} ") as refused:
        given(REPL | change, "profiles.repl")
    assert refused.value.facts["key"] == f"profiles.repl.{key}"


def test_a_profile_needs_a_prompt_and_is_a_table():
    for table in ({}, [], "x"):
        with pytest.raises(InvalidValue):
            given(table)


@pytest.mark.parametrize(("sign", "state"), [("◆", State.DIALOG), ("■", State.IDLE), ("◇", State.IDLE)])
def test_a_question_of_goose_that_was_answered_is_open_no_more(sign: str, state: State) -> None:
    asked = (
        f"{sign}  Goose would like to call the above tool, do you allow?\n│  Allow\n└  Operation cancelled."
    )
    screen = parse(f"{asked}\n\n  ⏱ 0.12s\n> Enter to send · Ctrl+J newline", 5)
    assert read(screen, of("goose")).state is state


SLOW = [
    r"ask> (x+)+y$", r"ask> (\w+\s?)*$", r"^(a|a)*b", r"(.*)*x", r"(?:ab|a|b)*c", r"(a|b|ab)+!c",
    r"(\d+)*-$", r"ask> ([^>]+)*>$", r"(?:x?){40}x{40}", r".*.*.*x",
]  # fmt: skip
QUICK = [
    r"ask> ",
    r"^\s*[>$] ?",
    r"Working.*esc to interrupt",
    r"\? \(y/n\)",
    r"(?:In|Out) \[\d+\]: ",
    r".*foo",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_takes_for_ever_on_some_screen_is_refused(pattern: str):
    for key, table in (
        ("prompt", {"prompt": pattern}),
        ("dialogs.trust", {"prompt": "> ", "dialogs": {"trust": pattern}}),
    ):
        with pytest.raises(InvalidValue, match=rf"tutor\.{key} takes too long on some screens") as refused:
            given(table, "profiles.tutor")
        assert repr(pattern) in str(refused.value)


def test_patterns_as_people_write_them_are_not():
    profile = given({"prompt": QUICK[0], "busy": QUICK[1:], "dialogs": dict(enumerate(QUICK))})
    assert profile.busy == tuple(QUICK[1:])


def test_what_stands_far_out_in_a_long_line_is_not_looked_at_but_what_is_typed_there_is():
    profile = given({"prompt": "> ", "busy": ["at work"]})
    far = "x" * 600 + " at work"
    assert read(parse(far), profile).state is State.UNKNOWN
    assert read(parse(f"> {far}", 0), profile) == Reading(State.IDLE, far)
