"""`postroom setup --mcp`: an agent CLI is told to start the server of our tools, and of nothing else."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import is_told_well
from tests.configured import User

# Where each runtime reads of MCP servers: for a user, for a project, and the names above ours.
PLACES = {
    "claude": (".claude.json", None, ("mcpServers",)),
    "codex": (".codex/config.toml", ".codex/config.toml", ("mcp_servers",)),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", ("mcpServers",)),
    "qwen": (".qwen/settings.json", ".qwen/settings.json", ("mcpServers",)),
    "opencode": (".config/opencode/opencode.json", "opencode.json", ("mcp",)),
    "copilot": (".copilot/mcp-config.json", ".github/mcp.json", ("mcpServers",)),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", ("mcpServers",)),
}
RUNTIMES = [*PLACES]
HAD = {
    "json": '{\n    "mine": 1.50,\n    "mcpServers": {"x": {"command": "x"}},\n    "mcp": {}, "z": "é"\n}\n',
    "toml": 'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n[z]\na = 1\n',
}


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def had(user: User, runtime: str) -> Path:
    path = PLACES[runtime][0]
    return user.write(path, HAD[path.rpartition(".")[2]])


def document(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def entry(user: User, runtime: str) -> Any:
    path, _, names = PLACES[runtime]
    found = document(user.home / path)
    for name in (*names, "postroom"):
        found = found.get(name, {})
    return found


@pytest.mark.promise("tools-set-up")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("scope", ["user", "project"])
def test_undoing_leaves_every_byte_as_it_was(user: User, runtime: str, is_there: bool, scope: str):
    if is_there:
        had(user, runtime)
    before = user.tree()
    user.ok("setup", runtime, "--mcp", "--yes", "--scope", scope)
    again = user.tree()
    assert again != before
    assert "nothing to" in user.ok("setup", runtime, "--mcp", "--scope", scope).err
    assert user.tree() == again
    user.ok("setup", runtime, "--mcp", "--undo", "--yes", "--scope", scope)
    assert user.tree() == before


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_it_starts_this_installation_for_this_room_and_what_the_user_had_stays(user: User, runtime: str):
    path = had(user, runtime)
    mine = document(path)
    user.ok("setup", runtime, "--mcp", "--yes")
    found = entry(user, runtime)
    command = found["command"] if isinstance(found["command"], list) else [found["command"], *found["args"]]
    assert command == [str(user.bin / "postroom"), "mcp"]
    assert (found.get("env") or found["environment"]) == {"POSTROOM_HOME": str(user.room)}
    now = document(path)
    now[PLACES[runtime][2][0]].pop("postroom")
    assert now == mine
    assert not user.hook.exists(), "no hook is needed"


@pytest.mark.promise("setup-shown")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nothing_is_written_before_it_was_shown_and_agreed_to(user: User, runtime: str):
    had(user, runtime)
    before = user.tree()
    assert f"+++ {user.home / PLACES[runtime][0]}" in user.ok("setup", runtime, "--mcp", "--dry-run").out
    asked = user("setup", runtime, "--mcp")
    assert asked.code == 2
    assert is_told_well(asked)
    assert user.tree() == before


@pytest.mark.promise("setup-undone")
@pytest.mark.parametrize("runtime", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("first", [(), ("--mcp",)])
@pytest.mark.parametrize("gone", [("--mcp",), ()])
def test_hooks_and_tools_in_one_file_come_and_go_in_any_order(
    user: User, runtime: str, is_there: bool, first: tuple[str, ...], gone: tuple[str, ...]
):
    if is_there:
        had(user, runtime)
    before = user.tree()
    user.ok("setup", runtime, "--yes", *first)
    user.ok("setup", runtime, "--yes", *(() if first else ("--mcp",)))
    user.ok("setup", runtime, "--undo", "--yes", *gone)  # the tools, or both
    if gone:
        assert user.hook.exists()
        assert not entry(user, runtime) if (user.home / PLACES[runtime][0]).exists() else True
        user.ok("setup", runtime, "--undo", "--yes")
    assert user.tree() == before


def test_hooks_that_are_set_up_again_leave_the_tools_alone(user: User):
    before = user.tree()
    user.ok("setup", "gemini", "--mcp", "--yes")
    user.ok("setup", "gemini", "--yes")
    user.write(".gemini/settings.json", user.read(".gemini/settings.json").replace("AfterTool", "AfterTools"))
    user.ok("setup", "gemini", "--yes")
    assert entry(user, "gemini")
    user.ok("setup", "gemini", "--undo", "--yes")
    assert user.tree() == before


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_the_user_wrote_since_stays(user: User, runtime: str):
    path = had(user, runtime)
    user.ok("setup", runtime, "--mcp", "--yes")
    theirs = {".toml": "\n[later]\nx = 1\n", ".json": ""}[path.suffix]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("1.50", "2.50") + theirs, encoding="utf-8")
    user.ok("setup", runtime, "--undo", "--yes")
    wanted = HAD[path.suffix[1:]].replace("1.50", "2.50")
    assert document(path) == (tomllib.loads(wanted + theirs) if theirs else json.loads(wanted))


def test_what_codex_has_noted_of_our_tools_goes_with_them(user: User):
    path = had(user, "codex")
    user.ok("setup", "codex", "--mcp", "--yes")
    with path.open("a", encoding="utf-8") as file:
        file.write('\n[mcp_servers.postroom.tools.send]\napproval_mode = "approve"\n')
    user.ok("setup", "codex", "--undo", "--yes")
    assert document(path) == tomllib.loads(HAD["toml"])


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_server_of_the_same_name_gives_way_only_if_that_is_wanted(
    user: User, runtime: str, is_changed: bool
):
    path, _, names = PLACES[runtime]
    theirs = {"command": "postroom", "args": ["mcp"]}
    is_toml = path.endswith(".toml")
    text = json.dumps({names[0]: {"postroom": theirs}}, indent=2) + "\n"
    table = '[mcp_servers.postroom]\ncommand = "postroom"\nargs = ["mcp"]\n'
    whole = user.write(path, table if is_toml else text)
    before = user.tree()
    refused = user("setup", runtime, "--mcp", "--yes")
    assert refused.code == 5
    assert "--replace" in refused.err
    assert is_told_well(refused)
    assert user.tree() == before
    user.ok("setup", runtime, "--mcp", "--replace", "--yes")
    assert entry(user, runtime) != theirs
    if is_changed:
        whole.write_text(whole.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    user.ok("setup", runtime, "--undo", "--yes")
    assert entry(user, runtime) == theirs
    assert is_changed or user.tree() == before


def test_an_entry_that_its_user_has_made_their_own_stays(user: User):
    user.ok("setup", "cursor", "--yes")
    mine = json.dumps({"mcpServers": {"postroom": {"command": "mine"}}})
    user.write(".cursor/mcp.json", mine)
    user.ok("setup", "cursor", "--undo", "--yes")
    assert user.read(".cursor/mcp.json") == mine


@pytest.mark.parametrize("broken", ['{"mcpServers": 3}', '{"mcpServers": {', "[]"])
def test_a_file_that_is_not_understood_is_left_alone(user: User, broken: str):
    user.write(".gemini/settings.json", broken)
    refused = user("setup", "gemini", "--mcp", "--yes")
    assert refused.code == 1
    assert is_told_well(refused)
    assert user.read(".gemini/settings.json") == broken


def test_who_takes_no_server_of_ours_is_told_what_to_start(user: User):
    refused = user("setup", "goose", "--mcp", "--yes")
    assert (refused.code, "postroom mcp" in refused.err) == (2, True)
    assert user("setup", "claude", "--mcp", "--plugin", "--yes").code == 2
    for name in ("goose", "gemini"):
        user.install(name)
    told = json.loads(user.ok("setup", "--mcp", "--yes", "--json").out)["runtimes"]
    assert [(one["runtime"], one["part"]) for one in told] == [("gemini", "mcp")]


def test_the_doctor_knows_of_the_tools(user: User):
    def told(runtime: str) -> Any:
        [found] = json.loads(user("doctor", runtime, "--json").out)["runtimes"]
        return found

    for runtime in ("claude", "codex"):
        user.install(runtime)
    assert told("claude")["tools"] == []
    user.ok("setup", "claude", "--mcp", "--yes")
    assert told("claude")["tools"] == [{"scope": "user", "current": True, "ours": True}]
    assert "tools     for you" in user("doctor", "claude").out
    user.write(".codex/config.toml", '[mcp_servers.postroom]\ncommand = "postroom"\nargs = ["mcp"]\n')
    assert told("codex")["tools"] == [{"scope": "user", "current": True, "ours": False}]
    (user.bin / "postroom").unlink()
    [problem] = [each for each in told("claude")["problems"] if "MCP server" in each["what"]]
    assert "setup claude --mcp" in problem["next"]


def test_letting_the_agent_call_the_tools_is_asked_for_by_name(user: User):
    user.ok("setup", "claude", "--mcp", "--yes")
    assert not (user.home / ".claude/settings.json").exists()
    before = user.tree()
    user.ok("setup", "claude", "--mcp", "--allow", "--yes")
    assert json.loads(user.read(".claude/settings.json")) == {"permissions": {"allow": ["mcp__postroom"]}}
    user.ok("setup", "claude", "--undo", "--yes")
    assert not (user.home / ".claude/settings.json").exists()
    assert before


def test_doctor_tells_tools_without_hooks_as_that_and_undo_is_no_remedy_for_a_path(user: User):
    user.ok("setup", "claude", "--mcp", "--yes")
    told = user("doctor", "claude")
    assert "its tools only, not its hooks: postroom" in " ".join(told.out.split())
    [problem] = [one for one in user("doctor", "claude", "--json").json["problems"] if "PATH" in one["what"]]
    assert problem["next"].startswith("Install it, or put its directory on your PATH.")
