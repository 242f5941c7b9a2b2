"""One call of an operation, whichever door it came in by: checked, allowed, done."""

import inspect
from collections.abc import Callable
from typing import Any

from postroom.errors import InvalidPayload, InvalidValue
from postroom.model.message import Json
from postroom.protocol.operation import MAYBE, OPERATIONS, TEXT, Operation
from postroom.protocol.schema import check
from postroom.server.acts import looking, measuring, steering, waiting, writing
from postroom.server.desk import Call, Desk
from postroom.server.principal import Credentials, Principal
from postroom.text import encode

Act = Callable[[Call], Any]

ACTS: dict[str, Act] = {
    one.name: next(
        getattr(module, one.name)
        for module in (looking, writing, steering, waiting, measuring)
        if hasattr(module, one.name) and getattr(module, one.name).__module__ == module.__name__
    )
    for one in OPERATIONS
}


_SCHEMAS: dict[str, Json] = {
    one.name: {
        "type": "object",
        "additionalProperties": False,
        "properties": {part.name: part.schema for part in one.parameters},
        "required": [part.name for part in one.parameters if part.required],
    }
    for one in OPERATIONS
}
_TEXTS = {  # by operation, the parameters that any text fits
    one.name: frozenset(part.name for part in one.parameters if part.schema in (TEXT, MAYBE))
    for one in OPERATIONS
}
_REQUIRED = {one.name: frozenset(part.name for part in one.parameters if part.required) for one in OPERATIONS}


def checked(operation: Operation, args: Json) -> Json:
    """What a call says, if it is sound; `InvalidValue` names what is not."""
    if _is_plain(operation.name, args):
        return args
    try:
        check(args, _SCHEMAS[operation.name], "request")
        encode(args).encode()
    except InvalidPayload as exc:
        hint = f"See what {operation.name} takes: GET /api/v1/openapi.json"
        raise InvalidValue(str(exc), hint=hint, **exc.facts) from None
    except (UnicodeEncodeError, RecursionError, ValueError):
        raise InvalidValue("the request holds what is no text, or is nested too deep") from None
    return args


def _is_plain(name: str, args: Json) -> bool:
    """Whether it is sound because it is nothing but text, each of it where any text may stand."""
    texts = _TEXTS[name]
    for part, value in args.items():
        if part not in texts or type(value) is not str or not value.isascii():
            return False
    return _REQUIRED[name] <= args.keys()


async def perform(desk: Desk, operation: Operation, asks: Credentials | Principal, args: Json) -> Any:
    """Do it, off the event loop; `args` are sound."""

    def begin() -> Call:
        who = desk.identify(asks) if isinstance(asks, Credentials) else asks
        who.check(operation.scope)
        return Call(desk, operation, who, desk.view(who, args.get("project")), args)

    if is_patient(operation):
        return await ACTS[operation.name](await desk.do(begin))
    return await desk.do(lambda: ACTS[operation.name](begin()))


def is_patient(operation: Operation) -> bool:
    """Whether it is done in the event loop, and may take its time."""
    return inspect.iscoroutinefunction(ACTS[operation.name])
