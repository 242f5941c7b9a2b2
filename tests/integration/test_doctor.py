"""`postroom doctor`: what it finds of each runtime, and the canary that proves it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import host
from postroom.cli.context import Context
from postroom.room.reach import is_proven
from postroom.room.trial import Trial, record, trial
from postroom.runtimes import NAMES
from postroom.setup import canary, installed
from tests.commandline import CommandLine
from tests.configured import User
from tests.living import Living
from tests.player import Player
from tests.process import BOUND, until

# A runtime of ours: it runs the hooks of its settings as Claude Code does, and asks no model.
RUNS_HOOKS = f"""exec {sys.executable} - "$@" <<'END'
import json, os, subprocess, sys
if "--version" in sys.argv:
    sys.exit(print("9.8.7 (Fake Code)"))
with open(os.path.expanduser("~/.claude/settings.json")) as file:
    hooks = json.load(file)["hooks"]
for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
    facts = {{"session_id": "s", "cwd": os.getcwd(), "source": "startup", "prompt": "x"}}
    for command in hooks[event][0]["hooks"]:
        subprocess.run(["sh", "-c", command["command"]], input=json.dumps(facts).encode(), check=True)
END"""
SKIPS_HOOKS = 'if [ "$1" = --version ]; then echo 9.8.7; else echo OK; fi'
FAILS = 'if [ "$1" = --version ]; then echo 9.8.7; else echo no key >&2; exit 7; fi'


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def examined(user: User, *argv: str) -> dict[str, object]:
    return json.loads(user("doctor", "--json", *argv).out)


def test_nothing_set_up_is_nothing_wrong(user: User):
    told = user.ok("doctor").out
    assert "No agent CLI was found" in told
    assert all(name in told for name in NAMES)
    assert "postroom spawn NAME -- CMD" in told
    user.install("gemini")
    text = user.ok("doctor").out
    assert "Gemini CLI 1.2.3" in text
    assert "no: postroom setup gemini" in text
    assert "There is no room yet" in text


def test_what_is_set_up_is_told_with_its_version_and_scope(user: User):
    user.install("gemini", "echo v0.61.0")
    user.ok("setup", "gemini", "--yes")
    [found] = user.ok("doctor", "gemini", "--json").json["runtimes"]
    assert (found["version"], found["path"]) == ("0.61.0", str(user.bin / "gemini"))
    assert [(each["scope"], each["current"]) for each in found["set_up"]] == [("user", True)]
    assert found["trusted"] is False
    assert found["proven"] is None
    text = user.ok("doctor").out
    assert "never tried: postroom doctor gemini --live" in text


@pytest.mark.promise("doctor")
def test_a_set_up_of_another_version_is_a_problem_with_its_remedy(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    user.write(".gemini/settings.json", user.read(".gemini/settings.json").replace("10000", "9"))
    result = user("doctor")
    assert result.code == 1
    assert "postroom setup gemini\n" in result.out
    user.ok("setup", "gemini", "--yes")
    user.ok("doctor")


@pytest.mark.promise("doctor")
def test_a_program_that_runs_another_installation_is_told_and_mended(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    hook = user.hook
    hook.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    result = user("doctor", "--json")
    assert result.code == 1
    assert result.json["room"]["hook"]["state"] == "outdated"
    assert [each["next"] for each in result.json["problems"]] == ["postroom doctor --fix"]
    assert f"mended: the program that all hooks run, {hook}" in user.ok("doctor", "--fix").err
    assert "nothing to mend" in user.ok("doctor", "--fix").err
    hook.unlink()
    assert user("doctor").code == 1
    assert "nothing to do" not in user.ok("setup", "gemini", "--yes").err
    user.ok("doctor")


@pytest.mark.promise("doctor")
def test_what_helps_names_the_room_it_is_for(user: User, tmp_path: Path):
    there = ("--home", str(tmp_path / "other"))
    call = f"postroom {' '.join(there)}"
    assert f"makes it: {call} setup\n" in user.ok("doctor", *there).out
    user.ok("join", "builder", *there)
    assert f"nothing to prove: {call} setup\n" in user("doctor", "--live", *there).err
    for wrong in (["gemini", "--plugin"], ["gemini", "--allow"]):
        assert f"Try: {call} setup gemini\n" in user("setup", *wrong, *there).err
    assert f"Try: {call} setup claude --plugin\n" in user("setup", "--plugin", *there).err


@pytest.mark.promise("doctor")
def test_what_is_set_up_and_not_installed_is_a_problem(user: User):
    user.ok("setup", "gemini", "--yes")
    result = user("doctor")
    assert result.code == 1
    assert "postroom setup gemini --undo" in result.out


@pytest.mark.promise("doctor")
def test_codex_skips_hooks_until_they_were_reviewed(user: User):
    user.install("codex")
    user.log_in()
    user.ok("setup", "codex", "--yes")
    result = user("doctor", "codex")
    assert result.code == 1
    assert "have not been reviewed" in result.out
    assert result.out.count("review the hooks") == 1
    path = f"{user.home}/.codex/hooks.json"
    events = [
        "session_start", "user_prompt_submit", "post_tool_use", "stop", "subagent_start", "subagent_stop",
        "permission_request", "session_end",
    ]  # fmt: skip
    trust = "".join(f'[hooks.state."{path}:{each}:0:0"]\ntrusted_hash = "sha256:1"\n' for each in events)
    user.write(".codex/config.toml", user.read(".codex/config.toml") + trust)
    [found] = user.ok("doctor", "codex", "--json").json["runtimes"]
    assert found["trusted"] is True
    assert found["set_up"][0]["sandbox"] is True


@pytest.mark.parametrize(("trusts", "wanted"), [("project", True), ("above", True), ("elsewhere", False)])
def test_claude_trusts_a_directory_and_all_below_it(user: User, trusts: str, wanted: bool):
    user.install("claude")
    user.ok("setup", "claude", "--yes")
    where = {"project": user.project, "above": user.project.parent, "elsewhere": user.bin}[trusts]
    user.write(".claude.json", json.dumps({"projects": {str(where): {"hasTrustDialogAccepted": True}}}))
    [found] = user.ok("doctor", "claude", "--json").json["runtimes"]
    assert found["trusted"] is wanted
    user.write(".claude.json", "damaged")
    [found] = user.ok("doctor", "claude", "--json").json["runtimes"]
    assert found["trusted"] is None


def test_what_hooks_complained_about_is_shown(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    assert user.ok("hook", "gemini", "Nonsense").out == ""
    text = user.ok("doctor").out
    assert "gemini has no event 'Nonsense'" in text


@pytest.mark.promise("doctor")
def test_a_canary_that_the_hooks_show_proves_the_route(user: User):
    user.install("claude", RUNS_HOOKS)
    user.ok("setup", "claude", "--yes")
    done = user.ok("doctor", "claude", "--live", PATH=f"{user.bin}:{os.environ['PATH']}")
    assert "Asking your model once, by Claude Code: " in done.err
    assert f"{user.bin}/claude -p 'Postroom check" in done.err
    assert "proven (boundary)" in done.out
    found = trial(str(user.room), "claude")
    assert found is not None
    assert (found.ok, found.version, found.evidence) == (True, "9.8.7", "boundary")
    assert "yes, by boundary (9.8.7" in user.ok("doctor", "claude").out
    assert "doctor-claude" not in user.ok("agents").out


@pytest.mark.promise("doctor")
def test_a_canary_sings_for_itself_whatever_token_its_caller_has(user: User):
    user.install("claude", RUNS_HOOKS)
    user.ok("setup", "claude", "--yes")
    user.ok("join", "worker")
    token = user.ok("tokens", "issue", "worker", "--json").json["token"]
    path = f"{user.bin}:{os.environ['PATH']}"
    assert "proven (boundary)" in user.ok("doctor", "claude", "--live", PATH=path, POSTROOM_TOKEN=token).out
    assert [one["address"] for one in user.ok("agents", "--json").json["agents"]] == ["p/worker"]
    assert user.ok("sent", "--as", "worker", "--json").json["messages"] == []


@pytest.mark.promise("doctor")
def test_a_canary_sings_for_itself_in_the_shell_of_an_agent(user: User):
    user.install("claude", RUNS_HOOKS)
    user.ok("setup", "claude", "--yes")
    path = f"{user.bin}:{os.environ['PATH']}"
    with Player(str(user.room), str(user.project), runtime="codex", POSTROOM_AGENT="backend") as player:
        player.hook("SessionStart", source="startup")
        seen = player.shell(
            "doctor", "claude", "--live", HOME=str(user.home), PATH=path, CODEX_THREAD_ID="s1"
        )
        assert seen.code == 0, seen
    assert "proven (boundary)" in seen.out


def test_a_canary_is_let_through_where_routes_are_strict(user: User):
    user.install("claude", RUNS_HOOKS)
    user.ok("setup", "claude", "--yes")
    path = f"{user.bin}:{os.environ['PATH']}"
    user.ok("doctor", "claude", "--live", PATH=path, POSTROOM_ROUTES="strict")


def test_a_canary_leaves_the_project_its_directory(user: User):
    user.install("claude", RUNS_HOOKS)
    user.ok("setup", "claude", "--yes")
    path = f"{user.bin}:{os.environ['PATH']}"
    user.ok("doctor", "claude", "--live", PATH=path, POSTROOM_PROJECT="")
    assert user.ok("projects", "--json", POSTROOM_PROJECT="").json["projects"][0]["root"] == str(user.project)


@pytest.mark.promise("doctor")
@pytest.mark.parametrize(
    ("script", "why"), [(SKIPS_HOOKS, "no hook has run"), (FAILS, "it ended with 7: no key")]
)
def test_a_canary_that_is_not_seen_is_recorded_as_failed(user: User, script: str, why: str):
    user.install("claude", script)
    user.ok("setup", "claude", "--yes")
    result = user("doctor", "claude", "--live")
    assert result.code == 1
    assert why in result.out
    found = trial(str(user.room), "claude")
    assert found is not None
    assert (found.ok, found.why) == (False, why)
    assert user("doctor", "claude").code == 1  # until it was proven


@pytest.mark.promise("doctor")
def test_a_live_session_proves_its_route_by_having_seen_it_and_not_before(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    env = {"HOME": str(user.home), "PATH": f"{user.bin}:{os.environ['PATH']}"}
    with Living(user) as session:
        session.at("SessionStart")
        told = user("doctor", "gemini", "--live", "--timeout", "50ms")
        assert told.code == 1
        assert "not tried: p/backend was at no event" in told.out
        assert trial(str(user.room), "gemini") is None
        with CommandLine(str(user.room)).start("doctor", "gemini", "--live", env=env) as doctor:
            until(lambda: len(user.ok("inbox", "--as", "backend", "--json").json["messages"]) == 2)
            session.at("BeforeAgent")
            session.at("AfterAgent")
            assert doctor.wait(BOUND) == 0
    found = trial(str(user.room), "gemini")
    assert found is not None
    assert (found.ok, found.evidence) == (True, "boundary")


@pytest.mark.promise("doctor")
def test_a_live_session_that_was_shown_it_and_never_proves_it_has_failed(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    env = {"HOME": str(user.home), "PATH": f"{user.bin}:{os.environ['PATH']}"}
    words = ("doctor", "gemini", "--live", "--timeout", "4s")
    with Living(user) as session:
        session.at("SessionStart")
        with CommandLine(str(user.room)).start(*words, env=env) as doctor:
            until(lambda: user.ok("inbox", "--as", "backend", "--json").json["messages"])
            session.at("BeforeAgent")
            assert doctor.wait(BOUND) == 1
    found = trial(str(user.room), "gemini")
    assert found is not None
    assert (found.ok, found.why) == (False, "p/backend has not seen it within 4 s")


def test_nothing_is_proven_of_what_is_not_set_up(user: User):
    user.install("claude", RUNS_HOOKS)
    assert user("doctor", "--live").code == 3
    user.ok("join", "builder")
    nothing = user("doctor", "--live")
    assert nothing.code == 1
    assert "nothing to prove" in nothing.err
    user.ok("setup", "gemini", "--yes")
    one = user("doctor", "claude", "--live")
    assert one.code == 1
    assert "not tried: it is not set up" in one.out
    assert trial(str(user.room), "claude") is None


@pytest.mark.promise("doctor")
@pytest.mark.parametrize("what", ["not reviewed", "entries missing", "program missing", "not installed"])
def test_no_model_is_asked_where_no_hook_can_run(user: User, what: str):
    runtime = "codex" if what == "not reviewed" else "claude"
    runs = f"echo run >{user.home}/runs"
    user.install(runtime, f'case "$1" in --version) echo 9.8.7;; sandbox) exit 1;; *) {runs};; esac')
    user.ok("setup", runtime, "--yes", *(["--plugin"] if what == "not installed" else []))
    if what == "entries missing":
        document = json.loads(user.read(".claude/settings.json"))
        del document["hooks"]["SessionStart"]
        user.write(".claude/settings.json", json.dumps(document))
    elif what == "program missing":
        user.hook.unlink()
    result = user("doctor", runtime, "--live")
    assert result.code == 1
    assert "canary    not tried: " in result.out
    assert "Asking your model" not in result.err
    assert not (user.home / "runs").exists()
    assert trial(str(user.room), runtime) is None


@pytest.mark.promise("doctor")
def test_what_another_version_has_proven_is_not_proven(user: User):
    path = f"{user.bin}:{os.environ['PATH']}"
    user.install("claude", RUNS_HOOKS)
    user.ok("setup", "claude", "--yes")
    user.ok("doctor", "claude", "--live", PATH=path)
    assert is_proven(str(user.room), "claude")
    user.install("claude", RUNS_HOOKS)  # put there anew, and the same
    assert not is_proven(str(user.room), "claude")
    user.ok("doctor", "claude", PATH=path)
    assert is_proven(str(user.room), "claude")
    user.install("claude", RUNS_HOOKS.replace("9.8.7", "9.9.0"))
    told = user.ok("doctor", "claude", PATH=path)
    assert "proven with 9.8.7, now 9.9.0: postroom doctor claude --live" in told.out
    [found] = user.ok("doctor", "claude", "--json", PATH=path).json["runtimes"]
    assert (found["proven"]["ok"], found["proven"]["was_ok"]) == (False, True)
    assert not is_proven(str(user.room), "claude")
    user.ok("doctor", "claude", "--live", PATH=path)
    assert is_proven(str(user.room), "claude")


def test_a_run_that_takes_long_is_told_of(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(canary, "_STEP", 1)
    monkeypatch.setattr(canary, "_PATIENCE", 2)
    user.install("claude", 'if [ "$1" = --version ]; then echo 9.8.7; else exec sleep 600; fi')
    user.ok("setup", "claude", "--yes")
    result = user("doctor", "claude", "--live", PATH=f"{user.bin}:{os.environ['PATH']}")
    assert result.code == 1
    assert "  1 s, and it has not ended; it may take 2 s" in result.err
    assert "it did not end within 2 s" in result.out


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM; "])
def test_nothing_of_a_run_that_takes_too_long_is_left(
    user: User, stubborn: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("_STEP", "_PATIENCE", "_GRACE"):
        monkeypatch.setattr(canary, name, 1)
    pid = user.home / "pid"
    real = f"sh -c '{stubborn}echo $$ >{pid}; exec sleep 60'".replace("''", '""')
    user.install("claude", f'if [ "$1" = --version ]; then echo 9.8.7; else {real}; echo wrapped; fi')
    user.ok("setup", "claude", "--yes")
    assert user("doctor", "claude", "--live", PATH=f"{user.bin}:{os.environ['PATH']}").code == 1
    until(lambda: host.is_gone(host.identity_of(int(pid.read_text(encoding="ascii")))))


def test_who_interrupts_a_run_ends_it(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(canary, "_STEP", 1)
    pid = user.home / "pid"
    real = f"echo $$ >{pid}; exec sleep 60"
    user.install("claude", f'if [ "$1" = --version ]; then echo 9.8.7; else {real}; fi')
    user.ok("setup", "claude", "--yes")

    def interrupt(_: Context, text: str) -> None:
        if "has not ended" in text:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Context, "note", interrupt)
    assert user("doctor", "claude", "--live", PATH=f"{user.bin}:{os.environ['PATH']}").code == 130
    until(lambda: host.is_gone(host.identity_of(int(pid.read_text(encoding="ascii")))))


@pytest.mark.promise("doctor")
def test_an_agent_whose_shell_would_not_find_postroom_is_told_of(user: User):
    user.install("gemini")
    assert "on your PATH" not in user.ok("setup", "gemini", "--yes").err
    (user.bin / "postroom").unlink()
    user.ok("setup", "gemini", "--undo", "--yes")
    assert "postroom is not on your PATH" in user.ok("setup", "gemini", "--yes").err
    result = user("doctor")
    assert result.code == 1
    assert "postroom is not on your PATH" in result.out
    assert "export PATH=" in result.out


@pytest.mark.promise("doctor")
@pytest.mark.parametrize(
    ("shell", "profile"), [("sh", ".profile"), ("bash", ".profile"), ("bash", ".bash_profile")]
)
def test_a_command_that_only_terminals_find_is_told_where_tools_run_in_a_login_shell(
    user: User, shell: str, profile: str
):
    user.install("codex")
    user.write(".bashrc", f'export PATH="{user.bin}:$PATH"\n')
    if profile == ".bash_profile":
        user.write(profile, "")
    path = {"SHELL": f"/bin/{shell}"}
    helps = f"echo 'export PATH=\"{user.bin}:$PATH\"' >>~/{profile}"
    told = user.ok("setup", "codex", "--yes", **path).err
    assert "does not find postroom" in told
    assert helps in told
    result = user("doctor", "codex", **path)
    assert result.code == 1
    assert helps in result.out
    subprocess.run(["sh", "-c", helps], env={"HOME": str(user.home)}, check=True)
    assert "does not find" not in user("doctor", "codex", **path).out
    assert "does not find" not in user.ok("setup", "codex", "--yes", **path).err
    user.install("gemini")
    (user.home / profile).unlink()
    assert "does not find" not in user.ok("setup", "gemini", "--yes", **path).err


def test_a_login_shell_that_does_not_come_to_an_end_is_not_waited_for(
    user: User, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(installed, "_PATIENCE", 0.2)
    user.install("codex")
    user.write(".profile", "exec sleep 1000\n")
    assert "is set up" in user.ok("setup", "codex", "--yes").err


@pytest.mark.parametrize("words", [["--live"], ["goose", "--live"]])
def test_what_cannot_be_tried_is_no_failure_and_not_advised(user: User, words: list[str]):
    user.install("goose")
    user.ok("setup", "goose", "--yes")
    assert "--live" not in user.ok("doctor").out
    assert "not tried: " in user.ok("doctor", *words).out


def test_several_are_examined_by_their_names_and_their_remarks_are_told(user: User):
    for name in ("gemini", "qwen", "copilot"):
        user.install(name)
        user.ok("setup", name, "--yes")
    told = user.ok("doctor", "qwen", "copilot")
    assert "Gemini" not in told.out
    assert "--input-file FILE" in told.out
    assert "--experimental" in told.out
    found = user.ok("doctor", "qwen", "copilot", "--json").json["runtimes"]
    assert [each["runtime"] for each in found] == ["qwen", "copilot"]


def test_what_a_session_was_sent_and_has_seen_proves_its_route(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    with Living(user) as session:
        session.at("SessionStart")
        user.ok("send", "backend", "hi", "--as", "planner")
        assert "never tried" in user.ok("doctor", "gemini").out
        for event in ("BeforeAgent", "AfterAgent"):
            session.at(event)
        assert "proven    yes, by mail that p/backend has seen" in user.ok("doctor", "gemini").out
        [found] = user.ok("doctor", "gemini", "--json").json["runtimes"]
        assert (found["proven"], found["proven_by_mail"]) == (None, ["p/backend"])


def test_a_runtime_without_hooks_is_told_with_what_to_do(user: User):
    user.install("aider")
    told = user.ok("doctor", "aider").out
    assert "set up    cannot be." in told
    assert "/run postroom hook plain --as NAME" in told
    assert "postroom setup aider" not in told


def test_complaints_are_of_the_runtime_asked_for_and_of_the_last_day(user: User):
    user.install("gemini")
    user.install("claude")
    user.ok("setup", "gemini", "--yes")
    user.ok("hook", "gemini", "Nonsense")
    log = user.hook.parent / "hook.log"
    old = log.read_text(encoding="utf-8").replace("Nonsense", "Older").replace("20", "19", 1)
    log.write_text(old + log.read_text(encoding="utf-8"), encoding="utf-8")
    told = user.ok("doctor", "gemini").out
    assert "Nonsense" in told
    assert "Older" not in told
    assert "Nonsense" not in user.ok("doctor", "claude").out


def test_what_was_proven_is_remembered_by_runtime(home: str):
    assert trial(home, "claude") is None
    record(home, "claude", Trial(True, "1.0", "2026-11-16T00:00:00.000Z", "transcript"))
    assert trial(home, "claude") == Trial(True, "1.0", "2026-11-16T00:00:00.000Z", "transcript")
    assert trial(home, "codex") is None
    Path(home, "run", "proven", "claude.json").write_text("[]", encoding="utf-8")
    assert trial(home, "claude") is None
