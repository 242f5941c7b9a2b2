"""The bridge to opencode by its own server, in which an answer that ended is a receipt.

An opencode in a terminal has one if it was started with `--port`; one that we start has a server of its own,
which is our child.
"""

import os

from postroom.bridges.contract import Berth, Bridge, Capabilities, Launch
from postroom.bridges.opencode.attached import Attached
from postroom.bridges.opencode.owned import Owned
from postroom.bridges.process import nursery
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.runtimes.opencode import RUNTIME

NAME = "opencode"
ABOUT = "opencode by its own server, without a terminal or beside one"
CAPABILITIES = Capabilities(
    output=True, busy=True, proves=(Evidence.RUNTIME_ACK,), interrupts=True, owned=True
)
BY_CALLER = False
_BESIDE = CAPABILITIES._replace(output=False, owned=False)  # a terminal, which outlives us
_SERVE = ("serve", "--hostname", "127.0.0.1", "--port", "0")


def start(launch: Launch) -> Berth:
    """A server of its own. The session that it had before goes on, if it is still there."""
    if launch.runtime != RUNTIME.name:
        raise BridgeError(
            f"{os.path.basename(launch.command[0])} is no opencode",
            hint="Start one so: postroom spawn NAME --bridge opencode -- opencode",
        )
    command = launch.command if _SERVE[0] in launch.command else [*launch.command, *_SERVE]
    with nursery.reserved(launch):
        owned = Owned(launch._replace(command=command), NAME, CAPABILITIES)
        berth = nursery.keep(launch, owned)
    return berth._replace(details={**berth.details, "conversation": owned.session})


def open(berth: Berth) -> Bridge:
    """To our own server where there is one, else to that of the terminal in which it runs."""
    if berth.details.get("conversation"):
        return nursery.find(berth, Owned)
    return Attached(berth, NAME, _BESIDE)


def end(berth: Berth) -> None:
    """End what an earlier daemon has left running there; what runs in a terminal is not ours to end."""
    if berth.details.get("conversation"):
        nursery.end(berth)
