"""goose."""

from collections.abc import Mapping

from tests.agents.cli import Cli, Place


def env(place: Place) -> dict[str, str]:
    return {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted-1",
        "OPENAI_HOST": place.url,
        "OPENAI_API_KEY": "dummy",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_MODE": "auto",
        "GOOSE_TELEMETRY_ENABLED": "false",
    }


def hurry(place: Place) -> dict[str, str]:
    return {"GOOSE_PROVIDER_SKIP_BACKOFF": "true"}


def wire(place: Place, commands: Mapping[str, str]) -> None:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()
    }
    place.write(".agents/plugins/rig/hooks/hooks.json", {"hooks": hooks})


CLI = Cli(
    name="goose",
    seed=lambda place: None,
    env=env,
    headless=lambda prompt: ["run", "-t", prompt],
    interactive=("session",),
    hurry=hurry,
    prompt=r"(?m)^( O)?\s*(>|🪿)|Press Enter to send",
    asks=r"Are you sure",
    declines=("Down", "Down", "Enter"),  # Escape forgets the call, and the next prompt asks for it again
    wire=wire,
    events=(
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop",
        "BeforeReadFile", "AfterFileEdit", "BeforeShellExecution", "AfterShellExecution", "SessionEnd",
    ),
    shapes={"Stop": "block"},
)  # fmt: skip
