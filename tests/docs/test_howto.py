"""What the guides say to type does what they say."""

import io
import os
import re
import sys
import types
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import postroom
from postroom.protocol import declaration, registration
from postroom.room import local
from tests.commandline import CommandLine
from tests.process import ROOT


def test_the_agent_in_shell_ends_when_another_program_holds_its_mailbox(home: str) -> None:
    with open(os.path.join(ROOT, "docs", "howto", "scripts.md"), encoding="utf-8") as file:
        found = re.search(r"^while postroom wait.*?^done$", file.read(), re.DOTALL | re.MULTILINE)
    assert found is not None
    cli = CommandLine(home)
    cli.ok("join", "ci")
    cli.sent("ci", "hello")
    room = local.open_room(home, agent="ci", project="p")
    listening = room.listen(timeout=0)
    ended = cli.shell(f"export POSTROOM_AGENT=ci\n{found[0]}\necho ended")
    assert (ended.code, ended.out) == (0, "ended\n")
    assert ended.error["error"] == "mailbox_leased"
    assert [mail.body for mail in listening] == ["hello"]
    room.close()


def test_the_package_shows_what_it_exports() -> None:
    assert set(postroom.__all__) < set(dir(postroom))
    assert "TYPE_CHECKING" not in dir(postroom)


def test_the_reference_has_every_method_of_a_room() -> None:
    with open(os.path.join(ROOT, "docs", "reference", "python.md"), encoding="utf-8") as file:
        page = file.read()
    methods = [name for name in vars(postroom.Room) if not name.startswith("_") and name != "agent"]
    assert len(methods) > 20
    assert all(f"### `room.{name}`" in page for name in methods)
    assert all(f"`{name}`" in page for name in postroom.__all__ if name != "open")


def blocks(page: str, language: str) -> list[str]:
    text = Path(ROOT, "docs", "howto", page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.promise("own-types")
def test_what_the_guide_registers_can_be_sent_as_it_says(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = CommandLine(home)
    for name in ("planner", "builder", "ops"):
        cli.ok("join", name)
    in_config, in_package = blocks("own-types.md", "toml")
    Path(home, "config.toml").write_text(in_config, encoding="utf-8")
    shown, registered = blocks("own-types.md", "sh")
    for script in (shown, registered):
        done = cli.shell(f"export POSTROOM_AGENT=planner; set -e\n{script}")
        assert done.code == 0, done
    assert cli.ok("inbox", "--as", "ops", "--json").json["messages"][0]["type"] == "deploy"
    [told] = blocks("own-types.md", "text")
    assert cli("send", "builder", "--type", "dispatch", "--payload", '{"task": 1}', "--as", "ops").err == told

    reading, declaring = blocks("own-types.md", "python")
    monkeypatch.setenv("POSTROOM_HOME", home)
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    with redirect_stdout(io.StringIO()) as out:
        exec(reading, {})
    assert out.getvalue() == "T-1 ('src/parser/',)\n"
    assert cli.ok("read", "--as", "planner", "--json").json["type"] == "worker_done"

    module = types.ModuleType("acme_mail")
    monkeypatch.setitem(sys.modules, "acme_mail", module)
    exec(declaring, vars(module))
    assert 'deploy = "acme_mail:Deploy"' in in_package
    assert registration.GROUP in in_package
    assert declaration.definition(module.Deploy)["schema"]["required"] == ["version"]
