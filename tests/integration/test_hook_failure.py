"""Whatever goes wrong in a hook: the agent is not harmed, no mail is lost, and the log says why."""

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from postroom import host
from postroom.hooks import journal, program
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.hooking import ClaudeCode, run_hook


class Program:
    """The program that all hooks run, as a set-up installs it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, argv: list[str], stdin: str) -> tuple[int, str, str]:
        clean = {"PATH": os.environ["PATH"]}
        ran = subprocess.run(
            [self.path, *argv],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=clean,
            timeout=60,
        )
        return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def installed(room: LocalRoom) -> Program:
    return Program(program.install(room.home))


def test_what_could_not_be_said_after_the_claim_is_not_an_attempt_that_counts(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    claude.start()
    sent = room.send("builder", "mail-1")
    monkeypatch.setattr("postroom.hooks.visit.Visit._text", lambda self, agent: 1 / 0)
    for _ in range(6):
        with pytest.raises(ZeroDivisionError):
            claude.prompt()
    monkeypatch.undo()
    [found] = room.receipts(sent.id).deliveries
    assert found.state is State.STORED


@pytest.mark.promise("hook-harmless")
def test_a_hook_that_no_agent_ran_makes_nobody_an_agent(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(host, "program", lambda pid: "tmux: server")
    with pytest.raises(ValueError, match="not an agent"):
        run_hook(room.home, ["claude", "SessionStart", "s1"], '{"session_id": "s1"}')
    assert room.store.look().sessions(room.who("builder").id) == []


@pytest.mark.parametrize("key", ["../x", "a/b", "..", "."])
def test_a_key_that_is_no_file_name_is_refused(room: LocalRoom, claude: ClaudeCode, key: str):
    with pytest.raises(ValueError, match="names no session"):
        run_hook(room.home, ["claude", "Stop", key], '{"session_id": "s1"}')


@pytest.mark.parametrize("where", ["/caf\udce9", "/\ud800", "/a\0b"])
def test_a_directory_whose_name_is_no_text_keeps_no_session_from_its_mail(
    room: LocalRoom, claude: ClaudeCode, where: str
):
    room.send("builder", "mail-1")
    told: dict[str, Any] = {"cwd": where, "transcript_path": f"{where}/t"}
    assert "mail-1" in claude.event("SessionStart", source="startup", **told)
    assert claude.event("Stop", **told) == ""
    [session] = room.store.look().sessions(room.who("builder").id)
    assert session.details["cwd"] in ("/caf\\udce9", "")


@pytest.mark.promise("quiet")
def test_a_key_of_several_sessions_promises_nothing_though_one_of_them_ends(
    room: LocalRoom, cwd: str, monkeypatch: pytest.MonkeyPatch
):
    """In Codex all sessions live in one process, and its hooks know no other key."""
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    sessions = []
    for name in ("a", "b", "c"):
        monkeypatch.setenv("POSTROOM_AGENT", name)
        session = ClaudeCode(room.home, cwd, name)
        session.key = "p1"
        session.start()
        sessions.append(session)
    sessions[1].end()
    sessions[0].stop()
    link = os.path.join(room.home, "run", "quiet", "s", "p1")
    assert not os.path.exists(link), "c has no other"


@pytest.mark.promise("hook-harmless")
@pytest.mark.parametrize(
    ("argv", "stdin"),
    [
        (["claude", "Stop", "s1"], "not json"),
        (["claude", "Stop", "s1"], "[]"),
        (["claude", "Stop", "s1"], "{}"),
        (["claude", "Nothing", "s1"], "{}"),
        (["nobody", "Stop", "s1"], "{}"),
        ([], ""),
        (["claude", "Stop", "s1"], '{"session_id": {"a": 1}, "cwd": 5}'),
    ],
)
def test_a_hook_that_fails_says_nothing_and_the_log_says_why(
    room: LocalRoom, installed: Program, argv: list[str], stdin: str
):
    assert installed(argv, stdin) == (0, "", "")
    log = journal.path(room.home)
    with open(log, encoding="utf-8") as file:
        assert len(file.readlines()) == 1


def test_a_room_that_is_gone_harms_nobody(installed: Program, room: LocalRoom):
    os.rename(os.path.join(room.home, "room.db"), os.path.join(room.home, "away"))
    assert installed(["claude", "Stop", "s1"], '{"session_id": "s1"}') == (0, "", "")


def test_the_installed_program_shows_mail(installed: Program, room: LocalRoom, cwd: str):
    told = f'{{"session_id": "s1", "cwd": "{cwd}", "source": "startup"}}'
    code, out, err = installed(["claude", "SessionStart", "s1"], told)
    assert (code, err) == (0, "")
    assert "Your address in Postroom is" in out


@pytest.mark.promise("hook-harmless")
@pytest.mark.parametrize("text", ["def main(", "import os\nos.nothing_of_the_kind\n", "", "1 / 0\n"])
@pytest.mark.parametrize("module", ["hooks/main.py", "host.py"])
def test_an_installation_that_is_just_being_upgraded_harms_nobody(
    room: LocalRoom, installed: Program, tmp_path, module: str, text: str
):
    source = os.path.dirname(os.path.dirname(program.__file__))
    copy = os.path.join(tmp_path, "lib", "postroom")
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    rewrite(
        installed.path, lambda old: old.replace(repr(os.path.dirname(source)), repr(os.path.dirname(copy)))
    )
    rewrite(os.path.join(copy, module), lambda _: text)
    assert installed(["claude", "Stop", "s1"], "{}") == (0, "", "")
    # What notes it needs some modules itself.
    assert len(journal.last(room.home)) == (module == "hooks/main.py")


def rewrite(path: str, change: Callable[[str], str]) -> None:
    with open(path, encoding="utf-8") as file:
        old = file.read()
    new = change(old)
    assert new != old
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
