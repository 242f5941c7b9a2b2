"""The fake agent is as bad as real ones: whatever goes wrong in terminals goes wrong here, in a real tmux.

What types into terminals is tested against it. A quirk that were not real here would make those tests pass
for nothing.
"""

import os
import re
import sys
from collections.abc import Iterator

import pytest

from postroom.bridges.terminal.reading import Reading, State
from postroom.hooks.around import pane as found_around
from tests.tui.person import Person
from tests.tui.profile import PROFILE
from tests.tui.stage import SIZE, Pane, Stage, patiently

TWELVE = "\n".join(f"line {n}" for n in range(1, 13))
IDLE, BUSY = Reading(State.IDLE, ""), Reading(State.BUSY, "")
PERMISSION = Reading(State.DIALOG, None, "permission")
UNKNOWN = Reading(State.UNKNOWN)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


def draft(text: str) -> Reading:
    return Reading(State.IDLE, text)


def submit(pane: Pane, text: str) -> None:
    """As somebody does who knows all that can go wrong."""
    pane.paste(text)
    pane.until("pasted")
    pane.later("pasted", 0.1)
    pane.press("Enter")


# ------------------------------------------------------------------------------------- the composer


def test_what_is_typed_and_entered_is_submitted(stage: Stage):
    pane = stage.agent()
    assert pane.reading() == IDLE
    pane.type("do it;")
    pane.reads(draft("do it;"))
    pane.press("Enter")
    pane.until("submitted")
    pane.reads(IDLE)
    assert pane.submitted() == ["do it;"]
    assert pane.bytes() == b"do it;\r"


def test_a_paste_in_brackets_is_one_text(stage: Stage):
    pane = stage.agent()
    submit(pane, "one\ntwo")
    pane.until("submitted")
    assert pane.submitted() == ["one\ntwo"]
    assert pane.bytes() == b"\x1b[200~one\ntwo\x1b[201~\r"


def test_a_paste_without_brackets_submits_each_of_its_lines(stage: Stage):
    pane = stage.agent()
    pane.paste("one\ntwo\nthree", framed=False)
    pane.until("submitted", 2)
    pane.reads(draft("three"))
    assert pane.submitted() == ["one", "two"]


def test_a_program_that_asks_for_no_brackets_gets_none(stage: Stage):
    pane = stage.agent("--no-bracketed")
    pane.paste("one\ntwo")
    pane.reads(draft("one\ntwo"))
    assert pane.bytes() == b"one\ntwo"
    assert not pane.log("pasted")


def test_a_text_that_holds_the_end_of_a_paste_leaves_it(stage: Stage):
    pane = stage.child()
    person = Person(pane.argv, pane.env, SIZE)
    try:
        pane.until("mounted")
        person.type("\x1b[200~hello\x1b[201~")
        pane.until("pasted")
        pane.later("pasted", 0.1)
        person.type("\rrm -rf\r")
        pane.until("submitted", 2)
        assert pane.submitted() == ["hello", "rm -rf"]
    finally:
        person.leave()


def test_an_enter_at_the_heels_of_a_paste_is_swallowed(stage: Stage):
    pane = stage.agent()
    stage.tmux(*pane.pasting("a text"), ";", "send-keys", "-t", pane.id, "Enter")
    assert pane.until("swallowed")[0]["why"] == "paste"
    assert pane.submitted() == []
    pane.later("swallowed", 0.1)
    pane.press("Enter")
    pane.until("submitted")
    assert pane.submitted() == ["a text\n"]


def test_what_counts_is_when_the_enter_is_read_and_not_when_it_was_pressed(stage: Stage):
    pane = stage.agent()
    pane.type("x")
    pane.until("read")
    pane.control("freeze")
    pane.paste("a text")
    pane.later("read", 0.2)
    pane.press("Enter")
    pane.control("thaw")
    pane.until("swallowed")
    assert pane.submitted() == []


