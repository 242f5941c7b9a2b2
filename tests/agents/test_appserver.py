"""Real Codex and opencode, reached by their own servers: beside the terminal of a person, or as our children.

The request log of the scripted model is the witness again; the screen is what a person would see.
"""

import json
import os
import signal
from typing import Any

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.opencode.terminal import _is_shown
from postroom.model.ladder import Evidence, State
from postroom.room import berth
from tests.agents.beginning import BEGINNINGS
from tests.agents.conftest import MakeDesk
from tests.agents.desk import ANA, NAME, TOOL, Desk, Posted
from tests.agents.log import BOUND, until
from tests.agents.pane import POSTROOM, Pane

BOTH = ("codex", "opencode")
PORT = {"codex": (), "opencode": ("--port", "4567")}  # with which it has a server that others can reach
DRAFT = "half a sentence"
SLOW = "[[sleep 5]] [[say SLOWLY]]"


def wait_handed(desk: Desk, one: Posted) -> float:
    """Wait until mail was taken by a server and proven; how long it took until the model was asked."""
    done = desk.wait_seen(one.id)
    assert (done.route, done.evidence) == (desk.rig.cli.name, Evidence.RUNTIME_ACK)
    assert desk.rig.log.count(one.mark, about=one.mark) == 1
    return desk.latency(one)


class Beside(Pane):
    """An agent in a pane of a person's, with a server of its own."""

    def route(self) -> str:
        return berth.route(self.desk.room.store.look(), self.desk.room.who(NAME).id)

    def wait_route(self, name: str) -> None:
        until(lambda: self.route() == name, BOUND, f"route {name}")

    def agents(self) -> list[int]:
        """The processes of such agents that have a terminal."""
        found = [pid for pid in self.rig.processes() if host.terminal(pid)]
        return [pid for pid in found if host.program(pid) == self.rig.cli.name]

    def told(self) -> list[dict[str, Any]]:
        return [event.payload for event in self.desk.room.events() if event.type == "agent.route"]


@pytest.mark.parametrize("name", BOTH)
def test_an_agent_in_a_pane_is_reached_by_its_own_server_and_the_draft_there_stays(
    make_bare_desk: MakeDesk, name: str
) -> None:
    desk = make_bare_desk(name)
    pane = Beside(desk, desk.rig.terminal(*PORT[name]))
    pane.begin()
    pane.adopt()
    pane.wait_route(name)
    pane.terminal.type(DRAFT)
    pane.wait_reading(lambda seen: seen.draft == DRAFT, "draft")
    took = wait_handed(desk, desk.send("It is idle."))
    desk.note("server idle", took)
    pane.wait_reading(lambda seen: seen.state.value == "idle" and seen.draft == DRAFT, "draft that stayed")
    pane.clear()
    check_busy_beside(pane)
    check_fall_back(pane)


def check_busy_beside(pane: Beside) -> None:
    """Into the turn of a person, after its tool; and mail that waits for the end of one does."""
    desk = pane.desk
    pane.terminal.submit(f"[[bash {TOOL}]] [[say WORKED]]")
    desk.wait_tool()
    waits, now = desk.send("It is busy."), desk.send("It need not wait.", cls="tool")
    until(lambda: desk.delivery(now.id).state is State.OFFERED, BOUND, "mail in the turn")
    assert desk.delivery(waits.id).reason == "busy"
    desk.end_tool()
    wait_handed(desk, now)
    desk.note("server busy")
    wait_handed(desk, waits)
    pane.wait_idle()


def check_fall_back(pane: Beside) -> None:
    """A second one in the same directory: nobody can tell whose the conversation is, so it is typed."""
    desk = pane.desk
    other = desk.rig.terminal()
    other.wait_idle(90)
    until(lambda: len(pane.agents()) > 1, BOUND, "second process")
    one = desk.send("Which of the two?")
    pane.wait_typed(one)
    assert pane.route() == "tmux"
    assert pane.told()[-1]["instead_of"] == desk.rig.cli.name
    shown = pane.postroom("agents").out
    assert pane.told()[-1]["words"] in " ".join(shown.split()), shown
    other.close()
    until(lambda: len(pane.agents()) == 1, BOUND, "end of the second")
    pane.wait_idle()
    until(lambda: _is_back(pane), BOUND * 3, "way back to the server")


def _is_back(pane: Beside) -> bool:
    """Whether mail goes to its server again: that is tried when there is some, less and less often."""
    pane.desk.wait_seen(pane.desk.send("Now?").id)
    return pane.route() == pane.rig.cli.name


