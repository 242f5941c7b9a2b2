"""The rows of a room as immutable values. Times are milliseconds since the epoch.

NamedTuples, and no future import: this module is loaded by every hook and every command.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.model.ids import handle
from postroom.model.ladder import Cause, Evidence, Outcome, Priority, State

Json = dict[str, Any]
RAW = "inbox:"  # begins the keys of letters that were written straight into an inbox; a caller may not use it

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    T = TypeVar("T")

    def make(cls: type[T], values: Iterable[Any], /) -> T:
        """As `_make`, but nothing is counted and no default filled in: give a value for every field."""
        ...
else:
    make = tuple.__new__


class Message(NamedTuple):
    """What was sent. Never changes, except that `redact` takes its content away.

    The order of the fields is that of the columns in `message.sql`: rows and messages are cut by position.
    """

    seq: int
    id: str
    tenant: str
    project: str
    sender_id: str
    sender: str  # the sender's address when it wrote; the id above is what endures
    sender_role: str | None
    verified: str
    to: str
    type: str
    cls: str
    subject: str
    body: str
    thread: str
    created_at: int
    priority: Priority
    requires_ack: bool
    # what most messages do not have
    sender_session: str | None
    sender_runtime: str | None
    payload: Json | None
    metadata: Json | None
    reply_to: str | None
    correlation: str | None
    attachments: list[Json] | None
    not_before: int | None
    expires_at: int | None
    key: str | None
    redacted: Json | None  # hashes of what was taken away

    @property
    def said_at(self) -> int:
        """When it began to count: a letter that the room wrote ahead and held, from its moment on."""
        return self.created_at if self.not_before is None or self.verified != "room" else self.not_before

    @property
    def handle(self) -> str:
        return handle(self.id)

    def writer(self, here: str) -> str:
        """Whoever wrote it, as the project `here` would have to write back."""
        elsewhere = self.project != here and self.sender_id[:1] == "a"  # neither a person nor the room
        return f"{self.project}/{self.sender}" if elsewhere and "/" not in self.sender else self.sender

    def payload_as(self, cls: "type[T]") -> "T":
        """The payload as an object: of a class in `postroom.payloads`, or of any dataclass.

        Raises `InvalidPayload` when the message is of another type, or the payload does not fit.
        """
        from postroom.model.payload import read  # noqa: PLC0415 - only for who reads it so

        return read(cls, self.payload, self.type)

    @property
    def traceparent(self) -> str:
        """Where whoever works on it goes on with its sender's trace, as W3C writes it."""
        from postroom.model.trace import of  # noqa: PLC0415 - only for who traces

        return str(of(self))

    @property
    def format(self) -> str:
        """How the body is to be read: `plain`, unless the sender said `markdown`."""
        return str((self.metadata or {}).get("format", "plain"))


NOTHING = (None,) * 11  # in the fields that most messages do not have


class Delivery(NamedTuple):
    """One message for one recipient, and its place on the ladder."""

    seq: int
    message: str
    recipient_id: str
    recipient: str
    state: State
    route: str | None
    evidence: Evidence | None
    attempts: int
    unproven: int
    reason: str | None
    priority: Priority
    held: bool
    shown_before: bool  # an earlier attempt may have shown it
    due_at: int | None
    context: str | None  # of the latest attempt, as are the next three
    nonce: str | None
    claimer: str | None
    handed_at: int | None
    stored_at: int
    offered_at: int | None
    seen_at: int | None
    acked_at: int | None
    ended_at: int | None

    @property
    def is_scheduled(self) -> bool:
        """Whether its sender set a time that has not come. What else is held, its recipient may ask for."""
        return self.held and self.reason == "scheduled"

    @property
    def is_paused(self) -> bool:
        """Return True if no connection is pushed it before `due_at`: earlier ones did not acknowledge it."""
        return self.reason == "unacknowledged"


def first_delivery(m: Message, recipient: str, address: str, *, held: bool = False) -> Delivery:
    """The delivery of a message that has not been offered yet."""
    return make(Delivery, (
        m.seq, m.id, recipient, address, State.STORED, None, None, 0, 0, "scheduled" if held else None,
        m.priority, held, False, m.not_before if held else m.expires_at, None, None, None, None, m.created_at,
        None, None, None, None,
    ))  # fmt: skip


class Attempt(NamedTuple):
    """One try at handing a delivery over."""

    seq: int
    recipient_id: str
    n: int
    route: str
    context: str
    nonce: str
    claimer: str
    claimed_at: int
    handed_at: int | None
    outcome: Outcome
    evidence: Evidence | None
    ended_at: int | None
    missing: int = 0  # characters of the body that it did not show
    cause: Cause | None = None


