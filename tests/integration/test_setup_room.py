"""`postroom setup` where more is there than its own files: other rooms, plugins, reviews, live sessions."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from tests.commandline import is_told_well
from tests.configured import FILES, User
from tests.living import Living
from tests.repository import make_repository

RUNTIMES = [*FILES]
THEIRS = '{\n  "mine": 1,\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]}\n}\n'


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture
def other(user: User, tmp_path: Path) -> str:
    """The home of another room, at a place that a shell must be told with care."""
    return str(tmp_path / "it's other")


def configure(user: User, runtime: str) -> None:
    for path in FILES[runtime]:
        if path.endswith(".json") and "postroom" not in path:
            user.write(path, THEIRS)


@pytest.mark.promise("one-room")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_second_room_is_refused_and_both_are_named(user: User, other: str, runtime: str):
    configure(user, runtime)
    user.ok("setup", runtime, "--yes", "--home", other)
    before = user.tree()
    result = user("setup", runtime, "--yes")
    assert result.code == 5
    assert other in result.err
    assert str(user.room) in result.err
    assert f"postroom setup {runtime} --replace" in result.err
    assert is_told_well(result)
    assert user.tree() == before


@pytest.mark.promise("one-room")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_room_that_takes_anothers_place_is_undone_to_what_was_before_both(
    user: User, other: str, runtime: str
):
    configure(user, runtime)
    before = user.tree()
    user.ok("setup", runtime, "--yes", "--home", other)
    shown = user.ok("setup", runtime, "--replace", "--dry-run")
    assert f"the hooks of the room {other}" in shown.out
    user.ok("setup", runtime, "--yes", "--replace")
    texts = [user.read(path) for path in FILES[runtime]]
    assert all(str(other) not in text for text in texts)
    assert any(str(user.hook) in text for text in texts)
    assert "nothing to undo" in user.ok("setup", runtime, "--undo", "--yes", "--home", other).err
    user.ok("setup", runtime, "--undo", "--yes")
    assert user.tree() == before


@pytest.mark.promise("one-room")
def test_a_room_in_the_project_and_another_for_the_user_are_two(user: User, other: str):
    user.ok("setup", "claude", "--yes", "--home", other, "--scope", "project")
    result = user("setup", "claude", "--yes", "--json")
    assert result.code == 5
    problem = json.loads(result.err)
    assert (problem["other_room"], problem["scope"]) == (other, "project")
    assert "--scope project --undo" in problem["hint"]


def test_doctor_tells_of_another_room(user: User, other: str):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    text = user.read(".gemini/settings.json")
    user.ok("setup", "gemini", "--yes", "--undo")
    user.ok("setup", "gemini", "--yes", "--home", other)
    assert f"for another room, {other}" in user.ok("doctor", "gemini").out
    both = json.loads(text)
    for event, groups in json.loads(user.read(".gemini/settings.json"))["hooks"].items():
        both["hooks"][event] += groups
    user.write(".gemini/settings.json", json.dumps(both))
    user.ok("setup", "gemini", "--yes", "--undo", "--home", str(user.project / "none"))
    found = user("doctor", "gemini", "--json").json
    assert [each["home"] for each in found["runtimes"][0]["other_rooms"]] == [other]
    assert any("setup gemini --undo" in each["next"] for each in found["problems"])


# what Claude Code keeps of a plugin (2.1.325): `claude plugin marketplace add`, `install`, `disable`


def market(user: User, where: Path | str) -> None:
    known = {"postroom-local": {"source": {"source": "directory", "path": str(where)}}}
    user.write(".claude/plugins/known_marketplaces.json", json.dumps(known))


def install(user: User, *, enabled: bool = True) -> None:
    plugins = {"postroom@postroom-local": [{"scope": "user"}]}
    user.write(".claude/plugins/installed_plugins.json", json.dumps({"version": 2, "plugins": plugins}))
    settings = json.loads(user.read(".claude/settings.json"))
    settings["enabledPlugins"] = {"postroom@postroom-local": enabled}
    user.write(".claude/settings.json", json.dumps(settings))


ADD, INSTALL = "claude plugin marketplace add", "claude plugin install postroom@postroom-local"


def test_a_plugin_counts_as_set_up_when_claude_runs_it(user: User):
    user.install("claude")
    where = user.hook.parent / "plugin" / "claude"
    done = user.ok("setup", "claude", "--plugin", "--yes")
    assert "is written, and not installed yet" in done.err
    assert f"now run: {ADD} {where}" in done.err
    found = user("doctor", "claude")
    assert found.code == 1
    assert "as a plugin, which is not installed yet" in found.out
    assert f"{ADD} {where} && {INSTALL}" in found.out
    market(user, where)
    assert user.ok("setup", "claude", "--plugin", "--json").json["runtimes"][0]["left_to_do"] == [INSTALL]
    install(user, enabled=False)
    [enable] = user.ok("setup", "claude", "--plugin", "--json").json["runtimes"][0]["left_to_do"]
    assert enable == "claude plugin enable postroom@postroom-local"
    install(user)
    assert "set up: nothing to do" in user.ok("setup", "claude", "--plugin").err
    assert user.ok("doctor", "claude", "--json").json["runtimes"][0]["set_up"][0]["left"] == []
    undone = user.ok("setup", "claude", "--plugin", "--undo", "--yes").err
    assert "claude plugin uninstall postroom@postroom-local" in undone
    assert "claude plugin marketplace remove postroom-local" in undone


@pytest.mark.promise("one-room")
def test_a_plugin_of_another_room_is_for_its_user_to_uninstall(user: User, other: str):
    user.ok("setup", "claude", "--plugin", "--yes", "--home", other)
    market(user, f"{other}-hooks/plugin/claude")
    install(user)
    result = user("setup", "claude", "--yes", "--replace")
    assert result.code == 5
    assert "setup claude --plugin --undo" in result.err
    assert "--replace" not in result.err


# Codex keeps under its own name for a hook that its user has reviewed it


def reviewed(user: User, events: list[str], at: int = 0, path: Path | None = None) -> str:
    hooks = path or user.home / ".codex" / "hooks.json"
    tables = [f'\n[hooks.state."{hooks}:{each}:{at}:0"]\ntrusted_hash = "sha256:1"\n' for each in events]
    return "\n[hooks.state]\n" + "".join(tables)


EVENTS = ["session_start", "post_tool_use", "stop", "subagent_stop"]


@pytest.mark.promise("setup-undone")
@pytest.mark.parametrize("had", ["", 'model = "x"\n\n[tui]\na = 1\n'])
@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("again", [False, True])
def test_what_codex_keeps_of_our_hooks_goes_with_them(user: User, had: str, scope: str, again: bool):
    if had:
        user.write(".codex/config.toml", had)
    before = user.tree()
    user.ok("setup", "codex", "--yes", "--scope", scope)
    own = user.home / ".codex" / "config.toml"
    path = None if scope == "user" else user.project / ".codex" / "hooks.json"
    text = own.read_text(encoding="utf-8") if own.exists() else ""
    user.write(".codex/config.toml", text + reviewed(user, EVENTS, path=path))
    if again:
        user.hook.unlink()
        user.ok("setup", "codex", "--yes", "--scope", scope)
    user.ok("setup", "codex", "--undo", "--yes", "--scope", scope)
    after = dict(user.tree())
    if scope == "project" and not had:  # Codex has made it, not we
        assert own.read_text(encoding="utf-8").strip() == ""
        after = {key: value for key, value in after.items() if ".codex" not in key}
    assert after == before


def test_reviews_of_other_hooks_stay(user: User):
    user.write(".codex/hooks.json", '{"hooks": {"Stop": [{"hooks": []}]}}')
    user.ok("setup", "codex", "--yes")
    theirs = reviewed(user, ["stop", "pre_tool_use"])
    ours = reviewed(user, ["stop"], at=1).replace("\n[hooks.state]\n", "")
    user.write(".codex/config.toml", user.read(".codex/config.toml") + theirs + ours)
    user.ok("setup", "codex", "--undo", "--yes")
    assert user.read(".codex/config.toml") == theirs
    assert len(tomllib.loads(theirs)["hooks"]["state"]) == 2


# what lies beside the room


@pytest.mark.promise("setup-undone")
def test_with_the_last_runtime_goes_what_all_of_them_ran(user: User):
    user.ok("setup", "gemini", "--yes")
    user.ok("setup", "claude", "--yes")
    user.ok("hook", "gemini", "Nonsense")
    (user.hook.parent / "life" / "s").write_text("Stop\n", encoding="utf-8")
    user.ok("setup", "gemini", "--undo", "--yes")
    assert user.hook.exists()
    assert f"removed: {user.hook.parent}" in user.ok("setup", "claude", "--undo", "--yes").err
    assert not user.hook.parent.exists()
    assert user.room.exists()


def test_a_set_up_that_its_user_has_taken_out_by_hand_keeps_nothing_there(user: User):
    user.ok("setup", "gemini", "--yes")
    (user.home / ".gemini" / "settings.json").unlink()
    assert "nothing to undo" in user.ok("setup", "gemini", "--undo").err
    assert not user.hook.parent.exists()


def test_what_somebody_else_put_there_stays(user: User):
    user.ok("setup", "gemini", "--yes")
    (user.hook.parent / "mine").write_text("", encoding="utf-8")
    told = user.ok("setup", "gemini", "--undo", "--yes").err
    assert os.listdir(user.hook.parent) == ["mine"]
    assert f"removed: all that hooks ran and wrote in {user.hook.parent}" in told


def test_it_stays_while_hooks_are_wired_of_which_no_record_is_left(user: User):
    user.ok("setup", "gemini", "--yes")
    user.ok("setup", "claude", "--yes")
    (user.hook.parent / "setup" / "claude.user.json").unlink()
    user.ok("setup", "gemini", "--undo", "--yes")
    assert user.hook.exists()


def test_it_stays_while_a_session_may_run_it(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    with Living(user) as session:
        session.at("SessionStart")
        told = user.ok("setup", "gemini", "--undo", "--yes").err
        assert "stays: hooks may still run from it, of p/backend" in told
        assert user.hook.exists()
    told = user.ok("setup", "--undo").err
    assert "removed: " in told
    assert "nothing to undo" not in told
    assert not user.hook.parent.exists()


def test_who_only_looks_keeps_nothing_there(user: User):
    user.ok("setup", "gemini", "--yes")
    user.ok("join", "backend")
    user.ok("hook", "plain", "--as", "backend")
    assert "removed: " in user.ok("setup", "gemini", "--undo", "--yes").err
    assert not user.hook.parent.exists()


@pytest.mark.promise("setup-undone")
def test_sessions_whose_hooks_are_taken_out_are_not_said_to_run(user: User):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes")
    with Living(user) as session:
        session.at("SessionStart")
        ref = user.ok("send", "backend", "hi", "--as", "planner", "--quiet").out.strip()
        session.at("BeforeAgent")
        assert state(user, ref) == "offered"
        told = user.ok("setup", "gemini", "--undo", "--yes").err
        assert "so their mail waits: p/backend\n" in told
        assert "restart Gemini CLI" in told
        assert state(user, ref) == "stored"
        found = user.ok("agents", "--json").json["agents"]
        [backend] = [each for each in found if each["name"] == "backend"]
        assert backend["sessions"] == []


def test_sessions_stay_while_their_runtime_is_wired_elsewhere(user: User, tmp_path: Path):
    user.install("gemini")
    user.ok("setup", "gemini", "--yes", "--scope", "project")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    make_repository(elsewhere)
    here, user.project = user.project, elsewhere
    user.ok("setup", "gemini", "--yes", "--scope", "project")
    user.write(".gemini/settings.json", (here / ".gemini" / "settings.json").read_text(encoding="utf-8"))
    with Living(user) as session:
        session.at("SessionStart")
        (user.home / ".gemini" / "settings.json").unlink()
        [undone] = user.ok("setup", "gemini", "--undo", "--yes", "--json").json["runtimes"]
    assert (undone["scope"], undone["ended"]) == ("project", [])


def state(user: User, ref: str) -> str:
    [delivery] = user.ok("receipts", ref, "--json").json["deliveries"]
    return delivery["state"]


# what is undone


@pytest.mark.promise("setup-undone")
@pytest.mark.parametrize("words", [["setup", "--undo"], ["setup", "claude", "--undo"]])
@pytest.mark.parametrize("how", [["--scope", "project"], ["--plugin"], []])
def test_undoing_takes_all_that_applies_here(user: User, words: list[str], how: list[str]):
    before = user.tree()
    user.ok("setup", "claude", "--yes", *how)
    user.ok(*words, "--yes")
    assert user.tree() == before
    assert not user.hook.parent.exists()


def test_what_is_set_up_for_another_project_is_told_with_what_undoes_it(user: User, tmp_path: Path):
    user.ok("setup", "claude", "--yes", "--scope", "project")
    there, user.project = user.project, tmp_path / "elsewhere"
    user.project.mkdir()
    make_repository(user.project)
    told = user.ok("setup", "--undo", "--yes").err
    assert f"  cd {there} && postroom setup claude --scope project --undo\n" in told
    assert (there / ".claude" / "settings.local.json").exists()


@pytest.mark.parametrize(
    ("runtime", "path", "content"),
    [
        ("codex", ".codex/config.toml", "a = " + "[" * 5000 + "]" * 5000),
        ("codex", ".codex/hooks.json", '{"a":' * 5000 + "1" + "}" * 5000),
        ("claude", ".claude/settings.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("claude", ".claude.json", "[" * 100_000),
        ("gemini", ".gemini/trustedFolders.json", "[" * 100_000),
    ],
)
def test_what_is_nested_without_end_is_told_and_nothing_is_written(
    user: User, runtime: str, path: str, content: str
):
    user.install(runtime)
    if path not in FILES[runtime]:
        user.ok("setup", runtime, "--yes")
    user.write(path, content)
    before = user.tree()
    result = user("setup", runtime, "--yes")
    if path in FILES[runtime]:
        assert result.code == 1
        assert f"{user.home}/{path}: it is nested too deep" in result.err
        assert is_told_well(result)
    assert user.tree() == before
    [found] = user("doctor", runtime, "--json").json["runtimes"]
    assert found["trusted"] is None
