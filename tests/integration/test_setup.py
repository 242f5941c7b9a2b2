"""`postroom setup`: what it writes into users' files, that it shows it first, and that it is undone."""

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from postroom.runtimes import load
from tests.commandline import CommandLine, is_told_well
from tests.configured import FILES, User
from tests.machine import other_user
from tests.process import BOUND

RUNTIMES = [*FILES]
HOOKED = [runtime for runtime in RUNTIMES if FILES[runtime][0].endswith(".json")]
CONFIG = {
    "json": """\
{
    "mine": 1.50,
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "bell"}]}
        ],
        "AfterAgent": []
    },
    "z": "é"
}
""",
    "toml": 'model = "x" # mine\n\n[projects."/a"]\ntrust_level = "trusted"\n',
}


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def configure(user: User, runtime: str) -> None:
    """Write what the user had before."""
    for path in FILES[runtime]:
        if "postroom" not in path:
            user.write(path, CONFIG[path.rpartition(".")[2]])


def commands(document: object) -> list[str]:
    """Every command in a document."""
    if isinstance(document, dict):
        own = [document[key] for key in ("command", "bash") if isinstance(document.get(key), str)]
        return own + [each for value in document.values() for each in commands(value)]
    return [each for value in document for each in commands(value)] if isinstance(document, list) else []


@pytest.mark.promise("setup-undone")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("had", [False, True])
@pytest.mark.parametrize("scope", ["user", "project"])
def test_undoing_leaves_every_byte_as_it_was(user: User, runtime: str, had: bool, scope: str):
    if had:
        configure(user, runtime)
    before = user.tree()
    user.ok("setup", runtime, "--yes", "--scope", scope)
    assert user.tree() != before
    again = user.tree()
    assert "is set up: nothing to" in user.ok("setup", runtime, "--scope", scope).err
    assert user.tree() == again
    user.ok("setup", runtime, "--undo", "--yes", "--scope", scope)
    assert user.tree() == before
    assert "nothing to undo" in user.ok("setup", runtime, "--undo", "--scope", scope).err


@pytest.mark.parametrize("runtime", HOOKED)
def test_every_event_runs_our_program_and_what_the_user_had_still_runs(user: User, runtime: str):
    configure(user, runtime)
    user.ok("setup", runtime, "--yes")
    document = json.loads(user.read(FILES[runtime][0]))
    hook = str(user.hook)
    ours = [each for each in commands(document) if hook in each]
    wanted = load(runtime).points
    assert [f"{hook} {runtime} {point.event} " in " ".join(ours) for point in wanted] == [True] * len(wanted)
    assert len(ours) == len(wanted)
    if runtime not in ("copilot", "goose"):
        assert [each for each in commands(document) if each not in ours] == ["bell"]
        assert list(document)[:2] == ["mine", "hooks"]
    assert os.access(hook, os.X_OK)


def _ends(diff: str) -> list[bool]:
    """Of each line that is added, whether a comma ends it."""
    return [line.endswith(",") for line in diff.splitlines() if line.startswith("+")]


@pytest.mark.promise("setup-shown")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nothing_is_written_before_it_was_shown_and_agreed_to(user: User, runtime: str):
    configure(user, runtime)
    before = user.tree()
    shown = user.ok("setup", runtime, "--dry-run")
    assert all(f"+++ {user.home}/{path}" in shown.out for path in FILES[runtime])
    assert str(user.hook) in shown.out
    asked = user("setup", runtime)
    assert asked.code == 2
    assert all(f"+++ {user.home}/{path}" in asked.out for path in FILES[runtime])
    if runtime in HOOKED:  # the command of each hook is as long as a paragraph: it is shown once
        assert (asked.out.count("[ -x "), shown.out.count("[ -x ")) == (2, 2 * len(load(runtime).points))
        assert all(f"{runtime} {point.event}" in asked.out for point in load(runtime).points)
        assert _ends(asked.out) == _ends(shown.out), "also a line that is shortened has its comma"
    else:
        assert asked.out == shown.out
    assert "--yes" in asked.err
    assert is_told_well(asked)
    assert user.tree() == before
    assert not user.room.exists()


