"""opencode, whose hooks are functions of a plugin."""

import json
import os
import shutil
from collections.abc import Mapping

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


# Each hook of the plugin becomes a command that reads `{hook, input, output}`, and may answer with context.
_PLUGIN = """
import { spawnSync } from "node:child_process"

const commands = COMMANDS

function run(hook, input, output) {
  const given = JSON.stringify({ hook, input, output })
  const done = spawnSync("/bin/sh", ["-c", commands[hook]], { input: given, encoding: "utf8" })
  try { return JSON.parse(done.stdout).additionalContext } catch { return undefined }
}

function add(hook, text, input, output) {
  if (!text) return
  if (hook === "tool.execute.after") output.output += "\\n" + text
  if (hook === "chat.message") {
    const { sessionID, id: messageID } = output.message
    const id = "prt_" + Date.now().toString(16) + Math.random().toString(36).slice(2, 16)
    output.parts.push({ id, sessionID, messageID, type: "text", text, synthetic: true })
  }
}

export const Rig = async () => {
  const hooks = {}
  for (const hook of Object.keys(commands))
    hooks[hook] = async (input, output) => add(hook, run(hook, input, output), input, output)
  return hooks
}
"""


def wire(place: Place, commands: Mapping[str, str]) -> None:
    place.write(f"{CONFIG}/plugin/rig.js", _PLUGIN.replace("COMMANDS", json.dumps(commands)))


CLI = Cli(
    name="opencode",
    seed=seed,
    env=env,
    headless=lambda prompt: ["run", prompt],
    resume=lambda prompt: ["run", "--continue", prompt],
    fork=lambda session, prompt: ["run", "--session", session, "--fork", prompt],
    prompt=r"Ask anything|ctrl\+p commands",
    busy=r"esc interrupt",
    asks=r"Permission required",
    quit=("C-c",),
    wire=wire,
    events=(
        "event", "chat.message", "chat.params", "permission.ask", "command.execute.before",
        "tool.execute.before", "tool.execute.after", "shell.env", "experimental.chat.messages.transform",
        "experimental.chat.system.transform", "experimental.session.compacting",
    ),
    shapes={"chat.message": "flat", "tool.execute.after": "flat"},
    subagent='[[tool task {"description": "look", "subagent_type": "general", '
    '"prompt": "SUBAGENT ⟦bash echo sub⟧ ⟦say SUB-DONE⟧"}]]',
    clear="/new",
)  # fmt: skip
