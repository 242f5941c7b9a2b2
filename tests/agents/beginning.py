"""Starts of their own: at which a CLI asks something before it can work, or is set up otherwise."""

import os
from collections.abc import Callable
from typing import NamedTuple

from tests.agents.cli import Cli, Place
from tests.agents.clis import CLIS


class Beginning(NamedTuple):
    """One start, up to what is looked at."""

    shown: str  # a pattern that the screen has then
    seed: Callable[[Place], None] | None = None  # in place of the CLI's own
    without: tuple[str, ...] = ()  # variables that are left out
    also: dict[str, str] = {}  # noqa: RUF012 - read only
    arguments: tuple[str, ...] = ()
    prepare: Callable[[Place], object] = lambda place: None
    steps: tuple[tuple[str, str], ...] = ()  # patterns before it, and the key for each

    interactive: tuple[str, ...] | None = None  # in place of the CLI's own arguments

    def altered(self, cli: Cli) -> Cli:
        def env(place: Place) -> dict[str, str]:
            return {name: value for name, value in cli.env(place).items() if name not in self.without}

        interactive = cli.interactive if self.interactive is None else self.interactive
        return cli._replace(env=env, seed=self.seed or cli.seed, interactive=interactive)


def _nothing(place: Place) -> None:
    os.makedirs(place.home, exist_ok=True)


def _untrusted_claude(place: Place) -> None:
    place.merge(".claude.json", {"hasCompletedOnboarding": True, "theme": "dark"})


def _vim(place: Place) -> None:
    place.merge(".claude/settings.json", {"editorMode": "vim"})


def _untrusted_codex(place: Place) -> None:
    CLIS["codex"].seed(place)
    _change(place, ".codex/config.toml", 'trust_level = "trusted"', "")


def _bare_codex(place: Place) -> None:
    place.write(".codex/config.toml", "check_for_update_on_startup = false\n")


def _old_codex(place: Place) -> None:
    CLIS["codex"].seed(place)
    _change(place, ".codex/config.toml", "on_startup = false", "on_startup = true")
    newer = {"latest_version": "99.0.0", "last_checked_at": "2099-01-01T00:00:00Z", "dismissed_version": None}
    place.write(".codex/version.json", newer)


def _open(path: str, auth: str) -> Callable[[Place], None]:
    """Settings of Gemini CLI and its kin, with trust to be asked for."""

    def seed(place: Place) -> None:
        security = {"auth": {"selectedType": auth}, "folderTrust": {"enabled": True}}
        quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
        place.merge(path, {"security": security, **quiet})

    return seed


def _asking_opencode(place: Place) -> None:
    place.merge(".config/opencode/opencode.json", {"permission": {"bash": "ask", "edit": "ask"}})


def _change(place: Place, path: str, old: str, new: str) -> None:
    with open(os.path.join(place.home, path), encoding="utf-8") as file:
        text = file.read()
    place.write(path, text.replace(old, new))


def _trusting_gemini(place: Place) -> None:
    place.merge(".gemini/settings.json", {"security": {"folderTrust": {"enabled": False}}})


_GEMINI_KEY = ("GEMINI_API_KEY",)
_QWEN_KEY = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
_COPILOT_KEY = ("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_MODEL", "COPILOT_OFFLINE")

_AIDER_KEY = ("OPENAI_API_KEY", "OPENAI_API_BASE")
_AIDER = ("--analytics-disable", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings")

BEGINNINGS: dict[str, dict[str, Beginning]] = {
    "claude": {
        "launch-theme": Beginning(r"Choose the text style", _nothing),
        "launch-notes": Beginning(r"Security notes", _nothing, steps=((r"Choose the text style", "Enter"),)),
        "launch-trust": Beginning(r"Yes, I trust this folder", _untrusted_claude),
        "launch-key": Beginning(
            r"Detected a custom API key",
            without=("ANTHROPIC_AUTH_TOKEN",),
            also={"ANTHROPIC_API_KEY": "sk-ant-dummy-0000000000000000000000"},
        ),
        "launch-bypass": Beginning(
            r"Bypass Permissions mode",
            arguments=("--dangerously-skip-permissions",),
            also={"IS_SANDBOX": "1"},
        ),
        "launch-login": Beginning(
            r"Select login method", steps=((r"(?m)^\u276f", "/login"), (r"/login", "Enter"))
        ),
        "idle-vim": Beginning(r"-- INSERT", prepare=_vim),
        "idle-vim-normal": Beginning(r"manual mode on", prepare=_vim, steps=((r"-- INSERT", "Escape"),)),
        "mode-visual": Beginning(
            r"-- VISUAL", prepare=_vim, steps=((r"-- INSERT", "Escape"), (r"manual mode on", "v"))
        ),
    },
    "codex": {
        "launch-trust": Beginning(r"(?i)do you trust|trust (?:the|this)", _untrusted_codex),
        "launch-login": Beginning(r"(?i)sign in with", _bare_codex, without=("SCRIPTED_KEY",)),
        "launch-update": Beginning(r"(?i)update available|99\.0\.0", _old_codex),
        "launch-hooks": Beginning(
            r"Hooks need review", prepare=lambda place: CLIS["codex"].wire(place, {"Stop": "true"})
        ),
        "launch-begun": Beginning(r"(?m)^\u203a Ask Codex"),
    },
    "gemini": {
        "launch-trust": Beginning(r"(?i)trust", _open(".gemini/settings.json", "gemini-api-key")),
        "launch-login": Beginning(r"(?i)how would you like to authenticate", _trusting_gemini, _GEMINI_KEY),
        "launch-key": Beginning(r"(?i)enter gemini api key", without=_GEMINI_KEY),
    },
    "qwen": {
        "launch-trust": Beginning(r"(?i)trust", _open(".qwen/settings.json", "openai")),
        "launch-login": Beginning(r"(?i)authenticat|select|connect", _nothing, _QWEN_KEY),
    },
    "copilot": {
        "launch-trust": Beginning(r"(?i)trust", _nothing),
        "launch-login": Beginning(r"(?i)log ?in", without=_COPILOT_KEY),
        "idle-full": Beginning(r"(?m)^\u276f", arguments=("--allow-all-tools",)),
    },
    "opencode": {
        "dialog": Beginning(
            r"Permission required",
            prepare=_asking_opencode,
            steps=((r"Ask anything", "[[bash touch asked.txt]] [[say GRANTED]]"),),
        ),
    },
    "goose": {
        "dialog": Beginning(
            r"do you allow",
            also={"GOOSE_MODE": "approve"},
            steps=((r"Enter to send", "[[bash touch asked.txt]] [[say GRANTED]]"),),
        ),
        "busy-allowed": Beginning(
            r"\u2502  Allow",
            also={"GOOSE_MODE": "approve"},
            steps=((r"Enter to send", "[[bash sleep 9]] [[say GRANTED]]"), (r"do you allow", "Enter")),
        ),
    },
    "aider": {
        "launch-login": Beginning(
            r"Login to OpenRouter", without=_AIDER_KEY, interactive=(*_AIDER, "--no-git")
        ),
        "dialog": Beginning(r"Add \.aider", interactive=(*_AIDER, "--git", "--model", "openai/scripted-1")),
    },
}
