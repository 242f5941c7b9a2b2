"""What the protocol's own suite expects of a server: tools, resources and prompts with set answers.

They stand beside the real ones, behind the real transport, the real guard and real tokens.
"""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from postroom.mcp_server.server import Tools, build

Json = dict[str, Any]
Call = tuple[Any, types.CallToolRequestParams]
Result = types.CallToolResult | types.InputRequiredResult

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\0\0\0\0"
).decode()
PAUSE = 0.05
NOTHING: Json = {"type": "object", "properties": {}}
DIALECT: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(words: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words)], **more)


def form(message: str, properties: Json, required: list[str]) -> types.ElicitRequest:
    schema: Any = {"type": "object", "properties": properties, "required": required}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def question(words: str, most: int = 100) -> types.CreateMessageRequest:
    said = types.SamplingMessage(role="user", content=types.TextContent(text=words))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[said], max_tokens=most)
    )


def wants(requests: Json, state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


NAME = form("What is your name?", {"name": {"type": "string"}}, ["name"])
ROOTS = types.ListRootsRequest()


def given(params: Any, key: str, kind: type) -> Any:
    found = (params.input_responses or {}).get(key)
    return found if isinstance(found, kind) else None


def picture() -> types.ImageContent:
    return types.ImageContent(data=PIXEL, mime_type="image/png")


def embedded(uri: str, words: str, kind: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=kind, text=words))


async def simple(ctx: Any, params: Any) -> Result:
    return text("This is a simple text response for testing.")


async def image(ctx: Any, params: Any) -> Result:
    return types.CallToolResult(content=[picture()])


async def audio(ctx: Any, params: Any) -> Result:
    return types.CallToolResult(content=[types.AudioContent(data=SILENCE, mime_type="audio/wav")])


async def resource(ctx: Any, params: Any) -> Result:
    found = embedded("test://embedded-resource", "This is an embedded resource content.")
    return types.CallToolResult(content=[found])


async def mixed(ctx: Any, params: Any) -> Result:
    words = types.TextContent(text="Multiple content types test:")
    data = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return types.CallToolResult(content=[words, picture(), data])


async def logging(ctx: Any, params: Any) -> Result:
    for n, words in enumerate(("Tool execution started", "Tool processing data", "Tool execution completed")):
        if n:
            await asyncio.sleep(PAUSE)
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
    return text("done")


async def failing(ctx: Any, params: Any) -> Result:
    return text("This tool intentionally returns an error for testing", is_error=True)


async def progress(ctx: Any, params: Any) -> Result:
    for n in (0, 50, 100):
        await ctx.session.report_progress(n, 100)
        await asyncio.sleep(PAUSE)
    return text("done")


async def sampling(ctx: Any, params: Any) -> Result:
    asked = question((params.arguments or {})["prompt"])
    found = await ctx.session.create_message(
        asked.params.messages, max_tokens=100, related_request_id=ctx.request_id
    )
    return text(f"LLM response: {found.content.text}")


async def _elicited(ctx: Any, message: str, properties: Json, required: list[str]) -> Any:
    schema = {"type": "object", "properties": properties, "required": required}
    return await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)


async def elicitation(ctx: Any, params: Any) -> Result:
    one = {"type": "string", "description": "User's response"}
    other = {"type": "string", "description": "User's email address"}
    found = await _elicited(
        ctx, (params.arguments or {})["message"], {"username": one, "email": other}, ["username", "email"]
    )
    return text(f"User response: action: {found.action}, content: {json.dumps(found.content)}")


async def defaults(ctx: Any, params: Any) -> Result:
    properties: Json = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    found = await _elicited(ctx, "Please confirm", properties, [])
    return text(f"Elicitation completed: action={found.action}, content={json.dumps(found.content)}")


def _titled(noun: str) -> list[Json]:
    return [
        {"const": f"value{n}", "title": f"{word} {noun}"}
        for n, word in enumerate(("First", "Second", "Third"), 1)
    ]


async def enums(ctx: Any, params: Any) -> Result:
    plain = ["option1", "option2", "option3"]
    properties: Json = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    }  # fmt: skip
    found = await _elicited(ctx, "Please choose", properties, [])
    return text(f"Elicitation completed: action={found.action}, content={json.dumps(found.content)}")


async def reconnection(ctx: Any, params: Any) -> Result:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await asyncio.sleep(PAUSE)
    return text("done")


