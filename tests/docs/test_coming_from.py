"""What the guides for those who come from other tools say to type does what they say."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.commandline import CommandLine, Result
from tests.process import ROOT

SAMPLES = Path(ROOT, "tests", "data", "imports")


def blocks(page: str, language: str) -> list[str]:
    """The examples of a guide in a language; without one, what it shows."""
    text = Path(ROOT, "docs", "howto", page).read_text(encoding="utf-8")
    parts = text.split("```")[1::2]
    return [part.partition("\n")[2] for part in parts if part.partition("\n")[0] == language]


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


def typed(cli: CommandLine, block: str, place: Path) -> Result:
    done = cli.shell(f"set -e; cd {place}; export POSTROOM_AGENT=human:ana\n{block}")
    assert done.code == 0, done
    return done


def test_a_file_mailbox_comes_in_as_its_guide_says(cli: CommandLine, tmp_path: Path):
    shutil.copytree(SAMPLES / "mailboxes", tmp_path / "mailboxes")
    brought, renamed = blocks("coming-from-file-mailbox.md", "sh")
    shown = blocks("coming-from-file-mailbox.md", "")[1]
    assert shown in cli.ok("import", str(SAMPLES / "mailboxes")).out
    assert "Head Office is called human:ana here" in typed(cli, renamed, tmp_path).out
    assert "Nothing to do." in typed(cli, brought, tmp_path).err
    assert len(cli.ok("inbox", "--as", "builder", "--json").json["messages"]) == 3


def test_the_rows_of_a_queue_come_in_as_its_guide_says(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    [table] = blocks("coming-from-sqlite-queue.md", "sql")
    queue = sqlite3.connect("queue.db")
    queue.executescript(table)
    queue.close()
    brought, instead = blocks("coming-from-sqlite-queue.md", "sh")
    assert "Make it fifty." in typed(cli, brought, tmp_path).out
    sent = cli.ok("sent", "--as", "planner", "--json").json["messages"]
    assert {one["body"]: cli.receipt(one["id"])["state"] for one in sent} == {
        "How many loaves?": "acked", "Make it fifty.": "stored",
    }  # fmt: skip
    assert "The flour is out." in typed(cli, instead, tmp_path).out


def test_agents_in_panes_come_in_as_their_guide_says(cli: CommandLine, tmp_path: Path):
    for name in ("agentcomms.yaml", "agent-orchestrator.yaml"):
        shutil.copy(SAMPLES / name, tmp_path)
    [brought] = blocks("coming-from-tmux-send-keys.md", "sh")
    shown = blocks("coming-from-tmux-send-keys.md", "")[1].splitlines()
    told = cli.ok("import", str(tmp_path / "agentcomms.yaml"))
    first, left, *rest = "\n".join(shown).split("…")  # which stands for what the page leaves out
    assert told.out.startswith(first)
    assert left.strip() in told.err.splitlines()
    assert rest == [""]
    assert "front-end" in typed(cli, brought, tmp_path).out
    [waiting] = cli.ok("inbox", "--as", "front-end", "--json").json["messages"]
    assert waiting["body"] == "The tests on main are red."


def test_teams_are_listed_as_their_guide_says(cli: CommandLine, tmp_path: Path):
    [listed] = blocks("teams.md", "sh")
    assert "There is no team" in typed(cli, listed, tmp_path).err
    [setting] = blocks("teams.md", "toml")
    Path(cli.home).mkdir()
    Path(cli.home, "config.toml").write_text(setting, encoding="utf-8")
    assert cli("teams", "adopt", "x/y", "--json").error["error"] == "not_found"
