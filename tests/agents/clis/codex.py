"""Codex CLI."""

import os
from collections.abc import Mapping

from tests.agents.cli import Cli, Place


def seed(place: Place) -> None:
    place.write(
        ".codex/config.toml",
        f"""model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{place.url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[projects."{place.project}"]
trust_level = "trusted"
""",
    )


def env(place: Place) -> dict[str, str]:
    return {"SCRIPTED_KEY": "dummy"}


def hurry(place: Place) -> dict[str, str]:
    path = os.path.join(place.home, ".codex/config.toml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    fewer = 'wire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
    place.write(".codex/config.toml", text.replace('wire_api = "responses"\n', fewer))
    return {}


def wire(place: Place, commands: Mapping[str, str]) -> None:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()
    }
    place.merge(".codex/hooks.json", {"hooks": hooks})


def consent(place: Place) -> tuple[str, str] | None:
    """Hooks are to be reviewed once; the dialog comes some time after the prompt is there."""
    with open(os.path.join(place.home, ".codex/config.toml"), encoding="utf-8") as file:
        reviewed = "[hooks.state" in file.read()
    wired = os.path.exists(os.path.join(place.home, ".codex/hooks.json"))
    return (r"2\. Trust all and continue", "2") if wired and not reviewed else None


# A hook that nobody has reviewed is skipped in silence. In a terminal the tests agree on the screen: with
# this flag it would run alone there, without the daemon that serves its threads to others.
_EXEC = ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")

# The scratch directories of tests lie where it lets its sandbox write, too.
_SANDBOX = (
    "-s", "workspace-write", "-c", "sandbox_workspace_write.exclude_slash_tmp=true",
    "-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true",
)  # fmt: skip

CLI = Cli(
    name="codex",
    seed=seed,
    env=env,
    headless=lambda prompt: [*_EXEC, prompt],
    hurry=hurry,
    free=("-a", "never", "-s", "danger-full-access"),
    prompt=r"(?m)^\u203a ",
    busy=r"esc to interrupt",
    asks=r"Would you like to|Allow command|enter select",
    consent=consent,
    wire=wire,
    events=(
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact",
        "PostCompact", "SubagentStart", "SubagentStop", "Stop", "SessionEnd",
    ),
    shapes={
        "SessionStart": "nested", "UserPromptSubmit": "nested", "PreToolUse": "nested",
        "PostToolUse": "nested", "SubagentStart": "nested", "Stop": "block",
    },
    resume=lambda prompt: [*_EXEC, "resume", "--last", prompt],
    fork=lambda session, prompt: [*_EXEC, "fork", session, prompt],
    confine=lambda _: [*_SANDBOX],
    question='[[tool exec_command {"cmd": "touch asked.txt", "justification": "May I?", '
    '"sandbox_permissions": "require_escalated"}]]',
    subagent='[[tool spawn_agent {"message": "SUBAGENT ⟦bash echo sub⟧ ⟦say SUB-DONE⟧"}]] '
    '[[tool wait_agent {"targets": ["%agent_id%"], "timeout_ms": 20000}]]',
)  # fmt: skip
