"""What bridges to agents that speak ACP can do."""

from postroom.bridges.contract import Capabilities
from postroom.model.ladder import Evidence

NAME = "acp"
CAPABILITIES = Capabilities(
    output=True, proves=(Evidence.RUNTIME_ACK,), interrupts=True, owned=True, console=True
)
