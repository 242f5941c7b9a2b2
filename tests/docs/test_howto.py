"""What the guides say to type does what they say."""

import io
import json
import os
import re
import shlex
import sys
import types
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import postroom
from postroom.protocol import declaration, registration
from postroom.room import local
from postroom.server import doorway
from tests.commandline import CommandLine
from tests.process import BOUND, ROOT


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


def test_the_reference_has_every_code_with_which_the_relay_ends_a_connection() -> None:
    """Those of the protocol are 1009, a frame too large, 1011, no answer to a ping, and 1012, the end."""
    page = Path(ROOT, "docs", "reference", "relay.md").read_text(encoding="utf-8")
    told = {int(code) for code in re.findall(r"^\| (\d{4}) \|", page, re.MULTILINE)}
    assert told == {doorway.RESUMED, doorway.NOBODY, doorway.LATER, 1009, 1011, 1012}


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
    wrong = cli("send", "builder", "--type", "dispatch", "--payload", '{"task_ids": 1}', "--as", "ops")
    assert wrong.err == told

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


SHOWN = "5f0c9a1e"  # the id of every message, in the guides


def test_asking_answering_and_passing_on_go_as_the_guide_says(home: str) -> None:
    cli = CommandLine(home)
    join, ask, answer, without_waiting, _later, follow, forward = blocks("asking.md", "sh")
    assert cli.shell(f"set -e\n{join}").code == 0
    words = shlex.split(ask)
    with cli.start(*words[1:]) as asker:
        [request] = json.loads(cli.process("wait", "--as", "builder", "--json").out)["messages"]
        answered = cli.shell(f"set -e\n{answer.replace(SHOWN, request['handle'])}")
        out, _ = asker.communicate(timeout=BOUND)
    assert (answered.code, asker.returncode, out) == (0, 0, b"The one in src/parser.\n"), answered
    for block in (without_waiting, follow, forward):
        done = cli.shell(f"set -e\n{block.replace(SHOWN, request['handle'])}")
        assert done.code == 0, done
    assert [mail["type"] for mail in cli.ok("inbox", "--as", "builder", "--json").json["messages"]] == [
        "request"
    ]
    [passed] = cli.ok("inbox", "--as", "rita", "--json").json["messages"]
    assert "Which parser do you use?" in passed["body"]
    assert passed["thread"] != request["thread"]


def test_the_guide_to_setting_up_can_be_typed_and_leaves_nothing(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("claude", "postroom"):
        (programs / name).write_text("#!/bin/sh\necho 2.1.325\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    cli = CommandLine(home)
    for block in blocks("set-up.md", "sh"):
        done = cli.shell(f"set -e\n{block}")
        assert done.code == 0, done
        assert list(user.iterdir()) == []


@pytest.mark.parametrize("page", ["addresses.md", "decisions.md", "manners.md"])
def test_what_a_guide_says_to_type_can_be_typed_in_that_order(home: str, page: str) -> None:
    cli = CommandLine(home)
    for name in ("builder", "planner"):
        cli.ok("join", name)
    Path(home, "config.toml").write_text("".join(blocks(page, "toml")), encoding="utf-8")
    for block in blocks(page, "sh"):
        *before, last = re.split(rf"^(?=.*{SHOWN})", block, flags=re.MULTILINE)
        for part in (*before, last):
            latest = cli.ok("sent", "--as", "builder", "--json").json["messages"]
            done = cli.shell(f"set -e\n{part.replace(SHOWN, latest[0]['handle'] if latest else SHOWN)}")
            assert done.code == 0, done
    if page == "decisions.md":
        [answer] = cli.ok("inbox", "--as", "builder", "--json").json["messages"]
        assert answer["payload"]["decision"]["option"] == "tonight"
    if page == "manners.md":
        assert "route 1 refuses @builder" in cli("send", "human:ana", "hello", "--as", "bob").err
        assert cli.ok("send", "tester", "hello", "--as", "bob").code == 0


def test_files_are_served_to_names_that_the_quick_start_leaves_free() -> None:
    """Who has followed that has its agents already, and no directory takes their names."""
    readme = Path(ROOT, "README.md").read_text(encoding="utf-8")
    made = re.findall(r"(?:postroom join|--as|POSTROOM_AGENT=) ?([a-z]+)", readme)
    assert {"builder", "planner"} <= set(made)
    assert set(re.findall(r"mail/([a-z]+)", blocks("files.md", "sh")[0])).isdisjoint(made)


def test_a_program_that_has_only_a_directory_does_what_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [program] = blocks("files.md", "python")
    monkeypatch.chdir(tmp_path)
    with postroom.Mailbox("mail", "packer"), postroom.Mailbox("mail", "tester") as tester:
        asked = tester.send("packer", "Is it ready?")
        program = program.replace("timeout=60", "timeout=0")
        with redirect_stdout(io.StringIO()) as out:
            exec(program, {})
        assert out.getvalue() == "nobody has looked at it yet\n"
        assert [letter.text for letter in tester.receive()] == [
            "The parser is ready.", "Thank you for: Is it ready?",
        ]  # fmt: skip
        assert tester.wait_for_ack(asked, BOUND)
