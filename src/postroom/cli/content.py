"""What a command line says of a message's content: its body, its payload, its place."""

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn, cast

from postroom.errors import InvalidBody, InvalidPayload

if TYPE_CHECKING:
    from postroom.cli.context import Context

_BASE64 = "Send text; encode binary data as base64."


def body(given: str | None, context: "Context") -> str:
    """The body as given, or all of standard input when it is `-`."""
    return standard_input(context) if given == "-" else given or ""


def standard_input(context: "Context") -> str:
    """All of standard input, as far as a body may be long."""
    limit = context.room().settings.max_body_bytes
    if not hasattr(sys.stdin, "buffer"):
        raise InvalidBody(
            "standard input is closed, so there is no body to read", hint="Give the body as an argument."
        )
    data = sys.stdin.buffer.read(limit + 2)
    if len(data) > limit + 1:
        raise InvalidBody(
            f"the body has more than {limit:,} bytes, which is the limit", limit=limit,
            hint="Put the rest in a file and send its path, or raise max_body_bytes.",
        )  # fmt: skip
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        raise InvalidBody(f"standard input is not valid UTF-8 (byte {exc.start:,})", hint=_BASE64) from None
    return text.removesuffix("\n").removesuffix("\r")  # the newline a shell puts at the end


def json_object(label: str, text: str | None) -> dict[str, Any] | None:
    """A JSON object from an argument; None when there is none."""
    if text is None:
        return None
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise InvalidPayload(f"the {label} is nested too deeply", field=label) from None
    except ValueError as exc:
        raise InvalidPayload(f"the {label} is not JSON: {exc}", field=label) from None
    if not isinstance(value, dict):
        raise InvalidPayload(f"the {label} must be a JSON object, not {_kind(value)}", field=label)
    return cast("dict[str, Any]", value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _kind(value: object) -> str:
    names = {"list": "a list", "str": "a string", "bool": "true or false", "NoneType": "null"}
    return names.get(type(value).__name__, "a number")
