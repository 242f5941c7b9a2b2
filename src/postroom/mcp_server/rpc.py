"""Lines of JSON-RPC: what they say, and how some are written. Standard library only, and little of it."""

import json
import os
import re

TYPE_CHECKING = False  # what `typing` takes to load is felt
if TYPE_CHECKING:
    from typing import Any

BROKEN, INVALID, INTERNAL, BUSY = -32700, -32600, -32603, -32000
_WORDS = {BROKEN: "Parse error", INVALID: "Invalid Request"}


# A text that does not end is one piece, too: else each quote in it would have the rest looked through again.
_PIECE = re.compile(r'(?s)"(?:[^"\\]|\\.)*"?|[][{}:,]|[^][{}:,"\s]+')


def _no_json(text: str) -> None:
    raise json.JSONDecodeError(text, text, 0)


_decode = json.JSONDecoder(parse_constant=_no_json).decode  # Python knows NaN, and nobody else does


def read(line: bytes) -> "tuple[Any, str, dict[str, Any]]":
    """The number, the method and the params of a message; of what is none, nothing."""
    try:
        said: Any = _decode(line.decode())
        number, method = said.get("id"), said.get("method") or ""
        params: Any = said.get("params")
        hash(number)
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError):
        return None, "", {}
    except (ValueError, RecursionError):
        return _number(line.decode()), "", {}
    return number, str(method), params if hasattr(params, "items") else {}


def _number(text: str) -> "Any":
    """Of a message that is too deep, or has too long a number, for Python: who asks waits for its answer."""
    depth, pieces = 0, [""] * 3  # the three before this one
    for found in _PIECE.finditer(text):
        piece = found[0]
        if depth == 1 and pieces[1:] == ['"id"', ":"] and pieces[0] in "{,":
            is_plain = piece[0] == '"' or (len(piece) < 20 and piece.lstrip("-").isdecimal())
            try:
                return _decode(piece) if is_plain else None
            except ValueError:  # what comes after the depth has been read by nobody yet
                return None
        depth += (piece in "[{") - (piece in "]}")
        pieces = [*pieces[1:], piece]
    return None


def flaw(line: bytes) -> int:
    """The code of what is wrong with something that asks nothing; 0: it is an answer."""
    try:
        said: Any = _decode(line.decode())
    except (ValueError, RecursionError):
        return BROKEN
    return 0 if hasattr(said, "keys") and said.keys() & {"result", "error"} else INVALID


def note(method: str, params: "dict[str, Any]") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n"


def result(number: "Any", found: "Any") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": found}).encode() + b"\n"


def refusal(number: "Any", code: int, words: str = "") -> bytes:
    error = {"code": code, "message": words or _WORDS[code]}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode() + b"\n"


def write(data: bytes) -> None:
    """All of it, to whoever reads what this process writes."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
