"""What a terminal shows, on another: an agent's by its daemon, any pane's from tmux."""

import pytest

from postroom import host
from postroom.room import berth
from tests.commandline import is_told_well
from tests.kept import Kept
from tests.tui.stage import patiently


def test_the_screen_of_a_kept_agent_is_told_by_the_daemon(kept: Kept):
    pane = kept.keep("backend")
    kept.up()
    pane.control("say", "ready for work")
    shown = kept.cli.ok("screen", "backend")
    assert "ready for work" in shown.out
    assert kept.cli.ok("screen", "backend", "--json").json["by"] == "daemon"


def test_without_a_daemon_it_is_read_from_tmux(kept: Kept):
    pane = kept.keep("backend")
    pane.control("say", "ready for work")
    found = kept.cli.ok("screen", "backend", "--json").json
    assert found["by"] == "tmux"
    assert "ready for work" in found["text"]


@pytest.mark.parametrize("by", ["id", "place"])
def test_any_pane_can_be_read_by_its_name(kept: Kept, by: str):
    id = kept.stage.run("sh", "-c", "echo nothing of an agent; exec cat")
    name = id if by == "id" else kept.stage.tmux("display-message", "-p", "-t", id, "stage:#{window_index}.0")
    patiently(lambda: "nothing of an agent" in kept.cli.ok("screen", name, env=kept.tmux).out)


def test_lines_that_have_scrolled_away_are_shown_when_asked_for(kept: Kept):
    id = kept.stage.run("sh", "-c", "seq 1000 1099; echo END; exec cat")
    patiently(lambda: "END" in kept.cli.ok("screen", id, env=kept.tmux).out)
    assert "1010" not in kept.cli.ok("screen", id, env=kept.tmux).out
    assert "1010\n1011" in kept.cli.ok("screen", id, "-n", "100", env=kept.tmux).out


def test_no_blank_lines_come_before_or_after_what_is_shown(kept: Kept):
    id = kept.stage.run("sh", "-c", r"printf '\n \n  first\n\nlast\n\n'; exec cat")
    patiently(lambda: "last" in kept.cli.ok("screen", id, env=kept.tmux).out)
    assert kept.cli.ok("screen", id, env=kept.tmux).out == "  first\n\nlast\n"
    assert kept.cli.ok("screen", id, "--json", env=kept.tmux).json["text"].startswith("\n\n  first")


def test_colours_come_only_when_asked_for_and_nothing_else_does(kept: Kept):
    hostile = r"printf '\033[31mred\033[0m \033]0;title\007\033[2J\033[Hand \302\233 more\n'; exec cat"
    id = kept.stage.run("sh", "-c", hostile)
    patiently(lambda: "more" in kept.cli.ok("screen", id, env=kept.tmux).out)
    assert "\x1b" not in kept.cli.ok("screen", id, env=kept.tmux).out
    id = kept.stage.run("sh", "-c", r"printf '\033[31mred\033[0m\n'; exec cat")
    patiently(lambda: "red" in kept.cli.ok("screen", id, env=kept.tmux).out)
    coloured = kept.cli.ok("screen", id, "--colour", env=kept.tmux).out
    assert "\x1b[31mred" in coloured
    assert coloured.endswith("\x1b[0m\n")


def test_an_agent_that_only_its_hooks_know_is_read_in_the_pane_they_found(kept: Kept):
    pane = kept.stage.agent()
    agent = kept.room.join("backend")
    berth.occupy(kept.room, agent, "elsewhere", host.identity_of(pane.pid), pane=pane.target)
    assert "A fake agent" in kept.cli.ok("screen", "backend").out


@pytest.mark.parametrize(("name", "code"), [("nobody", 3), ("%999", 3), ("stage:7.0", 3), ("ana", 3)])
def test_what_is_not_there_is_said(kept: Kept, name: str, code: int):
    kept.stage.agent()
    result = kept.cli("screen", name, env=kept.tmux)
    assert result.code == code
    assert is_told_well(result)


def test_an_agent_without_a_terminal_has_no_screen(kept: Kept):
    kept.room.join("backend")
    result = kept.cli("screen", "backend")
    assert result.code == 1
    assert "postroom adopt" in result.err
