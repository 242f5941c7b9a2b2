"""What an import would do, worked out before anything is written."""

from enum import StrEnum
from typing import NamedTuple

from postroom.model.message import Json
from postroom.room.imported import Piece


class Kind(StrEnum):
    """What can be brought in."""

    AGENTCOMMS = "agentcomms"
    ORCHESTRATOR = "agent-orchestrator"
    MAILBOX = "mailbox"
    QUEUE = "sqlite"


class LeftOut(NamedTuple):
    """What is not brought in."""

    what: str  # as its own tool calls it
    why: str


class Agents(NamedTuple):
    """Agents that another tool's config has: tables of ours."""

    kind: Kind
    source: str
    tables: dict[str, Json]  # by their addresses
    names: dict[str, str]  # those that are called otherwise here
    left: list[LeftOut]


class Mail(NamedTuple):
    """Mail that lies in a tree of mailboxes, or in tables of SQLite."""

    source: str
    mailboxes: list[str]  # the addresses of their owners
    pieces: list[Piece]  # in the order in which they were written
    names: dict[str, str]  # those that are called otherwise here
    left: list[LeftOut]
    called: dict[str, str]  # everybody, by the word for them there
    kind: Kind = Kind.MAILBOX
