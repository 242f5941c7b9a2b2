"""The operations as HTTP routes."""

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from postroom.errors import InvalidValue, PostroomError, UsageError
from postroom.model import trace
from postroom.model.message import Json
from postroom.protocol.operation import BODY, OPERATIONS, PATH, PREFIX, Operation, Parameter
from postroom.server import problem
from postroom.server.calling import checked, perform
from postroom.server.desk import Desk
from postroom.server.doorway import still_known
from postroom.server.guard import credentials
from postroom.server.line import lasting
from postroom.server.principal import Credentials, Principal
from postroom.text import encode

Endpoint = Callable[[Request], Awaitable[Response]]

_YES = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


def routes(desk: Desk) -> list[Route]:
    """What is more particular stands first: an address may have a `/` in it."""
    ordered = sorted(OPERATIONS, key=lambda one: (-one.path.count("/"), one.path.endswith("}")))
    return [
        Route(PREFIX + template(one.path), _traced(desk, one), methods=[one.method], name=one.name)
        for one in ordered
    ]


def template(path: str) -> str:
    """A path as Starlette writes it."""
    return path.replace("{address}", "{address:path}")


def _traced(desk: Desk, operation: Operation) -> Endpoint:
    """Told to whoever traces, as a part of its caller's trace."""
    endpoint = _endpoint(desk, operation)

    async def traced(request: Request) -> Response:
        if desk.noted is None:
            return await endpoint(request)
        began, status = time.time_ns(), 500
        try:
            response = await endpoint(request)
            status = response.status_code
            return response
        except PostroomError as exc:
            status = problem.status(exc)
            raise
        finally:
            parent = trace.parse(request.headers.get(trace.PARENT))
            route = PREFIX + operation.path
            desk.noted(operation.name, operation.method, route, status, began, time.time_ns(), parent)

    return traced


def _endpoint(desk: Desk, operation: Operation) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        asks: Credentials | Principal = credentials(request.scope)
        if operation.body:  # of strangers nothing is read
            asks = await desk.do(desk.identify, asks)
            asks.check(operation.scope)
        args = checked(operation, await _args(request, operation))
        if trace.PARENT in request.headers and operation.find("metadata"):
            parent, state = (request.headers.get(name) for name in (trace.PARENT, trace.STATE))
            args["metadata"] = trace.carry(args.get("metadata"), parent, state)
        doing = perform(desk, operation, asks, args)
        result = await (_while_there(request, desk, doing) if operation.waits else doing)
        if operation.name == "attachment":
            return _file(*result)
        return answer(result)

    return endpoint


def answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode(document), status, headers, media_type="application/json")


def _file(name: str, content: bytes) -> Response:
    """Never shown in the page's own origin, whatever it holds."""
    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(
        content, media_type="application/octet-stream", headers={"content-disposition": disposition}
    )


async def _args(request: Request, operation: Operation) -> Json:
    """All that a request says, as one set of names."""
    args: Json = {}
    for name, text in request.query_params.items():
        known = operation.find(name)
        if known is None or known.where in (PATH, BODY):
            names = [one.name for one in operation.parameters if one.where not in (PATH, BODY)]
            raise problem.no_field(name, names, f"{operation.name} has no parameter")
        args[name] = _read(known, text)
    args |= request.path_params
    if operation.body:
        said = await body(request)
        for name in said:
            known = operation.find(name)
            if known is None or known.where != BODY:
                names = [one.name for one in operation.parameters if one.where == BODY]
                raise problem.no_field(name, names, f"{operation.name} has no field")
        args |= said
    return args


def _read(known: Parameter, text: str) -> Any:
    kind = known.schema.get("type")
    try:
        if kind == "integer":
            return int(text) if len(text) < 20 else _refuse(known, text)
        if kind == "number":
            found = float(text)
            return found if math.isfinite(found) else _refuse(known, text)
        if kind == "boolean":
            return _YES[text.lower()]
    except (ValueError, KeyError):
        _refuse(known, text)
    return text


def _refuse(known: Parameter, text: str) -> NoReturn:
    words = f"{known.name} must be a {known.schema['type']}, not {text[:40]!r}"
    raise InvalidValue(words, field=known.name, hint=f"See: {problem.DOCUMENT}")


async def body(request: Request) -> Json:
    """What a request says, as one JSON object."""
    try:
        content = await request.body()
    except ClientDisconnect:
        raise UsageError("the request ended in the middle") from None
    if not content.strip():
        return {}
    try:
        found = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"the body is no JSON: {str(exc)[:200]}", hint="Send a JSON object.") from None
    if not isinstance(found, dict):
        raise UsageError("the body must be a JSON object", hint='Like: {"to": "builder", "body": "hi"}')
    return found  # pyright: ignore[reportUnknownVariableType] - checked next


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


async def _while_there(request: Request, desk: Desk, doing: Coroutine[Any, Any, Any]) -> Any:
    """Do it, unless who asked goes away meanwhile, or is nobody any more: nobody would get what it claims."""
    task, gone = asyncio.ensure_future(doing), asyncio.ensure_future(_gone(request))
    known = asyncio.ensure_future(still_known(desk, credentials(request.scope)))
    try:
        with lasting(request.scope):
            await asyncio.wait((task, gone, known), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if known.done():
            known.result()  # which is refused
        raise UsageError("who asked has gone")
    finally:
        gone.cancel()
        known.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
