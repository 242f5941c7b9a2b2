"""opencode, whose hooks are functions of a plugin."""

import os
import shutil

from tests.agents.cli import Cli, Place
from tests.agents.pin import cache

CONFIG = ".config/opencode"


def seed(place: Place) -> None:
    model = {"name": "Scripted", "tool_call": True, "limit": {"context": 100000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "dummy"},
        "models": {"scripted-1": model},
    }
    settings = {"model": "scripted/scripted-1", "small_model": "scripted/scripted-1", "autoupdate": False}
    place.merge(f"{CONFIG}/opencode.json", {"provider": {"scripted": provider}, **settings})
    _bring_plugin_library(place)


def _bring_plugin_library(place: Place) -> None:
    """What it else tries to fetch at each start, for more than a minute without a network."""
    folder = os.path.join(place.home, CONFIG)
    installed = os.path.join(cache(), "opencode")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(installed, name), folder)
    os.symlink(os.path.join(installed, "node_modules"), os.path.join(folder, "node_modules"))


def env(place: Place) -> dict[str, str]:
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


CLI = Cli(
    name="opencode",
    seed=seed,
    env=env,
    headless=lambda prompt: ["run", prompt],
    resumed=lambda prompt: ["run", "--continue", prompt],
    prompt=r"Ask anything|ctrl\+p commands",
    busy=r"esc interrupt",
    asks=r"Permission required",
    quit=("C-c",),
)