def test_an_enter_at_the_heels_of_a_burst_is_swallowed(stage: Stage):
    pane = stage.agent("--burst", "--no-bracketed")
    stage.tmux(*pane.pasting("a text"), ";", "send-keys", "-t", pane.id, "Enter")
    assert pane.until("swallowed")[0]["why"] == "burst"
    assert pane.submitted() == []
    pane.later("swallowed", 0.12)
    pane.press("Enter")
    pane.until("submitted")


def test_a_long_paste_is_shown_by_a_marker_and_submitted_as_it_is(stage: Stage):
    pane = stage.agent()
    for n in (1, 2):
        pane.paste(TWELVE)
        pane.shows(f"[Pasted text #{n} +11 lines]")
    assert len(re.findall(PROFILE.pasted, pane.reading().draft or "")) == 2
    pane.later("pasted", 0.1)
    pane.press("Enter")
    pane.until("submitted")
    assert pane.submitted() == [TWELVE + TWELVE]


def test_a_placeholder_is_no_draft(stage: Stage):
    pane = stage.agent("--placeholder", "Try something")
    assert "\u276f Try something" in pane.screen()
    assert pane.reading() == IDLE
    pane.type("x")
    pane.reads(draft("x"))
    assert "Try something" not in pane.screen()


@pytest.mark.parametrize(("look", "seen"), [("dim", ""), ("grey", ""), ("bright", ""), ("plain", "run them")])
def test_a_suggestion_is_no_draft_unless_it_looks_like_one(stage: Stage, look: str, seen: str):
    pane = stage.agent("--ghost", "run them", "--ghost-look", look)
    assert "\u276f run them" in pane.screen()
    assert pane.reading() == draft(seen)
    pane.type("please ")
    pane.shows("please run them")
    assert pane.reading() == draft(f"please {seen}".strip())


def test_an_enter_alone_submits_a_suggestion(stage: Stage):
    pane = stage.agent("--ghost", "run them")
    pane.press("Enter")
    assert pane.until("submitted")[0]["ghost"]
    assert pane.submitted() == ["run them"]


def test_a_composer_of_few_rows_hides_what_was_typed_before(stage: Stage):
    pane = stage.agent("--height", "2")
    pane.type("a draft")
    pane.press("C-j")
    pane.paste("one\ntwo")
    pane.reads(draft("one\ntwo"))
    pane.later("pasted", 0.1)
    pane.press("Enter")
    pane.until("submitted")
    assert pane.submitted() == ["a draft\none\ntwo"]


@pytest.mark.parametrize("wrap", ["char", "word"])
def test_a_long_line_is_wrapped(stage: Stage, wrap: str):
    pane = stage.agent("--wrap", wrap)
    text = "words 漢字 and more " * 10 + "end"
    pane.paste(text)
    pane.shows("end")
    rows = (pane.reading().draft or "").split("\n")
    assert len(rows) > 2
    assert "".join("".join(rows).split()) == "".join(text.split())
    assert (wrap == "char") or not any(row.startswith(" ") or row.endswith(("wor", "an")) for row in rows)


@pytest.mark.parametrize("text", ["/compact", "look at @src", "see notes.md"])
def test_a_picker_eats_one_enter(stage: Stage, text: str):
    pane = stage.agent("--picker")
    pane.type(text)
    pane.shows("-all")
    assert pane.reading() == draft(text)
    pane.press("Enter")
    pane.until("picked")
    assert pane.submitted() == []
    pane.press("Enter")
    pane.until("submitted")
    assert pane.submitted() == [f"{text} "]


def test_an_escape_closes_a_picker(stage: Stage):
    pane = stage.agent("--picker")
    pane.type("/compact")
    pane.shows("-all")
    pane.press("Escape")
    patiently(lambda: "-all" not in pane.screen())
    pane.press("Enter")
    pane.until("submitted")
    assert pane.submitted() == ["/compact"]


