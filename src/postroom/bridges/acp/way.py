"""Agents that speak the Agent Client Protocol: the end of a turn is a receipt, a permission is a question.

The library takes a second to import: only the daemon does, when it starts such an agent.
"""

from typing import TYPE_CHECKING

from postroom import extra
from postroom.bridges.acp.ability import CAPABILITIES, NAME
from postroom.bridges.contract import Berth, Launch
from postroom.bridges.process import nursery
from postroom.errors import BridgeError
from postroom.runtimes import NAMES
from postroom.runtimes.acp import of

if TYPE_CHECKING:
    from postroom.bridges.acp.bridge import Acp

__all__ = ["ABOUT", "BY_CALLER", "CAPABILITIES", "NAME", "end", "open", "start"]
ABOUT = "an agent without a terminal, spoken to in the Agent Client Protocol (Gemini CLI, opencode, goose …)"
BY_CALLER = False
SESSION = "session"  # in the details of a berth: which of the agent's sessions goes on after a restart


def start(launch: Launch) -> Berth:
    """Start an agent and open a session with it: the one in the details, where it can go on with that."""
    with nursery.reserved(launch):
        bridge = _bridge()(launch._replace(command=_command(launch)), str(launch.details.get(SESSION) or ""))
        return nursery.keep(launch._replace(details={**launch.details, SESSION: bridge.session}), bridge)


def open(berth: Berth) -> "Acp":
    return nursery.find(berth, _bridge())


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there; of a child that was closed nothing is left."""
    nursery.end(berth)


def _bridge() -> "type[Acp]":
    try:
        from postroom.bridges.acp.bridge import Acp  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as exc:
        raise BridgeError(
            "agents that speak ACP need the library agent-client-protocol",
            hint=extra.hint("acp"),
        ) from exc
    return Acp


def _command(launch: Launch) -> list[str]:
    """What is run: a known agent is told to speak ACP, if its command does not say so."""
    known = of(launch.runtime)
    if known is None and launch.runtime in NAMES:
        raise BridgeError(f"{launch.command[0]} does not speak ACP", hint="Use --bridge tmux or pty.")
    if known is None:
        return launch.command
    if known.adapter and not known.is_adapted(launch.command):
        raise BridgeError(
            f"{launch.command[0]} does not speak ACP itself",
            hint=f"Its adapter does: npm install -g {known.package}; then run {known.adapter}",
        )
    return [*launch.command, *known.missing(launch.command)]
