"""A bare MCP server on the same library: one tool that gives back what it is given. Says its port."""

import asyncio
import socket
import sys


async def serve() -> None:
    import uvicorn
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    async def echo(to: str, body: str) -> dict[str, str]:
        """Give it back."""
        return {"to": to, "body": body}

    link = socket.create_server(("127.0.0.1", 0))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    app = server.streamable_http_app()
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", loop="asyncio", http="h11")
    sys.stdout.write(f"{link.getsockname()[1]}\n")
    sys.stdout.flush()
    await uvicorn.Server(config).serve([link])


if __name__ == "__main__":
    asyncio.run(serve())
