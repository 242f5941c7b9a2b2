"""Inboxes of teams of Claude Code: written as the CLI itself does, and off by default. Tasks: read only."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import host
from postroom.bridges.contract import Assent, Berth, Doing, Result, Text
from postroom.bridges.team import bridge, roster
from postroom.bridges.team.inbox import Inbox
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from tests.commandline import CommandLine, is_told_well
from tests.process import BOUND, ROOT, environment

WILLING = Assent(lambda: None, lambda: True)


class Crew:
    """A team with a lead that runs, as its files tell."""

    name = "session-1f0c9a2e"

    def __init__(self, base: Path) -> None:
        self.base = base
        self.path = base / "teams" / self.name
        self.inbox = self.path / "inboxes" / "team-lead.json"
        self.lead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.write("config.json", {
            "name": self.name, "leadProcess": {"pid": self.lead.pid}, "members": [
                {"name": "team-lead", "cwd": "/srv/bakery"}, {"name": "../x"}, {"name": "tester"}, 7],
        })  # fmt: skip

    def write(self, name: str, content: Any) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")

    @property
    def entries(self) -> Any:
        return json.loads(self.inbox.read_text(encoding="utf-8"))

    def end(self) -> None:
        self.lead.communicate(timeout=BOUND)


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    crew = Crew(tmp_path / "claude")
    yield crew
    crew.end()


@pytest.fixture
def member(crew: Crew, home: str, monkeypatch: pytest.MonkeyPatch) -> bridge.Member:
    monkeypatch.setenv("POSTROOM_CLAUDE_TEAMS", "on")
    details = {"home": home, "team": str(crew.path), "inbox": str(crew.inbox)}
    return bridge.open(Berth("a1", "p/lead", host.identity_of(crew.lead.pid), details=details))


def test_a_text_is_put_behind_what_is_there_as_the_cli_writes_it(crew: Crew, member: bridge.Member):
    theirs = {"from": "tester", "text": "hi", "timestamp": "2026-03-02T09:00:00Z", "read": False}
    crew.write("inboxes/team-lead.json", [theirs])
    assert member.deliver(Text("über"), WILLING).result is Result.HANDED
    assert crew.entries[0] == theirs
    ours = crew.entries[1]
    assert (ours["from"], ours["text"], ours["read"], ours["type"]) == ("postroom", "über", False, "message")
    assert not os.path.exists(f"{crew.inbox}.lock")
    assert member.receive() == []
    assert member.observe().reason == "busy"


@pytest.mark.parametrize("how", ["emptied", "read"])
def test_it_is_seen_when_it_was_taken_out_or_read_and_not_before(crew: Crew, member: bridge.Member, how: str):
    member.deliver(Text("hello"), WILLING)
    assert member.receive() == []
    crew.write("inboxes/team-lead.json", [] if how == "emptied" else [{**crew.entries[0], "read": True}])
    [heard] = member.receive()
    assert heard.proves is Evidence.INBOX
    assert member.receive() == []
    assert member.observe().reason == ""


def test_that_one_was_taken_out_proves_nothing_of_the_next(crew: Crew, member: bridge.Member):
    member.deliver(Text("first"), WILLING)
    crew.write("inboxes/team-lead.json", [])
    assert member.deliver(Text("second"), WILLING).result is Result.HANDED
    assert member.receive() == []
    crew.write("inboxes/team-lead.json", [])
    [heard] = member.receive()
    assert heard.proves is Evidence.INBOX


def test_while_the_last_one_is_unread_only_what_may_go_to_one_at_work_is_written(
    crew: Crew, member: bridge.Member
):
    member.deliver(Text("first"), WILLING)
    assert member.deliver(Text("second"), WILLING).reason == "busy"
    assert member.deliver(Text("third", while_busy=True), WILLING).result is Result.HANDED
    assert [one["text"] for one in crew.entries] == ["first", "third"]


def test_what_its_way_says_it_is_and_nothing_of_it_is_ours_to_stop_or_to_end(
    crew: Crew, member: bridge.Member
):
    can = member.capabilities()
    assert (member.name, can) == (bridge.NAME, bridge.CAPABILITIES)
    assert (can.busy, can.owned, can.interrupts, can.screen, can.output) == (True, False, False, False, False)
    assert "\n" not in bridge.ABOUT
    stopped = member.interrupt()
    assert (stopped.proven, bool(stopped.words), member.screen(), member.terminal()) == (
        False,
        True,
        "",
        None,
    )
    member.deliver(Text("hello"), WILLING)
    member.close()
    bridge.end(Berth("a1", "p/lead", host.identity_of(crew.lead.pid)))
    assert not host.is_gone(host.identity_of(crew.lead.pid))
    assert [one["text"] for one in crew.entries] == ["hello"]


def test_of_an_inbox_that_went_with_its_team_nobody_can_tell(crew: Crew, member: bridge.Member):
    member.deliver(Text("hello"), WILLING)
    (crew.path / "config.json").unlink()
    crew.inbox.unlink()
    [heard] = member.receive()
    assert heard.proves is None
    assert "removed" in heard.doubts
    assert member.deliver(Text("again"), WILLING).reason == "offline"
    assert not crew.inbox.exists()


def test_while_the_cli_has_the_lock_nothing_is_written_and_an_abandoned_one_is_no_lock(
    crew: Crew, member: bridge.Member
):
    lock = Path(f"{crew.inbox}.lock")
    lock.mkdir(parents=True)
    refused = member.deliver(Text("hello"), WILLING)
    assert (refused.result, refused.words) == (Result.REFUSED, "its inbox is locked")
    assert lock.is_dir()
    os.utime(lock, (0, 0))
    assert member.deliver(Text("hello"), WILLING).result is Result.HANDED
    assert not lock.exists()


@pytest.mark.parametrize("content", [{}, [1], "x", None])
def test_an_inbox_that_is_not_understood_is_left_alone(crew: Crew, member: bridge.Member, content: Any):
    crew.write("inboxes/team-lead.json", content)
    before = crew.inbox.read_bytes()
    assert member.deliver(Text("hello"), WILLING).result is Result.REFUSED
    assert member.observe().reason == "unknown_screen"
    assert crew.inbox.read_bytes() == before


def test_what_cannot_be_written_after_it_was_begun_is_uncertain(
    member: bridge.Member, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("postroom.host.replace", full)
    done = member.deliver(Text("hello"), WILLING)
    assert (done.result, done.words) == (Result.UNCERTAIN, "No space left on device")


def test_nothing_is_written_without_consent(
    crew: Crew, member: bridge.Member, monkeypatch: pytest.MonkeyPatch
):
    assert member.deliver(Text("hello"), Assent(lambda: None, lambda: False)).result is Result.REFUSED
    monkeypatch.setenv("POSTROOM_CLAUDE_TEAMS", "off")
    assert member.deliver(Text("hello"), WILLING).reason == "paused"
    with pytest.raises(BridgeError, match="off"):
        member.setup()
    assert not crew.inbox.exists()


def test_a_lead_of_nobody_does_not_read_so_its_mail_waits(crew: Crew, member: bridge.Member):
    crew.write("config.json", {"leadProcess": {"pid": crew.lead.pid}, "members": [{"name": "team-lead"}]})
    refused = member.deliver(Text("hello"), WILLING)
    assert (refused.result, refused.reason) == (Result.REFUSED, "offline")
    assert "leads nobody" in member.observe().words


def test_nothing_is_written_for_a_team_whose_lead_has_ended(crew: Crew, member: bridge.Member):
    crew.end()
    assert member.observe().doing is Doing.GONE
    assert member.deliver(Text("hello"), WILLING).reason == "offline"


WRITER = """
import sys
from postroom.bridges.team.inbox import Inbox
inbox = Inbox(sys.argv[1])
for n in range(20):
    inbox.put(f"{sys.argv[2]} {n}", lambda: None)
