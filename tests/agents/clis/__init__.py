"""The agent CLIs the rig can run, by name."""

from tests.agents.cli import Cli
from tests.agents.clis import aider, claude, codex, copilot, gemini, goose, opencode, qwen

CLIS: dict[str, Cli] = {
    each.CLI.name: each.CLI for each in (claude, codex, gemini, opencode, qwen, copilot, goose, aider)
}
