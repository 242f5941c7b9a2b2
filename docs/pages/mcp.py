"""The agents' own tools, as they are told of them."""

import json
import textwrap

from postroom.mcp_server import rpc
from postroom.mcp_server.exhibit import LISTED, TEMPLATES
from postroom.mcp_server.prompt import PROMPTS
from postroom.mcp_server.stream import MOST
from postroom.mcp_server.tool import TOOLS, Tool


def mcp() -> str:
    """Tools, resources and prompts."""
    size = len(json.dumps({"tools": [one.as_json() for one in TOOLS]}, separators=(",", ":")))
    text = "# MCP: tools, resources, prompts\n\n" + textwrap.dedent(f"""\
        What the daemon serves at `/mcp`, and `postroom mcp` over standard input and output; [how to use
        it](../howto/mcp.md). Protocol 2026-07-28, and 2024-11-05 to 2025-11-25. Who calls is never an
        argument. All tools together take {size:,} characters of an agent's context.

        One client of `postroom mcp` has at most {MOST} requests under way, each of another number: one
        more is refused with code {rpc.BUSY}. What it says counts against `http_rate`, and beyond that is
        read more slowly.

        ## Tools

        """)
    text += "\n".join(_tool(one) for one in TOOLS)
    text += "\n## Resources\n\nLooking marks nothing. Nobody sees what it neither wrote nor got.\n\n"
    text += "| resource | |\n| --- | --- |\n"
    text += "".join(f"| `{uri}` | {about} |\n" for uri, _, about in (*LISTED, *TEMPLATES))
    text += "\n## Prompts\n\n| prompt | arguments | |\n| --- | --- | --- |\n"
    for one in PROMPTS:
        named = ", ".join(f"`{name}`" + ("" if must else "?") for name, _, must in one.arguments)
        text += f"| `{one.name}` | {named} | {one.about} |\n"
    return text


def _tool(one: Tool) -> str:
    text = f"### {one.name}\n\n{one.about}\n\n"
    if one.takes:
        text += "| takes | |\n| --- | --- |\n"
        for name, schema in one.takes.items():
            about = schema.get("description") or dict(one.manual).get(name) or _kind(schema)
            text += f"| `{name}`{'' if name in one.needs else '?'} | {about} |\n"
        text += "\n"
    return text + f"Gives {', '.join(f'`{name}`' for name in one.gives)}.\n"


def _kind(schema: dict[str, object]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))  # pyright: ignore[reportArgumentType] - a list
    kinds = {"array": "a list of texts", "number": "seconds", "object": "an object"}
    return kinds.get(str(schema.get("type")), "text")
