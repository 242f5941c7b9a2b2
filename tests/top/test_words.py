"""What the terminal says of the room, and that nothing of what others wrote gets through to the terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.clock import iso, wall
from postroom.model.ladder import RUNGS, Evidence, Reason
from postroom.runtimes import NAMES, load
from postroom.text import width
from postroom.top import word
from postroom.top.doing import doing, hindrance, in_order, known
from postroom.top.line import cut
from postroom.top.standing import standing, summary
from postroom.top.text import gist, plain
from postroom.top.view import sieve

ODD = {"doing": "unknown", "because": "x", "reason": "unknown_screen"}
BRIDGES = ("pty", "lines", "files")
PAGE = "src/postroom/server/page"


def agent(**facts: object) -> dict[str, object]:
    return {
        "id": "a1", "address": "p/builder", "kind": "agent", "left_at": None, "manners": None, "waiting": 0,
        "held": 0, "uncertain": 0, "reach": "stored", "sessions": [], "bridge": None, **facts,
    }  # fmt: skip


def delivery(state: str, **facts: object) -> dict[str, object]:
    return {"state": state, "recipient": "builder", "recipient_id": "a1", "reason": None, **facts}


def session(presence: str, **facts: object) -> dict[str, object]:
    return {"presence": presence, "since": None, "because": None, "event": "Stop", **facts}


@given(st.text())
def test_nothing_that_a_terminal_would_obey_is_left_of_a_text(text: str):
    found = plain(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", found)
    assert "\n" not in gist(text)


def test_what_was_hidden_in_a_text_can_be_seen():
    assert plain("\x1b[2Jgone\x7f") == "␛[2Jgone␡"
    assert plain("invoice\u202egnp.exe") == "invoice‹202E›gnp.exe"
    assert plain("a\r\nb\tc") == "a\nb   c"
    assert plain("[bold]not markup[/]") == "[bold]not markup[/]"


@given(st.text(alphabet="ab日本🙂 \u0301"), st.integers(0, 12))
def test_a_cell_has_just_as_many_columns_as_it_was_given(text: str, columns: int):
    assert width(cut(text, columns)) == columns


def test_every_reason_and_every_evidence_has_its_words():
    assert set(word.WAITS) == set(Reason)
    assert set(word.EVIDENCE) == {one.value for one in Evidence}


@pytest.mark.parametrize(
    ("script", "table", "here"),
    [
        ("word.js", "WAIT", {reason.value: said for reason, said in word.WAITS.items()}),
        ("word.js", "EVIDENCE", word.EVIDENCE),
        ("word.js", "ROUTE", word.ROUTES),
        ("word.js", "HAPPENED", word.HAPPENED),
        ("word.js", "STOPS", word.STOPS),
        ("word.js", "TELLS", word.TELLS),
        ("word.js", "HINDERS", word.HINDERS),
        ("presence.js", "TITLE", {name: load(name).title for name in NAMES}),
    ],
)
def test_the_page_says_the_same_in_the_same_words(script: str, table: str, here: dict[str, str]):
    page = _constant(script, table)
    assert dict(re.findall(r'"?([\w.]+)"?: \[?"([^"]*)"', page)) == here


def test_what_passes_by_itself_is_the_same_on_the_page():
    assert set(re.findall(r'"(\w+)"', _constant("ladder.js", "PASSING"))) == set(word.PASSING)


def _constant(script: str, name: str) -> str:
    """As the page's code has it."""
    with open(f"{PAGE}/{script}", encoding="utf-8") as file:
        return file.read().partition(f"const {name} = ")[2].partition(";\n")[0]


@pytest.mark.parametrize(
    ("facts", "state", "until"),
    [
        ({}, "off", "until it is started"),
        ({"waiting": 2}, "off", "until it is started"),
        ({"sessions": [session("permission")]}, "asks", "until a person has answered"),
        ({"sessions": [session("busy")], "waiting": 1}, "busy", ""),
        ({"manners": {"paused": True}, "sessions": [session("idle")]}, "paused", "until it is resumed"),
        ({"sessions": [session("unknown")], "held": 1}, "stuck", "until it shows one"),
        ({"sessions": [session("unknown")]}, "off", "until it shows one"),
        (
            {"sessions": [session("unknown", bridge="tmux")], "bridge": ODD, "held": 1},
            "stuck",
            "until its screen is known",
        ),
        (
            {"sessions": [session("unknown", bridge="tmux")], "held": 1},
            "stuck",
            "until it has been looked at",
        ),
        ({"sessions": [session("unknown", bridge="lines")], "held": 1}, "idle", ""),
        ({"sessions": [session("unknown", bridge="files")]}, "idle", ""),
        ({"reach": "live"}, "idle", ""),
    ],
)
def test_who_is_stuck_is_told_with_what_its_mail_waits_for(facts: dict[str, object], state: str, until: str):
    found = doing(agent(**facts))
    assert (found.state, found.until) == (state, until)


