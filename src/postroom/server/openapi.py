"""The API as an OpenAPI 3.1 document, made of the table of operations."""

from typing import Any

from postroom import __version__
from postroom.protocol.operation import BODY, MAIL, OBSERVE, OPERATIONS, PREFIX, SCOPES, Operation, Parameter
from postroom.protocol.shape import SHAPES, TEXT, YES, document, ref

Json = dict[str, Any]

PATH = f"{PREFIX}/openapi.json"
_ABOUT = """\
Everything a room can do, over the daemon's port and its Unix socket. Who calls is known by its token
(`postroom tokens issue NAME`), by the cookie of a logged-in page, or at the Unix socket by its process; a
name in a request that is not the caller's own is refused. Times are ISO 8601 in UTC, a latency is in
milliseconds. An error is a document with a stable code, what is wrong, and what to do next."""
_SCOPES = "The scopes: " + "; ".join(f"`{name}`, {about}" for name, about in SCOPES.items()) + "."


def openapi() -> Json:
    paths: dict[str, Json] = {}
    for one in OPERATIONS:
        paths.setdefault(PREFIX + one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postroom",
            "version": __version__,
            "description": f"{_ABOUT}\n\n{_SCOPES}",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "http://127.0.0.1:7678"}],
        "security": [{"token": []}, {"page": []}],
        "paths": {**paths, **_others()},
        "components": {
            "schemas": SHAPES,
            "responses": {"Error": _response("What is wrong, and what to do.", ref("Error"))},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "page": {"type": "apiKey", "in": "cookie", "name": "postroom_7678"},
            },
        },
    }


def _operation(one: Operation) -> Json:
    found: Json = {
        "operationId": one.name,
        "summary": one.about,
        "description": f"Scope: `{one.scope}`.",
        "parameters": [_parameter(each) for each in one.parameters if each.where != BODY],
        "responses": _responses(one.result, one.media_type),
    }
    if one.body:
        found["requestBody"] = {
            "required": any(each.required for each in one.body),
            "content": {"application/json": {"schema": _body(one)}},
        }
    return found


def _parameter(one: Parameter) -> Json:
    return {
        "name": one.name, "in": one.where, "required": one.required, "description": one.about,
        "schema": one.schema,
    }  # fmt: skip


def _body(one: Operation) -> Json:
    return {
        "type": "object",
        "properties": {each.name: {**each.schema, "description": each.about} for each in one.body},
        "required": [each.name for each in one.body if each.required],
        "additionalProperties": False,
    }


def _responses(schema: Json, media_type: str = "application/json") -> Json:
    refused = {"$ref": "#/components/responses/Error"}
    return {"200": _response("Done.", schema, media_type), "4XX": refused, "5XX": refused}


def _response(about: str, schema: Json, media_type: str = "application/json") -> Json:
    return {"description": about, "content": {media_type: {"schema": schema}}}


def _others() -> dict[str, Json]:
    """What is no operation: what is streamed, and what machines look at."""
    query = {"in": "query", "required": False, "schema": TEXT}
    stream: Json = {
        "operationId": "stream",
        "summary": "Events as they happen (server-sent events); `Last-Event-ID` goes on from there.",
        "parameters": [
            {**query, "name": "project", "description": "only of this project"},
            {**query, "name": "after", "description": "the cursor of the last event that is known"},
            {**query, "name": "chars", "description": "so much of each body, and no payload (`body_chars`)"},
        ],
        "responses": _responses(TEXT, "text/event-stream"),
    }
    listen: Json = {
        "operationId": "listen",
        "summary": "Hold the mailbox while this is read, and get its mail one by one (server-sent events).",
        "description": f"Scope: `{MAIL}`. The first event names the listener; `heard` asks for the next.",
        "parameters": [
            {**query, "name": "agent", "description": "a child of the caller"},
            {**query, "name": "project", "description": "the project that bare names belong to"},
        ],
        "responses": _responses(TEXT, "text/event-stream"),
    }
    health: Json = {
        "operationId": "healthz", "summary": "Whether it answers.", "security": [],
        "responses": _responses(document({"status": TEXT})),
    }  # fmt: skip
    own: Json = {
        "operationId": "openapi", "summary": "This document.", "security": [],
        "responses": _responses({"type": "object"}),
    }  # fmt: skip
    measured: Json = {
        "operationId": "prometheus", "summary": "The same as `metrics`, as Prometheus reads it.",
        "description": f"Scope: `{OBSERVE}`.", "responses": _responses(TEXT, "text/plain"),
    }  # fmt: skip
    message = {"type": "object", "properties": {"message": TEXT}, "required": ["message"],
               "additionalProperties": False}  # fmt: skip
    session: Json = {
        "operationId": "session_send",
        "summary": "Write to whoever runs in a session, or to an agent; for who comes from other systems.",
        "description": f"Scope: `{MAIL}`.",
        "parameters": [{"in": "path", "name": "id", "required": True, "schema": {**TEXT, "minLength": 1}}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": message}}},
        "responses": _responses(document({"success": YES})),
    }
    return {
        f"{PREFIX}/stream": {"get": stream}, f"{PREFIX}/inbox/listen": {"get": listen},
        PATH: {"get": own}, "/healthz": {"get": health},
        "/metrics": {"get": measured}, "/api/sessions/{id}/send": {"post": session},
    }  # fmt: skip
