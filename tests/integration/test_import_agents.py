"""Agents of other tools' configs, in the room's own: shown, added once, and taken out again."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from postroom import config, host
from tests.commandline import CommandLine, is_told_well
from tests.process import ROOT

SAMPLES = Path(ROOT, "tests", "data", "imports")
SAMPLE = str(SAMPLES / "agentcomms.yaml")
OWN = "# mine\nsender_rate = 7   # and this stays\n\n[agents.ops]\nrole = 'builder'"


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


def agents(home: str) -> dict[str, Any]:
    return tomllib.loads(Path(home, "config.toml").read_text(encoding="utf-8"))["agents"]


@pytest.mark.promise("import-shown")
def test_a_config_is_shown_added_to_and_as_it_was_before(cli: CommandLine, home: str):
    shown = cli.ok("import", SAMPLE)
    assert "+[agents.api]" in shown.out
    assert f"postroom import {SAMPLE} --apply" in shown.err
    assert not os.path.exists(home)
    done = cli.ok("import", SAMPLE, "--apply")
    assert done.out == shown.out
    assert list(agents(home)) == ["api", "front-end", "ops", "pilot"]
    assert "Nothing to do." in cli.ok("import", SAMPLE, "--apply").err
    assert "-[agents.api]" in cli.ok("import", SAMPLE, "--undo").out
    assert not os.path.exists(os.path.join(home, "config.toml"))


def test_a_channel_is_kept_and_said_to_be_served_by_nobody(cli: CommandLine, home: str):
    done = cli.ok("import", SAMPLE, "--apply")
    assert agents(home)["api"]["channel"] == "discord:api-talk"
    [reached] = [line for line in done.out.splitlines() if line.startswith("api ")]
    assert "discord" not in reached, "it is not reached by that"
    assert (
        "only kept: agents.api.channel discord:api-talk: it stands in the config, but no chat is" in done.err
    )
    assert "left out: discord: no chat is served here yet" in done.err
    [kept, _] = cli.ok("import", SAMPLE, "--json").json["kept_unserved"]
    assert (kept["what"], kept["value"]) == ("agents.api.channel", "discord:api-talk")


@pytest.mark.parametrize("before", [OWN, OWN + "\n", ""])
def test_what_is_there_stays_as_it_is_written(cli: CommandLine, home: str, before: str):
    path = Path(home, "config.toml")
    path.parent.mkdir()
    path.write_bytes(before.encode())
    path.chmod(0o640)
    done = cli.ok("import", SAMPLE, "--apply", "--json").json
    assert done["kept"] == (["ops"] if before else [])
    assert path.read_bytes().startswith(before.encode())
    assert path.stat().st_mode & 0o777 == 0o640
    cli.ok("import", SAMPLE, "--undo")
    assert path.read_bytes() == before.encode()


def test_agents_are_here_as_soon_as_they_are_declared(cli: CommandLine):
    cli.ok("import", SAMPLE, "--apply")
    cli.sent("front-end", "hello")
    assert [one["body"] for one in cli.ok("inbox", "--as", "front-end", "--json").json["messages"]] == [
        "hello"
    ]


def test_agents_are_listed_before_anybody_has_written_to_them(cli: CommandLine):
    cli.ok("import", SAMPLE, "--apply")
    listed = cli.ok("agents", "--all").out
    assert all(name in listed for name in ("api", "front-end", "ops", "pilot"))


def test_of_what_stays_it_is_told_what_it_has_otherwise_and_how_to_take_it_over(cli: CommandLine, home: str):
    path = Path(home, "config.toml")
    path.parent.mkdir()
    path.write_text('[agents.ops]\nbridge = "pty"\ncommand = ["./mine"]\n', encoding="utf-8")
    shown = cli.ok("import", SAMPLE)
    [row] = [line for line in shown.out.splitlines() if line.startswith("ops ")]
    assert row.endswith("stays as it is")
    assert "ops stays as it is: command is ./mine, and there ./ops-bot --watch deploys" in shown.err
    assert f"take [agents.ops] out of {path} and import again" in shown.err


def test_the_config_that_the_first_of_two_imports_made_goes_with_the_last(cli: CommandLine, home: str):
    other = str(SAMPLES / "agent-orchestrator.yaml")
    for words in ((SAMPLE, "--apply"), (other, "--apply"), (SAMPLE, "--undo"), (other, "--undo")):
        cli.ok("import", *words)
    assert not os.path.exists(os.path.join(home, "config.toml"))


def test_two_sources_are_undone_each_for_itself(cli: CommandLine, home: str):
    other = str(SAMPLES / "agent-orchestrator.yaml")
    for source in (SAMPLE, other):
        cli.ok("import", source, "--apply")
    cli.ok("import", SAMPLE, "--undo")
    assert set(agents(home)) == {f"{name}/orchestrator" for name in ("bakery-site", "mill", "oven", "yard")}
    cli.ok("import", other, "--undo")
    assert cli("import", other, "--undo", "--json").error["error"] == "not_found"


def test_a_directory_means_the_config_in_it_also_when_it_is_undone(
    cli: CommandLine, home: str, tmp_path: Path
):
    (tmp_path / "config.yaml").write_bytes(Path(SAMPLE).read_bytes())
    cli.ok("import", str(tmp_path), "--apply")
    assert len(agents(home)) == 4
    cli.ok("import", str(tmp_path), "--undo")
    assert not os.path.exists(os.path.join(home, "config.toml"))


def test_of_several_configs_in_a_directory_it_is_told_which_was_taken_and_how_to_get_the_other(
    cli: CommandLine, tmp_path: Path
):
    (tmp_path / "agent-orchestrator.yaml").write_bytes((SAMPLES / "agent-orchestrator.yaml").read_bytes())
    other = tmp_path / "config.yaml"
    other.write_bytes(Path(SAMPLE).read_bytes())
    (tmp_path / "config.json").write_text('{"of": "something else"}', encoding="utf-8")
    told = cli.ok("import", str(tmp_path))
    assert f"postroom import {other}\n" in told.err
    assert "config.json" not in told.err
    assert cli.ok("import", str(tmp_path), "--json").json["aside"] == [str(other)]
    assert cli.ok("import", str(other), "--json").json["aside"] == []


def test_what_somebody_has_edited_since_is_theirs(cli: CommandLine, home: str):
    cli.ok("import", SAMPLE, "--apply")
    path = Path(home, "config.toml")
    edited = path.read_text(encoding="utf-8").replace("crew:2.0", "crew:3.0")
    path.write_text(edited, encoding="utf-8")
    refused = cli("import", SAMPLE, "--undo")
    assert is_told_well(refused)
    assert "[agents.api]" in refused.err
    assert path.read_text(encoding="utf-8") == edited
    assert cli.ok("import", SAMPLE, "--json").json["kept"] == ["api"]


@pytest.mark.parametrize(
    "text", ["agents = 1", "[agents", "agents = {ops = {role = 'x'}}", "[[agents]]\nx = 1"], ids=range(4)
)
def test_a_config_that_does_not_take_it_is_left_as_it_is(cli: CommandLine, home: str, text: str):
    path = Path(home, "config.toml")
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    for option in ((), ("--apply",)):
        refused = cli("import", SAMPLE, *option)
        assert refused.code != 0
        assert is_told_well(refused), refused
    assert path.read_text(encoding="utf-8") == text


def test_a_config_that_cannot_be_written_is_told_and_stays(cli: CommandLine, home: str):
    path = Path(home, "config.toml")
    path.parent.mkdir()
    path.write_text(OWN, encoding="utf-8")
    path.chmod(0o440)
    refused = cli("import", SAMPLE, "--apply")
    assert is_told_well(refused)
    assert "read-only" in refused.err
    assert path.read_text(encoding="utf-8") == OWN


def test_on_a_full_disk_the_config_stays_and_it_is_told(
    cli: CommandLine, home: str, monkeypatch: pytest.MonkeyPatch
):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = Path(home, "config.toml")
    path.parent.mkdir()
    path.write_text(OWN, encoding="utf-8")
    monkeypatch.setattr("postroom.setup.file.os.fsync", full)
    refused = cli("import", SAMPLE, "--apply")
    assert is_told_well(refused)
    assert "No space left" in refused.err
    monkeypatch.undo()
    assert [name for name in os.listdir(home) if "postroom-" in name] == []
    assert path.read_text(encoding="utf-8") == OWN
    cli.ok("import", SAMPLE, "--apply")
    cli.ok("import", SAMPLE, "--undo")
    assert path.read_text(encoding="utf-8") == OWN


def test_of_two_imports_at_once_one_is_refused(cli: CommandLine, home: str):
    folder = config.beside(home, "imports")
    host.private_directory(folder)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as held:
        assert host.lock(held.fileno())
        assert cli("import", SAMPLE, "--apply", "--json").error["error"] == "refused"
    cli.ok("import", SAMPLE, "--apply")


def test_who_was_killed_before_the_config_was_written_has_nothing_to_undo(
    cli: CommandLine, home: str, monkeypatch: pytest.MonkeyPatch
):
    def killed(path: str, data: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("postroom.setup.file.write", killed)
    assert cli("import", SAMPLE, "--apply").code == 130
    monkeypatch.undo()
    assert not os.path.exists(os.path.join(home, "config.toml"))
    assert cli.ok("import", SAMPLE, "--undo", "--json").json["diff"] == ""


def test_only_a_person_may_have_commands_put_into_the_config(cli: CommandLine, home: str):
    cli.ok("join", "builder")
    for option in ("--apply", "--undo"):
        assert cli("import", SAMPLE, option, "--as", "builder", "--json").error["error"] == "refused"


def test_what_makes_no_sense_is_told_in_a_line(cli: CommandLine, tmp_path: Path):
    for words in (
        ("import", "nowhere"),
        ("import", SAMPLE, "--apply", "--undo"),
        ("import", SAMPLE, "--kind", "mailbox"),
        ("import", SAMPLE, "--kind", "agent-orchestrator"),
        ("import", str(tmp_path)),
        ("import", SAMPLE, "--rename", "x"),
    ):
        assert is_told_well(cli(*words)), words
