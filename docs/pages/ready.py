"""What the server of the tools answers to everybody alike, as `postroom mcp` says it before a daemon runs."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from postroom.mcp_server.port import Guest
from postroom.mcp_server.ready import CAPABILITIES, VERSION
from postroom.mcp_server.whole import Stream, made

READY = "../../src/postroom/mcp_server/ready.json"
_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def ready() -> str:
    """By version and method."""
    found = {
        version: asyncio.run(
            _asked([("initialize", opening(version)), *((one, {}) for one in _LISTS), ("ping", {})])
        )
        for version in HANDSHAKE_PROTOCOL_VERSIONS
    }
    for version in MODERN_PROTOCOL_VERSIONS:
        meta = {"_meta": {VERSION: version, CAPABILITIES: {}}}
        found[version] = asyncio.run(_asked([(one, meta) for one in ("server/discover", *_LISTS)]))
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"


def opening(version: str) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


class _Nobody:
    """A host of whom nothing is asked but that it ends."""

    room = pool = None

    async def do(self, *_: Any, **__: Any) -> None: ...


async def _asked(requests: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """What a real server answers, one by one."""
    answers: asyncio.Queue[Any] = asyncio.Queue()
    results: dict[str, Any] = {}

    async def write(text: str) -> None:
        answers.put_nowait(json.loads(text))

    async def lines() -> AsyncIterator[bytes]:
        for number, (method, params) in enumerate(requests):
            yield json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
            results[method] = (await answers.get())["result"]
            if method == "initialize":
                yield b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

    host: Any = _Nobody()
    _, server = made(host)
    await Stream(server, host, Guest("", host.do), "", write).serve(lines())
    return results
