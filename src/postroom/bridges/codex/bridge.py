"""The bridge to Codex by its app-server, in which a turn that ended is a receipt.

A Codex in a terminal has its threads in a server that its terminals share; one that we start has a server of
its own, which is our child.
"""

import os

from postroom.bridges.codex.attached import Attached
from postroom.bridges.codex.owned import Owned
from postroom.bridges.contract import Berth, Bridge, Capabilities, Launch
from postroom.bridges.process import nursery
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.runtimes.codex import RUNTIME

NAME = "codex"
ABOUT = "Codex by its app-server, without a terminal or beside one"
CAPABILITIES = Capabilities(
    output=True, busy=True, proves=(Evidence.RUNTIME_ACK,), interrupts=True, owned=True
)
BY_CALLER = False
_BESIDE = CAPABILITIES._replace(output=False, owned=False)  # a terminal, which outlives us
_SERVER = "app-server"


def start(launch: Launch) -> Berth:
    """An app-server of its own. The thread that it had before goes on, if it is still there."""
    if launch.runtime != RUNTIME.name:
        raise BridgeError(
            f"{os.path.basename(launch.command[0])} is no Codex",
            hint="Start one so: postroom spawn NAME --bridge codex -- codex",
        )
    command = launch.command if _SERVER in launch.command else [*launch.command, _SERVER]
    with nursery.reserved(launch):
        owned = Owned(launch._replace(command=command), NAME, CAPABILITIES)
        berth = nursery.keep(launch, owned)
    return berth._replace(details={**berth.details, "thread": owned.thread})


def open(berth: Berth) -> Bridge:
    """To our own server where there is one, else to that of the terminal in which it runs."""
    if berth.details.get("thread"):
        return nursery.find(berth, Owned)
    return Attached(berth, NAME, _BESIDE)


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there; what runs in a terminal is not ours to end."""
    if berth.details.get("thread"):
        nursery.end(berth)
