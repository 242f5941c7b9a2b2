"""An `agent-orchestrator.yaml`: of each project, the agent that directs its work, as a table of ours.

The sessions that it starts for single pieces of work have no names before they run: they get addresses when
they begin, if their runtime is set up, or when they are adopted. What reacts to code hosts and trackers, and
what notifies people, has no counterpart.
"""

import os
from typing import Any, cast

from postroom import config
from postroom.bridges.files import naming
from postroom.errors import InvalidValue
from postroom.imports.plan import Agents, Kind, LeftOut
from postroom.imports.program import runtime_of
from postroom.model.message import Json

ROLE = "orchestrator"
_BRIDGES = {"tmux": "tmux", "process": "pty"}
_TAKES_MODEL = ("claude", "codex", "gemini", "qwen", "copilot", "opencode", "aider")
_TAKEN = ("path", "sessionPrefix", "name", "agent", "runtime", "agentConfig", "reactions", ROLE)
_CALLS = {
    "ci-failed": "fix_ci_failure",
    "changes-requested": "changes_requested",
    "merge-conflicts": "merge_conflict",
}
_ADOPT = "its sessions get addresses as they begin, if their runtime is set up; or"
_NO_CHANNEL = "no chat is served here yet; people read their mail by postroom inbox, or postroom dashboard"
_WHY = {
    "notifiers": _NO_CHANNEL,
    "notificationRouting": _NO_CHANNEL,
    "agentRules": "rules belong into the file of instructions that its agents read",
    "agentRulesFile": "rules belong into the file of instructions that its agents read",
    "orchestratorRules": "rules belong into the file of instructions that its agents read",
    "tracker": "issues are not followed here",
    "scm": "code hosts are not followed here",
    "worker": f"{_ADOPT}: postroom adopt",
    "postCreate": "checkouts are made elsewhere",
    "symlinks": "checkouts are made elsewhere",
    "worktreeDir": "checkouts are made elsewhere; all of one repository are one project here",
    "workspace": "checkouts are made elsewhere; all of one repository are one project here",
    "dataDir": "a room has a place of its own: postroom status",
}


def looks_so(document: Json) -> bool:
    return isinstance(document.get("projects"), dict)


def plan(document: Json, source: str, renamed: dict[str, str]) -> Agents:
    """One agent for each project, and all that is left out."""
    defaults, projects = _object(document.get("defaults")), _object(document.get("projects"))
    left = [LeftOut(key, _why(key)) for key in document if key not in ("projects", "defaults", "reactions")]
    left += [
        LeftOut(f"defaults.{key}", _why(key)) for key in defaults if key not in ("agent", "runtime", ROLE)
    ]
    left += _reactions("reactions", document.get("reactions"))
    places: dict[str, str] = {}
    for key, said in projects.items():
        if not isinstance(said, dict):
            raise InvalidValue(f"projects.{key} is no project", hint="Each has a path.")
        places[key] = _slug(key, cast("Json", said))
    names = naming.addresses(projects, (), {**places, **renamed})
    tables: dict[str, Json] = {}
    for key, said in projects.items():
        project = cast("Json", said)
        left += [LeftOut(f"projects.{key}.{one}", _why(one)) for one in project if one not in _TAKEN]
        left += _reactions(f"projects.{key}.reactions", project.get("reactions"))
        prefix = _text(project.get("sessionPrefix")) or key
        left.append(
            LeftOut(f"sessions {prefix}-1, {prefix}-2, …", f"{_ADOPT}: postroom adopt --match '{prefix}-'")
        )
        tables[f"{names[key]}/{ROLE}"] = _table(key, project, defaults, left)
    return Agents(Kind.ORCHESTRATOR, source, tables, naming.changed(names), left)


def _slug(key: str, said: Json) -> str:
    """What a project is called here: after the directory of its repository."""
    path = os.path.expanduser(_text(said.get("path")))
    return config.slug(path.rstrip("/")) if path.strip("/") else naming.address(key, {})


def _table(key: str, said: Json, defaults: Json, left: list[LeftOut]) -> Json:
    directing, usual = _object(said.get(ROLE)), _object(defaults.get(ROLE))
    agent = (
        _first(directing.get("agent"), said.get("agent"), usual.get("agent"), defaults.get("agent"))
        or "claude-code"
    )
    table: Json = {"role": ROLE}
    if path := _text(said.get("path")):
        table["directory"] = path
    runtime = runtime_of(agent)
    if not runtime:
        left.append(
            LeftOut(f"projects.{key}: agent {agent}", "it is not known here; say its command yourself")
        )
        return table
    table["runtime"] = runtime
    where = _first(said.get("runtime"), defaults.get("runtime")) or "tmux"
    if where not in _BRIDGES:
        left.append(LeftOut(f"projects.{key}: runtime {where}", "agents are started on this machine only"))
        return table
    table |= {"bridge": _BRIDGES[where], "command": [runtime, *_model(key, runtime, said, directing, left)]}
    return table


def _model(key: str, runtime: str, said: Json, directing: Json, left: list[LeftOut]) -> list[str]:
    about = {**_object(said.get("agentConfig")), **_object(directing.get("agentConfig"))}
    left += [
        LeftOut(f"projects.{key}.agentConfig.{one}", "what it may do without asking is yours to say")
        for one in about
        if one != "model"
    ]
    model = _text(about.get("model"))
    if model and runtime not in _TAKES_MODEL:
        left.append(
            LeftOut(f"projects.{key}.agentConfig.model", f"{runtime} takes no model when it is started")
        )
    return ["--model", model] if model and runtime in _TAKES_MODEL else []


def _reactions(where: str, given: Any) -> list[LeftOut]:
    """Each with the type of message that says the same, where there is one."""
    found: list[LeftOut] = []
    for name in _object(given):
        kind = _CALLS.get(name)
        why = f"nothing here looks for it; whatever does may say so: postroom send NAME --type {kind}"
        found.append(LeftOut(f"{where}.{name}", why if kind else "nothing here looks for it"))
    return found


def _why(key: str) -> str:
    return _WHY.get(key, "it has no counterpart here")


def _first(*values: Any) -> str:
    return next((text for value in values if (text := _text(value))), "")


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
