"""Where the tools are found in the daemon's web server. It costs nothing to load."""

PATH = "/mcp"  # the streamable HTTP of the protocol
LINES = "/mcp/lines"  # a WebSocket that carries what a program speaks with its client
PASSED = "notifications/postroom/passed"  # by which that program tells which answers its client has
EARLY = "notifications/postroom/early"  # and which calls it made before it had the latest of them
LONGEST = 8 << 20  # bytes of one line