def test_in_normal_mode_letters_are_commands_and_an_enter_moves(stage: Stage):
    pane = stage.agent("--vim")
    assert not any(re.search(deaf, pane.screen(), re.MULTILINE) for deaf in PROFILE.deaf)
    pane.press("Escape")
    pane.shows("-- NORMAL --")
    assert any(re.search(deaf, pane.screen(), re.MULTILINE) for deaf in PROFILE.deaf)
    pane.paste("then")
    pane.press("Enter")
    assert [event["key"] for event in pane.until("command", 5)] == [*"then", "Enter"]
    assert pane.submitted() == []
    pane.type("ihello")
    pane.reads(draft("hello"))


def test_a_paste_in_normal_mode_may_end_it_on_the_way(stage: Stage):
    pane = stage.agent("--vim")
    pane.control("vim", "normal")
    pane.paste("write to me")
    pane.reads(draft("te to me"))


@pytest.mark.parametrize("key", ["C-u", "C-c"])
def test_keys_that_clear_cost_a_person_the_draft(stage: Stage, key: str):
    pane = stage.agent()
    pane.type("half a sentence")
    pane.press(key)
    assert pane.until("cleared")[0]["text"] == "half a sentence"
    assert pane.submitted() == []


# ---------------------------------------------------------------------------------------- dialogs


@pytest.mark.parametrize("key", ["Enter", "1"])
def test_a_key_that_says_yes_is_an_approval(stage: Stage, key: str):
    pane = stage.agent()
    pane.control("dialog")
    assert pane.reading() == PERMISSION
    pane.press(key)
    pane.until("approved")
    assert [event["by"] for event in pane.approvals()] == [key]
    pane.reads(IDLE)


@pytest.mark.parametrize("keys", [["Escape"], ["2"], ["Down", "Enter"]])
def test_a_key_that_says_no_is_a_denial(stage: Stage, keys: list[str]):
    pane = stage.agent()
    pane.control("dialog")
    pane.press(*keys)
    pane.until("denied")
    assert pane.approvals() == []


def test_a_dialog_takes_a_paste_for_keys(stage: Stage):
    pane = stage.agent()
    pane.control("dialog")
    pane.paste("mail 1 of 2")
    assert [event["by"] for event in pane.until("approved")] == ["1"]
    pane.reads(draft(" of 2"))


def test_some_take_the_escape_of_a_paste_for_a_denial(stage: Stage):
    pane = stage.agent("--fragile")
    pane.control("dialog")
    pane.paste("mail 1 of 2")
    assert [event["by"] for event in pane.until("denied")] == ["paste"]
    assert pane.approvals() == []


def test_a_dialog_opens_between_a_paste_and_its_enter(stage: Stage):
    pane = stage.agent("--dialog-after", "paste")
    stage.tmux(*pane.pasting("hello"), ";", "send-keys", "-t", pane.id, "Enter")
    pane.until("approved")
    assert pane.submitted() == []
    pane.reads(draft("hello"))


def test_a_dialog_opens_some_time_after_an_enter_or_a_paste(stage: Stage):
    pane = stage.agent("--dialog-after", "enter:30", "--turn", "-1")
    submit(pane, "hello")
    pane.until("opened")
    pane.reads(PERMISSION)
    assert pane.submitted() == ["hello"]
    pane.press("Escape")
    pane.until("denied")
    pane.control("--dialog-after", "paste:30")
    pane.paste("more")
    pane.until("opened", 2)


def test_dialogs_come_at_random_and_go_by_themselves(stage: Stage):
    pane = stage.agent("--dialog-random", "7:20", "--dialog-lasts", "10")
    pane.until("withdrawn", 5)
    pane.control("--dialog-random", "")
    pane.reads(IDLE)
    pane.control("--dialog-random", "8:20")
    pane.until("opened", len(pane.log("opened")) + 1)
    assert pane.approvals() == []
    assert {event["dialog"] for event in pane.log("opened")} == {"permission"}


def test_a_dialog_may_leave_the_composer_in_sight(stage: Stage):
    pane = stage.agent("--overlay")
    pane.type("a draft")
    pane.reads(draft("a draft"))
    pane.control("dialog")
    assert "\u276f a draft" in pane.screen()
    assert pane.reading() == PERMISSION


