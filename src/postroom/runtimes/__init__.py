"""The agent CLIs that Postroom knows, one module each. No other code asks which runtime it deals with."""

from typing import TYPE_CHECKING

from postroom.errors import UnknownRuntime

if TYPE_CHECKING:
    from postroom.runtimes.contract import Runtime

# By which who calls is known, without loading every module. `make fix` writes it from the modules.
# listed
SESSION_ENV = {  # the variable that names the session in the shells of its tools
    "claude": "CLAUDE_CODE_SESSION_ID",
    "codex": "CODEX_THREAD_ID",
    "gemini": "",
    "qwen": "QWEN_CODE_SESSION_ID",
    "copilot": "COPILOT_AGENT_SESSION_ID",
    "opencode": "OPENCODE_SESSION_ID",
    "goose": "AGENT_SESSION_ID",
    "aider": "",
    "cursor": "",
}
SIGNS = (  # what else is in the environment of these shells
    "CLAUDECODE",
    "AI_AGENT",
    "GEMINI_CLI",
    "QWEN_CODE",
    "COPILOT_CLI",
    "OPENCODE",
)
# /listed
NAMES = tuple(SESSION_ENV)


def load(name: str) -> "Runtime":
    """All that is known of one of them. Only its own module is loaded."""
    if name not in NAMES:
        from postroom.near import meant, near  # noqa: PLC0415 - only to word an error

        hint = meant(near(name, NAMES)) or f"There are {', '.join(NAMES)}."
        raise UnknownRuntime(f"there is no runtime {name!r}", runtime=name, hint=hint)
    return __import__(f"postroom.runtimes.{name}", fromlist=["RUNTIME"]).RUNTIME
