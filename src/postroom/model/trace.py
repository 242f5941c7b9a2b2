"""Trace context as W3C has it: a message carries its sender's `traceparent` among its metadata.

A trace that nobody began is the conversation itself, so that all of it is found together.
"""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from postroom.model.message import Json, Message

PARENT, STATE = "traceparent", "tracestate"
_HEX = frozenset("0123456789abcdef")
_LONGEST_STATE = 512


class Trace(NamedTuple):
    """A place in a trace: what comes after it names it as its parent."""

    id: str  # of the trace, 32 hexadecimal digits
    span: str  # 16 of them
    sampled: bool = True

    def __str__(self) -> str:
        return f"00-{self.id}-{self.span}-0{int(self.sampled)}"


def parse(text: object) -> Trace | None:
    """None for whatever is no `traceparent`; one of a later version is read as far as this one goes."""
    if not isinstance(text, str) or len(text) > _LONGEST_STATE:
        return None
    version, trace, span, flags, *more = [*text.split("-"), "", "", ""]
    known = version != "ff" and (version != "00" or not any(more))
    sizes = [len(part) for part in (version, trace, span, flags)] == [2, 32, 16, 2]
    if not known or not sizes or not _HEX.issuperset(version + trace + span + flags):
        return None
    if trace == "0" * 32 or span == "0" * 16:
        return None
    return Trace(trace, span, bool(int(flags, 16) & 1))


def carry(metadata: "Json | None", parent: object, state: object = None) -> "Json | None":
    """The metadata, with where the sender stands, if that is anywhere and they do not say it themselves."""
    found = parse(parent)
    if found is None or PARENT in (metadata or {}):
        return metadata
    carried = {PARENT: str(found)}
    if (
        isinstance(state, str)
        and 0 < len(state) <= _LONGEST_STATE
        and state.isascii()
        and state.isprintable()
    ):
        carried[STATE] = state
    return {**(metadata or {}), **carried}


def current(metadata: "Json | None") -> "Json | None":
    """The same, of a program that uses OpenTelemetry itself: nothing is loaded to find out."""
    api: Any = sys.modules.get("opentelemetry.trace")
    at = api.get_current_span().get_span_context() if api is not None else None
    if at is None or not at.is_valid:
        return metadata
    parent = Trace(f"{at.trace_id:032x}", f"{at.span_id:016x}", bool(at.trace_flags & 1))
    return carry(metadata, str(parent), at.trace_state.to_header())


def before(message: "Message") -> Trace | None:
    """Where its sender stood; None: in no trace."""
    return parse((message.metadata or {}).get(PARENT))


def of(message: "Message") -> Trace:
    """Its own place: that of its sending, after which whatever its receivers do comes."""
    span, parent = message.id.replace("-", "")[16:], before(message)
    return Trace(parent.id, span, parent.sampled) if parent else Trace(message.thread.replace("-", ""), span)
