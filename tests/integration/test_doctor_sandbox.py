"""`postroom doctor` on sandboxes: what is sent from inside is tried, and what lies in outboxes is told."""

import os
from pathlib import Path
from typing import Any

import pytest

from postroom.room.local import LocalRoom
from tests.commandline import CommandLine, Result
from tests.configured import User
from tests.machine import sealed, unshare
from tests.player import Player

# A `codex` that runs what it is given after certain commands, where others are mounted.
CONFINES = """\
if [ "$1" = --version ]; then echo 9.8.7; exit; fi
[ "$1" = sandbox ] || exit 9
echo "$*" >{log}
while [ "$1" != -- ]; do shift; done; shift
PATH=/usr/bin:/bin:/usr/sbin:/sbin
exec {prefix} sh -c '{commands}; exec "$@"' sh "$@"
"""


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def readonly(path: object) -> str:
    return f'mount --bind "{path}" "{path}" && mount -o remount,ro,bind "{path}"'


def confine(user: User, commands: str = "true") -> None:
    user.log_in()
    prefix = " ".join(unshare("-m"))
    user.install("codex", CONFINES.format(prefix=prefix, commands=commands, log=user.home / "log"))


def probed(user: User, name: str = "codex") -> tuple[dict[str, Any], Result]:
    told = user("doctor", name, "--json")
    [found] = told.json["runtimes"]
    return found["sandbox"], told


@pytest.mark.promise("doctor-sandbox")
def test_what_is_sent_from_inside_is_found_out_inside(user: User):
    confine(user)
    user.ok("setup", "codex", "--yes")
    user.ok("join", "backend")
    assert probed(user)[0]["verdict"] == "stores"
    assert 'sandbox -c sandbox_mode="workspace-write" -- ' in user.read("log")
    confine(user, readonly(user.room))
    found, told = probed(user)
    assert found["verdict"] == "spools"
    assert not any("sandbox" in each["what"] for each in told.json["problems"])
    assert "so mail is spooled" in user("doctor").out
    confine(user, f"{readonly(user.room)} && {readonly(user.project)} && cd '{user.project}'")
    found, told = probed(user)
    assert (found["verdict"], told.code) == ("fails", 1)
    assert any("sending fails" in each["what"] for each in told.json["problems"])


@pytest.mark.promise("doctor-sandbox")
def test_a_command_that_is_not_found_from_inside_is_a_problem(user: User):
    confine(user)
    (user.home / ".profile").unlink()
    user.ok("setup", "codex", "--yes")
    user.ok("join", "backend")
    found, told = probed(user)
    assert (found["verdict"], told.code) == ("fails", 1)
    assert "exit code 127" in found["words"]
    assert len([each for each in told.json["problems"] if "does not find postroom" in each["what"]]) == 1
    user.log_in()
    user.install("postroom", "exit 3")
    found, told = probed(user)
    assert "exit code 3" in found["words"]
    assert any("cannot be run in there" in each["what"] for each in told.json["problems"])


@pytest.mark.promise("doctor-sandbox")
def test_what_opens_a_sandbox_opens_it_to_this_room(user: User):
    there = ("--home", str(user.room))
    confine(user, f"{readonly(user.room)} && {readonly(user.project)} && cd '{user.project}'")
    user.ok("setup", "codex", "--yes")
    user.ok("join", "backend")
    user.write(".codex/config.toml", "")
    told = user("doctor", "codex", "--json", *there, POSTROOM_HOME="/elsewhere").json["problems"]
    [problem] = [each for each in told if "sending fails" in each["what"]]
    assert problem["next"] == f"postroom {' '.join(there)} setup codex"


@pytest.mark.promise("doctor-sandbox")
def test_a_sandbox_that_cannot_be_tried_is_said_to_be_untried(user: User):
    for name in ("claude", "codex"):
        user.install(
            name, 'if [ "$1" = --version ]; then echo 9.8.7; else echo no such thing >&2; exit 2; fi'
        )
        user.ok("setup", name, "--yes")
    user.ok("join", "backend")
    found, _ = probed(user)
    assert found == {
        "verdict": "untried",
        "words": "its settings let it write to the room; it could not be tried: no such thing",
    }
    found, _ = probed(user, "claude")
    assert (found["verdict"], found["words"].split("; ")[1]) == (
        "untried", "not tried: Claude Code has no command for that",
    )  # fmt: skip
    user.write(".claude/settings.json", user.read(".claude/settings.json").replace("allowWrite", "denyWrite"))
    assert probed(user, "claude")[0]["words"].startswith("it may not write to the room")


