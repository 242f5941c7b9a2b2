"""The real Claude Code, leading a team: what is put into its inbox wakes it, and is called unverified."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import host
from postroom.daemon import instance
from tests.agents.conftest import MakeRig
from tests.agents.log import until
from tests.commandline import CommandLine

# A lead reads its inbox once it leads somebody.
TEAMMATE = {
    "description": "look", "subagent_type": "general-purpose", "name": "tester", "prompt": "⟦say LOOKED⟧",
    "run_in_background": True,
}  # fmt: skip
TASK = {"subject": "Look at the tray", "description": "All of it.", "activeForm": "Looking at the tray"}
TODO = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}  # else its model has no tool for tasks
TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    """A room in which teams may be written to; its daemon ends with the test."""
    cli = CommandLine(str(tmp_path / "room"))
    os.mkdir(cli.home)
    Path(cli.home, "config.toml").write_text('claude_teams = "on"\n', encoding="utf-8")
    yield cli
    if process := instance.running(cli.home):
        os.kill(host.pid_of(process), signal.SIGTERM)
        until(lambda: host.is_gone(process), what="the end of the daemon")


def test_mail_in_the_inbox_of_an_idle_lead_reaches_its_model_and_is_seen_when_it_is_taken_out(
    make_rig: MakeRig, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig("claude")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", os.path.join(rig.place.home, ".claude"))
    with rig.terminal(**TEAMS) as terminal:
        terminal.wait_idle()
        terminal.submit(f"[[tool Agent {json.dumps(TEAMMATE, ensure_ascii=False)}]] [[say BEGUN]]")
        terminal.wait_screen("@tester finished")
        terminal.wait_idle()
        [team] = cli.ok("teams", "--json").json["teams"]
        cli.ok("teams", "adopt", f"{team['team']}/team-lead", "--as", "lead")
        assert "claude-team (unverified)" in cli.ok("agents").out
        sent = cli.sent("lead", "POSTED-TO-THE-TEAM", sender="human:ana")
        rig.log.wait("POSTED-TO-THE-TEAM")
        until(lambda: cli.receipt(sent)["state"] == "seen", what="the inbox to be emptied")
        assert (cli.receipt(sent)["route"], cli.receipt(sent)["evidence"]) == ("claude-team", "inbox")
        told = cli.ok("receipts", sent).out
        assert "by claude-team (unverified)" in told
        assert "unverified (inbox)" in told
        assert rig.log.last().count("POSTED-TO-THE-TEAM") == 1
        cli.ok("stop", "lead")


def test_a_task_that_claude_code_has_made_is_shown_and_its_file_stays_as_it_was(
    make_rig: MakeRig, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig("claude")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", os.path.join(rig.place.home, ".claude"))
    with rig.terminal(**TEAMS, **TODO) as terminal:
        terminal.wait_idle()
        begin = f"[[tool Agent {json.dumps(TEAMMATE, ensure_ascii=False)}]]"
        terminal.submit(f"{begin} [[tool TaskCreate {json.dumps(TASK)}]] [[say BEGUN]]")
        terminal.wait_screen("@tester finished")
        terminal.wait_idle()
        [team] = cli.ok("teams", "--json").json["teams"]
        cli.ok("teams", "adopt", f"{team['team']}/team-lead", "--as", "lead")
        [file] = Path(rig.place.home, ".claude", "tasks", team["team"]).glob("*.json")
        before = file.read_bytes(), file.stat().st_mtime_ns
        for name in ("lead", team["team"]):
            [task] = cli.ok("tasks", name, "--json").json["tasks"]
            assert (task["subject"], task["status"]) == ("Look at the tray", "pending")
            assert "Look at the tray" in cli.ok("tasks", name).out
        cli.ok("stop", "lead")
        assert (file.read_bytes(), file.stat().st_mtime_ns) == before