"""


def test_several_who_write_at_once_lose_nothing(crew: Crew):
    several = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(crew.inbox), str(who)], cwd=ROOT, env=environment()
        )
        for who in range(3)
    ]
    assert [one.wait(BOUND) for one in several] == [0, 0, 0]
    assert sorted(one["text"] for one in crew.entries) == sorted(
        f"{who} {n}" for who in range(3) for n in range(20)
    )
    assert len(set(Inbox(str(crew.inbox)).unread())) == 60


def test_teams_and_their_tasks_are_listed_and_never_written(crew: Crew, home: str):
    tasks = crew.base / "tasks" / crew.name
    tasks.mkdir(parents=True)
    for number, status in ((10, "pending"), (2, "completed")):
        task = {
            "id": str(number),
            "subject": f"Tray {number}",
            "status": status,
            "owner": "tester",
            "blockedBy": ["2"],
        }
        (tasks / f"{number}.json").write_text(json.dumps(task), encoding="utf-8")
    (tasks / "half.json").write_text("{", encoding="utf-8")
    (tasks / ".lock").write_text("", encoding="utf-8")
    before = sorted((path, path.stat().st_mtime_ns) for path in crew.base.rglob("*"))
    cli = CommandLine(home)
    [team] = cli.ok("teams", "--json").json["teams"]
    assert team == {
        "team": crew.name,
        "members": ["team-lead", "tester"],
        "live": True,
        "directory": "/srv/bakery",
    }
    assert [one["id"] for one in cli.ok("tasks", crew.name, "--json").json["tasks"]] == ["2", "10"]
    assert "Tray 10" in cli.ok("tasks", crew.name).out
    assert before == sorted((path, path.stat().st_mtime_ns) for path in crew.base.rglob("*"))
    assert is_told_well(cli("tasks", "nobody"))
    assert not os.path.exists(home)


def test_having_a_member_reached_is_off_and_needs_one_that_runs(crew: Crew, home: str):
    cli, whom = CommandLine(home), f"{crew.name}/team-lead"
    refused = cli("teams", "adopt", whom, "--as", "lead", "--json")
    assert refused.error["error"] == "refused"
    assert f'write into {os.path.join(home, "config.toml")}: claude_teams = "on"' in refused.error["hint"]
    on = {"POSTROOM_CLAUDE_TEAMS": "on"}
    for word in ("team-lead", f"{crew.name}/nobody", f"{crew.name}/../x", "other/team-lead"):
        assert is_told_well(cli("teams", "adopt", word, env=on)), word
    crew.end()
    ended = cli("teams", "adopt", whom, "--json", env=on).error
    assert ended["error"] == "not_found"
    assert f"the lead of {crew.name} has ended" in ended["message"]


def test_what_is_no_team_is_none(crew: Crew):
    (crew.base / "teams" / "empty").mkdir()
    (crew.base / "teams" / "odd").mkdir()
    (crew.base / "teams" / "odd" / "config.json").write_text("[]", encoding="utf-8")
    os.symlink(crew.path / "config.json", crew.base / "teams" / "empty" / "config.json")
    assert [team.name for team in roster.teams()] == [crew.name]
