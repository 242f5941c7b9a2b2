"""Text as the store and the journal keep it: compact JSON, nothing that no file can hold; and its width."""

import json
from collections.abc import Callable, Iterable
from json import encoder
from typing import Any


def _make() -> Callable[[Any], str]:
    """An encoder made once: `json.dumps` would build a new one for every value it writes."""
    make: Callable[..., Callable[[Any, int], Iterable[str]]] | None = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    basestring = getattr(encoder, "encode_basestring")  # noqa: B009 - typeshed does not know it
    chunks = make(None, _refuse, basestring, None, ":", ",", False, False, True)
    return lambda value: "".join(chunks(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} is not JSON")


encode = _make()


def storable(text: str) -> str:
    """The same, with whatever is no UTF-8 (in the name of a file, say) spelt out: no store can hold it.

    Two halves of a character, as JSON may have them, are one.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return whole.encode(errors="backslashreplace").decode()
    return text


def width(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width  # noqa: PLC0415 - seldom needed

    return sum(
        0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )
