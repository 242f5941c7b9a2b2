"""`postroom setup` and `postroom doctor --live` with real agents: the model was asked with the canary."""

import json
import os
from typing import Any

import pytest

from tests.agents.conftest import MakeRig
from tests.agents.desk import BIN
from tests.agents.log import until
from tests.agents.rig import Rig
from tests.agents.terminal import Terminal

POSTROOM = os.path.join(BIN, "postroom")
CANARY = "This is a check by postroom doctor"
SILENT = ("claude", "gemini", "qwen", "copilot", "opencode")  # which need no review of hooks


def environment(rig: Rig) -> Any:
    """The agent on the path, under its own name."""
    directory = os.path.join(rig.place.root, "bin")
    if not os.path.exists(directory):
        os.mkdir(directory)
        os.symlink(rig.program, os.path.join(directory, rig.cli.name))
    return {"PATH": f"{directory}:{BIN}:{rig.env['PATH']}"}


def set_up(rig: Rig) -> None:
    rig.place.write(".profile", f'export PATH="{BIN}:$PATH"\n')  # as set-up tells a user of Codex to
    done = rig.command(POSTROOM, "setup", rig.cli.name, "--yes", **environment(rig))
    assert done.code == 0, done


def canary(rig: Rig) -> tuple[int, dict[str, Any]]:
    done = rig.command(POSTROOM, "doctor", rig.cli.name, "--live", "--json", bound=300.0, **environment(rig))
    [found] = json.loads(done.out)["runtimes"]
    return done.code, found


@pytest.mark.parametrize("name", SILENT)
def test_a_canary_reaches_the_model(make_rig: MakeRig, name: str) -> None:
    rig = make_rig(name)
    set_up(rig)
    code, found = canary(rig)
    assert code == 0, found
    assert found["proven"]["ok"] is True
    assert rig.log.arrival(CANARY)


def test_codex_is_not_believed_before_its_hooks_were_reviewed(make_rig: MakeRig) -> None:
    rig = make_rig("codex")
    rig.cli = rig.cli._replace(interactive=())
    set_up(rig)
    code, found = canary(rig)
    assert (code, found["trusted"], found["proven"]) == (1, False, None)
    assert "have not been reviewed" in found["tried"]
    assert not rig.log.requests()  # no model was asked
    with rig.terminal() as terminal:
        _trust_all(terminal)
    code, found = canary(rig)
    assert (code, found["trusted"], found["proven"]["ok"]) == (0, True, True), found
    assert rig.log.arrival(CANARY)
    assert "hooks.json:" in _config(rig)
    done = rig.command(POSTROOM, "setup", "codex", "--undo", "--yes", **environment(rig))
    assert done.code == 0, done
    assert "hooks" not in _config(rig)  # nothing is left of the review


def test_codex_is_said_to_lack_a_command_that_its_login_shell_does_not_find(make_rig: MakeRig) -> None:
    rig = make_rig("codex")
    set_up(rig)
    assert _sandbox(rig) == ("stores", [])
    os.unlink(os.path.join(rig.place.home, ".profile"))
    verdict, problems = _sandbox(rig)
    assert (verdict, len(problems)) == ("fails", 1)


def _sandbox(rig: Rig) -> tuple[str, list[str]]:
    """What becomes of mail in its sandbox, and what is said of the command that would send it."""
    done = rig.command(POSTROOM, "doctor", "codex", "--json", **environment(rig))
    [found] = json.loads(done.out)["runtimes"]
    return found["sandbox"]["verdict"], [
        each["what"] for each in found["problems"] if "does not find postroom" in each["what"]
    ]


def _config(rig: Rig) -> str:
    with open(os.path.join(rig.place.home, ".codex", "config.toml"), encoding="utf-8") as file:
        return file.read()


def _trust_all(terminal: Terminal) -> None:
    terminal.wait_screen("Trust all")
    terminal.press("2")
    terminal.press("Enter")
    terminal.wait_screen("Ask Codex")


def test_the_plugin_of_claude_is_valid_and_shows_mail(make_rig: MakeRig) -> None:
    rig = make_rig("claude")
    env = environment(rig)
    done = rig.command(POSTROOM, "setup", "claude", "--plugin", "--yes", "--json", **env)
    [report] = json.loads(done.out)["runtimes"]
    assert len(report["left_to_do"]) == 2
    code, found = canary(rig)
    assert (code, found["set_up"][0]["left"], found["proven"]) == (1, report["left_to_do"], None)
    for step in report["left_to_do"]:
        done = rig.command("sh", "-c", step, **env)
        assert done.code == 0, done
    code, found = canary(rig)
    assert (code, found["set_up"][0]["left"], found["proven"]["ok"]) == (0, [], True), found
    assert rig.log.arrival(CANARY)
    done = rig.command(POSTROOM, "setup", "claude", "--plugin", "--undo", "--yes", "--json", **env)
    [report] = json.loads(done.out)["runtimes"]
    assert len(report["left_to_do"]) == 2
    for step in report["left_to_do"]:
        done = rig.command("sh", "-c", step, **env)
        assert done.code == 0, done
    done = rig.command(POSTROOM, "setup", "claude", "--plugin", "--undo", "--json", **env)
    assert json.loads(done.out)["runtimes"][0]["left_to_do"] == []


def test_aider_is_shown_its_mail_by_the_command_that_doctor_names(make_rig: MakeRig) -> None:
    rig = make_rig("aider")
    env = environment(rig)
    words = ("--home", os.path.join(rig.place.home, "room"))
    for command in (["join", "backend"], ["send", "backend", "THE-MAIL", "--as", "human:ana"]):
        done = rig.command(POSTROOM, *command, *words, **env)
        assert done.code == 0, done
    with rig.terminal() as terminal:
        terminal.wait_idle()
        terminal.submit(f"/run {POSTROOM} hook plain --as backend {' '.join(words)}")
        terminal.wait_screen("THE-MAIL")
        terminal.wait_idle()
        terminal.submit("[[say BYE]]")
        until(lambda: any("THE-MAIL" in each.text for each in rig.log.requests()))
