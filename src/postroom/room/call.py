"""How a session that watches no file can be called, as its runtime says and the machine knows.

How its process was started is asked of the system: where that does not say, nobody is called. What is run is
found on the caller's own PATH and has its own environment: what the room says of a session may have been
written by somebody in a sandbox.
"""

import os

from postroom import host
from postroom.model.context import own_id
from postroom.model.message import Session
from postroom.runtimes.contract import NUDGE, Runtime
from postroom.runtimes.process import Call, Sleeper


def program_of(runtime: Runtime) -> str:
    """Where its program is, for who calls; empty: nowhere."""
    return host.on_path(runtime.programs[0]) if runtime.programs else ""


def call_of(runtime: Runtime, session: Session) -> Call | None:
    """How this process can call a session now; None if it cannot."""
    return None if runtime.call is None else runtime.call(_sleeper(runtime, session), NUDGE)


def _sleeper(runtime: Runtime, session: Session) -> Sleeper:
    details = session.details
    command, cwd = host.started_with(session.process)
    return Sleeper(
        own_id(session.id), str(details.get("transcript") or ""), program_of(runtime), command,
        dict(os.environ), cwd, str(details.get("socket") or ""),
    )  # fmt: skip
