"""Mail for agents in panes, brought by a real daemon: typed, seen, waiting, and what a death leaves."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from postroom.bridges import manifest as manifests
from postroom.daemon import control
from postroom.model.ladder import Evidence, Outcome, State
from postroom.room import berth, glance
from postroom.room.local import LocalRoom
from postroom.runtimes.contract import NUDGE
from tests.hooking import ClaudeCode
from tests.tui.house import House
from tests.tui.stage import Pane, Stage, patiently

HASTE = " ".join(
    f"postroom.bridges.terminal.typist.{name}={seconds}"
    for name, seconds in {"_RENDER": 2.0, "_PATIENCE": 2.0, "_CLEAR": 2.0}.items()
)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def house(room: LocalRoom, stage: Stage) -> Iterator[House]:
    with House(room, stage) as house:
        yield house


@pytest.mark.promise("terminal-delivery")
def test_mail_is_typed_submitted_and_seen_on_the_evidence_of_the_terminal(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    house.daemon()
    sent = house.room.send("builder", "What does the build say?")
    house.seen(sent.id)
    [text] = pane.submitted()
    assert "What does the build say?" in text
    assert house.delivery(sent.id).route == "tmux"
    pushed = [event.payload for event in house.room.events() if event.type == "agent.pushed"]
    assert [(told["what"], told["result"]) for told in pushed] == [("mail", "proven")]
    assert "What does" not in str(pushed), "no text is kept twice"


def test_mail_that_came_before_the_daemon_goes_in_in_order_and_once(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    sent = [house.room.send("builder", f"message {n}.") for n in range(5)]
    urgent = house.room.send("builder", "at once!", priority="urgent")
    house.daemon()
    for one in (*sent, urgent):
        house.seen(one.id)
    typed = "\n".join(pane.submitted())
    assert [typed.count(f"message {n}.") for n in range(5)] == [1] * 5
    assert typed.count("at once!") == 1
    assert typed.index("at once!") < typed.index("message 0.") < typed.index("message 4.")


def test_fifty_messages_sent_at_once_go_in_none_is_lost_and_none_doubled(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    house.daemon()
    sent = [house.room.send("builder", f"message <{n}>") for n in range(50)]
    for one in sent:
        house.seen(one.id)
    typed = "\n".join(pane.submitted())
    assert [typed.count(f"message <{n}>") for n in range(50)] == [1] * 50


Change = Callable[[Stage, Pane], object]
BARS: dict[str, tuple[str, Change, Change]] = {
    "work": ("busy", lambda _, p: p.control("busy"), lambda _, p: p.control("done")),
    "a question": ("approval", lambda _, p: p.control("dialog"), lambda _, p: p.control("close")),
    "a draft": ("draft", lambda _, p: p.control("draft", "mine"), lambda _, p: p.press("C-u")),
    "a strange screen": ("unknown_screen", lambda _, p: p.control("strange"), lambda _, p: p.press("Escape")),
    "copy mode": (
        "copy_mode",
        lambda s, p: s.tmux("copy-mode", "-t", p.id),
        lambda s, p: s.tmux("send-keys", "-t", p.id, "-X", "cancel"),
    ),
    "synchronised": (
        "synchronised",
        lambda s, p: (s.run("cat", beside=p.id), s.tmux("set", "-w", "-t", p.id, "synchronize-panes", "on")),
        lambda s, p: s.tmux("set", "-w", "-t", p.id, "synchronize-panes", "off"),
    ),
}


@pytest.mark.promise("never-typed-blind")
@pytest.mark.parametrize("bar", BARS)
def test_mail_waits_with_its_reason_and_goes_in_when_that_is_over(house: House, stage: Stage, bar: str):
    reason, begin, end = BARS[bar]
    pane = stage.agent("--turn", "0")
    house.adopt("builder", pane)
    begin(stage, pane)
    house.daemon()
    sent = house.room.send("builder", "hello")
    house.waits(sent.id, reason)
    assert b"\x1b[200~" not in pane.bytes()
    end(stage, pane)
    house.seen(sent.id)
    assert len(pane.submitted()) == 1
    assert pane.approvals() == []


def test_mail_waits_for_an_agent_that_asks_before_it_starts(house: House, stage: Stage):
    pane = stage.agent("--trust")
    house.adopt("builder", pane)
    house.daemon()
    sent = house.room.send("builder", "hello")
    house.waits(sent.id, "launch_blocked:trust")
    assert pane.bytes() == b""
    pane.press("Up", "Enter")
    house.seen(sent.id)


def test_only_what_need_not_wait_goes_to_an_agent_at_work(house: House, stage: Stage):
    pane = stage.agent("--turn", "-1")
    pane.control("busy")
    house.adopt("builder", pane)
    house.daemon()
    later = house.room.send("builder", "at your leisure")
    house.waits(later.id, "busy")
    now = house.room.send("builder", "between two tools", cls="tool")
    pane.until("queued")
    [text] = [event["text"] for event in pane.log("queued")]
    assert "between two tools" in text
    assert "at your leisure" not in text
    patiently(lambda: house.delivery(now.id).state is State.OFFERED)
    assert house.delivery(later.id).state is State.STORED
    pane.control("done")
    pane.control("done")
    house.seen(now.id)
    house.seen(later.id)
    assert len(pane.submitted()) == 2


def test_scheduled_mail_goes_in_at_its_moment(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    house.daemon()
    sent = house.room.send("builder", "later", after=1.0)
    house.seen(sent.id)
    assert len(pane.submitted()) == 1


@pytest.mark.promise("missed-ring")
def test_a_bell_that_nobody_heard_is_made_good(house: House, stage: Stage, monkeypatch: pytest.MonkeyPatch):
    pane = stage.agent()
    house.adopt("builder", pane)
    house.daemon()
    monkeypatch.setattr(house.room.bell, "ring", lambda *_: {})
    sent = house.room.send("builder", "hello")
    house.seen(sent.id)


# -------------------------------------------------------------------------------- killed on the way

# The steps of one delivery; where a death leaves something that nobody can know, and where nothing.
STEPS = [
    *((step, n, "") for step in ("before-commit", "after-commit") for n in range(2, 7)),
    ("before-typing", 1, "seen"),
    ("typed", 1, "uncertain"),
    ("submitted", 1, "uncertain"),
]


@pytest.mark.promise("uncertain-is-final")
@pytest.mark.parametrize(("step", "times", "told"), STEPS)
def test_a_daemon_killed_at_any_step_leaves_one_submission_or_uncertain(
    house: House, stage: Stage, step: str, times: int, told: str
):
    pane = stage.agent()
    house.adopt("builder", pane)
    sent = house.room.send("builder", "exactly once")
    house.daemon(step, str(times)).died()
    house.daemon(SEAMS=HASTE)

    def settled() -> str:
        now = house.delivery(sent.id)
        return "seen" if now.state is State.SEEN else "uncertain" if now.reason == "uncertain" else ""

    patiently(settled)
    was = settled()
    assert was == (told or was)
    second = house.room.send("builder", "and another")
    patiently(
        lambda: (
            (now := house.delivery(second.id)).state is State.SEEN or now.reason in ("uncertain", "left_text")
        )
    )
    submitted = [text for text in pane.submitted() if "exactly once" in text]
    assert len(submitted) <= 1
    assert pane.bytes().count(b"exactly once") <= 1, "it is never typed again"
    assert settled() == was
    assert was == "uncertain" or submitted
    assert step not in ("typed", "submitted") or len(submitted) == (step == "submitted")
    attempts = house.room.receipts(sent.id).attempts
    assert sum(attempt.outcome is Outcome.UNCERTAIN for attempt in attempts) == (was == "uncertain")


def test_what_a_daemon_has_left_in_a_composer_is_told_as_its_own_until_a_person_clears_it(
    house: House, stage: Stage
):
    pane = stage.agent()
    house.adopt("builder", pane)
    house.room.send("builder", "half done")
    house.daemon("typed").died()
    house.daemon(SEAMS=HASTE)
    waits = house.room.send("builder", "and another")
    house.waits(waits.id, "left_text")
    seen = control.ask(house.home, "observe", agents=[house.room.who("builder").id])
    assert [one["words"] for one in seen.values()] == ["an earlier text of ours stands in its composer"]
    pane.press("C-u")
    house.seen(waits.id)


@pytest.mark.promise("uncertain-is-final")
def test_what_is_uncertain_is_not_typed_again_by_any_later_daemon_and_may_be_read(house: House, stage: Stage):
    pane = stage.agent("--quiet", "100000")  # every Enter is taken for a part of the paste
    house.adopt("builder", pane)
    sent = house.room.send("builder", "exactly once")
    house.daemon(SEAMS=HASTE)
    house.waits(sent.id, "uncertain")
    pane.press("C-u")
    pane.until("cleared")
    for _ in range(2):
        house.daemon(SEAMS=HASTE).end()
    assert pane.bytes().count(b"exactly once") == 1
    mail = house.room.take("builder")
    assert mail is not None
    assert mail.id == sent.id
    assert mail.delivery.shown_before


@pytest.mark.promise("uncertain-is-final")
def test_what_was_handed_over_is_not_typed_again_when_its_agent_is_let_go_and_adopted_again(
    house: House, stage: Stage
):
    pane = stage.agent("--dialog-after", "enter")
    house.adopt("builder", pane)
    house.daemon(SEAMS=HASTE)
    sent = house.room.send("builder", "exactly once")
    patiently(lambda: house.delivery(sent.id).state is State.OFFERED and pane.log("opened"))
    agent = house.room.who("builder")
    manifests.remove(house.home, agent.id)
    control.ask(house.home, "reload")
    berth.vacate(house.room, agent)
    house.waits(sent.id, "uncertain")
    pane.control("close")
    house.adopt("builder", pane)
    control.ask(house.home, "reload")
    house.seen(house.room.send("builder", "another").id)
    assert pane.bytes().count(b"exactly once") == 1
    assert house.delivery(sent.id).reason == "uncertain"


@pytest.mark.promise("uncertain-is-final")
def test_what_was_handed_over_and_cannot_be_told_any_more_is_uncertain(house: House, stage: Stage):
    pane = stage.agent("--dialog-after", "enter")
    house.adopt("builder", pane)
    house.daemon(SEAMS=f"{HASTE} postroom.bridges.terminal.typist._PROOF=4")
    sent = house.room.send("builder", "exactly once")
    house.waits(sent.id, "uncertain")
    pushed = [event.payload for event in house.room.events() if event.type == "agent.pushed"]
    assert [told["result"] for told in pushed] == ["handed", "uncertain"]
    assert pushed[1]["messages"] == [sent.id]
    pane.control("close")
    house.seen(house.room.send("builder", "another").id)
    assert pane.bytes().count(b"exactly once") == 1


# ----------------------------------------------------------------------------------- hooks and a pane


@pytest.fixture
def hooked(house: House, stage: Stage, claude: ClaudeCode) -> Pane:
    """`builder` has hooks that carry its mail, and a pane in which it can be woken; it is idle."""
    pane = stage.agent()
    house.adopt("builder", pane)
    claude.start()
    claude.stop()
    return pane


@pytest.mark.promise("one-carries")
def test_an_agent_with_hooks_is_only_woken_and_its_hooks_carry_the_mail(
    house: House, hooked: Pane, claude: ClaudeCode
):
    house.daemon()
    sent = house.room.send("builder", "the mail itself", priority="urgent")
    [line] = [event["text"] for event in hooked.until("submitted")]
    assert line.startswith(NUDGE)
    assert sent.id[-8:] in line
    assert "the mail itself" not in line
    assert house.delivery(sent.id).state is State.STORED
    assert "the mail itself" in claude.prompt(line)
    claude.stop()
    assert house.delivery(sent.id).state is State.SEEN
    assert house.delivery(sent.id).evidence in (Evidence.TRANSCRIPT, Evidence.BOUNDARY)
    assert sum("the mail itself" in shown for shown in claude.shown) == 1
    assert hooked.submitted() == [line]


@pytest.mark.promise("one-carries")
def test_urgent_mail_that_its_own_wake_carried_is_not_typed(house: House, hooked: Pane, claude: ClaudeCode):
    house.daemon()
    sent = house.room.send("builder", "at once", priority="urgent")
    assert "at once" in claude.change()
    claude.stop()
    assert house.delivery(sent.id).state is State.SEEN
    other = house.room.send("builder", "a second", priority="urgent")
    hooked.until("submitted")
    assert other.id[-8:] in hooked.submitted()[0]
    assert sent.id[-8:] not in hooked.submitted()[0]


def test_an_agent_whose_hooks_say_that_it_works_is_not_typed_to_though_its_screen_is_idle(
    house: House, hooked: Pane, claude: ClaudeCode
):
    claude.prompt("go on")
    house.daemon()
    me = house.room.who("builder").id
    patiently(lambda: (seen := glance.get(house.home, me)) is not None and seen.doing == "idle")
    sent = house.room.send("builder", "between tools", priority="urgent")
    house.waits(sent.id, "busy")
    assert "between tools" in claude.tools()
    claude.stop()
    assert hooked.bytes() == b""


def test_what_keeps_a_wake_out_is_told_and_it_comes_when_that_is_over(
    house: House, hooked: Pane, claude: ClaudeCode
):
    hooked.control("draft", "half a sentence")
    house.daemon()
    sent = house.room.send("builder", "the mail itself", priority="urgent")
    house.waits(sent.id, "draft")
    assert hooked.bytes() == b""
    hooked.press("C-u")
    hooked.until("submitted")
    assert sent.id[-8:] in hooked.submitted()[0]
    assert house.delivery(sent.id).state is State.STORED


# --------------------------------------------------------------------------------------- its end


def test_a_daemon_that_is_told_to_end_finishes_what_it_is_typing(house: House, stage: Stage):
    pane = stage.agent()
    house.adopt("builder", pane)
    daemon = house.daemon()
    sent = house.room.send("builder", "hello")
    pane.until("pasted")
    daemon.end()
    assert len(pane.submitted()) == 1
    assert house.delivery(sent.id).state is State.SEEN


def test_mail_for_an_agent_that_has_ended_waits_offline_and_its_session_is_over(house: House, stage: Stage):
    pane, other = stage.agent(then="exec cat"), stage.agent()
    house.adopt("builder", pane)
    house.room.join("tester")
    house.adopt("tester", other)
    house.daemon()
    first = house.room.send("builder", "hello")
    house.seen(first.id)
    os.kill(pane.pid, signal.SIGKILL)
    sent = house.room.send("builder", "too late")
    house.waits(sent.id, "offline")
    patiently(lambda: not house.room.store.look().sessions(house.room.who("builder").id))
    still = house.room.send("tester", "hello")
    house.seen(still.id)
    assert "too late" not in pane.screen()
    house.adopt("builder", stage.agent())
    house.seen(sent.id)
