"""A person at the page sees who is stuck, stops an agent, decides, and sees to what was given up."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from postroom import host
from postroom.bridges import manifest
from postroom.bridges.files import tree as trees
from postroom.bridges.files.tree import Tree
from postroom.bridges.manifest import Manifest
from postroom.bridges.terminal.reading import Reading, State
from postroom.clock import wall
from postroom.config import Settings
from postroom.daemon import control, watch
from postroom.daemon.watch import Watch
from postroom.home import at_home
from postroom.model.manners import read
from postroom.model.message import Agent, Json
from postroom.room.local import LocalRoom
from postroom.top.doing import attach, hindrance, in_order
from tests.clockwork import Clock
from tests.page.hall import Hall
from tests.page.scripted import PROJECT
from tests.process import eventually
from tests.top.test_words import agent, session
from tests.tui.stage import Pane, Stage


def test_those_of_one_name_are_told_apart_beside_every_view(hall: Hall, page: Page):
    hall.room.join("elsewhere/tester")
    hall.up().open(page)
    here = page.locator("#roster bdi")
    expect(here.filter(has_text="elsewhere/tester")).to_have_count(1)
    expect(here.filter(has_text=f"{PROJECT}/tester")).to_have_count(1)
    expect(here.get_by_text("planner", exact=True)).to_have_count(1)
    hall.open(page, "#/mail?project=elsewhere")
    expect(here.get_by_text("tester", exact=True)).to_have_count(1)


def test_who_is_stuck_is_the_first_thing_to_see(hall: Hall, page: Page):
    hall.script.people()
    hall.script.send("tester", "frontend", "Checkout", "It breaks.")
    hall.script.send("planner", "docs", "Changelog", "Please.")
    hall.up().open(page)
    attention = page.get_by_role("region", name="Needs somebody")
    expect(attention).to_contain_text("frontend")
    expect(attention).to_contain_text("needs a person’s answer to go on; 1 message waits")
    expect(attention).to_contain_text("1 message waits until it is resumed")
    expect(page.locator(".row", has_text="Checkout").locator(".word")).to_have_text("waits: needs a person")
    page.get_by_role("link", name="Agents").first.click()
    person = page.locator(".person", has_text="frontend")
    expect(person).to_contain_text("its last event: Notification")
    expect(person).to_contain_text("By hooks of Claude Code")
    expect(page.locator(".person", has_text="backend")).to_contain_text("working")


def test_addresses_that_merely_do_not_run_never_hide_who_needs_a_person(hall: Hall, page: Page):
    for name in ("backend", "docs", "planner", "reviewer"):
        hall.script.send("tester", name, "Later", "It can wait.")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hall.up()
    hall.script.bridged("tester", "asking", "it asks a person: confirm", "approval")
    hall.open(page)
    lines = page.get_by_role("region", name="Needs somebody").get_by_role("listitem")
    expect(lines.first).to_contain_text("tester")
    expect(lines.first).to_contain_text("attach shop/tester")
    expect(lines.last).to_contain_text("not running, with mail that waits: backend, docs, planner …")
    lines.first.get_by_role("button", name="Copy").click()
    expect(page.locator("#said")).to_have_text("Copied.")
    there = f"postroom --home {hall.room.home} attach shop/tester"
    assert page.evaluate("navigator.clipboard.readText()") == there
    lines.first.get_by_role("link").click()
    beside = page.locator("#beside")
    expect(beside).to_contain_text(f"Answer it in its terminal: {there}")
    expect(beside.get_by_role("button", name="Show its screen")).to_be_visible()
    beside.get_by_role("button", name="Stop").click()
    asked = page.get_by_role("dialog", name="Stop tester?")
    expect(asked).to_contain_text("Now: needs a person.")
    asked.get_by_role("button", name="Tell it to stop").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"See to it in its terminal: {there}")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.goto(f"{hall.origin}/#/agents")
    expect(page.locator("h1 + p")).to_have_text("7 agents, 1 running, 1 needs somebody, 4 have mail waiting")
    expect(page.get_by_role("button", name="Stop docs")).to_have_count(0)


def test_what_one_of_a_group_has_taken_is_whole_and_says_by_whom(hall: Hall, page: Page):
    sent = hall.script.send("planner", "one:@builders", "Who is free?", "Take it.")
    hall.room.take("backend", id=sent.id, route="api")
    hall.room.ack(sent.id, agent="backend")
    hall.up().open(page)
    row = page.locator(".row", has_text="Who is free?")
    expect(row.locator(".word")).to_have_text("acked by backend")
    expect(row.locator("circle.rung.on[fill-opacity='1']")).to_have_count(4)
    expect(row.locator(".exit")).to_have_count(0)


def test_the_page_and_the_terminal_have_one_rule_for_who_needs_somebody(hall: Hall, page: Page):
    odd = {"doing": "unknown", "because": "x", "reason": "unknown_screen", "instead": None}
    gone = {**odd, "doing": "gone", "because": "its pane is gone"}
    each: list[Json] = [
        {"sessions": [session(presence, bridge=bridge)], "bridge": seen, "manners": manners, **mail, **told}
        for presence in ("idle", "busy", "permission", "unknown", "gone")
        for bridge, seen in ((None, None), ("tmux", odd), ("tmux", gone), ("lines", None), ("files", None))
        for manners in (None, {"paused": True})
        for mail in ({}, {"waiting": 2}, {"held": 1, "uncertain": 1})
        for told in ({}, {"stops": True, "told_to_stop": True})
    ]
    agents: list[Json] = [agent(id=f"a{n}", address=f"p/a{n:03}", **facts) for n, facts in enumerate(each)]
    hall.up().open(page)
    told = page.evaluate(
        """async (agents) => {
          const { attach, hindrance, sorted } = await import("/presence.js");
          return sorted(agents).map(({ agent, doing: d }) =>
            [agent.id, d.state, d.word, d.evidence, d.until, d.trouble, attach(agent), hindrance(agent)]);
        }""",
        agents,
    )
    assert told == [
        [one["id"], d.state, d.word, d.evidence, d.until, d.trouble, attach(one), hindrance(one)]
        for one, d in in_order(agents)
    ]


def test_the_page_and_the_terminal_have_one_rule_for_where_a_command_names_the_room(hall: Hall, page: Page):
    places = ["", "/srv/room", "/srv/ana's room"]
    commands = ["postroom up", "postroom spawn x -- sh --home y", "postroom log  # what was", "git log", ""]
    hall.up().open(page)
    written = page.evaluate(
        """async ([places, commands]) => {
          const { standIn, atHome } = await import("/shell.js");
          return places.map((place) => { standIn(place); return commands.map(atHome); });
        }""",
        [places, commands],
    )
    assert written == [[at_home(one, place) for one in commands] for place in places]
    assert written[1][1] == "postroom --home /srv/room spawn x -- sh --home y"


def test_who_no_bridge_reaches_is_only_told_and_that_is_said_before_and_after(hall: Hall, page: Page):
    backend = hall.script.begin("backend", "PostToolBatch")
    hall.up().open(page, "#/agents")
    person = page.locator(".person", has_text="backend")
    expect(person.locator(".doing .word")).to_have_text("working")
    page.get_by_role("button", name="Stop backend").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("It can only be told: no bridge reaches it.")
    expect(asked.get_by_role("button", name="Stop it")).to_have_count(0)
    asked.get_by_role("button", name="Tell it to stop").click()
    expect(asked).to_contain_text("It was told, not stopped.")
    expect(asked).to_contain_text("No bridge can stop it; its hooks show the message at its next tool.")
    expect(asked).to_contain_text("If it goes on, end it where it runs")
    asked.get_by_role("button", name="Close").click()
    expect(person.locator(".doing .word")).to_have_text("working, told to stop")
    backend.hook("PostToolBatch")
    expect(person.locator(".doing .word")).to_have_text("working")


@pytest.mark.promise("page-steers")
def test_an_agent_is_paused_after_it_was_confirmed_and_resumed(hall: Hall, page: Page):
    hall.script.people()
    hall.up().open(page, "#/agents")
    page.get_by_role("button", name="Stop backend").click()
    asked = page.get_by_role("dialog", name="Stop backend?")
    asked.get_by_role("button", name="Leave it").click()
    assert hall.room.peek("backend") == []
    page.get_by_role("button", name="Stop backend").click()
    asked.get_by_text("Pause").click()
    page.get_by_label("Why").fill("the plan changes")
    page.get_by_role("button", name="Pause it").click()
    expect(page.get_by_role("dialog")).to_contain_text("told, not stopped")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    assert read(hall.room.known("backend").manners).paused
    person = page.locator(".person", has_text="backend")
    person.get_by_role("button", name="Resume").click()
    expect(person.get_by_role("button", name="Stop")).to_be_visible()
    assert not read(hall.room.known("backend").manners).paused


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.mark.promise("page-steers")
def test_what_works_in_a_terminal_is_stopped_once_that_was_confirmed_and_that_is_proven(
    hall: Hall, stage: Stage, page: Page
):
    pane = stage.agent("--turn", "-1")
    pane.control("busy")
    tend(hall.room, hall.room.known("backend"), pane)
    hall.up().open(page, "#/agents")
    person = page.locator(".person", has_text="backend")
    expect(person.locator(".doing .word")).to_have_text("working")
    page.get_by_role("button", name="Stop backend").click()
    asked = page.get_by_role("dialog", name="Stop backend?")
    expect(asked).to_contain_text("Ends what it does now.")
    assert pane.bytes() == b""
    asked.get_by_role("button", name="Stop it").click()
    done = page.get_by_role("dialog")
    expect(done.get_by_role("heading")).to_have_text("It has stopped: proven.")
    expect(done).to_contain_text("Escape was pressed, and ")
    expect(done).not_to_contain_text("See to it in its terminal")
    assert (pane.bytes(), len(pane.log("interrupted"))) == (b"\x1b", 1)
    pane.reads(Reading(State.IDLE, ""))
    done.get_by_role("button", name="Close").click()
    expect(person.locator(".doing .word")).to_have_text("idle")


def test_what_works_on_in_a_terminal_is_not_said_to_have_stopped(hall: Hall, stage: Stage, page: Page):
    pane = stage.agent("--turn", "-1", "--stops", "C-c")
    pane.control("busy")
    tend(hall.room, hall.room.known("backend"), pane)
    hall.up().open(page, "#/agents")
    page.get_by_role("button", name="Stop backend").click()
    page.get_by_role("button", name="Stop it").click()
    done = page.get_by_role("dialog")
    expect(done.get_by_role("heading")).to_have_text("Not proven to have stopped.")
    expect(done).to_contain_text("See to it in its terminal")
    assert pane.log("interrupted") == []


def tend(room: LocalRoom, agent: Agent, pane: Pane) -> None:
    """Have the daemon reach an agent in its pane."""
    process = host.identity_of(pane.pid)
    manifest.put(room.home, Manifest(agent.id, agent.address, "tmux", process, pane.target, "claude"))


def test_a_decision_is_answered_with_a_note_and_leaves_the_list(hall: Hall, page: Page):
    asked = hall.script.ask("backend", "Deploy 1.4?", "All checks are green.", ["now", "tonight", "no"])
    hall.up().open(page)
    page.get_by_role("link", name="1 decision").click()
    page.get_by_label("Note").fill("after 18:00")
    page.get_by_role("button", name="tonight").click()
    expect(page.get_by_text("Nothing to decide")).to_be_visible()
    decision = hall.room.gate(asked.id).decision
    assert decision is not None
    assert (decision.option, decision.note) == ("tonight", "after 18:00")


def test_who_gets_another_name_while_the_page_is_open_is_still_asked(hall: Hall, page: Page):
    hall.script.send("planner", "human:ana", "Lunch?", "At one.")
    hall.up().open(page, "#/decisions")
    expect(page.locator("#side")).to_contain_text("as human:ana")
    hall.room.rename("anna", agent="human:ana")
    asked = hall.script.ask("backend", "Deploy 1.4?", "All checks are green.", ["now", "no"], to="human:anna")
    hall.script.send("backend", "human:anna", "Which region?", "EU or US?", type="request")
    expect(page.get_by_role("link", name="Deploy 1.4?")).to_be_visible()
    expect(page.get_by_role("region", name="Others decide")).to_have_count(0)
    expect(page.locator("#side")).to_contain_text("as human:anna")
    page.get_by_role("button", name="now").click()
    expect(page.get_by_text("Nothing to decide")).to_be_visible()
    decision = hall.room.gate(asked.id).decision
    assert decision is not None
    assert decision.by == "human:anna"
    page.goto(f"{hall.origin}/#/mail")
    expect(page.locator(".attention li", has_text="asks you")).to_contain_text("Which region?")
    page.get_by_role("link", name="Lunch?").click()
    expect(page.locator("#beside").get_by_role("button", name="Acknowledge")).to_be_visible()


def test_what_others_decide_is_not_counted_and_has_no_buttons(hall: Hall, page: Page):
    hall.script.send(
        "backend", "reviewer", "Merge it?", "The suite is green.", type="decision_gate", expires=900
    )
    hall.up().open(page, "#/decisions")
    others = page.get_by_role("region", name="Others decide")
    expect(others).to_contain_text("Merge it?")
    expect(others).to_contain_text("backend asks reviewer")
    expect(others.get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("Nothing to decide")).to_be_visible()
    expect(page.locator("#views .count")).to_have_count(0)
    page.get_by_role("link", name="Merge it?").click()
    expect(page.locator("#beside")).to_contain_text("The suite is green.")
    expect(page.locator("#beside").get_by_role("link", name="Decide")).to_have_count(0)
    page.goto(f"{hall.origin}/#/mail")
    expect(page.locator(".row", has_text="Merge it?")).to_be_visible()
    expect(page.get_by_role("region", name="Needs somebody").get_by_text("decision")).to_have_count(0)
    expect(page).to_have_title("Mail · Postroom")


def test_what_a_person_was_asked_needs_them_until_it_is_answered(hall: Hall, page: Page):
    hall.up().open(page)
    asked = hall.script.send("backend", "human:ana", "Which region?", "EU or US?", type="request")
    line = page.locator(".attention li", has_text="asks you")
    expect(line).to_contain_text("backendasks you: Which region?")
    expect(page).to_have_title("(1) Mail · Postroom")
    line.get_by_role("button", name="Reply").click()
    field = page.get_by_label("Reply to")
    expect(field).to_be_focused()
    field.fill("EU.")
    page.get_by_role("button", name="Send reply").click()
    expect(line).to_have_count(0)
    expect(field).to_have_count(0)
    assert [one.body for one in hall.room.thread(asked.id)] == ["EU or US?", "EU."]


def test_a_dead_letter_is_tried_again_and_another_removed(hall: Hall, page: Page):
    lost = hall.script.lose("planner", "tester", "Long suite", "Run it.")
    gone = hall.script.lose("planner", "docs", "Never mind", "Forget it.")
    hall.up().open(page, "#/dead")
    letter = page.locator(".lost", has_text="Long suite")
    letter.get_by_role("button", name="Try again").click()
    expect(letter).to_have_count(0)
    assert [one.state for one in hall.room.receipts(lost.id).deliveries] == ["stored"]
    page.locator(".lost", has_text="Never mind").get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="None")).to_be_visible()
    assert gone.id not in [mail.id for mail in hall.room.dead()]


def test_metrics_and_the_graph_are_drawn_and_have_their_numbers_as_tables(hall: Hall, page: Page):
    hall.script.work(20)
    hall.up().open(page, "#/metrics")
    expect(page.locator("rect.bar")).to_have_count(24)
    expect(page.get_by_text("nothing of this time bounced, expired or was given up")).to_be_visible()
    expect(page.locator("g.spread").first).to_be_visible()
    expect(page.get_by_role("heading", name="Watchers")).to_be_visible()
    page.get_by_role("link", name="Who talks to whom").click()
    expect(page.locator(".node", has_text="shop/backend")).to_be_visible()
    drawn = page.locator(".arcs svg").inner_html()
    page.reload()
    expect(page.locator(".node", has_text="shop/backend")).to_be_visible()
    assert page.locator(".arcs svg").inner_html() == drawn
    page.get_by_text("As a table").click()
    expect(page.get_by_role("row", name="shop/planner shop/backend").first).to_be_visible()


def test_what_the_daemon_looks_after_is_listed_and_what_of_it_crashed_or_is_out_of_sight(
    hall: Hall, stage: Stage, page: Page, tmp_path: Path
):
    home, ana = hall.room.home, hall.room.known("human:ana")
    pane = stage.agent()
    watch.put(home, Watch("abc123", pane.target, "stage:1.0", "ERROR", "backend", ana.id, ana.address))
    Path(watch.fifo(home, "abc123")).mkdir()  # so what the pane prints cannot be had
    gone = tmp_path / "gone"
    for place in (gone, tmp_path / "kept"):
        place.mkdir()
        trees.put(hall.room, Tree(str(place), PROJECT))
    (tmp_path / "kept" / "boxed").mkdir()
    shutil.rmtree(gone)
    hall.up()
    eventually(lambda: control.ask(home, "ping")["watches"]["crashes"])
    eventually(lambda: control.ask(home, "ping")["trees"]["mailboxes"])
    hall.open(page, "#/metrics")
    health = page.locator(".health li")
    watched, boxes = health.filter(has_text="watches"), health.filter(has_text="mailboxes")
    expect(watched).to_contain_text(re.compile(r"\d crash(es)?1 pane watched, each was begun again"))
    expect(watched.locator(".word")).to_have_class("word trouble")
    expect(boxes).to_contain_text("served1 mailbox, 2 whole trees")
    expect(boxes.locator(".word")).to_have_class("word fine")
    expect(health.filter(has_text=str(gone))).to_contain_text("not looked atit is not there")


@pytest.fixture
def counted(home: str) -> None:
    """A room in which all that the page counts is known, for `backend` by one route and `docs` by another.

    Of 100 messages to `backend` the first was seen after 0.1 seconds, the last after 10, and 80 were
    acknowledged; `docs` saw 4 of 7, after 1 to 4 minutes each, and acknowledged one of them.
    """
    clock = Clock(wall() - 3_600_000)
    with LocalRoom(home, Settings(sender_rate=0), agent="planner", project=PROJECT, clock=clock) as room:
        for name in ("planner", "backend", "docs", "human:ana"):
            room.join(name)

        def seen(
            name: str, route: str, seconds: float, *, is_acked: bool, requires_ack: bool = False
        ) -> None:
            sent = room.send(name, "x", requires_ack=requires_ack)
            mail = room.take(name, route=route)
            assert mail is not None
            clock.advance(seconds)
            room.settle(mail)
            if is_acked:
                room.ack(sent.id, agent=name)

        for n in range(1, 101):
            seen("backend", "hook:Stop", n / 10, is_acked=n <= 80)
        for n in range(1, 5):
            seen("docs", "acp", n * 60, is_acked=n == 1, requires_ack=True)
        for _ in range(3):
            room.send("docs", "waits")
        room.nack(room.send("backend", "no").id, "no", agent="backend")  # its bounce waits for the planner
        room.send("backend", "too late", expires=1.0)
        clock.advance(2)
        assert room.peek("backend") == []


@pytest.mark.usefixtures("counted")
def test_the_metrics_are_those_of_the_room(hall: Hall, page: Page):
    hall.up().open(page, "#/metrics")
    page.locator("g.spread").first.wait_for()
    shown = [" ".join(one.split()) for one in page.locator(".figures div").all_inner_texts()]
    assert shown == [
        "messages 110", "missing acks 3", "acked of seen 78 %", "to seen, mean 11 s", "to seen, p95 9.9 s",
        "failures 2",
    ]  # fmt: skip

    def table(title: str) -> list[list[str]]:
        plot = page.locator("figure, section.plot").filter(has=page.get_by_role("heading", name=title))
        rows = plot.locator("tbody tr")
        return [rows.nth(n).locator("th, td").all_text_contents() for n in range(rows.count())]

    assert table("From sent to seen") == [
        ["ACP", "4", "2 min", "4 min", "4 min"],
        ["its hook at Stop", "100", "5.0 s", "9.5 s", "9.9 s"],
    ]
    acked = [["shop/backend", "102", "80"], ["shop/docs", "7", "1"], ["shop/planner", "1", "0"]]
    assert table("Acknowledged") == acked
    assert table("Inboxes") == [["shop/docs", "3"], ["shop/planner", "1"]]
    failures = page.locator("figure", has=page.get_by_role("heading", name="Delivery failures"))
    expect(failures.locator("figcaption")).to_contain_text("1 bounced, 1 expired.")
    hours = table("Delivery failures")
    assert sum(int(count) for _, count in hours) == 2
    told = [f"{hour}: {count} failure{'s' if count != '1' else ''}" for hour, count in hours]
    assert failures.locator("rect.bar.bad title").all_text_contents() == told
    assert sum(int(count) for _, count in table("Messages per hour")) == 110
    drawn = page.locator("g.spread title").all_text_contents()
    assert drawn == [
        "ACP: p50 2 min, p95 4 min, p99 4 min, of 4 messages",
        "its hook at Stop: p50 5.0 s, p95 9.5 s, p99 9.9 s, of 100 messages",
    ]
    rates = page.locator(".rates .said").all_text_contents()
    assert rates == ["80 of 102, 78 %", "1 of 7, 14 %", "0 of 1, 0 %", "3", "1"]


def test_an_empty_room_says_what_to_run_next(home: str, page: Page, hall: Hall):
    hall.up().open(page)
    expect(page.get_by_role("heading", name="No mail yet")).to_be_visible()
    page.goto(f"{hall.origin}/#/dead")
    expect(page.get_by_role("heading", name="None")).to_be_visible()
    page.goto(f"{hall.origin}/#/decisions")
    expect(page.get_by_text("send human:ana")).to_be_visible()
    page.context.clear_cookies()
    page.goto(hall.terminal.ok("dashboard", "--no-open", "--json", "--as", "human:kim").json["url"])
    page.goto(f"{hall.origin}/#/decisions")
    expect(page.get_by_text("send human:kim")).to_be_visible()