def test_whoever_enters_at_the_question_of_trust_ends_the_agent(stage: Stage):
    pane = stage.agent("--trust", then="exec cat")
    assert pane.reading() == Reading(State.DIALOG, None, "trust")
    assert [dialog.is_first for dialog in PROFILE.dialogs if dialog.name == "trust"] == [True]
    pane.press("Enter")
    pane.until("ended")
    assert pane.log("denied")
    patiently(lambda: pane.ask("#{pane_current_command}") == "cat")


def test_what_the_profile_does_not_know_is_unknown(stage: Stage):
    pane = stage.agent()
    pane.control("dialog", "update")
    assert pane.reading() == UNKNOWN
    pane.press("Escape")
    pane.until("denied")
    pane.control("strange")
    assert pane.reading() == UNKNOWN
    pane.press("Enter")
    pane.until("chosen")
    pane.reads(IDLE)


@pytest.mark.parametrize("where", ["say", "draft"])
def test_words_of_a_dialog_or_of_work_are_neither(stage: Stage, where: str):
    pane = stage.agent()
    text = (
        " Do you want to go?\n \u276f 1. Yes\n✻ Working… (1 · esc to interrupt)\n" + "─" * 40 + "\n\u276f x"
    )
    pane.control(where, text)
    reading = pane.reading()
    assert (reading.state, reading.dialog) == (State.IDLE, "")
    assert reading.draft == ("" if where == "say" else text)


# ---------------------------------------------------------------------------------- start and turns


def test_what_is_typed_before_it_listens_is_lost_though_its_composer_is_drawn(stage: Stage):
    pane = stage.agent("--slow-start", "-1")
    assert pane.reading() == IDLE
    pane.paste("hello")
    pane.press("Enter")
    pane.control("mount")
    assert pane.until("lost")[0]["bytes"] == "hello\r"
    pane.paste("again")
    pane.until("pasted")
    assert pane.submitted() == []


def test_or_all_of_it_is_found_at_once(stage: Stage):
    pane = stage.agent("--slow-start", "-1", "--keeps", "--burst")
    pane.type("hello")
    pane.press("Enter")
    pane.control("mount")
    pane.until("swallowed")
    pane.reads(draft("hello"))


def test_a_splash_is_unknown(stage: Stage):
    pane = stage.agent("--splash", "1e9")
    assert pane.reading() == UNKNOWN


@pytest.mark.parametrize(
    ("busy", "at_once", "after"),
    [
        ("queue", ["first"], ["first", "second"]),
        ("steer", ["first", "second"], ["first", "second"]),
        ("interrupt", ["first", "second"], ["first", "second"]),
        ("ignore", ["first"], ["first"]),
    ],
)
def test_an_enter_while_it_works(stage: Stage, busy: str, at_once: list[str], after: list[str]):
    pane = stage.agent("--turn", "-1", "--busy", busy)
    pane.type("first")
    pane.press("Enter")
    pane.reads(BUSY)
    pane.type("second")
    pane.press("Enter")
    patiently(lambda: pane.bytes().count(b"\r") == 2)
    pane.control("look")
    assert pane.submitted() == at_once
    assert bool(pane.log("interrupted")) == (busy == "interrupt")
    pane.control("done")
    assert pane.submitted() == after


def test_a_turn_ends_by_itself(stage: Stage):
    pane = stage.agent("--turn", "50")
    pane.type("hello")
    pane.press("Enter")
    pane.until("done")
    pane.reads(IDLE)


@pytest.mark.parametrize(("key", "options"), [("Escape", []), ("C-c", ["--stops", "Escape,C-c"])])
def test_keys_interrupt_a_turn(stage: Stage, key: str, options: list[str]):
    pane = stage.agent(*options)
    pane.control("busy")
    pane.press(key)
    assert pane.until("interrupted")[0]["by"] == key
    pane.reads(IDLE)


def test_one_that_knows_no_such_key_works_on(stage: Stage):
    pane = stage.agent("--stops", "")
    pane.control("busy")
    pane.press("Escape", "x")
    pane.reads(Reading(State.BUSY, "x"))
    assert not pane.log("interrupted")