def test_the_sandbox_is_tried_as_the_settings_have_it(user: User):
    confine(user)
    user.write(".codex/config.toml", 'sandbox_mode = "read-only"\n')
    user.ok("setup", "codex", "--yes")
    user.ok("join", "backend")
    assert probed(user)[0]["verdict"] == "stores"
    assert user.read("log").startswith("sandbox -- ")


@pytest.mark.promise("doctor-sandbox")
@pytest.mark.parametrize("how", [(), ("--mcp",)], ids=["hooks", "tools alone"])
@pytest.mark.parametrize(
    ("name", "path", "settings"),
    [
        ("qwen", ".qwen/settings.json", '"tools": {"executionSandbox": {"network": "closed"}}'),
        ("copilot", ".copilot/settings.json", '"sandbox": {"enabled": true}'),
    ],
)
def test_a_sandbox_in_which_neither_hooks_nor_tools_can_work_is_a_problem(
    user: User, name: str, path: str, settings: str, how: tuple[str, ...]
):
    user.install(name)
    user.write(path, f"{{{settings}}}")
    user.ok("setup", name, *how, "--yes")
    found, told = probed(user, name)
    assert (found["verdict"], told.code) == ("fails", 1)
    [problem] = told.json["problems"]
    assert "no mail is shown" in problem["what"]
    assert "our tools" in problem["what"]
    user.write(path, user.read(path).replace(settings, '"x": 1'))
    assert probed(user, name)[0] is None


@pytest.fixture
def player(home: str, room: LocalRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Player(home, str(tmp_path / "work"), POSTROOM_AGENT="backend") as player:
        monkeypatch.chdir(player.cwd)
        player.hook("SessionStart", source="startup")
        yield player


def spooled(player: Player, *argv: str, **env: str) -> dict[str, Any]:
    answer = player.ok(*argv, prefix=sealed(player.home), **env)
    assert answer["state"] == "spooled"
    return answer


def problems(home: str, *argv: str) -> list[dict[str, str]]:
    return CommandLine(home)("doctor", "--json", *argv).json["problems"]


@pytest.mark.promise("spool")
def test_a_letter_that_no_session_is_left_to_take_in_is_told_and_taken_in_by_doctor(
    home: str, room: LocalRoom, player: Player
):
    spooled(player, "send", "builder", "hi")
    assert problems(home) == problems(home, "--fix") == []
    assert room.peek("builder") == []
    player.end()
    [problem] = problems(home)
    assert "1 letter" in problem["what"]
    assert problem["next"] == "postroom doctor --fix"
    [problem] = CommandLine("/elsewhere")("doctor", "--json", "--home", home).json["problems"]
    assert problem["next"] == f"postroom --home {home} doctor --fix"
    assert "taken in: 1 letter " in CommandLine(home).ok("doctor", "--fix").err
    assert problems(home) == []
    [mail] = room.peek("builder")
    assert (mail.sender, mail.body, mail.message.verified) == ("backend", "hi", "unverified")


@pytest.mark.promise("spool")
def test_a_letter_of_nobody_is_put_aside_and_told(home: str, room: LocalRoom, player: Player):
    """Of a program, whose token has been revoked since."""
    cli = CommandLine(home)
    token = cli.ok("tokens", "issue", "planner", "--json").json["token"]
    with Player(home, player.cwd, "none", "other") as program:
        letter = spooled(program, "send", "builder", "hi", POSTROOM_TOKEN=token)
    cli.ok("tokens", "revoke", "planner")
    player.hook("Stop")
    assert room.peek("builder") == []
    aside = os.path.join(player.cwd, ".postroom", "rejected")
    assert os.listdir(aside) == [f"{letter['id']}.json"]
    [problem] = problems(home)
    assert problem["next"] == f"Look at it, then: rm -r {aside}"
