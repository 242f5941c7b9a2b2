"""All that serves the tools, loaded at once: the protocol's own library takes a second and a half."""

from typing import TYPE_CHECKING, Any

from postroom.mcp_server.http import Http
from postroom.mcp_server.server import Tools, build
from postroom.mcp_server.stream import Stream

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from postroom.mcp_server.port import Host

__all__ = ["Http", "Stream", "made"]


def made(host: "Host") -> "tuple[Tools, Server[Any]]":
    """The server of a room."""
    tools = Tools(host)
    return tools, build(tools)