def test_at_work_something_moves_and_when_stuck_nothing_does(stage: Stage):
    pane = stage.agent("--spinner", "5")
    first = pane.control("busy")
    patiently(lambda: pane.control("look") > first + 3)
    still = pane.control("--stuck")
    assert {pane.control("look") for _ in range(5)} == {still}
    assert pane.reading() == BUSY


def test_one_that_reads_slowly_takes_a_paste_for_one_text(stage: Stage):
    pane = stage.agent("--chunk", "1", "--slow-read", "2")
    submit(pane, "hello")
    pane.until("submitted")
    assert pane.submitted() == ["hello"]
    assert len(pane.log("read")) == len(b"\x1b[200~hello\x1b[201~\r")


def test_one_that_draws_slowly_knows_what_it_does_not_show(stage: Stage):
    pane = stage.agent()
    pane.control("--slow-draw", "1e9", "--placeholder", "")
    pane.type("hello")
    pane.until("read")
    assert pane.reading() == IDLE
    pane.control("--slow-draw", "0")
    assert pane.reading() == draft("hello")


# ------------------------------------------------------------------------------------ tmux and others


def test_copy_mode_swallows_keys_and_takes_the_brackets_off_a_paste(stage: Stage):
    pane = stage.recorder()
    stage.tmux("copy-mode", "-t", pane.id)
    pane.type("xyz")
    pane.paste("hello")
    patiently(lambda: b"hello" in pane.bytes())
    assert pane.bytes() == b"hello"


def test_synchronised_panes_share_keys_and_no_pastes(stage: Stage):
    pane = stage.agent()
    other = stage.agent(beside=pane.id)
    stage.tmux("set", "-w", "-t", pane.id, "synchronize-panes", "on")
    pane.paste("hello")
    pane.until("pasted")
    pane.press("Enter")
    other.until("read")
    assert other.bytes() == b"\r"


def test_the_recorder_has_what_tmux_sends(stage: Stage):
    for flags, begin, end in (((), "\x1b[200~", "\x1b[201~"), (("--plain",), "", "")):
        pane, expected = stage.recorder(*flags), f"{begin}one\n\té漢{end}".encode()
        pane.paste("one\n\té漢")
        patiently(lambda: len(pane.bytes()) >= len(expected))  # noqa: B023 - called at once
        assert pane.bytes() == expected


def test_the_recorder_has_every_byte(stage: Stage, tmp_path: os.PathLike[str]):
    kept = os.path.join(tmp_path, "kept")
    person = Person([sys.executable, "-S", "-m", "tests.tui.recorder", kept], stage.env, SIZE)
    try:
        patiently(lambda: b"recording" in person.seen)
        person.write(bytes(range(256)))
        patiently(lambda: os.path.getsize(kept) >= 256)
        with open(kept, "rb") as file:
            assert file.read() == bytes(range(256))
    finally:
        person.leave()


def test_a_pane_is_named_as_the_room_names_it(stage: Stage):
    first, pane = stage.agent(), stage.agent(name="claude")
    variables = {"TMUX": f"{stage.socket},{stage.server.rpartition(',')[2].partition('.')[0]},0"}
    assert found_around(pane.pid, {**variables, "TMUX_PANE": pane.id})[0] == pane.target
    assert found_around(pane.pid, {**variables, "TMUX_PANE": first.id})[0] == ""
    assert pane.ask("#{pane_current_command}") == "claude"


def test_a_person_who_is_attached_types_into_the_same_composer(stage: Stage):
    pane = stage.agent()
    person = stage.person()
    person.type("half a sentence")
    pane.reads(draft("half a sentence"))
    assert b"half a sentence" in pane.bytes()


def test_what_it_is_told_and_does_not_know_is_an_error(stage: Stage):
    with pytest.raises(ValueError, match="unrecognized"):
        stage.child("--nonsense")
    pane = stage.agent()
    for words in (["--nonsense"], ["nonsense"], ["dialog", "nonsense"]):
        with pytest.raises(AssertionError, match="nonsense"):
            pane.control(*words)
    assert pane.reading() == IDLE