def test_what_has_no_screen_runs_though_it_does_not_say_what_it_does():
    words = {bridge: doing(agent(sessions=[session("unknown", bridge=bridge)])).word for bridge in BRIDGES}
    assert words == {"pty": "not looked at yet", "lines": "running", "files": "mailbox served"}


@pytest.mark.parametrize(
    ("facts", "hinders"),
    [
        ({"sessions": [session("busy")]}, "unreached"),
        ({"sessions": [session("busy", bridge="files")]}, "unable"),
        ({"sessions": [session("busy", bridge="tmux")], "stops": True}, ""),
        ({"sessions": [session("permission", bridge="tmux")], "stops": True}, "dialog"),
        ({"sessions": [session("unknown", bridge="tmux")], "bridge": ODD, "stops": True}, "unknown"),
    ],
)
def test_what_keeps_an_agent_from_being_stopped_is_known_before(facts: dict[str, object], hinders: str):
    assert hindrance(agent(**facts)) == hinders


def test_who_was_told_to_stop_is_said_to_be_until_it_has_read_that():
    assert doing(agent(sessions=[session("busy")], told_to_stop=True)).word == "working, told to stop"


def test_those_who_need_somebody_stand_first():
    absent = [agent(id=name, address=f"p/{name}", waiting=1) for name in ("a1", "b2", "newone")]
    paused = agent(id="paused", address="p/c", manners={"paused": True}, waiting=1)
    unsure = agent(id="unsure", address="p/d", sessions=[session("idle")], uncertain=1)
    idle = agent(id="idle", address="p/e", sessions=[session("idle")])
    asks = agent(id="asks", address="p/z", sessions=[session("permission")])
    found = [one["id"] for one, _ in in_order([*absent, idle, unsure, paused, asks])]
    assert found == ["asks", "paused", "unsure", "idle", "a1", "b2", "newone"]


def test_how_long_ago_it_was_is_said_once():
    changed = {"because": "its screen says so, and changed 2 s ago"}
    assert known(session("busy", since=iso(wall()), **changed)) == changed["because"]
    old = known(session("busy", since=iso(wall() - 180_000), **changed))
    assert old == "seen 3 min ago: its screen says so, and changed 2 s before"


def test_who_is_paused_is_not_said_to_work():
    works = session("busy", because="its screen says so")
    assert "its screen" not in doing(agent(manners={"paused": True}, sessions=[works])).evidence


def test_what_one_of_many_has_taken_is_whole_and_says_who_took_it():
    both = [delivery("acked", recipient="critic"), delivery("withdrawn", recipient_id="a2")]
    found = summary({"to": "one:@reviewers", "deliveries": both}, lambda _: None)
    assert (found.word, found.rail, found.tone) == ("acked by critic", "●●●●", "fine")
    gone = {
        "to": "one:@reviewers",
        "deliveries": [delivery("dead"), delivery("withdrawn", recipient_id="a2")],
    }
    assert summary(gone, lambda _: None).tone == "trouble"


def test_the_rail_has_as_many_full_rungs_as_were_reached():
    rails = [standing(delivery(rung.value), None).rail for rung in RUNGS]
    assert rails == ["●○○○", "●●○○", "●●●○", "●●●●"]
    assert standing(delivery("dead", offered_at="x"), None).rail == "●●× "


def test_a_rung_that_only_some_have_reached_is_not_full():
    both = [delivery("acked"), delivery("seen", recipient_id="a2")]
    found = summary({"to": "@all", "deliveries": both}, lambda _: None)
    assert (found.word, found.rail) == ("acked by 1 of 2", "●●●◐")


def test_why_something_waits_is_what_its_agent_does_now():
    stored = delivery("stored", reason="busy")
    assert standing(stored, agent(sessions=[session("permission")])).word == "waits: needs a person"
    assert standing(stored, agent()).word == "waits: not running"
    assert standing(delivery("stored", reason="muted"), agent()).word == "waits: muted"


def test_a_search_is_words_and_filters():
    assert sieve("from:backend refund state:dead key") == {
        "sender": "backend",
        "state": "dead",
        "q": "refund key",
    }
    assert sieve("at 12:30") == {"q": "at 12:30"}
