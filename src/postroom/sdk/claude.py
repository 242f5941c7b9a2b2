"""A mailbox for an agent of the Claude Agent SDK, which runs Claude Code as a child of this program.

room = postroom.open(agent="builder")
async with ClaudeSDKClient(options(room)) as client: ...

So its session has what any other one has: our hooks show it mail and prove what it was shown, and our tools
are its own. Both are told to this one process only: no file of the user's is changed.
"""

import json
from importlib import import_module
from typing import Any

from postroom import extra
from postroom.errors import InvalidValue
from postroom.model.message import Json
from postroom.room.local import LocalRoom
from postroom.runtimes.wiring import Purpose
from postroom.setup import file, standing
from postroom.setup.plan import Target, make_ready, target
from postroom.setup.record import HOOKS

try:
    _sdk = import_module("claude_agent_sdk")
except ImportError as exc:
    raise InvalidValue("the Claude Agent SDK is not installed", hint=extra.hint("claude-sdk")) from exc

_RUNTIME = "claude"
_ALL = ["user", "project", "local"]  # the settings that Claude Code reads by itself


def options(room: LocalRoom, **more: Any) -> Any:
    """A `ClaudeAgentOptions` that gives the agent that a room is opened for its mailbox; and `more`, as ever.

    What `more` says of servers, tools, settings and variables is kept.
    """
    one = target(room.home, _RUNTIME)
    servers = {"postroom": {"type": "stdio", **one.place.tools()}, **more.pop("mcp_servers", {})}
    tools = [*more.pop("allowed_tools", ()), "mcp__postroom"]
    env = {"POSTROOM_AGENT": room.who().address, "POSTROOM_HOME": room.home, **more.pop("env", {})}
    return _sdk.ClaudeAgentOptions(
        mcp_servers=servers, allowed_tools=tools, env=env, **_hooked(one, more.pop("settings", None), more)
    )


def _hooked(one: Target, settings: str | None, more: Json) -> Json:
    """With our hooks, unless the user's own settings, which count here too, have them already."""
    sources = more.get("setting_sources")
    scopes = [
        {"project": "local"}.get(each.scope, "user")
        for each in standing.here(one.place.room, _RUNTIME, HOOKS)
    ]
    if any(scope in (_ALL if sources is None else sources) for scope in scopes):
        return {**more, "settings": settings, "setting_sources": sources or _ALL}
    make_ready(one.place.room)
    [hooks] = [edit.content for edit in one.edits if edit.purpose is Purpose.HOOKS]
    return {**more, "settings": json.dumps(_merged(_read(settings), hooks))}


def _read(settings: str | None) -> Json:
    """What the program wants to be set: a document, or a file that has one."""
    text = (settings or "{}").strip()
    return json.loads(text if text.startswith("{") else file.glance(text) or "{}")


def _merged(theirs: Json, ours: Any) -> Json:
    hooks: Json = dict(theirs.get("hooks") or {})
    for event, groups in ours["hooks"].items():
        hooks[event] = [*hooks.get(event, ()), *groups]
    return {**theirs, "hooks": hooks}
