"""GitHub Copilot CLI."""

from collections.abc import Mapping

from tests.agents.cli import Cli, Place


def seed(place: Place) -> None:
    place.merge(".copilot/config.json", {"trustedFolders": [place.project], "banner": "never"})


def env(place: Place) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "scripted-1",
        "COPILOT_AUTO_UPDATE": "false",
    }


def wire(place: Place, commands: Mapping[str, str]) -> None:
    hooks = {
        event: [{"type": "command", "bash": command, "timeoutSec": 30}] for event, command in commands.items()
    }
    place.write(".copilot/hooks/rig.json", {"version": 1, "hooks": hooks})


CLI = Cli(
    name="copilot",
    seed=seed,
    env=env,
    headless=lambda prompt: ["--allow-all-tools", "-p", prompt],
    resume=lambda prompt: ["--allow-all-tools", "--continue", "-p", prompt],
    wakeable=("--experimental",),
    free=("--allow-all-tools",),
    prompt=r"(?m)^\u276f",
    busy=r"(?i)esc to cancel|esc to interrupt|Working\b.* esc esc ",
    asks=r"Do you want to",
    quit=("/exit",),
    wire=wire,
    confine=lambda _: ["--sandbox"],
    confine_needs=("bwrap", "slirp4netns", "iptables", "ip6tables"),
    events=(
        "SessionStart", "UserPromptSubmit", "UserPromptTransformed", "PreToolUse", "PermissionRequest",
        "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop", "Stop", "PreCompact",
        "Notification", "ErrorOccurred", "SessionEnd",
    ),
    shapes={
        "SessionStart": "flat", "UserPromptSubmit": "flat", "PostToolUse": "flat", "SubagentStart": "flat",
        "Stop": "block",
    },
    subagent='[[tool task {"name": "look", "description": "look", "agent_type": "general-purpose", '
    '"mode": "sync", "prompt": "SUBAGENT ⟦bash echo sub⟧ ⟦say SUB-DONE⟧"}]]',
)  # fmt: skip
