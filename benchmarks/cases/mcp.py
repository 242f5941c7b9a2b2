"""The agents' own tools: `send` over HTTP beside a bare echo on the same library, and what a client waits for
before it has them.
"""

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from benchmarks import product
from benchmarks.bench import Bench
from benchmarks.proc import resident_bytes
from benchmarks.result import Column, Result, Row, spread

NAME, WRITER = "builder", "planner"
LIMIT = 60.0
OPENING = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
)

TITLE = "MCP: the agents' own tools"
COLUMNS = (
    Column("p50", "p50, ms", 1),
    Column("p95", "p95, ms", 1),
    Column("ratio", "×", 2),
    Column("resident", "MB", 0),
)


def run(bench: Bench) -> Result:
    import postroom
    from postroom.daemon import control, instance
    from postroom.room.token import issue

    home = str(bench.folder / "mcp-home")
    product.create_room(home, (NAME, WRITER))
    rounds = bench.pick(100, 500)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as stack:
        os.environ["POSTROOM_HTTP_PORT"] = str(port)
        stack.callback(os.environ.pop, "POSTROOM_HTTP_PORT")
        instance.ensure(home)
        stack.callback(control.ask, home, "down")
        room = stack.enter_context(postroom.open(home, project=product.PROJECT))
        token = issue(room, room.known(WRITER), ())
        echo = stack.enter_context(_Echo())
        found = {
            era: asyncio.run(_calls(echo.port, port, token, era, rounds)) for era in ("2026-07-28", "legacy")
        }
        starts = _starts(home, bench.pick(10, 50))
        memory = resident_bytes(_pid(home)) / 1e6
    rows: list[Row] = []
    for era, (bare, ours) in found.items():
        ratio = statistics.median(ours) / statistics.median(bare)
        rows.append(Row(f"echo-{era}", f"a bare echo ({era})", spread(bare, 1e3)))
        rows.append(Row(f"send-{era}", f"`send` ({era})", spread(ours, 1e3) | {"ratio": ratio}))
    base, shim = starts
    ratio = statistics.median(shim) / statistics.median(base)
    rows.append(Row("base", '`python -c "import json, socket"`', spread(base, 1e3)))
    rows.append(
        Row("shim", "`postroom mcp`, to its first answer and its end", spread(shim, 1e3) | {"ratio": ratio})
    )
    rows.append(Row("daemon", "the daemon, with all of it loaded", {"resident": memory}))
    note = f"{rounds} calls of each, by turns, one client; the daemon was up."
    return Result("mcp", TITLE, COLUMNS, rows, notes=(note,))


async def _calls(
    bare: int, served: int, token: str, era: str, rounds: int
) -> tuple[list[float], list[float]]:
    """By turns: one call of the echo at its port, one of ours."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    spent: tuple[list[float], list[float]] = ([], [])
    said = {"to": NAME, "body": "a message over MCP"}
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient() as plain, httpx2.AsyncClient(headers=headers) as signed:
        echo = streamable_http_client(f"http://127.0.0.1:{bare}/mcp", http_client=plain)
        ours = streamable_http_client(f"http://127.0.0.1:{served}/mcp", http_client=signed)
        async with Client(echo, mode=era) as one, Client(ours, mode=era) as other:
            for _ in range(rounds + 1):
                for times, client, name in zip(spent, (one, other), ("echo", "send"), strict=True):
                    began = time.perf_counter()
                    result: Any = await client.call_tool(name, said)
                    times.append(time.perf_counter() - began)
                    assert not result.is_error, result
    return spent[0][1:], spent[1][1:]


def _starts(home: str, rounds: int) -> tuple[list[float], list[float]]:
    program = os.path.join(os.path.dirname(sys.executable), "postroom")
    environment = {**os.environ, "POSTROOM_HOME": home}
    bare = [sys.executable, "-c", "import json, socket"]
    base, shim = list[float](), list[float]()
    for _ in range(rounds + 1):
        for times, command, said in ((base, bare, b""), (shim, [program, "mcp"], OPENING)):
            began = time.perf_counter()
            done = subprocess.run(command, input=said, env=environment, stdout=subprocess.PIPE, check=True)
            times.append(time.perf_counter() - began)
            assert not said or b'"result"' in done.stdout, done.stdout
    return base[1:], shim[1:]


def _pid(home: str) -> int:
    from postroom import host
    from postroom.daemon.place import running

    return host.pid_of(running(home))


class _Echo:
    """The bare server, in a process of its own."""

    def __enter__(self) -> "_Echo":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.echo_mcp"], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(LIMIT)
        assert self._process.stdout
        self._process.stdout.close()
