"""Gemini CLI."""

from collections.abc import Mapping

from tests.agents.cli import Cli, Place

SETTINGS = ".gemini/settings.json"


def seed(place: Place) -> None:
    security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
    general = {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    place.merge(SETTINGS, {"security": security, "general": general, **quiet})


def env(place: Place) -> dict[str, str]:
    return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": place.url}


def hurry(place: Place) -> dict[str, str]:
    general = {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1}
    place.merge(SETTINGS, {"general": general})
    return {}


def wire(place: Place, commands: Mapping[str, str]) -> None:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": 60000}]}]
        for event, command in commands.items()
    }
    place.merge(SETTINGS, {"hooks": hooks})


_YOLO = ("--approval-mode", "yolo", "-m", "gemini-2.5-pro")

CLI = Cli(
    name="gemini",
    seed=seed,
    env=env,
    headless=lambda prompt: [*_YOLO, "-p", prompt],
    resume=lambda prompt: [*_YOLO, "--resume", "latest", "-p", prompt],
    interactive=("-m", "gemini-2.5-pro"),
    hurry=hurry,
    free=("--approval-mode", "yolo"),
    prompt=r"(?s)(Gemini CLI v|✦ ).*Type your message",  # the prompt alone is there before it can be used
    busy=r"esc to cancel",
    asks=r"Allow execution|Apply this change|Do you want to proceed",
    wire=wire,
    events=(
        "SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
        "BeforeToolSelection", "BeforeTool", "AfterTool", "PreCompress", "Notification",
    ),
    shapes={"SessionStart": "nested", "BeforeAgent": "nested", "AfterTool": "nested", "AfterAgent": "block"},
    subagent='[[tool invoke_agent {"agent_name": "generalist", "prompt": "SUBAGENT ⟦bash echo sub⟧ '
    '⟦tool complete_task {\\"result\\": \\"SUB-DONE\\"}⟧"}]]',
    compact="/compress",
)  # fmt: skip