def test_the_command_lines_are_the_same_for_every_version(user: User):
    user.ok("setup", "codex", "--yes")
    room, hook = user.room, user.hook
    can_start = (
        f"[ -x {hook} ] && {{ read -r p <{hook}; }} 2>/dev/null"
        ' && p="${p#??}" && [ -x "${p%% *}" ] || exit 0'
    )
    groups = json.loads(user.read(".codex/hooks.json"))["hooks"]
    assert groups["SessionEnd"] == [
        {
            "hooks": [
                {
                    "type": "command",
                    "command": f'r={room} k="p$PPID"; {can_start}; exec {hook} codex SessionEnd "$k"',
                    "timeout": 1,
                }
            ]
        }
    ]
    [tool] = commands(groups["PostToolUse"])
    assert tool == (
        f'r={room} k="p$PPID"; {{ echo PostToolUse 1<>"$r-hooks/life/$k"; }} 2>/dev/null;'
        ' [ "$r/run/quiet/s/$k" -nt /proc/self ]'
        ' && [ ! -d .postroom/outbox ] && [ ! -d "$r-hooks/outbox/$k" ] && exit 0;'
        f' {can_start}; exec {hook} codex PostToolUse "$k"'
    )
    user.ok("setup", "claude", "--yes")
    [tools] = commands(json.loads(user.read(".claude/settings.json"))["hooks"]["PostToolBatch"])
    assert tools == (
        f'r={room} k="${{CLAUDE_CODE_SESSION_ID:-p$PPID}}"; case $k in .*|*/*) k=p$PPID;; esac;'
        ' { echo PostToolBatch 1<>"$r-hooks/life/$k"; } 2>/dev/null;'
        ' [ "$r/run/quiet/s/$k" -nt /proc/self ]'
        ' && [ ! -d .postroom/outbox ] && [ ! -d "$r-hooks/outbox/$k" ] && exit 0;'
        f' {can_start}; exec {hook} claude PostToolBatch "$k"'
    )


def test_what_each_runtime_calls_things_is_written(user: User):
    for runtime in RUNTIMES:
        user.ok("setup", runtime, "--yes")
    claude = json.loads(user.read(".claude/settings.json"))
    [wake] = claude["hooks"]["FileChanged"][0]["hooks"]
    assert wake["asyncRewake"] is True
    assert "life" not in wake["command"]
    assert claude["hooks"]["Notification"][0]["matcher"] == "permission_prompt"
    assert claude["sandbox"] == {"filesystem": {"allowWrite": [str(user.room)]}}
    assert "permissions" not in claude
    gemini = json.loads(user.read(".gemini/settings.json"))
    assert gemini["hooks"]["AfterTool"][0]["hooks"][0]["timeout"] == 10_000
    copilot = json.loads(user.read(".copilot/hooks/postroom.json"))
    assert copilot["version"] == 1
    assert set(copilot["hooks"]["Stop"][0]) == {"type", "bash", "timeoutSec"}
    codex = tomllib.loads(user.read(".codex/config.toml"))
    assert codex == {"sandbox_workspace_write": {"writable_roots": [str(user.room)]}}


def test_permission_is_given_only_where_it_is_asked_for(user: User):
    shown = user.ok("setup", "claude", "--allow", "--dry-run")
    assert "without asking you" in shown.out
    user.ok("setup", "claude", "--allow", "--yes")
    assert json.loads(user.read(".claude/settings.json"))["permissions"] == {"allow": ["Bash(postroom:*)"]}
    refused = user("setup", "gemini", "--allow", "--yes")
    assert refused.code == 2
    assert is_told_well(refused)


@pytest.mark.promise("setup-undone")
@pytest.mark.parametrize("runtime", HOOKED)
def test_what_the_user_changed_since_stays_when_our_entries_are_taken_out(user: User, runtime: str):
    configure(user, runtime)
    user.ok("setup", runtime, "--yes")
    wanted: dict[str, object] = {}
    for path in FILES[runtime]:
        text = user.read(path)
        if path.endswith(".toml"):
            user.write(path, text + '\n[hooks.state."x"]\ntrusted_hash = "sha256:1"\n')
            wanted[path] = {
                **tomllib.loads(CONFIG["toml"]),
                "hooks": {"state": {"x": {"trusted_hash": "sha256:1"}}},
            }
        elif path.endswith(".json"):
            document = json.loads(text)
            document["theirs"] = {"later": [1]}
            user.write(path, json.dumps(document))  # and in another style
            had = {} if "postroom" in path else json.loads(CONFIG["json"])
            wanted[path] = {**had, "theirs": {"later": [1]}}
    undone = user.ok("setup", runtime, "--undo", "--yes")
    assert "only our entries were taken out" in undone.err
    for path, document in wanted.items():
        text = user.read(path)
        found = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
        found.pop("version", None)
        assert found == document


