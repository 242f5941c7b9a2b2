"""What the guides say to type does what they say."""

import os
import re

import postroom
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
