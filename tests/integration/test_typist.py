"""Typing into a terminal, in a real tmux: one submission of exactly our text, or not a byte, or `uncertain`.

What is true is what the fake agent has logged: each byte that it read, each prompt that it took, each
question that was answered.
"""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from postroom import host
from postroom.bridges.contract import Assent, Delivered, Doing, Kind, Result, Text
from postroom.bridges.terminal import typist
from postroom.bridges.terminal.reading import Reading, State
from postroom.bridges.terminal.typist import Typist
from postroom.bridges.tmux import server
from postroom.errors import StoreBusy
from postroom.model.ladder import Evidence
from postroom.runtimes.screen import PICKS, Fold, Most
from tests.tui.desk import MOMENTS, Desk, is_one_paste
from tests.tui.person import Person
from tests.tui.profile import PROFILE
from tests.tui.stage import Pane, Stage, patiently

SHORT, LINES = "hello", "one\ntwo, with words\n\nthree"
LONG = "\n".join(f"line {n}" for n in range(1, 13))
_NEVER = threading.Event()
HASTE = {"_RENDER": 1.0, "_PATIENCE": 1.0, "_CLEAR": 1.0, "_STOP": 2.0}


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what ends in waiting in vain."""
    for name, seconds in HASTE.items():
        monkeypatch.setattr(typist, name, seconds)


# -------------------------------------------------------------------------------------- it goes in

QUIRKS = {
    "plain": [],
    "an Enter soon after a paste is none": ["--quiet", "150"],
    "an Enter soon after a burst is none": ["--burst", "--no-bracketed"],
    "a placeholder": ["--placeholder"],
    "a dim suggestion": ["--ghost", "run them"],
    "a grey suggestion": ["--ghost", "run them", "--ghost-look", "grey"],
    "draws slowly": ["--slow-draw", "300"],
    "reads slowly": ["--slow-read", "3", "--chunk", "5"],
    "wraps at words": ["--wrap", "word"],
    "vim, inserting": ["--vim"],
    "a picker": ["--picker"],
    "goes on to work": ["--turn", "-1"],
    "asks something a moment later": ["--dialog-after", "enter:300", "--turn", "-1"],
}


@pytest.mark.promise("seen-needs-evidence")
@pytest.mark.parametrize("text", [SHORT, LINES, LONG], ids=["short", "lines", "long"])
@pytest.mark.parametrize("quirk", QUIRKS)
def test_a_text_is_submitted_once_and_as_it_is(stage: Stage, quirk: str, text: str):
    desk = Desk(stage.agent(*QUIRKS[quirk]))
    delivered = desk.deliver(text)
    assert (delivered.result, delivered.evidence) == (Result.PROVEN, Evidence.TERMINAL), delivered
    desk.check(delivered, text)
    assert desk.begun == 1
    if "--no-bracketed" not in QUIRKS[quirk]:
        assert is_one_paste(desk.pane.bytes(), text, entered=True)


def test_one_text_after_the_other_goes_in(stage: Stage):
    desk = Desk(stage.agent())
    for text in (SHORT, LONG, LINES, SHORT):
        assert desk.deliver(text).result is Result.PROVEN
    assert desk.pane.submitted() == [SHORT, LONG, LINES, SHORT]


def test_what_was_pasted_before_it_listens_is_found_when_it_does(stage: Stage):
    pane = stage.agent("--slow-start", "-1", "--keeps")
    desk = Desk(pane)
    delivered = desk.deliver(at={"after paste": lambda: pane.control("mount")})
    desk.check(delivered)
    assert delivered.result is Result.PROVEN


def test_what_an_agent_at_work_takes_is_handed_over_and_proven_when_it_is_idle(stage: Stage):
    pane = stage.agent("--turn", "-1")
    pane.control("busy")
    desk = Desk(pane)
    delivered = desk.deliver(while_busy=True)
    assert (delivered.result, delivered.evidence) == (Result.HANDED, None)
    assert [event["text"] for event in pane.log("queued")] == [SHORT]
    assert desk.typist.receive() == []
    pane.control("done")
    assert desk.typist.receive() == [], "its turn goes on with our text"
    pane.control("done")
    assert [heard.proves for heard in desk.typist.receive()] == [Evidence.TERMINAL]
    assert desk.typist.receive() == []
    assert pane.submitted() == [SHORT]


def test_a_question_that_covers_the_composer_after_enter_delays_the_proof(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(typist, "_CLEAR", 0.5)
    pane = stage.agent("--dialog-after", "enter")
    desk = Desk(pane)
    delivered = desk.deliver()
    assert delivered.result is Result.HANDED
    desk.check(delivered)
    assert desk.typist.receive() == []
    pane.control("close")
    assert [heard.proves for heard in desk.typist.receive()] == [Evidence.TERMINAL]


def test_an_agent_that_hides_its_composer_at_work_proves_by_that_work(stage: Stage):
    pane = stage.agent("--turn", "-1")
    desk = Desk(pane, PROFILE._replace(deaf=PROFILE.busy))
    delivered = desk.deliver()
    assert delivered.result is Result.PROVEN
    assert "went to work" in delivered.words
    desk.check(delivered)


# --------------------------------------------------------------------- a person at the same keyboard

SWALLOWED = ["--quiet", "1e6"]  # no Enter after a paste is one


def attended(stage: Stage, *options: str) -> tuple[Pane, Person, Desk]:
    """An agent before which somebody sits, who has not typed for a while; another window is behind theirs."""
    stage.agent()
    pane = stage.agent(*options)
    stage.tmux("select-window", "-t", pane.id)
    person, desk = stage.person(), Desk(pane)
    patiently(lambda: desk.typist.observe().reason == "")
    return pane, person, desk


def clear(pane: Pane, person: Person) -> None:
    pane.until("swallowed")
    person.type("\x15")
    pane.until("cleared")


def leave(stage: Stage, pane: Pane) -> None:
    """Not by keys: tmux takes two that come at once for a paste."""
    stage.tmux("next-window", "-t", "stage")
    patiently(lambda: stage.tmux("list-clients", "-F", "#{pane_id}") != pane.id)


@pytest.mark.promise("seen-needs-evidence")
@pytest.mark.parametrize("then", ["stays", "goes to another window", "detaches"])
def test_a_composer_that_a_person_has_cleared_proves_nothing(stage: Stage, then: str):
    pane, person, desk = attended(stage, *SWALLOWED)

    def happen() -> None:
        clear(pane, person)
        if then == "goes to another window":
            leave(stage, pane)
        if then == "detaches":
            person.leave()

    delivered = desk.deliver(at={"after enter": happen})
    assert delivered.result is Result.UNCERTAIN, delivered
    assert pane.submitted() == []
    assert desk.typist.receive() == []


@pytest.mark.promise("seen-needs-evidence")
def test_what_was_handed_over_is_in_doubt_once_a_person_has_typed_there(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(typist, "_CLEAR", 0.5)
    pane, person, desk = attended(stage, *SWALLOWED, "--dialog-after", "enter")
    assert desk.deliver().result is Result.HANDED, "a question covers the composer"
    assert desk.typist.receive() == []
    pane.control("close")
    clear(pane, person)
    pane.reads(Reading(State.IDLE, ""))
    [heard] = desk.typist.receive()
    assert (heard.proves, "pressed a key" in heard.doubts) == (None, True)
    assert desk.typist.receive() == []
    assert pane.submitted() == []


def test_what_was_handed_over_and_never_seen_to_go_is_in_doubt_after_a_while(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(typist, "_CLEAR", 0.5)
    monkeypatch.setattr(typist, "_PROOF", 0.1)
    desk = Desk(stage.agent("--dialog-after", "enter"))
    assert desk.deliver().result is Result.HANDED
    [heard] = desk.typist.receive()
    assert (heard.proves, "not seen to go" in heard.doubts) == (None, True)


def test_of_what_waits_for_the_end_of_a_turn_no_clock_gives_up(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(typist, "_PROOF", 0.0)
    pane = stage.agent("--turn", "-1")
    pane.control("busy")
    desk = Desk(pane)
    assert desk.deliver(while_busy=True).result is Result.HANDED
    assert desk.typist.receive() == []
    pane.control("done")
    pane.control("done")
    assert [heard.proves for heard in desk.typist.receive()] == [Evidence.TERMINAL]


def test_what_a_command_finds_out_of_the_text_before_it_is_not_lost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(typist, "_CLEAR", 0.5)
    pane = stage.agent("--dialog-after", "enter")
    desk = Desk(pane)
    assert desk.deliver().result is Result.HANDED
    pane.control("close")
    assert desk.deliver("/status").result is Result.PROVEN
    assert [heard.proves for heard in desk.typist.receive()] == [Evidence.TERMINAL]


# ----------------------------------------------------------------------------------- not a byte

Prepare = Callable[[Stage, Pane], object]


def synchronise(stage: Stage, pane: Pane) -> None:
    stage.run("cat", beside=pane.id)
    stage.tmux("set", "-w", "-t", pane.id, "synchronize-panes", "on")
    pane.control("look")


BARS: dict[str, tuple[str, list[str], Prepare]] = {
    "a question": ("approval", [], lambda _, pane: pane.control("dialog")),
    "a question above the composer": ("approval", ["--overlay"], lambda _, pane: pane.control("dialog")),
    "trust": ("launch_blocked:trust", ["--trust"], lambda *_: None),
    "a question nobody knows": ("unknown_screen", [], lambda _, pane: pane.control("dialog", "update")),
    "a screen nobody knows": ("unknown_screen", [], lambda _, pane: pane.control("strange")),
    "a start": ("unknown_screen", ["--splash", "1e9"], lambda *_: None),
    "vim's other mode": ("unknown_screen", [], lambda _, pane: pane.control("vim", "normal")),
    "work": ("busy", ["--turn", "-1"], lambda _, pane: pane.control("busy")),
    "a draft": ("draft", [], lambda _, pane: pane.control("draft", "half a sentence")),
    "an old paste": ("draft", [], lambda _, pane: pane.control("draft", LONG)),
    "a suggestion like a draft": ("draft", ["--ghost", "yes", "--ghost-look", "plain"], lambda *_: None),
    "copy mode": ("copy_mode", [], lambda stage, pane: stage.tmux("copy-mode", "-t", pane.id)),
    "no input": ("copy_mode", [], lambda stage, pane: stage.tmux("select-pane", "-d", "-t", pane.id)),
    "synchronised": ("synchronised", [], synchronise),
}


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("bar", BARS)
def test_where_something_is_in_the_way_not_a_byte_is_written(stage: Stage, bar: str):
    reason, options, prepare = BARS[bar]
    pane = stage.agent(*options)
    prepare(stage, pane)
    desk = Desk(pane)
    delivered = desk.deliver()
    assert (delivered.result, delivered.reason) == (Result.REFUSED, reason), delivered
    desk.check(delivered)
    assert desk.begun == 0
    assert pane.bytes() == b""
    assert desk.typist.observe().reason == reason


def test_whoever_typed_a_moment_ago_is_waited_for(stage: Stage):
    pane = stage.agent()
    person = stage.person()
    person.type("x\x7f")
    patiently(lambda: pane.bytes() == b"x\x7f")
    pane.reads(Reading(State.IDLE, ""))
    desk = Desk(pane)
    delivered = desk.deliver()
    assert (delivered.result, delivered.reason) == (Result.REFUSED, "typing")
    assert pane.bytes() == b"x\x7f"
    patiently(lambda: desk.typist.observe().reason == "")
    assert desk.deliver().result is Result.PROVEN


def test_an_agent_that_has_ended_gets_nothing_and_who_is_there_now_neither(stage: Stage):
    pane = stage.agent(then="exec cat")
    desk = Desk(pane)
    os.kill(pane.pid, signal.SIGKILL)
    patiently(lambda: pane.ask("#{pane_current_command}") == "cat")
    delivered = desk.deliver()
    assert (delivered.result, delivered.reason) == (Result.REFUSED, "offline")
    assert SHORT not in pane.screen()
    assert desk.typist.observe().doing is Doing.GONE


def test_an_agent_whose_terminal_another_has_gets_nothing(stage: Stage):
    pane = stage.agent(then="exec bash --norc")
    pid = int(pane.ask("#{pane_pid}"))  # the shell: it waits behind the agent
    behind, elsewhere = Desk(pane, process=host.identity_of(pid)), Desk(pane, process=host.identity())
    assert elsewhere.deliver().reason == "offline", "it runs in another terminal"
    os.kill(pane.pid, signal.SIGKILL)
    patiently(lambda: pane.ask("#{pane_current_command}") == "bash")
    pane.type("cat")
    pane.press("Enter")
    patiently(lambda: pane.ask("#{pane_current_command}") == "cat")
    assert behind.deliver().reason == "background"
    assert SHORT not in pane.screen()


def test_a_pane_that_bears_another_name_or_is_of_another_server_gets_nothing(stage: Stage):
    pane = stage.agent()
    stage.tmux("set", "-p", "-t", pane.id, "@postroom_agent", "p/other")
    assert Desk(pane, label="p/builder").deliver().reason == "offline"
    assert Desk(pane, label="p/other").deliver().result is Result.PROVEN
    with Stage() as elsewhere:
        elsewhere.agent()
        elsewhere.socket, mine = stage.socket, elsewhere.socket
        moved = Desk(pane, process=host.identity_of(os.getpid()))
        elsewhere.socket = mine
    assert moved.deliver().reason == "offline"


def test_a_pane_or_a_server_that_is_gone_is_offline(stage: Stage):
    pane, other = stage.agent(), stage.agent()
    desk, last = Desk(pane), Desk(other)
    stage.tmux("kill-pane", "-t", pane.id)
    assert desk.deliver().reason == "offline"
    stage.tmux("kill-server")
    assert last.deliver().reason == "offline"
    assert (desk.begun, last.begun) == (0, 0)


def test_without_assent_nothing_is_written(stage: Stage):
    desk = Desk(stage.agent())
    delivered = desk.deliver(holds=lambda: False)
    assert (delivered.result, delivered.reason) == (Result.REFUSED, "busy")
    desk.check(delivered)
    assert (desk.begun, desk.pane.bytes()) == (0, b"")


@pytest.mark.parametrize("text", ["", "\n\n", "\x1b[201~\x00", " \u202e "])
def test_a_text_of_which_nothing_is_left_is_not_typed(stage: Stage, text: str):
    desk = Desk(stage.agent())
    assert desk.deliver(text).result is Result.REFUSED
    assert desk.pane.bytes() == b""


# ------------------------------------------------------------------------- what comes in between


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("overlay", ["--overlay", "--no-overlay"])
@pytest.mark.parametrize("fragile", ["--fragile", "--no-fragile"])
def test_a_question_that_comes_right_before_the_paste_keeps_it_out(stage: Stage, overlay: str, fragile: str):
    pane = stage.agent(overlay, fragile)
    desk = Desk(pane)
    delivered = desk.deliver("1 or 2", at={"before paste": lambda: pane.control("dialog")})
    assert delivered.result is Result.REFUSED
    desk.check(delivered)
    assert pane.bytes() == b""
    assert not pane.log("denied")


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("overlay", ["--overlay", "--no-overlay"])
@pytest.mark.parametrize("moment", ["after paste", "before enter"])
def test_a_question_between_paste_and_enter_is_never_answered(
    stage: Stage, hasty: None, moment: str, overlay: str
):
    pane = stage.agent(overlay)
    desk = Desk(pane)
    delivered = desk.deliver(at={moment: lambda: pane.control("dialog")})
    assert delivered.result is Result.UNCERTAIN
    desk.check(delivered)
    assert is_one_paste(pane.bytes(), SHORT, entered=False)
    assert not pane.log("denied", "submitted")


@pytest.mark.parametrize("moment", ["after paste", "before enter"])
def test_a_question_that_goes_away_again_is_waited_for(stage: Stage, moment: str):
    pane = stage.agent("--dialog-lasts", "400")
    desk = Desk(pane)
    delivered = desk.deliver(at={moment: lambda: pane.control("dialog")})
    assert delivered.result is Result.PROVEN
    desk.check(delivered)
    assert is_one_paste(pane.bytes(), SHORT, entered=True)


IN_BETWEEN: dict[str, Prepare] = {
    "copy mode": lambda stage, pane: stage.tmux("copy-mode", "-t", pane.id),
    "synchronised": synchronise,
    "no input": lambda stage, pane: stage.tmux("select-pane", "-d", "-t", pane.id),
    "work": lambda _, pane: pane.control("busy"),
    "vim's other mode": lambda _, pane: pane.control("vim", "normal"),
    "a screen nobody knows": lambda _, pane: pane.control("strange"),
    "a person's words": lambda _, pane: (pane.type(" and mine"), pane.shows("and mine")),
    "other words": lambda _, pane: (pane.press("C-u"), pane.type("mine"), pane.shows("mine")),
}


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("moment", ["after paste", "before enter"])
@pytest.mark.parametrize("what", IN_BETWEEN)
def test_whatever_comes_between_paste_and_enter_keeps_the_enter_out(
    stage: Stage, hasty: None, what: str, moment: str
):
    pane = stage.agent("--turn", "-1")
    desk = Desk(pane)

    def happen() -> None:
        if moment == "after paste":
            pane.until("pasted")
        IN_BETWEEN[what](stage, pane)

    delivered = desk.deliver(at={moment: happen})
    assert delivered.result is Result.UNCERTAIN, delivered
    assert b"\r" not in pane.bytes()
    assert pane.log("submitted", "queued") == []
    assert pane.bytes().count(b"\x1b[200~") == 1


def test_what_a_person_types_and_is_not_shown_yet_is_waited_for(stage: Stage, hasty: None):
    pane = stage.agent()
    person, desk = stage.person(), Desk(pane)
    patiently(lambda: desk.typist.observe().reason == "")

    def typed_unseen() -> None:
        pane.control("--slow-draw", "1e9")
        person.type("mine")
        patiently(lambda: b"mine" in pane.bytes())

    delivered = desk.deliver(at={"before enter": typed_unseen})
    pane.control("--slow-draw", "0")
    assert delivered.result is Result.UNCERTAIN
    assert b"\r" not in pane.bytes()
    assert pane.log("submitted") == []


@pytest.mark.parametrize("moment", ["after paste", "before enter"])
def test_an_agent_that_ends_in_between_leaves_it_uncertain_and_the_next_program_gets_no_enter(
    stage: Stage, hasty: None, moment: str
):
    pane = stage.agent(then="exec cat")
    desk = Desk(pane)

    def end() -> None:
        pane.until("pasted")
        os.kill(pane.pid, signal.SIGKILL)
        patiently(lambda: pane.ask("#{pane_current_command}") == "cat")

    delivered = desk.deliver(at={moment: end})
    assert delivered.result is Result.UNCERTAIN
    desk.check(delivered)
    assert pane.log("submitted") == []


@pytest.mark.parametrize("moment", ["before paste", "after paste", "before enter", "after enter"])
@pytest.mark.parametrize("what", ["kill-pane", "kill-server"])
def test_a_pane_or_a_server_that_ends_at_any_moment_leaves_at_most_one_submission(
    stage: Stage, hasty: None, what: str, moment: str
):
    pane, _ = stage.agent(), stage.agent()
    desk = Desk(pane)
    words = ["-t", pane.id] if what == "kill-pane" else []
    delivered = desk.deliver(at={moment: lambda: stage.tmux(what, *words)})
    assert delivered.result in (Result.REFUSED, Result.UNCERTAIN), delivered
    desk.check(delivered)
    assert (delivered.result is Result.REFUSED) <= (moment == "before paste")
    assert pane.bytes().count(b"\r") <= (moment == "after enter")


@pytest.mark.parametrize("moment", ["before paste", "after paste", "before enter", "after enter"])
def test_a_server_that_stands_still_at_any_moment_leaves_at_most_one_submission(
    stage: Stage, hasty: None, monkeypatch: pytest.MonkeyPatch, moment: str
):
    pane = stage.agent()
    desk, pid = Desk(pane), int(pane.ask("#{pid}"))
    monkeypatch.setattr(server, "_PATIENCE", 0.5)
    try:
        delivered = desk.deliver(at={moment: lambda: os.kill(pid, signal.SIGSTOP)})
        assert delivered.result is Result.UNCERTAIN, delivered
        seen = desk.typist.observe()
        assert (seen.doing, seen.reason) == (Doing.UNKNOWN, "unknown_screen"), "nobody knows whether it ended"
        refused = desk.deliver()
        assert (refused.result, refused.reason) == (Result.REFUSED, "unknown_screen")
    finally:
        os.kill(pid, signal.SIGCONT)
    pane.control("look")
    desk.check(delivered)
    assert pane.bytes().count(b"\r") <= 1
    assert pane.bytes().count(b"\x1b[200~") <= 1


def test_an_assent_that_is_withdrawn_or_cannot_be_had_keeps_the_enter_out(stage: Stage, hasty: None):
    pane = stage.agent()
    desk, asked = Desk(pane), iter([True])
    assert desk.deliver(holds=lambda: next(asked, False)).result is Result.UNCERTAIN
    pane.press("C-u")
    pane.reads(Reading(State.IDLE, ""))

    def holds() -> bool:
        if next(again, False):
            return True
        raise StoreBusy

    again = iter([True])
    delivered = desk.deliver(holds=holds)
    assert delivered.result is Result.UNCERTAIN, "it never raises after the first byte"
    assert b"\r" not in pane.bytes()


@pytest.mark.parametrize(
    ("options", "why"),
    [(["--quiet", "2000"], "swallowed"), (["--picker"], "picked"), (["--slow-start", "-1"], "")],
)
def test_an_enter_that_comes_to_nothing_is_not_pressed_again(
    stage: Stage, hasty: None, options: list[str], why: str
):
    pane = stage.agent(*options)
    desk, text = Desk(pane), "look at notes.md"
    delivered = desk.deliver(text)
    assert delivered.result is Result.UNCERTAIN
    desk.check(delivered, text)
    assert pane.bytes().count(b"\r") == bool(why)
    assert not why or pane.log(why)


def test_a_composer_that_shows_only_the_end_of_a_text_is_not_known_to_hold_it(stage: Stage, hasty: None):
    pane = stage.agent("--height", "2")
    desk = Desk(pane)
    delivered = desk.deliver(LINES)
    assert delivered.result is Result.UNCERTAIN
    assert b"\r" not in pane.bytes()


SEVEN = PROFILE._replace(composer=PROFILE.composer._replace(most=Most(plus=7)))


FILLING = ["some words\n" * 7 + "end", "x\n" + "y" * 660, "head\n" + "some words " * 9000 + "end"]


@pytest.mark.parametrize("text", FILLING)
def test_what_would_fill_the_composer_is_typed_so_that_it_is_folded(stage: Stage, text: str):
    desk = Desk(stage.agent("--height", "7"), SEVEN)
    delivered = desk.deliver(text)
    assert delivered.result is Result.PROVEN, delivered
    [taken] = desk.pane.submitted()
    assert [line for line in taken.split("\n") if line] == text.split("\n")


@pytest.mark.parametrize("text", [*FILLING, "x" * 660, "some words " * 60])
def test_an_operators_words_that_would_fill_the_composer_are_not_typed(stage: Stage, text: str):
    desk = Desk(stage.agent("--height", "7"), SEVEN)
    delivered = desk.deliver(text, kind=Kind.COMMAND)
    assert (delivered.result, delivered.reason) == (Result.REFUSED, "too_long")
    assert (desk.begun, desk.pane.bytes()) == (0, b"")


@pytest.mark.parametrize(
    "text", ["some words " * 49 + "end", "x" * 560, "a\n" * 5 + "b", LONG, "x\n" * 99 + "y"]
)
def test_what_is_shown_whole_or_folded_goes_into_a_small_composer(stage: Stage, text: str):
    desk = Desk(stage.agent("--height", "7", "--wrap", "word"), SEVEN)
    delivered = desk.deliver(text)
    assert delivered.result is Result.PROVEN, delivered
    desk.check(delivered, text)


def test_what_cannot_be_shown_whole_is_not_typed_where_nothing_is_folded(stage: Stage):
    desk = Desk(stage.agent(), PROFILE._replace(pasted="", folds=Fold()))
    delivered = desk.deliver("x" * 5000)
    assert (delivered.result, delivered.reason) == (Result.REFUSED, "too_long")
    assert desk.pane.bytes() == b""
    room = desk.typist.observe().room
    assert 300 <= room < 5000
    assert desk.deliver("some words " * (room // 11)).result is Result.PROVEN


# ------------------------------------------------------------------------------------ hostile texts

FORMATS = "#{pane_id} #(touch x) #[fg=red] %% %1 #S #{C:x}"
HOSTILE = {
    "the end of a paste": ("hi\x1b[201~\rrm -rf\r", "hi\nrm -rf"),
    "its eight-bit form": ("hi\x9b201~\rrm", "hi\nrm"),
    "keys": ("a\x03b\x15c\x1bd\x04e\x1a", "abcde"),
    "nothing": ("a\x00b", "ab"),
    "line ends": ("a\r\nb\rc\x85d\u2028e", "a\nb\nc\nd\ne"),
    "tabs": ("a\tb", "a    b"),
    "other directions": ("a\u202eb\u2066c\u200fd", "abcd"),
    "a last semicolon": ("do it;", "do it;"),
    "an option": ("-t %0 -X cancel", "-t %0 -X cancel"),
    "formats": (FORMATS, FORMATS),
    "quotes": ("'a' \"b\" `c` $(d) \\", "'a' \"b\" `c` $(d) \\"),
    "words of tmux": ("x ; kill-server", "x ; kill-server"),
    "wide ones": ("漢字 ünï 🙂", "漢字 ünï 🙂"),
    "an answer": ("1\n2\ny\nyes", "1\n2\ny\nyes"),
}


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("what", HOSTILE)
def test_no_text_can_leave_its_paste_or_press_a_key(stage: Stage, what: str):
    text, plain = HOSTILE[what]
    desk = Desk(stage.agent())
    delivered = desk.deliver(text)
    assert delivered.result is Result.PROVEN, delivered
    desk.check(delivered, plain)
    assert is_one_paste(desk.pane.bytes(), plain, entered=True)


def test_a_very_long_line_is_one_paste_and_no_enter_where_it_cannot_be_seen(stage: Stage, hasty: None):
    text, never = "words " * 17_000 + "end", PROFILE._replace(folds=Fold(chars=1))  # it does not fold them
    desk = Desk(stage.agent("--slow-read", "0"), never)
    delivered = desk.deliver(text)
    assert delivered.result is Result.UNCERTAIN
    patiently(lambda: desk.pane.bytes().endswith(b"\x1b[201~"))
    assert is_one_paste(desk.pane.bytes(), text, entered=False)


def test_many_lines_that_are_folded_are_submitted_whole(stage: Stage):
    desk, text = Desk(stage.agent()), "\n".join(f"{n} {'x' * 90}" for n in range(1000))
    delivered = desk.deliver(text)
    assert delivered.result is Result.PROVEN
    desk.check(delivered, text)


# ------------------------------------------------------------------------------------- interrupts


def test_an_interrupt_presses_its_key_once_and_only_while_it_works(stage: Stage):
    pane = stage.agent()
    desk = Desk(pane)
    assert desk.typist.interrupt().proven
    assert pane.bytes() == b""
    pane.control("busy")
    assert desk.typist.interrupt().proven
    assert pane.bytes() == b"\x1b"
    assert len(pane.log("interrupted")) == 1


@pytest.mark.parametrize("bar", ["a question", "a screen nobody knows", "copy mode", "synchronised"])
def test_an_interrupt_presses_nothing_where_its_key_would_do_something_else(stage: Stage, bar: str):
    pane = stage.agent()
    pane.control("busy")
    BARS[bar][2](stage, pane)
    interrupted = Desk(pane).typist.interrupt()
    assert not interrupted.proven
    assert "nothing was pressed" in interrupted.words
    assert pane.bytes() == b""


def test_a_question_that_comes_right_before_an_interrupt_is_not_answered(stage: Stage, hasty: None):
    pane = stage.agent()
    pane.control("busy")
    desk = Desk(pane)
    desk.terminal.acts["before enter"] = lambda: pane.control("dialog")
    assert not desk.typist.interrupt().proven
    assert not pane.log("denied", "approved")


# ----------------------------------------------------------------------------------- at random

ROUNDS = 50


class Round:
    """One hostile round: something happens at one or two random moments of a delivery."""

    def __init__(self, stage: Stage, pane: Pane, desk: Desk, chance: random.Random, number: int) -> None:
        self._stage, self._pane, self._desk, self._chance = stage, pane, desk, chance
        self.text = chance.choice([f"hello {number}", f"one\ntwo {number}", f"{LONG}\n{number}"])
        self.draft = f"draft-{number}"
        self.drafted = False

    def play(self) -> Delivered:
        acts: dict[str, Callable[[], object]] = {"ahead": lambda: None}
        for moment in self._chance.sample(("ahead", *MOMENTS), self._chance.choice((0, 1, 1, 2))):
            acts[moment] = self._act()
        acts.pop("ahead")()
        before = len(self._pane.log("submitted", "queued"))
        delivered = self._desk.deliver(self.text, at=acts)
        self._desk.check(delivered, self.text, before)
        return delivered

    def _act(self) -> Callable[[], object]:
        return self._chance.choice(
            [
                lambda: self._pane.control("dialog"),
                lambda: self._pane.control("dialog", "update"),
                self._write_draft,
                lambda: self._stage.tmux("copy-mode", "-t", self._pane.id),
                lambda: self._pane.control("--dialog-after", "paste"),
                lambda: self._pane.control("busy"),
            ]
        )

    def _write_draft(self) -> None:
        """As a person does, who sees where the words go; into a question they go nowhere."""
        if self._pane.ask("#{pane_in_mode}") == "0" and self._pane.reading().draft is not None:
            self.drafted = True
            self._pane.type(self.draft)
            self._pane.shows(self.draft)

    def tidy_up(self) -> None:
        """A person deals with all of it, and finds their draft in the composer."""
        pane = self._pane
        if pane.ask("#{pane_in_mode}") != "0":
            self._stage.tmux("send-keys", "-t", pane.id, "-X", "cancel")
        for words in (["--dialog-after", ""], ["close"], ["done"]):
            pane.control(*words)
        before = len(pane.log("cleared"))
        pane.press("C-u")
        cleared = pane.until("cleared", before + 1)[-1]["text"]
        if self.drafted:
            assert self.draft in cleared, (self.draft, cleared)
        pane.reads(Reading(State.IDLE, ""))


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_at_whatever_moment_things_happen_no_question_is_answered_and_no_draft_is_sent(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, seed: int
):
    for name in HASTE:
        monkeypatch.setattr(typist, name, 0.4)
    pane, chance = stage.agent(), random.Random(seed)
    desk, results = Desk(pane), list[Result]()
    for number in range(ROUNDS):
        one = Round(stage, pane, desk, chance, number)
        results.append(one.play().result)
        one.tidy_up()
    assert pane.approvals() == []
    assert not any("draft-" in text for text in pane.submitted())
    assert not pane.log("interrupted", "picked")
    assert {Result.REFUSED, Result.PROVEN, Result.UNCERTAIN} <= set(results), results
    assert set(pane.bytes()) & {0x03, 0x04, 0x1A} == set()


def test_two_keys_that_stop_a_turn_are_as_far_apart_as_its_runtime_wants(stage: Stage):
    pane = stage.agent("--stops", "C-c", "--turn", "-1")
    pane.control("busy")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        _NEVER.wait(seconds)

    profile = PROFILE._replace(stop=("Escape", "C-c"), apart=0.7)
    assert Typist(Desk(pane).terminal, profile, pause).interrupt().proven
    assert pauses.count(0.7) == 1
    assert pane.bytes() == b"\x1b\x03"


@pytest.mark.parametrize("text", ["look at @src/main.py", "#3", "tell me about $HOME"])
def test_a_command_whose_last_word_opens_a_list_is_not_typed(stage: Stage, text: str):
    pane = stage.agent("--picker")
    desk = Desk(pane, PROFILE._replace(picks=PICKS))
    assent = Assent(lambda: None, lambda: True)
    delivered = desk.typist.deliver(Text(text, Kind.COMMAND), assent)
    assert delivered.result is Result.REFUSED
    assert "opens a list" in delivered.words
    assert pane.bytes() == b""
    assert desk.typist.deliver(Text(f"{text} now", Kind.COMMAND), assent).result is Result.PROVEN
