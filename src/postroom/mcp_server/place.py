"""Where the tools are found in the daemon's web server. It costs nothing to load."""

PATH = "/mcp"  # the streamable HTTP of the protocol
LINES = "/mcp/lines"  # a WebSocket that carries what a program speaks with its client
