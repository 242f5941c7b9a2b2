"""`postroom top` as it is used: a real room, a second process that writes, and the keys of a person."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from textual.binding import Binding

from postroom.model.ladder import State
from postroom.room.authority import Operator
from postroom.room.local import LocalRoom
from postroom.room.manners import pause
from postroom.top.app import Top
from postroom.top.source import Here
from tests.commandline import CommandLine
from tests.conftest import OpenRoom
from tests.page.scripted import Scripted
from tests.process import BOUND
from tests.top.seen import Seen, watch

T = TypeVar("T")
HOSTILE = "[bold red]look[/] \x1b[2J\x1b]0;owned\x07 \u202egnp.exe [@click=app.quit]press[/]"


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


@pytest.fixture
def own(open_room: OpenRoom) -> LocalRoom:
    """The room as the person at the terminal has it."""
    return open_room("human:ana")


@pytest.mark.promise("top-live")
def test_mail_of_another_process_comes_by_itself_and_its_rail_fills(
    room: LocalRoom, own: LocalRoom, cli: CommandLine
):
    async def scene(seen: Seen) -> None:
        await seen.until("builder", "not running", "Nothing was written yet.")
        sent = cli.process("send", "builder", "the tests are red", "--as", "planner", "--quiet")
        assert sent.code == 0, sent
        await seen.until("●○○○  planner → builder", "the tests are red", "waits: not running", "1 waiting")
        assert cli.process("read", "--as", "builder").code == 0
        await seen.until("●●●○  planner → builder", "0 waiting")
        assert cli.process("ack", sent.out.strip(), "--as", "builder").code == 0
        await seen.until("●●●●  planner → builder")

    watch(own, scene)


def test_what_somebody_looks_at_stays_where_it_is_when_mail_comes(room: LocalRoom, own: LocalRoom):
    for n in range(5):
        room.send("builder", f"letter {n}")

    async def scene(seen: Seen) -> None:
        await seen.until("letter 4")
        await seen.press("tab", "down", "down", "enter")
        await seen.until("What happened", "letter 2")
        await seen.press("escape")
        room.send("builder", "one more")
        await seen.until("one more")
        await seen.press("enter")
        await seen.until("What happened", "letter 2")

    watch(own, scene, size=(80, 24))


def test_what_the_daemon_looks_after_and_has_crashed_is_told_at_the_head(
    room: LocalRoom, own: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    told: dict[str, Any] = {}
    monkeypatch.setattr(Here, "health", lambda _: dict(told))

    async def scene(seen: Seen) -> None:
        assert "crash" not in seen.lines[0]
        told.update(agents=2, crashes=0)
        room.send("builder", "one")
        await seen.until("1 waiting")
        assert "crash" not in seen.lines[0]
        told.update(crashes=1, watches={"count": 1, "crashes": 2}, trees={"trouble": {"/t": "gone"}})
        room.send("builder", "two")
        await seen.until("1 crash of bridges, 2 crashes of watches, 1 tree not looked at")

    watch(own, scene, size=(140, 24))


@pytest.mark.promise("top-text")
def test_a_hostile_body_is_shown_as_text_and_nothing_in_it_is_obeyed(room: LocalRoom, own: LocalRoom):
    room.send("builder", HOSTILE, subject="[blink]a[/blink]")
    room.join("human:ana")
    gate = {"options": ["[red]yes", "no\x1b[31m"]}
    room.send("human:ana", HOSTILE, type="decision_gate", payload=gate, expires=900)
    shown = "[bold red]look[/] ␛[2J␛]0;owned␇ ‹202E›gnp.exe [@click=app.quit]press[/]"

    async def scene(seen: Seen) -> None:
        await seen.until("[blink]a[/blink]", "[red]yes | no␛[31m")
        await seen.press("tab", "down", "enter")
        await seen.until("[blink]a[/blink]", shown)
        await seen.press("t")
        await seen.until("The conversation", shown)
        await seen.press("escape", "d")
        await seen.until("[red]yes", "no␛[31m", "leave it open", shown)
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text

    watch(own, scene, size=(220, 40))


def test_a_question_is_answered_with_a_note_and_no_single_key_decides(room: LocalRoom, own: LocalRoom):
    own.join("human:ana")
    options = {"options": ["now", "tonight"]}
    asked = room.send("human:ana", "May I deploy?", type="decision_gate", payload=options, expires=900)

    async def scene(seen: Seen) -> None:
        await seen.until("Needs you", "1 decision", "planner asks May I deploy?", "now | tonight")
        await seen.press("d")
        await seen.until("leave it open")
        await seen.press("enter")
        assert room.gate(asked.id).decision is None
        await seen.press("down", "down", "tab", *"after 18", "enter")
        await seen.until("decided: tonight", without="Needs you")
        decision = room.gate(asked.id).decision
        assert decision is not None
        assert (decision.option, decision.note, decision.by) == ("tonight", "after 18", "human:ana")

    watch(own, scene)


def test_what_others_decide_is_told_apart_and_no_key_decides_it(room: LocalRoom, own: LocalRoom):
    own.join("human:ana")
    room.send("builder", "May I deploy?", type="decision_gate", expires=900)

    async def scene(seen: Seen) -> None:
        await seen.until("Others decide 1 question", "planner asks builder: May I deploy?")
        assert "Needs you" not in seen.text
        assert "approve" not in seen.text
        await seen.press("d")
        await seen.press("shift+tab", "enter")
        await seen.until("What happened")
        assert "leave it open" not in seen.text

    watch(own, scene)


def test_who_asks_the_person_something_stands_there_until_it_is_answered(room: LocalRoom, own: LocalRoom):
    own.join("human:ana")
    asked = room.send("human:ana", "Which port is free?", subject="Port", type="request")

    async def scene(seen: Seen) -> None:
        await seen.until("Needs you  1 question", "planner asks you: Port")
        await seen.press("a")
        await seen.until("Which port is free?", "your answer")
        await seen.press("enter")
        await seen.press(*"8080", "enter")
        await seen.until("planner gets it", without="Needs you")
        assert "esc: all of it" not in seen.text, "what is written in a dialog is not searched for"
        [_, answer] = room.thread(asked.id)
        assert (answer.type, answer.body, answer.sender) == ("response", "8080", "human:ana")

    watch(own, scene)


def test_who_gets_another_name_meanwhile_is_still_asked(room: LocalRoom, own: LocalRoom):
    own.join("human:ana")
    options = {"options": ["now", "tonight"]}
    asked = room.send("human:ana", "May I deploy?", type="decision_gate", payload=options, expires=900)
    room.send("human:ana", "Which port is free?", subject="Port", type="request")

    async def scene(seen: Seen) -> None:
        await seen.until("1 decision, 1 question", "as human:ana")
        room.rename("anna", agent="human:ana")
        await seen.until("1 decision, 1 question", "as human:anna", "planner asks you: Port")
        await seen.press("d")
        await seen.until("leave it open")
        await seen.press("down", "enter")
        await seen.until("decided: now", without="1 decision")
        decision = room.gate(asked.id).decision
        assert decision is not None
        assert decision.by == "human:anna"

    watch(own, scene)


def test_a_dead_letter_is_tried_again(room: LocalRoom, own: LocalRoom):
    sent = room.send("builder", "run the long suite")
    with room.write() as tx:
        [one] = sent.deliveries
        tx.append(
            "delivery.dead", one.recipient_id, about=sent.message, payload={"reason": "x"}, status="dead"
        )

    async def scene(seen: Seen) -> None:
        await seen.until("1 letter not delivered", "dead")
        await seen.press("shift+tab")
        await seen.until("r retry")
        await seen.press("r")
        await seen.until("waits for builder again", without="Needs you")
        assert [one.state for one in room.receipts(sent.id).deliveries] == [State.STORED]

    watch(own, scene)


def test_of_an_agent_that_does_not_run_that_is_said_and_no_single_key_does_anything(
    room: LocalRoom, own: LocalRoom
):
    async def scene(seen: Seen) -> None:
        await seen.until("builder", "not running")
        await seen.press("s")
        await seen.until("builder does not run: there is nothing to stop", "postroom --home", "spawn builder")
        assert "Stop: end its turn" not in seen.text
        await seen.press("enter", "escape")
        await seen.until("Agents", without="does not run")
        assert room.peek("builder") == []

    watch(own, scene, size=(220, 30))


def test_an_agent_is_paused_after_a_question_and_let_go_on(room: LocalRoom, own: LocalRoom):
    async def scene(seen: Seen) -> None:
        await seen.until("builder")
        await seen.press("s")
        await seen.until("nothing to stop", "Pause: its mail waits")
        await seen.press("escape")
        await seen.until("Agents", without="nothing to stop")
        assert room.peek("builder") == []
        await seen.press("s")
        await seen.until("nothing to stop")
        await seen.press("down", "enter")
        await seen.until("told, not stopped", "paused, told to stop")
        [(mail, _)] = room.sent("human:ana")
        assert (mail.type, mail.to) == ("interrupt", "p/builder")
        await seen.press("u")
        await seen.until("goes on", without="paused")

    watch(own, scene)


def test_mail_is_found_by_words_by_who_wrote_it_and_by_what_became_of_it(room: LocalRoom, own: LocalRoom):
    room.send("builder", "the parser is slow")
    room.send("planner", "the lexer is fine", sender="builder")

    async def scene(seen: Seen) -> None:
        await seen.until("the parser is slow", "the lexer is fine")
        await seen.press("slash", *"parser", "enter")
        await seen.until("the parser is slow", without="the lexer is fine")
        await seen.press("escape")
        await seen.until("the lexer is fine")
        await seen.press("slash", *"from:builder", "enter")
        await seen.until("the lexer is fine", without="the parser is slow")
        await seen.press("escape")
        await seen.until("the parser is slow")
        await seen.press("slash", *"state:nowhere", "enter")
        await seen.until("there is no state 'nowhere'", "the parser is slow")

    watch(own, scene)


def test_the_mail_of_an_agent_and_the_agent_itself_are_looked_at(room: LocalRoom, own: LocalRoom):
    room.join("critic", description="Ask before you merge.")
    room.send("critic", "one for the critic")
    room.send("builder", "one for the builder")
    pause(room, room.known("critic"), Operator("human:ana", "human"), paused=True)

    async def scene(seen: Seen) -> None:
        await seen.until("paused")
        await seen.press("home", "enter")
        await seen.until("Ask before you merge.", "Its mail waits until it is resumed.", "1 message waiting")
        await seen.press("escape", "m")
        await seen.until("with:p/", "one for the", "esc: all of it")

    watch(own, scene)


def test_every_key_is_listed_and_only_those_that_mean_something(room: LocalRoom, own: LocalRoom):
    async def scene(seen: Seen) -> None:
        await seen.until("⏎ open", "/ find", "q quit", "s stop")
        await seen.press("tab")
        await seen.until("t thread", without="s stop")
        await seen.press("question_mark")
        await seen.until("Keys", "stop, pause or cancel an agent", "the rungs: stored, offered, seen")
        bound = [one.key_display or one.key for one in Top.BINDINGS if isinstance(one, Binding)]
        assert len(bound) == len(Top.BINDINGS)
        assert [key for key in bound if f"\n {key}  " not in seen.text] == [], "what is bound is explained"
        assert all(len(line) <= 80 for line in seen.lines)

    watch(own, scene, size=(80, 24))


def test_a_key_that_means_nothing_here_says_where_it_would(room: LocalRoom, own: LocalRoom):
    room.join("human:ana")
    room.send("builder", "hello")

    async def scene(seen: Seen) -> None:
        await seen.until("builder", "hello")
        await seen.press("u")
        await seen.until("builder is not paused.")
        await seen.press("r")
        await seen.until("Choose a letter that was not delivered first")
        await seen.press("d")
        await seen.until("Nothing waits for a decision of yours.")
        room.send("builder", "May I?", type="decision_gate")
        await seen.until("Others decide 1 question")
        await seen.press("a")
        await seen.until("Nobody waits for an answer of yours.")
        await seen.press("d")
        await seen.until("Nothing waits for a decision of yours.")
        await seen.press("t")
        await seen.until("Choose a message first")
        await seen.press("end", "s")
        await seen.until("human:ana is a person: there is nothing to stop.")
        await seen.press("tab", "s")
        await seen.until("Choose an agent first")
        await seen.press("slash", *"sturmd")
        await seen.until("sturmd", without="Choose")

    watch(own, scene)


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60), (20, 5)])
def test_any_size_of_terminal_will_do(room: LocalRoom, own: LocalRoom, size: tuple[int, int]):
    for n in range(30):
        room.send("builder", f"日本語のメッセージ {n} 🙂", subject=f"letter {n}")

    async def scene(seen: Seen) -> None:
        await seen.press("tab", "end", "home", "pagedown", "enter")
        await seen.pilot.resize_terminal(60, 20)
        await seen.until("letter")

    watch(own, scene, size=size)


def test_an_agent_that_asks_stands_first_with_the_command_that_leads_to_it(
    home: str, tmp_path: os.PathLike[str]
):
    with Scripted(home, os.path.join(tmp_path, "work")) as script:
        for name in ("docs", "planner", "reviewer"):
            script.send("tester", name, "Later", "It can wait.")
        script.bridged("tester", "asking", "it asks a person: confirm", "approval")

        async def scene(seen: Seen) -> None:
            await seen.until(
                "Needs you  1 agent that cannot go on", "▲ tester needs a person", "1 needs somebody"
            )
            assert seen.text.count(f"postroom --home {home} attach shop/tester") == 2
            await seen.press("shift+tab", "s")
            await seen.until("Stop tester?", "Now: needs a person.")
            await seen.press("escape", "enter")
            await seen.until(f"Answer it in its terminal: postroom --home {home} attach", "→ docs   ")
            await seen.pilot.resize_terminal(100, 30)
            await seen.press("escape")
            await seen.until("▲ tester needs a person", without="attach")  # whole, or not at all

        watch(script.room, scene, size=(400, 30))


class Leaving(Here):
    """A room that answers only once the screen is gone."""

    screen: Top | None = None
    looks: asyncio.Event

    async def do(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        found = await super().do(function, *args, **kwargs)
        while self.screen is not None and self.screen.query("#needs"):
            self.looks.set()
            await asyncio.sleep(0)
        return found


def test_who_leaves_while_it_looks_leaves_without_a_word(room: LocalRoom, own: LocalRoom):
    source = Leaving(own)

    async def play() -> None:
        app = Top(source)
        async with app.run_test() as pilot:
            await Seen(pilot).until("builder")
            source.looks, source.screen = asyncio.Event(), app
            room.send("builder", "hello")
            await asyncio.wait_for(source.looks.wait(), BOUND)

    asyncio.run(play())


def _view(cli: CommandLine, *argv: str) -> Any:
    return cli.ok("top", "--json", *argv).json


def test_without_a_terminal_it_is_told_once(room: LocalRoom, cli: CommandLine):
    room.send("builder", "read \x1b[31mme", subject="hello")
    found = _view(cli)
    assert [one["body"] for one in found["mail"]] == ["read \x1b[31mme"]
    assert [one["address"] for one in found["agents"]] == ["p/builder", "p/planner"]
    assert _view(cli, "from:builder")["mail"] == []
    text = cli.ok("top").out
    assert "· builder  not running" in text
    assert "read ␛[31mme" in text
    assert "\x1b" not in text
