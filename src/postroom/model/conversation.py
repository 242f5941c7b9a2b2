"""What conversations are made of, beside the rows of a message's own way, which every start loads."""

from typing import NamedTuple

from postroom.model.message import Message


class Topic(NamedTuple):
    """A topic of a project, and what goes on in it."""

    name: str
    project: str
    subscribers: int
    messages: int
    latest_at: int | None

    @property
    def address(self) -> str:
        return f"topic:{self.name}"


class Thread(NamedTuple):
    """A conversation as one who has a part in it sees it."""

    id: str
    summary: str  # the subject or the first line of what began it
    participants: list[str]
    messages: int
    unread: int
    latest: Message


class Decision(NamedTuple):
    """What was decided about a gate."""

    option: str
    note: str
    by: str  # an agent's or a person's id; in a `Gate`, the address
    answer: int  # the seq of the message that told the asker
    at: int


class Gate(NamedTuple):
    """A question that needs a decision. Its message's `expires_at` is the moment at which it is denied."""

    message: Message
    options: list[str]
    digest: str  # of what is asked
    asked: list[str]  # who may decide
    decision: Decision | None
    mine: bool = False  # whether who looks is one of them, and no other has taken it

    @property
    def withdrawn(self) -> str:
        """Why nobody is asked any more, though nobody has decided; empty: it is not so."""
        ended = self.decision
        return ended.note if ended is not None and ended.option not in self.options else ""

    def is_open(self, now: int) -> bool:
        """Whether it can still be decided."""
        over = self.message.expires_at is not None and self.message.expires_at <= now
        return self.decision is None and bool(self.asked) and not over and self.message.redacted is None


class Attachment(NamedTuple):
    """A file that came with a message."""

    name: str
    media_type: str
    size: int
    sha256: str
    path: str  # where its content is
