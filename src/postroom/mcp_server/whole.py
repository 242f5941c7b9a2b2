"""All that serves the tools, loaded at once: the protocol's own library takes a second and a half."""

from postroom.mcp_server.http import Http
from postroom.mcp_server.server import Tools, build
from postroom.mcp_server.stream import Stream

__all__ = ["Http", "Stream", "Tools", "build"]
