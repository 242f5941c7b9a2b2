"""Claude Code."""

import json
from collections.abc import Mapping

from tests.agents.cli import Cli, Place


def seed(place: Place) -> None:
    # Without these a first start asks for a login, a theme and trust, and the answers it offers end it.
    trust = {place.project: {"hasTrustDialogAccepted": True}}
    place.merge(".claude.json", {"hasCompletedOnboarding": True, "theme": "dark", "projects": trust})


def env(place: Place) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_AUTH_TOKEN": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def wire(place: Place, commands: Mapping[str, str]) -> None:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()
    }
    place.merge(".claude/settings.json", {"hooks": hooks})


def hurry(place: Place) -> dict[str, str]:
    return {"CLAUDE_CODE_MAX_RETRIES": "0"}


_SUBAGENT = {
    "description": "look",
    "subagent_type": "general-purpose",
    "prompt": "SUBAGENT ⟦bash echo sub⟧ ⟦say SUB-DONE⟧",
    "run_in_background": False,
}

# Without the second it would run them outside where the sandbox fails; without the third if they ask for it.
_SANDBOX = {"enabled": True, "failIfUnavailable": True, "allowUnsandboxedCommands": False}

_ALLOWED = ("--allowedTools", "Bash,Task,Agent,Write,Read")

CLI = Cli(
    name="claude",
    seed=seed,
    env=env,
    headless=lambda prompt: ["-p", prompt, *_ALLOWED],
    resume=lambda prompt: ["--continue", "-p", prompt, *_ALLOWED],
    fork=lambda session, prompt: ["--resume", session, "--fork-session", "-p", prompt, *_ALLOWED],
    interactive=("--permission-mode", "default"),
    hurry=hurry,
    free=("--allowedTools", "Bash"),
    prompt=r"(?m)^\u276f",
    busy=r"esc to interrupt",
    asks=r"Do you want to",
    quit=("/exit",),
    wire=wire,
    events=(
        "SessionStart", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest",
        "PermissionDenied", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification",
        "MessageDisplay", "SubagentStart", "SubagentStop", "TaskCreated", "TaskCompleted", "Stop",
        "StopFailure", "TeammateIdle", "InstructionsLoaded", "ConfigChange", "CwdChanged", "DirectoryAdded",
        "FileChanged", "PreCompact", "PostCompact", "Elicitation", "ElicitationResult", "SessionEnd",
    ),
    shapes={
        "SessionStart": "watch", "UserPromptSubmit": "nested", "PreToolUse": "nested",
        "PostToolUse": "nested", "PostToolBatch": "nested", "SubagentStart": "nested", "Stop": "nested",
    },
    confine=lambda _: ["--settings", json.dumps({"sandbox": _SANDBOX})],
    confine_needs=("bwrap", "socat"),
    subagent=f"[[tool Agent {json.dumps(_SUBAGENT, ensure_ascii=False)}]]",
)  # fmt: skip
