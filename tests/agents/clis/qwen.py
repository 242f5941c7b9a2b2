"""Qwen Code."""

from collections.abc import Mapping

from tests.agents.cli import Cli, Place

SETTINGS = ".qwen/settings.json"
INPUT = "../input.jsonl"


def seed(place: Place) -> None:
    security = {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}}
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    place.merge(SETTINGS, {"security": security, "general": {"enableAutoUpdate": False}, **quiet})
    open(f"{place.project}/{INPUT}", "w", encoding="utf-8").close()


def env(place: Place) -> dict[str, str]:
    return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{place.url}/v1", "OPENAI_MODEL": "scripted-1"}


def hurry(place: Place) -> dict[str, str]:
    soon = {"maxRetries": 0, "retryInitialDelayMs": 100, "retryMaxDelayMs": 100}
    place.merge(SETTINGS, {"model": {"generationConfig": soon}})
    return {}


def wire(place: Place, commands: Mapping[str, str]) -> None:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": 60000}]}]
        for event, command in commands.items()
    }
    place.merge(SETTINGS, {"hooks": hooks})


def confine(place: Place) -> list[str]:
    policy = {"filesystem": "workspace-write", "network": "closed"}
    place.merge(SETTINGS, {"tools": {"executionSandbox": policy}})
    return []


CLI = Cli(
    name="qwen",
    seed=seed,
    env=env,
    headless=lambda prompt: ["--approval-mode", "yolo", "-p", prompt],
    resume=lambda prompt: ["--approval-mode", "yolo", "--continue", "-p", prompt],
    wakeable=("--input-file", INPUT),
    hurry=hurry,
    free=("--approval-mode", "yolo"),
    prompt=r"Type your message",
    busy=r"esc to cancel",
    asks=r"Allow execution|Apply this change|Do you want to proceed",
    wire=wire,
    confine=confine,
    confine_needs=("bwrap",),
    events=(
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
        "PostToolUseFailure", "Notification", "SubagentStart", "SubagentStop", "Stop", "StopFailure",
        "PreCompact", "PostCompact", "SessionEnd",
    ),
    shapes={
        "SessionStart": "nested", "UserPromptSubmit": "nested", "PostToolUse": "nested",
        "SubagentStart": "nested", "Stop": "block",
    },
    subagent='[[tool agent {"description": "look", "subagent_type": "general-purpose", '
    '"run_in_background": false, "prompt": "SUBAGENT ⟦bash echo sub⟧ ⟦say SUB-DONE⟧"}]]',
    compact="/compress",
)  # fmt: skip