class Mail(NamedTuple):
    """A message together with the delivery that brought it."""

    message: Message
    delivery: Delivery

    @property
    def id(self) -> str:
        return self.message.id

    @property
    def handle(self) -> str:
        return self.message.handle

    @property
    def sender(self) -> str:
        return self.message.sender

    @property
    def type(self) -> str:
        return self.message.type

    @property
    def subject(self) -> str:
        return self.message.subject

    @property
    def body(self) -> str:
        return self.message.body

    @property
    def payload(self) -> Json | None:
        return self.message.payload

    def payload_as(self, cls: "type[T]") -> "T":
        """See `Message.payload_as`."""
        return self.message.payload_as(cls)

    @property
    def thread(self) -> str:
        return self.message.thread

    @property
    def correlation(self) -> str | None:
        """What a request and its answers have in common, where the sender gave it."""
        return self.message.correlation

    @property
    def shown_before(self) -> bool:
        """Whether an earlier attempt may have shown it already."""
        return self.delivery.shown_before


class Agent(NamedTuple):
    """A durable address: an agent's, or a person's."""

    id: str
    tenant: str
    project: str
    name: str
    address: str
    role: str
    capabilities: list[str]
    description: str
    supervisor: str | None
    created_at: int
    left_at: int | None
    manners: Json | None  # when it wants to be left alone: see `postroom.model.manners`

    @property
    def is_human(self) -> bool:
        return self.id[0] == "h"

    @property
    def called(self) -> str:
        """What others are told it is: an agent's name, a person's address."""
        return self.address if self.is_human else self.name


class Session(NamedTuple):
    """One run of an agent's runtime."""

    id: str
    tenant: str
    agent: str
    runtime: str
    process: str
    pane: str | None
    worktree: str | None
    branch: str | None
    epoch: int
    started_at: int
    ended_at: int | None
    alive_at: int
    details: Json  # what its runtime's routes need


class Lease(NamedTuple):
    """An exclusive, fenced hold on a mailbox. `holder` is None while nobody listens."""

    agent: str
    fence: int
    holder: str | None
    context: str | None
    taken_at: int


class Standing(NamedTuple):
    """What decides whether mail may be offered from a mailbox just now."""

    holder: str | None  # who listens on it
    others: bool  # whether anyone else holds claims on its mail
    due: int | None  # when the clock next acts on anything in the room


class Project(NamedTuple):
    """A scope for agents: usually one repository with all its worktrees."""

    name: str
    root: str
    created_at: int


class Event(NamedTuple):
    """One change, append-only. The fields are those of the journal, in its order."""

    seq: int
    id: str
    tenant_id: str
    conversation_id: str | None
    agent_id: str | None
    human_id: str | None
    channel_id: str | None
    type: str
    role: str
    timestamp: int
    payload: Json
    refs: Json
    status: str
    message: Message | None = None  # what `message.sent` stored; kept once, in its own row

    @property
    def party(self) -> str:
        """Whose mailbox or act this is: an agent's or a person's id, or nothing."""
        return self.agent_id or self.human_id or ""


class Deferral(NamedTuple):
    """The latest time that a recipient refused a message for now."""

    recipient_id: str
    words: str  # why
    n: int  # of its refusals
    limit: int  # after so many the message is dead
    at: int


class Receipts(NamedTuple):
    """How far one message got, with the evidence."""

    message: Message
    deliveries: list[Delivery]
    attempts: list[Attempt]
    deferrals: list[Deferral] = []  # noqa: RUF012 - read only; at most one for each delivery

    def deferral(self, recipient_id: str) -> Deferral | None:
        """Return the latest refusal for now of one recipient."""
        return next((one for one in self.deferrals if one.recipient_id == recipient_id), None)


class Sent(NamedTuple):
    """What is true the moment `send` returns."""

    message: Message
    deliveries: list[Delivery]
    # Per delivery: `live` when a program listens; what a session of theirs does (`idle`, `busy`,
    # `permission`, `unknown`); `stored` when nothing of theirs runs; or `left`.
    reach: list[str]
    duplicate: bool = False  # the idempotency key had been used: this is the earlier message
    note: str = ""  # what the sender should know of it
    is_held_back: bool = False  # the loop guard did not deliver it, and the note says why
    # By recipient's id, for who has a session: how it is reached there (`postroom.model.presence.Sight`).
    ways: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        return self.message.id


class AgentStatus(NamedTuple):
    """An agent, what waits for it, and whether anything of it runs."""

    agent: Agent
    waiting: int
    offered: int
    reach: str  # see `Sent`
    listening: str | None  # the process that holds its mailbox
    held: int  # what waits until it is not to be left alone any more
    sessions: tuple[Any, ...] = ()  # those that have not ended, each a `postroom.model.presence.Sight`
    uncertain: int = 0  # of what waits: what was typed, and nobody can tell what became of it
    refusal: Any = None  # a `postroom.model.refusal.Refusal`, while its API refuses its requests
