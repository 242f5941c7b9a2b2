"""Aider, which has neither hooks nor tools."""

from tests.agents.cli import Cli, Place

_QUIET = ("--analytics-disable", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings")
_MODEL = ("--model", "openai/scripted-1", "--yes-always", "--no-git")


def env(place: Place) -> dict[str, str]:
    return {"OPENAI_API_BASE": f"{place.url}/v1", "OPENAI_API_KEY": "dummy"}


CLI = Cli(
    name="aider",
    seed=lambda place: None,
    env=env,
    headless=lambda prompt: [*_QUIET, *_MODEL, "--message", prompt],
    interactive=(*_QUIET, *_MODEL),
    prompt=r"(?m)^> ?$",
    quit=("/exit",),
)
