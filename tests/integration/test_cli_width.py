"""On a terminal of 80 columns: no line of what is told about set-up is wider, and nothing is cut off."""

import fcntl
import os
import pty
import re
import struct
import termios
from pathlib import Path

import pytest

from tests.commandline import COMMAND
from tests.configured import User
from tests.living import Living
from tests.process import environment

LONG = "a-directory-with-a-long-name"


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def on_terminal(user: User, *argv: str, columns: int = 80) -> list[str]:
    """What a command shows on a terminal of that width, line by line, without colours."""
    pid, terminal = pty.fork()
    if pid == 0:
        path = f"{user.bin}:{os.environ['PATH']}"
        env = environment(HOME=str(user.home), PATH=path, POSTROOM_HOME=str(user.room))
        os.chdir(user.project)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execvpe(COMMAND[0], [*COMMAND, *argv], env)
    shown = b""
    try:
        while more := os.read(terminal, 65536):
            shown += more
    except OSError:
        pass  # it has ended
    os.waitpid(pid, 0)
    os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")
    return text.splitlines()


def too_wide(lines: list[str]) -> list[str]:
    """Those that are, though they could have been folded: a path, after a label, and a command stay whole."""
    others = [line for line in lines if not line.strip().startswith("postroom --home ")]
    return [line for line in others if len(line) > 80 and " " in line[12:].strip()]


def test_setup_and_doctor_fit_into_80_columns_and_say_it_all(user: User):
    for runtime in ("claude", "codex", "gemini", "aider"):
        user.install(runtime)
    user.log_in()
    shown = on_terminal(user, "setup", "codex", "--yes")
    assert too_wide(shown) == []
    whole = " ".join(line.strip() for line in shown)
    assert f"exec {user.hook} codex SessionStart" in whole
    assert "Trust them, or it skips them in silence." in whole
    user.ok("hook", "gemini", "Nonsense-" * 5)
    doctor = on_terminal(user, "doctor")
    assert too_wide(doctor) == []
    assert "it asks you to review the hooks, once." in " ".join(line.strip() for line in doctor)
    refused = on_terminal(user, "--home", str(user.home / LONG), "setup", "codex")
    assert too_wide(refused) == []
    assert refused[0].startswith("postroom: Codex is wired to another room")
    other = ("--home", str(user.home / LONG))
    call = f"postroom {' '.join(other)}"
    assert any(line.strip() == f"{call} setup codex --replace" for line in refused)
    doctor = on_terminal(user, *other, "doctor", "codex")
    assert any(line.strip() == f"{call} setup codex --replace" for line in doctor)


def test_what_doctor_tells_to_run_is_on_one_line_and_what_it_tells_to_do_is_folded(user: User):
    user.ok("join", "builder")
    aside = user.project / ".postroom" / "rejected"
    (aside / f"{LONG} {LONG}").mkdir(parents=True)
    user.install("copilot")
    user.write(".copilot/settings.json", '{"sandbox": {"enabled": true}}')
    user.ok("setup", "copilot", "--yes")
    shown = on_terminal(user, "doctor", columns=40)
    assert f"            rm -r {aside}" in shown
    assert "            Look at it, then:" in shown
    advice = "Say /sandbox disable in copilot, or do without mail there."
    assert advice not in "\n".join(shown)
    assert advice in " ".join(line.strip() for line in shown)


def test_agents_fit_into_80_columns_and_say_it_all(user: User):
    about = "writes the server side; ask it about the interface, and about what is stored where and why"
    user.ok("join", "the-backend-of-the-shop", "--role", "builder", "--description", about)
    shown = on_terminal(user, "agents")
    assert too_wide(shown) == []
    assert "the-backend-of-the-shop" in shown[1]
    assert about in " ".join(line.strip() for line in shown)
    assert len(on_terminal(user, "agents", columns=200)) == 2


def test_what_is_doubted_of_an_agent_stands_below_it_where_lines_are_short(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    user.ok("join", "backend", "--role", "builder")
    with Living(user) as session:
        session.at("SessionStart")
        _, line, below = on_terminal(user, "agents", columns=70)
        assert "not proven" not in line
        assert below == "  route not proven · builder"
        assert "until its next prompt (route not proven)" in on_terminal(user, "agents", columns=200)[1]
