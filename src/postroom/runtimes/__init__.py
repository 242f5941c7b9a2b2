"""The agent CLIs that Postroom knows, one module each. No other code asks which runtime it deals with."""

from typing import TYPE_CHECKING

from postroom.errors import UnknownRuntime

if TYPE_CHECKING:
    from postroom.runtimes.contract import Runtime

NAMES = ("claude", "codex", "gemini", "qwen", "copilot", "opencode", "goose", "aider")


def load(name: str) -> "Runtime":
    """All that is known of one of them. Only its own module is loaded."""
    if name not in NAMES:
        from postroom.near import meant, near  # noqa: PLC0415 - only to word an error

        hint = meant(near(name, NAMES)) or f"There are {', '.join(NAMES)}."
        raise UnknownRuntime(f"there is no runtime {name!r}", runtime=name, hint=hint)
    return __import__(f"postroom.runtimes.{name}", fromlist=["RUNTIME"]).RUNTIME
