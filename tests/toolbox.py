"""Real clients of the MCP server, in either era, over HTTP and by the command."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from postroom.mcp_server.tool import BY_NAME, TOOLS

ERAS = ("2026-07-28", "legacy")
_CAN = {*BY_NAME, *(name for one in TOOLS for name in one.takes)}


def is_next(words: str) -> bool:
    """Whether it says what to do next, and who has nothing but tools can: it names one, or an argument, or
    whoever else has to do it.
    """
    named = set(re.findall(r"`(\w+)`", words))
    return bool(named or "your user" in words) and named <= _CAN and not re.search(r"postroom |--", words)


@asynccontextmanager
async def over_http(url: str, token: str, era: str = ERAS[0], **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=era, **options) as client,
    ):
        yield client


@asynccontextmanager
async def by_command(
    command: list[str], env: dict[str, str], cwd: str, era: str = ERAS[0], **options: Any
) -> AsyncIterator[Client]:
    params = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=cwd)
    async with Client(stdio_client(params), mode=era, **options) as client:
        yield client


async def call(client: Client, name: str, /, **args: Any) -> Any:
    """What a tool gives, if it did what it was asked."""
    result = await client.call_tool(name, args)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, name: str, /, **args: Any) -> str:
    """What a tool says that could not."""
    result = await client.call_tool(name, args)
    assert result.is_error, result
    return result.content[0].text  # pyright: ignore[reportAttributeAccessIssue] - it is
