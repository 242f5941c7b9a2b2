"""The agents' own tools: the room as an MCP server. Nothing here is loaded before an agent asks for it."""