class Own:
    """An agent that the daemon runs without a terminal."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.rig = desk, desk.rig
        beginning = BEGINNINGS[self.rig.cli.name].get("dialog")
        if beginning is not None:  # it asks only if it is told to
            beginning.prepare(self.rig.place)

    def __call__(self, *words: str) -> Any:
        done = self.rig.command(
            POSTROOM, words[0], "--json", *words[1:], POSTROOM_PROJECT="shop", POSTROOM_SENDER_RATE="0"
        )
        assert done.code == 0, done
        return json.loads(done.out) if done.out.startswith("{") else None

    def manifest(self) -> manifests.Manifest:
        [found] = manifests.every(self.desk.home)
        return found


@pytest.mark.parametrize("name", BOTH)
def test_an_agent_without_a_terminal_gets_its_mail_asks_people_and_goes_on_after_its_death(
    make_bare_desk: MakeDesk, name: str
) -> None:
    own = Own(make_bare_desk(name))
    spawned = own("spawn", NAME, "--bridge", name, "--restart", "always", "--", own.rig.program)
    assert (spawned["doing"], spawned["mail"]) == ("idle", "handed")
    first = own.desk.send("It is idle.")
    wait_handed(own.desk, first)
    check_busy_own(own)
    check_permission(own)
    check_interrupt(own)
    check_resumed(own, first)


def check_busy_own(own: Own) -> None:
    own("command", NAME, SLOW)
    own.rig.log.wait("SLOWLY")
    waits, now = own.desk.send("It is busy."), own.desk.send("It need not wait.", cls="tool")
    until(lambda: own.desk.delivery(waits.id).reason == "busy", BOUND, "reason")
    wait_handed(own.desk, now)
    wait_handed(own.desk, waits)


def check_permission(own: Own) -> None:
    asked = os.path.join(own.rig.place.project, "asked.txt")
    for option, runs in (("deny", False), ("approve", True)):
        own("command", NAME, f"{own.rig.cli.question} [[say AFTER-{option}]]")
        until(own.desk.room.gates, BOUND, "gate")
        [gate] = own.desk.room.gates()
        assert not os.path.exists(asked)
        waits = own.desk.send("It asks.")
        own("decide", gate.message.id, option, "--as", ANA)
        own.desk.wait_seen(waits.id)
        assert os.path.exists(asked) is runs


def check_interrupt(own: Own) -> None:
    own("command", NAME, "[[sleep 40]] [[say NEVER]]")
    own.rig.log.wait("NEVER")
    assert own("interrupt", NAME, "--as", ANA)["proven"] is True


def check_resumed(own: Own, first: Posted) -> None:
    """Killed in a turn that mail has begun: that mail is shown again, labelled, in the same conversation."""
    before = own.manifest()
    one = own.desk.send(SLOW)
    own.rig.log.wait(one.mark)
    os.kill(host.pid_of(before.process), signal.SIGKILL)
    until(lambda: own.manifest().process != before.process, BOUND, "restart")
    assert own.desk.wait_seen(one.id).state is State.SEEN
    own.rig.log.wait("may have been shown before")
    assert first.mark in own.rig.log.last(one.mark), "what was said before is gone"
    assert own.manifest().details == before.details
    own.desk.note("server resumed")


@pytest.mark.parametrize("name", BOTH)
def test_one_without_hooks_is_told_its_address_once_without_a_turn(
    make_bare_desk: MakeDesk, name: str
) -> None:
    own = Own(make_bare_desk(name))
    own("spawn", NAME, "--bridge", name, "--restart", "always", "--", own.rig.program)
    until(lambda: introductions(own), BOUND, "introduction")
    assert own.rig.log.requests() == [], "it has set the model to work"
    one = own.desk.send("It is idle.")
    wait_handed(own.desk, one)
    check_introduced(own, one, 1)
    before = own.manifest()
    os.kill(host.pid_of(before.process), signal.SIGKILL)
    until(lambda: own.manifest().process != before.process, BOUND, "restart")
    two = own.desk.send("It goes on.")
    wait_handed(own.desk, two)
    check_introduced(own, two, 1)
    assert len(introductions(own)) == 1, "it was told twice in one conversation"


def introductions(own: Own) -> list[dict[str, Any]]:
    pushed = [event.payload for event in own.desk.room.events() if event.type == "agent.pushed"]
    return [one for one in pushed if one["what"] == "introduction"]


def check_introduced(own: Own, one: Posted, times: int) -> None:
    """Before the mail, as often as that, in what the model was asked."""
    text = own.rig.log.last(one.mark)
    assert text.count(f"Your address in Postroom is {NAME} (project shop)") == times
    assert text.index("Your address in Postroom is") < text.index(one.mark)


def test_what_opencode_asks_that_is_no_matter_of_yes_or_no_is_rejected_and_its_mail_goes_on(
    make_bare_desk: MakeDesk,
) -> None:
    own = Own(make_bare_desk("opencode"))
    own("spawn", NAME, "--bridge", "opencode", "--", own.rig.program)
    choice = {"question": "Which?", "header": "Pick", "options": [{"label": "a", "description": "the first"}]}
    own("command", NAME, f"[[tool question {json.dumps({'questions': [choice]})}]] [[say PICKED]]")
    until(lambda: "question.asked" in said(own), BOUND, "question")
    one = own.desk.send("It was asked something.")
    wait_handed(own.desk, one)
    assert "dismissed" in own.rig.log.last(one.mark), "the model was not told that nobody answers"
    assert own.desk.room.gates() == []


def said(own: Own) -> str:
    """What the log has of what it told."""
    told = [event.payload["text"] for event in own.desk.room.events() if event.type == "agent.output"]
    return "\n".join(told)


def test_an_opencode_whose_directory_is_reached_by_a_link_is_found_by_the_directory_itself(
    make_bare_desk: MakeDesk,
) -> None:
    """Its sessions name the directory that the link leads to."""
    desk = make_bare_desk("opencode")
    link = os.path.join(desk.rig.place.root, "link")
    os.symlink(desk.rig.place.project, link)
    started = desk.rig.start("sh", "-c", f'cd "{link}" && exec "{desk.rig.program}" serve --port 4567')
    assert started.stdout is not None
    try:
        assert any("listening" in line for line in started.stdout)
        done = desk.rig.command("curl", "-s", "-X", "POST", "http://127.0.0.1:4567/session")
        session = json.loads(done.out)
        here = os.path.realpath(host.started_with(str(started.pid))[1])
        assert _is_shown(session, here), (session, here)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