async def asks_name(ctx: Any, params: Any) -> Result:
    found = given(params, "user_name", types.ElicitResult)
    if found is None or not isinstance((found.content or {}).get("name"), str):
        return wants({"user_name": NAME})
    return text(f"Hello, {found.content['name']}!")


async def asks_model(ctx: Any, params: Any) -> Result:
    found = given(params, "capital_question", types.CreateMessageResult)
    if found is None:
        return wants({"capital_question": question("What is the capital of France?")})
    return text(found.content.text)


async def asks_roots(ctx: Any, params: Any) -> Result:
    found = given(params, "client_roots", types.ListRootsResult)
    if found is None:
        return wants({"client_roots": ROOTS})
    return text(", ".join(str(one.uri) for one in found.roots))


def confirmed(mark: str) -> Callable[[Any, Any], Awaitable[Result]]:
    async def confirm(ctx: Any, params: Any) -> Result:
        if given(params, "confirm", types.ElicitResult) is None or params.request_state != mark:
            return wants({"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}, mark)
        return text("state-ok")

    return confirm


async def asks_much(ctx: Any, params: Any) -> Result:
    wanted = {"user_name": NAME, "greeting": question("Generate a greeting", 50), "client_roots": ROOTS}
    if set(wanted) - set(params.input_responses or {}) or params.request_state != "much":
        return wants(wanted, "much")
    return text("all there")


async def asks_twice(ctx: Any, params: Any) -> Result:
    if params.request_state == "second" and given(params, "step2", types.ElicitResult):
        return text("all there")
    if params.request_state == "first" and given(params, "step1", types.ElicitResult):
        color = form("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])
        return wants({"step2": color}, "second")
    return wants(
        {"step1": form("Step 1: What is your name?", {"name": {"type": "string"}}, ["name"])}, "first"
    )


async def asks_what_is_declared(ctx: Any, params: Any) -> Result:
    can, wanted = ctx.session.client_capabilities, Json()
    if can and can.elicitation:
        wanted["user_name"] = NAME
    if can and can.sampling:
        wanted["greeting"] = question("Generate a greeting", 50)
    if can and can.roots:
        wanted["client_roots"] = ROOTS
    return wants(wanted) if wanted and not params.input_responses else text("done")


async def lacks(ctx: Any, params: Any) -> Result:
    can = ctx.session.client_capabilities
    if can is None or can.sampling is None:
        needed = types.MissingRequiredClientCapabilityErrorData(
            required_capabilities=types.ClientCapabilities(sampling=types.SamplingCapability())
        )
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed",
            data=needed.model_dump(by_alias=True, mode="json", exclude_none=True),
        )  # fmt: skip
    return text("done")


async def streams(ctx: Any, params: Any) -> Result:
    await ctx.session.report_progress(1, 2)
    return await asks_name(ctx, params)


async def done(ctx: Any, params: Any) -> Result:
    return text("done")


_PROMPT: Json = {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}
_MESSAGE: Json = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
_HEADER: Json = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
FIXTURES: dict[str, tuple[Json, Callable[[Any, Any], Awaitable[Result]]]] = {
    "test_simple_text": (NOTHING, simple),
    "test_image_content": (NOTHING, image),
    "test_audio_content": (NOTHING, audio),
    "test_embedded_resource": (NOTHING, resource),
    "test_multiple_content_types": (NOTHING, mixed),
    "test_tool_with_logging": (NOTHING, logging),
    "test_logging_tool": (NOTHING, logging),
    "test_error_handling": (NOTHING, failing),
    "test_tool_with_progress": (NOTHING, progress),
    "test_sampling": (_PROMPT, sampling),
    "test_elicitation": (_MESSAGE, elicitation),
    "test_elicitation_sep1034_defaults": (NOTHING, defaults),
    "test_elicitation_sep1330_enums": (NOTHING, enums),
    "test_reconnection": (NOTHING, reconnection),
    "json_schema_2020_12_tool": (DIALECT, done),
    "test_custom_header": (_HEADER, done),
    "test_missing_capability": (NOTHING, lacks),
    "test_streaming_elicitation": (NOTHING, streams),
    "test_input_required_result_elicitation": (NOTHING, asks_name),
    "test_input_required_result_sampling": (NOTHING, asks_model),
    "test_input_required_result_list_roots": (NOTHING, asks_roots),
    "test_input_required_result_request_state": (NOTHING, confirmed("state")),
    "test_input_required_result_tampered_state": (NOTHING, confirmed("tampered")),
    "test_input_required_result_multiple_inputs": (NOTHING, asks_much),
    "test_input_required_result_multi_round": (NOTHING, asks_twice),
    "test_input_required_result_capabilities": (NOTHING, asks_what_is_declared),
}


class Fixture(Tools):
    """The real handlers, and before them those of the suite."""

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        real = await super().list_tools(ctx, params)
        more = [
            types.Tool(name=name, description=f"of the suite: {name}", input_schema=schema)
            for name, (schema, _) in FIXTURES.items()
        ]
        return types.ListToolsResult(tools=[*real.tools, *more])

    async def call(self, ctx: Any, params: types.CallToolRequestParams) -> Result:
        if params.name in FIXTURES:
            return await FIXTURES[params.name][1](ctx, params)
        return await super().call(ctx, params)

    async def list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        real = await super().list_resources(ctx, params)
        for name, kind in (
            ("static-text", "text/plain"),
            ("static-binary", "image/png"),
            ("watched-resource", "text/plain"),
        ):
            found = types.Resource(uri=f"test://{name}", name=name, description=name, mime_type=kind)
            real.resources.append(found)
        return real

    async def list_templates(self, ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        real = await super().list_templates(ctx, params)
        uri = "test://template/{id}/data"
        real.resource_templates.append(
            types.ResourceTemplate(uri_template=uri, name="template", description="-")
        )
        return real

    async def read_resource(
        self, ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        found: Any = None
        if uri == "test://static-text":
            words = "This is the content of the static text resource."
            found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
        elif uri == "test://static-binary":
            found = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        elif uri == "test://watched-resource":
            found = types.TextResourceContents(uri=uri, mime_type="text/plain", text="watched")
        elif uri.startswith("test://template/") and uri.endswith("/data"):
            name = uri.removeprefix("test://template/").removesuffix("/data")
            data = {"id": name, "templateTest": True, "data": f"Data for ID: {name}"}
            found = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
        if found is not None:
            return types.ReadResourceResult(contents=[found])
        return await super().read_resource(ctx, params)

    async def list_prompts(self, ctx: Any, params: Any) -> types.ListPromptsResult:
        real = await super().list_prompts(ctx, params)
        takes = {
            "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"),
            "test_prompt_with_embedded_resource": ("resourceUri",), "test_prompt_with_image": (),
            "test_input_required_result_prompt": (),
        }  # fmt: skip
        for name, arguments in takes.items():
            listed = [types.PromptArgument(name=one, description=one, required=True) for one in arguments]
            real.prompts.append(types.Prompt(name=name, description=name, arguments=listed))
        return real

    async def get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> Any:
        args = params.arguments or {}
        simple = {
            "test_simple_prompt": (_words("This is a simple prompt for testing."),),
            "test_prompt_with_arguments": (
                _words(f"Prompt with arguments: arg1='{args.get('arg1')}', arg2='{args.get('arg2')}'"),
            ),
            "test_prompt_with_embedded_resource": (
                embedded(args.get("resourceUri", ""), "Embedded resource content for testing."),
                _words("Please process the embedded resource above."),
            ),
            "test_prompt_with_image": (picture(), _words("Please analyze the image above.")),
        }
        if params.name in simple:
            return _prompt(*simple[params.name])
        if params.name != "test_input_required_result_prompt":
            return await super().get_prompt(ctx, params)
        found = given(params, "user_context", types.ElicitResult)
        if found is not None:
            return _prompt(_words(f"In the context of {found.content}"))
        message = "What context should the prompt use?"
        return wants({"user_context": form(message, {"context": {"type": "string"}}, ["context"])})


def _words(text: str) -> types.TextContent:
    return types.TextContent(text=text)


def _prompt(*content: Any) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in content])


async def _complete(ctx: Any, params: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park", "party"], total=3))


async def _level(ctx: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def fixture(host: Any) -> tuple[Tools, Server[Any]]:
    """The server under test: the real one, with the suite's own tools beside the real ones."""
    tools = Fixture(host)
    server = build(tools)
    known = server.get_tool_input_schema
    assert known is not None
    server.get_tool_input_schema = lambda name: FIXTURES[name][0] if name in FIXTURES else known(name)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, _complete)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _level)
    # For what the suite's tools have a client bring back; of ours, `question_of` says what it may be.
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="postroom")
    )
    return tools, server
