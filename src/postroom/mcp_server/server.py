"""The room as an MCP server: tools, resources, prompts, for both eras of the protocol."""

import json
import logging
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from postroom import __version__
from postroom.errors import PostroomError
from postroom.mcp_server import exhibit, prompt, tool
from postroom.mcp_server.act import ACTS, begun
from postroom.mcp_server.fault import told
from postroom.mcp_server.news import News, arrival_of
from postroom.mcp_server.question import ask_human

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from postroom.mcp_server.port import Caller, Host

_JSON = "application/json"
_log = logging.getLogger("postroom.daemon")


class Tools:
    """What the handlers share."""

    def __init__(self, host: "Host") -> None:
        self.host = host
        self.news = News(host)
        self._tools = types.ListToolsResult(
            tools=[types.Tool.model_validate(one.as_json()) for one in tool.TOOLS]
        )

    async def list_tools(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return self._tools

    async def call(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        wanted = tool.BY_NAME.get(params.name)
        if wanted is None:
            known = ", ".join(tool.BY_NAME)
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}; there are {known}")
        arrival = arrival_of(ctx)
        try:
            call = await begun(self.host, arrival, wanted, params.arguments or {})
            if wanted.name != "ask_human":
                return _result(await ACTS[wanted.name](call))
            found = await ask_human(call, ctx, params)
            return found if isinstance(found, types.InputRequiredResult) else _result(found)
        except PostroomError as exc:
            words = told(exc, wanted.name)
        except MCPError:
            await arrival.lost(self.host)
            raise
        except Exception as exc:
            _log.exception("unexpected")
            words = (
                f"something unexpected went wrong: {type(exc).__name__}. Tell your user: it is in the log."
            )
        await arrival.lost(self.host)  # an answer that tells of an error shows no mail
        return _failed(words)

    async def list_resources(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=name, description=about, mime_type=_JSON)
                for uri, name, about in exhibit.LISTED
            ]
        )

    async def list_templates(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=uri, name=name, description=about, mime_type=_JSON)
                for uri, name, about in exhibit.TEMPLATES
            ]
        )

    async def read_resource(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)

        def look() -> Any:
            caller: Caller = arrival_of(ctx).admit()
            return exhibit.read(caller, uri)

        try:
            found = await self.host.do(look)
        except exhibit.Unknown:
            code = types.INVALID_PARAMS if ctx.protocol_version >= "2026" else -32002
            raise MCPError(code, f"Resource not found: {uri[:200]}", data={"uri": uri[:200]}) from None
        except PostroomError as exc:
            raise MCPError(types.INVALID_PARAMS, told(exc, "inbox")) from None
        contents = [types.TextResourceContents(uri=uri, mime_type=_JSON, text=_text(found))]
        return types.ReadResourceResult(contents=[*contents])

    async def list_prompts(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=one.name, description=one.about,
                    arguments=[
                        types.PromptArgument(name=name, description=about, required=must)
                        for name, about, must in one.arguments
                    ],
                )
                for one in prompt.PROMPTS
            ]
        )  # fmt: skip

    async def get_prompt(
        self, ctx: "ServerRequestContext[Any, Any]", params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        wanted, given = prompt.BY_NAME.get(params.name), params.arguments or {}
        if wanted is None:
            known = ", ".join(prompt.BY_NAME)
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r}; there are {known}")
        if lacking := [name for name, _, must in wanted.arguments if must and not given.get(name)]:
            raise MCPError(types.INVALID_PARAMS, f"{wanted.name} needs {', '.join(lacking)}")
        text = wanted.text.format_map(prompt.OTHERWISE | {k: v for k, v in given.items() if v})
        said = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=wanted.about, messages=[said])


def build(tools: Tools) -> "Server[Any]":
    """The server itself. Each request says who makes it (`news.arrival_of`)."""
    return Server(
        "postroom", version=__version__, title="Postroom", instructions=tool.ABOUT,
        get_tool_input_schema=_schema,
        on_list_tools=tools.list_tools, on_call_tool=tools.call,
        on_list_resources=tools.list_resources, on_list_resource_templates=tools.list_templates,
        on_read_resource=tools.read_resource, on_subscribe_resource=tools.news.subscribe,
        on_unsubscribe_resource=tools.news.unsubscribe, on_subscriptions_listen=tools.news.listen,
        on_list_prompts=tools.list_prompts, on_get_prompt=tools.get_prompt,
    )  # fmt: skip


def _schema(name: str) -> dict[str, Any] | None:
    found = tool.BY_NAME.get(name)
    return None if found is None else found.schema


def _text(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _result(document: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=_text(document))], structured_content=document
    )


def _failed(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words)], is_error=True)