def test_a_file_of_ours_that_the_user_made_another_stays(user: User):
    user.ok("setup", "opencode", "--yes")
    path = FILES["opencode"][0]
    user.write(path, user.read(path) + "// mine\n")
    done = user.ok("setup", "opencode", "--undo", "--yes")
    assert "it stays; remove it yourself" in done.err
    assert user.read(path).endswith("// mine\n")
    user.ok("setup", "opencode", "--yes")
    assert not user.read(path).endswith("// mine\n")
    user.write(path, "export const other = 1\n")
    assert user("setup", "opencode", "--yes").code == 1


def test_a_hook_that_the_user_put_beside_ours_survives(user: User):
    user.ok("setup", "claude", "--yes")
    document = json.loads(user.read(".claude/settings.json"))
    document["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    user.write(".claude/settings.json", json.dumps(document))
    assert "nothing to do" in user.ok("setup", "claude").err
    user.ok("setup", "claude", "--undo", "--yes")
    assert commands(json.loads(user.read(".claude/settings.json"))) == ["mine"]


def test_entries_of_another_version_are_replaced_and_not_added_to(user: User):
    configure(user, "claude")
    user.ok("setup", "claude", "--yes")
    text = user.read(".claude/settings.json")
    old = text.replace("claude PostToolBatch", "claude PostToolUse")
    old = old.replace('"PostToolBatch"', '"PostToolUse"')
    user.write(".claude/settings.json", old)
    user.ok("setup", "claude", "--yes")
    found = json.loads(user.read(".claude/settings.json"))
    assert found["hooks"].keys() == json.loads(text)["hooks"].keys()
    assert sorted(commands(found)) == sorted(commands(json.loads(text)))
    user.ok("setup", "claude", "--undo", "--yes")
    assert json.loads(user.read(".claude/settings.json")) == json.loads(CONFIG["json"])


def test_set_up_again_after_an_edit_it_still_undoes_to_what_is_the_users(user: User):
    configure(user, "claude")
    user.ok("setup", "claude", "--yes")
    edited = user.read(".claude/settings.json").replace('"mine": 1.50', '"mine": 2')
    user.write(".claude/settings.json", edited.replace('"timeout": 10', '"timeout": 20'))
    user.ok("setup", "claude", "--yes")
    user.ok("setup", "claude", "--undo", "--yes")
    assert user.read(".claude/settings.json") == CONFIG["json"].replace('"mine": 1.50', '"mine": 2')


def test_set_up_again_without_a_record_it_is_still_undone(user: User):
    configure(user, "claude")
    user.ok("setup", "claude", "--yes")
    for path in (user.hook.parent / "setup").iterdir():
        path.unlink()
    user.hook.unlink()
    user.ok("setup", "claude", "--yes")
    user.ok("setup", "claude", "--undo", "--yes")
    assert user.read(".claude/settings.json") == CONFIG["json"]


def test_the_owner_of_a_file_stays_its_owner(user: User):
    uid = other_user()
    configure(user, "claude")
    os.chown(user.home / ".claude" / "settings.json", uid, uid)
    user.ok("setup", "claude", "--yes")
    assert (user.home / ".claude" / "settings.json").stat().st_uid == uid


@pytest.mark.promise("setup-shown")
@pytest.mark.parametrize("answer", ["y", "n", "", "maybe"])
def test_on_a_terminal_it_asks_and_only_yes_is_yes(user: User, answer: str):
    ours, theirs = os.openpty()
    command = CommandLine(str(user.room)).start(
        "setup", "gemini", env={"HOME": str(user.home)}, stdin=theirs, stderr=theirs
    )
    os.close(theirs)
    try:
        with command as process:
            assert process.stdout is not None
            heard = b""
            while b"[y/N]" not in heard:
                heard += os.read(ours, 1024)
            said = b" ".join(heard.split())
            assert b"8 hooks in ~/.gemini/settings.json, a new file" in said
            assert b"Gemini CLI is not on your PATH: this is for when it is" in said
            os.write(ours, f"{answer}\n".encode())
            assert b"-hooks/hook" in process.stdout.read()
            assert process.wait(BOUND) == 0
            assert (b"Nothing was changed." in os.read(ours, 4096)) is (answer != "y")
    finally:
        os.close(ours)
    assert (user.home / ".gemini").exists() is (answer == "y")


def test_without_a_record_our_entries_are_found_by_what_they_run(user: User):
    configure(user, "claude")
    user.ok("setup", "claude", "--yes")
    for path in (user.hook.parent / "setup").iterdir():
        path.unlink()
    user.ok("setup", "claude", "--undo", "--yes")
    assert user.read(".claude/settings.json") == CONFIG["json"]


@pytest.mark.parametrize(
    "content",
    [b"no json", b'{"hooks": 5}', b'{"hooks": {"Stop": "x"}}', b"\xff{", b"[]", b'{"a": 1', b"x" * (5 << 20)],
)
def test_a_file_that_is_not_understood_is_left_alone(user: User, content: bytes):
    user.write(".claude/settings.json", content)
    before = user.tree()
    result = user("setup", "claude", "--yes")
    assert result.code == 1
    assert is_told_well(result)
    assert "settings.json" in result.err
    assert len(result.err) < 300  # else the error scrolls away
    assert user.tree() == before
    if "shown above" in result.err:
        head, _, text = result.out.partition("\n")
        assert head == f"# what is to be added to {user.home}/.claude/settings.json"
        assert user.hook.name in text
        assert json.loads(text)["hooks"].keys() == {point.event for point in load("claude").points}


def test_of_several_files_none_is_written_when_one_cannot_be(user: User):
    user.write(".codex/config.toml", "sandbox_workspace_write = { network_access = true }\n")
    before = user.tree()
    result = user("setup", "codex", "--yes")
    assert result.code == 1
    assert f'writable_roots = ["{user.room}"]' in result.err
    assert user.tree() == before


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_stay(user: User, newline: str, mark: str):
    for runtime in ("gemini", "codex"):
        for path in FILES[runtime]:
            text = CONFIG[path.rpartition(".")[2]]
            user.write(path, (mark + text).replace("\n", newline))
    before = user.tree()
    for runtime in ("gemini", "codex"):
        user.ok("setup", runtime, "--yes")
        for path in FILES[runtime]:
            text = user.read(path)
            assert text.startswith(mark)
            assert newline == "\n" or "\n" not in text.replace("\r\n", "")
        user.ok("setup", runtime, "--undo", "--yes")
    assert user.tree() == before


def test_comments_are_kept(user: User):
    text = '// mine\n{\n  "a": 1, // one\n  /* b */\n}\n'
    user.write(".gemini/settings.json", text)
    user.ok("setup", "gemini", "--yes")
    assert all(part in user.read(".gemini/settings.json") for part in ("// mine", "// one", "/* b */"))
    user.ok("setup", "gemini", "--undo", "--yes")
    assert user.read(".gemini/settings.json") == text


def test_a_link_is_followed_and_a_mode_kept(user: User):
    real = user.write("dotfiles/claude.json", CONFIG["json"])
    real.chmod(0o640)
    link = user.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    user.ok("setup", "claude", "--yes")
    assert link.is_symlink()
    assert "-hooks/hook" in real.read_text(encoding="utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    user.ok("setup", "claude", "--undo", "--yes")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == CONFIG["json"]


def test_undoing_leaves_a_link_to_nothing_as_it_was(user: User):
    """Who keeps configurations elsewhere may have the link before there is a file."""
    real = user.home / "dotfiles" / "claude" / "settings.json"
    link = user.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    user.ok("setup", "claude", "--yes")
    assert "-hooks/hook" in real.read_text(encoding="utf-8")
    user.ok("setup", "claude", "--undo", "--yes")
    assert link.is_symlink()
    assert not real.parent.parent.exists(), "it was made for the file"


@pytest.mark.parametrize(
    "command", ["exec /opt/my\\ claude done", "exec '/opt/it claude x", 'exec "a claude b', "exec \\ claude "]
)
def test_a_users_own_command_may_be_quoted_as_it_likes(user: User, command: str):
    own = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
    path = user.write(".claude/settings.json", json.dumps(own))
    user.ok("setup", "claude", "--yes")
    assert json.dumps(command) in path.read_text(encoding="utf-8")


def test_what_is_read_only_or_no_file_is_refused(user: User):
    path = user.write(".claude/settings.json", CONFIG["json"])
    path.chmod(0o444)
    result = user("setup", "claude", "--yes")
    assert (result.code, "read-only" in result.err) == (1, True)
    assert "postroom setup claude --dry-run" in result.err
    path.unlink()
    path.mkdir()
    assert user("setup", "claude", "--yes").code == 1
    path.rmdir()
    path.parent.rmdir()
    path.parent.write_text("a file", encoding="utf-8")
    assert is_told_well(user("setup", "claude", "--yes"))


def test_set_up_in_two_places_is_refused_because_hooks_would_run_twice(user: User):
    user.ok("setup", "claude", "--yes")
    for words in (["--plugin"], ["--scope", "project"]):
        result = user("setup", "claude", "--yes", *words)
        assert result.code == 5
        assert "postroom setup claude --undo" in result.err
    user.ok("setup", "claude", "--undo", "--yes")
    user.ok("setup", "claude", "--plugin", "--yes")
    assert user("setup", "claude", "--yes").code == 5


def test_a_plugin_has_the_same_hooks_and_says_how_to_install_it(user: User):
    user.ok("setup", "claude", "--yes")
    hooks = json.loads(user.read(".claude/settings.json"))["hooks"]
    user.ok("setup", "claude", "--undo", "--yes")
    before = user.tree()
    where = user.project / "plug in"
    done = user.ok("setup", "claude", "--plugin", "--into", str(where), "--yes")
    market = json.loads((where / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    plugin = where / market["plugins"][0]["source"]
    assert json.loads((plugin / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"] == hooks
    about = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert about["name"] == "postroom"
    assert f"claude plugin marketplace add '{where}'" in done.err
    assert f"claude plugin install postroom@{market['name']}" in done.err
    user.ok("setup", "claude", "--plugin", "--into", str(where), "--undo", "--yes")
    assert user.tree() == before


def test_alone_it_offers_what_is_installed(user: User):
    assert "No agent CLI was found" in user.ok("setup").err
    user.install("gemini")
    user.install("aider")
    done = user.ok("setup", "--yes", "--json").json["runtimes"]
    assert [each["runtime"] for each in done] == ["gemini", "aider"]
    assert [each["state"] for each in done] == ["done", "impossible"]
    assert (user.home / ".gemini" / "settings.json").exists()
    assert not (user.home / ".claude").exists()
    again = user.ok("setup", "--json").json["runtimes"]
    assert [each["state"] for each in again] == ["unchanged", "impossible"]
    (user.bin / "gemini").unlink()
    [undone] = user.ok("setup", "--undo", "--yes", "--json").json["runtimes"]
    assert undone["state"] == "undone"
    assert list(user.home.iterdir()) == []
    assert "nothing to undo" in user.ok("setup", "--undo").err


def test_several_are_set_up_and_undone_by_their_names(user: User):
    user.ok("setup", "gemini", "qwen", "gemini", "--yes")
    assert sorted(path.name for path in user.home.iterdir()) == [".gemini", ".qwen"]
    assert user("setup", "claude", "nonsense", "--yes").code == 3
    assert not (user.home / ".claude").exists()
    user.ok("setup", "gemini", "qwen", "--undo", "--yes")
    assert list(user.home.iterdir()) == []


def test_what_its_user_must_know_is_told(user: User):
    told = user.ok("setup", "qwen", "--yes").err
    assert told.index("Qwen Code is not on your PATH") < told.index("Qwen Code is set up")
    user.ok("setup", "qwen", "--undo", "--yes")
    user.install("qwen")
    told = user.ok("setup", "qwen", "--yes").err
    assert "is not on your PATH" not in told
    assert "--input-file FILE" in told
    assert "take part after a restart" in told
    user.hook.unlink()
    assert "after a restart" not in user.ok("setup", "qwen", "--yes").err


def test_what_is_added_is_summed_up(user: User):
    user.write(".claude/settings.json", "{}")
    told = user.ok("setup", "claude", "--yes", "--allow").err
    wanted = (
        "10 hooks and 1 writable directory and 1 permission in ~/.claude/settings.json, which is changed\n"
    )
    assert wanted in told


def test_other_places_that_the_environment_names_are_used(user: User):
    user.ok("setup", "codex", "--yes", CODEX_HOME=str(user.home / "c"))
    user.ok("setup", "claude", "--yes", CLAUDE_CONFIG_DIR=str(user.home / "d"))
    assert sorted(path.name for path in user.home.iterdir()) == ["c", "d"]


@pytest.mark.parametrize(
    "words",
    ["nonsense", "claude --scope moon", "--plugin", "claude --into x", "codex --plugin"],
)
def test_what_makes_no_sense_is_refused(user: User, words: str):
    result = user("setup", *words.split(), "--yes")
    assert result.code in (2, 3)
    assert is_told_well(result)
    assert set(user.tree()) == {str(user.project / ".git"), str(user.project / ".git" / "HEAD")}


def test_a_room_at_a_place_with_blanks_works(user: User):
    home = user.home / "my room"
    user.ok("setup", "gemini", "--yes", "--home", str(home))
    user.ok("join", "backend", "--home", str(home))
    [command] = commands(json.loads(user.read(".gemini/settings.json"))["hooks"]["SessionStart"])
    assert os.system(f"({command}) </dev/null") == 0
    log = (home.parent / f"{home.name}-hooks" / "hook.log").read_text(encoding="utf-8")
    assert "gemini SessionStart" in log
