"""`postroom search` as people and scripts use it."""

import os
import pty

import pytest

from postroom.store.sqlite import volume
from tests.commandline import CommandLine, is_told_well
from tests.process import BOUND


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner")
    cli.ok("join", "builder")
    return cli


def test_a_hit_names_the_message_its_rung_and_the_place(cli: CommandLine):
    ref = cli.sent("builder", "Please fix the parser today.", "--type", "request")
    cli.ok("read", "--as", "builder")
    out = cli.ok("search", "PARSER").out
    assert f"{ref[-8:]}  planner → builder  request · seen · " in out
    assert "body: Please fix the [parser] today.\n" in out


def test_json_has_the_message_its_deliveries_and_where_the_words_stand(cli: CommandLine):
    ref = cli.sent("builder", "Please fix the parser.", "--payload", '{"task_id": "T-42"}')
    document = cli.ok("search", "t-42", "--json").json
    [message] = document["messages"]
    assert document["query"] == "t-42"
    assert (message["id"], message["deliveries"][0]["state"]) == (ref, "stored")
    assert message["snippet"] == {"field": "payload", "text": "task_id T-42", "marks": [[8, 12]]}


def test_filters_and_the_limit_are_options(cli: CommandLine):
    for n in range(3):
        cli.sent("builder", f"word {n}")
    cli.sent("planner", "word back", sender="builder")
    found = cli.ok(
        "search", "word", "--from", "planner", "--to", "builder", "--since", "1h", "-n", "2", "--json"
    )
    assert [message["body"] for message in found.json["messages"]] == ["word 2", "word 1"]
    assert cli.ok("search", "word", "--until", "1h", "--json").json["messages"] == []
    assert cli.ok("search", "word", "--state", "dead").err == "Nothing was found.\n"


def test_who_writes_a_filter_into_the_query_is_told_the_option(cli: CommandLine):
    cli.sent("builder", "word")
    told = "Nothing was found. In a query from: is only a word; the filter is --from planner\n"
    assert cli.ok("search", "word from:planner").err == told
    assert cli.ok("search", "at:12 from:").err == "Nothing was found.\n"


def test_a_body_cannot_reach_the_terminal_through_a_snippet(cli: CommandLine):
    cli.sent("builder", "red \x1b[31malert\x9b2J \u202eevil\r\nword \x07end", "--subject", "plain")
    out = cli.ok("search", "alert OR word").out
    assert not set(out) & set("\x1b\x9b\x07\r\u202e")
    assert "[word] end" in out


def test_what_was_found_is_in_colour_on_a_terminal_and_in_brackets_without_colour(cli: CommandLine):
    cli.sent("builder", "Please fix the parser.")
    assert "the \x1b[1;33mparser\x1b[0m." in on_a_terminal(cli, {"TERM": "xterm"})
    assert "the [parser]." in on_a_terminal(cli, {"TERM": "xterm", "NO_COLOR": "1"})


def on_a_terminal(cli: CommandLine, env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    with cli.start("search", "parser", env=env, stdout=theirs) as process:
        os.close(theirs)
        assert process.wait(BOUND) == 0
        text = os.read(ours, 65536).decode()
    os.close(ours)
    return text


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize(
    "query",
    ["", '"', "-x", "body:(", '" OR "', "x" * 100_000, "a " * 30_000, "NEAR(", "(*)", "\\", "%", "\ud800"],
)
def test_hostile_queries_are_answered_or_told_in_a_line(cli: CommandLine, query: str):
    result = cli("search", "--", query)
    assert result.code in (0, 2)
    assert result.code == 0 or is_told_well(result)


def test_a_query_of_nothing_but_exclusions_says_what_a_query_is(cli: CommandLine):
    result = cli("search", "--json", "--", "-x")
    assert (result.code, result.error["error"]) == (2, "invalid_query")
    assert "a phrase" in result.error["hint"]


def test_whom_nobody_knows_is_told_with_near_names(cli: CommandLine):
    result = cli("search", "word", "--from", "bulider", "--json")
    assert (result.code, result.error["near"]) == (3, ["p/builder"])


def test_whom_nobody_is_like_is_not_to_be_joined_but_looked_up(cli: CommandLine):
    for option in ("--from", "--to"):
        result = cli("search", "word", option, "zzz", "--json")
        assert (result.code, result.error["near"]) == (3, [])
        assert result.error["hint"] == "See who is here: postroom agents --all"


def test_several_words_without_quotes_are_told_to_want_them(cli: CommandLine):
    assert "quotes" in cli("search", "two", "words").err


def test_without_fts5_it_says_so_and_finds_all_the_same(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    cli.sent("builder", "Please fix the parser.")
    monkeypatch.setattr(volume, "is_possible", lambda: False)
    result = cli.ok("search", "parser")
    assert "no FTS5" in result.err
    assert "[parser]" in result.out


def test_a_long_first_search_says_how_far_it_is(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    from postroom.cli.commands import search

    cli.sent("builder", "Please fix the parser.")
    monkeypatch.setattr(search, "_EVERY", 0.0)
    assert "indexing: 1 message so far" in cli.ok("search", "parser").err
    assert cli.ok("search", "parser", "--quiet").err == ""


def test_what_one_sent_says_why_it_ended_or_waits(cli: CommandLine):
    ref = cli.sent("builder", "one")
    cli.ok("nack", ref, "--reason", "no\x1b[2Jt now, " + "later " * 20, "--as", "builder")
    cli.sent("builder", "two", "--after", "1h")
    cli.sent("builder", "three")
    out = cli.ok("sent", "--as", "planner").out
    assert "  bounced: no[2Jt now, later" in out
    assert "…  one\n" in out
    assert "  due " in out
    assert "  stored  " in out


def test_who_is_of_another_project_is_called_so_in_every_list(cli: CommandLine):
    for where in ("site", "p"):
        cli.ok("join", "builder", "--project", where)
        cli.ok("send", "builder", f"cement for {where}", "--as", "planner", "--project", where)
    cli.ok("send", "@all", "cement for all", "--as", "planner", "--project", "site")
    cli.ok("send", "site/builder", "cement from here", "--as", "human:ana")
    found = cli.ok("search", "cement").out
    for pair in (
        "site/planner → site/builder",
        "  planner → builder",
        "site/planner → @all",
        "human:ana → site/builder",
    ):
        assert found.count(pair) == 1, pair
    seen = cli.ok("top", "--once").out.partition("Mail")[2]
    for pair in (
        "site/planner → site/builder",
        "  planner → builder",
        "site/planner → @all",
        "human:ana → site/builder",
    ):
        assert seen.count(pair) == 1, pair
    assert "  site/builder  " in cli.ok("sent", "--as", "site/planner").out
    assert "  builder  " in cli.ok("sent", "--as", "site/planner", "--project", "site").out
