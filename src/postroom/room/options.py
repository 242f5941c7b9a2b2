"""The options of sending and joining, spelled once. For type checkers only: never imported at run time."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from postroom.model.ladder import Priority
from postroom.model.message import Json
from postroom.room.parcel import Parcel

# A file's path; its content, with a name or without; an attachment of another message, to be sent on.
Attachable = str | os.PathLike[str] | bytes | tuple[str, bytes] | Mapping[str, Any]


class ReplyOptions(TypedDict, total=False):
    """What may be said about an answer."""

    type: str
    payload: Json | None
    subject: str
    priority: str | Priority
    requires_ack: bool
    after: float | datetime | None  # seconds from now, or the moment, before which it is not offered
    expires: float | datetime | None  # seconds from now, or the moment, from which it is not delivered
    key: str | None  # sending again with the same key gives the first message back
    metadata: Json | None
    cls: str  # `turn`, `tool` or `interrupt`
    format: str | None  # how the body is to be read: `plain` or `markdown`
    attachments: Sequence[Attachable] | Parcel | None  # within the room, a parcel of what was taken in


class SendOptions(ReplyOptions, total=False):
    """What may be said about a message."""

    thread: str | None
    reply_to: str | None
    correlation: str | None


class About(TypedDict, total=False):
    """What may be said about an agent."""

    role: str
    capabilities: list[str] | tuple[str, ...]
    description: str
    supervisor: str


class SearchOptions(TypedDict, total=False):
    """What else must hold of what is found."""

    sender: str | None
    to: str | None  # whom it reached; a group or a topic as it was written
    type: str | None
    thread: str | None  # any message of it
    since: int | None  # milliseconds since the epoch, as is the next
    until: int | None
    state: str | None  # of any of its deliveries
    before: int | None  # the `seq` of the last one of the page before
    project: str | None
    party: str | None  # who wrote it, or got it


class Wishes(TypedDict, total=False):
    """How somebody wants to be left alone."""

    mute: bool | float | datetime  # for so many seconds, until then, until further notice, or no longer
    hours: str | None  # quiet every day: `22:00-07:00`
    zone: str  # of these hours: `Europe/Berlin`; that of the machine if it is empty
    digest: float | None  # seconds: small messages wait for the next multiple of it
    paused: bool  # nothing is shown to it at all; `postroom interrupt --kind pause` and `postroom resume`
