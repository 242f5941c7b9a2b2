"""What an agent's client can look at without taking it: its inbox, threads, messages, agents.

Looking marks nothing. Nobody sees what was neither written nor sent to it, unless it may see all.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from postroom.errors import NotFound, PostroomError, UnknownMessage
from postroom.mcp_server import shown
from postroom.model.message import Event
from postroom.room.identity import is_of

if TYPE_CHECKING:
    from postroom.mcp_server.port import Caller
    from postroom.model.message import Message
    from postroom.store.contract import ReadTx

Json = dict[str, Any]

SCHEME = "postroom://"
INBOX = f"{SCHEME}inbox"
MESSAGE, THREAD, AGENT = f"{SCHEME}message/", f"{SCHEME}thread/", f"{SCHEME}agent/"

LISTED = ((INBOX, "inbox", "What waits for you; looking takes nothing."),)
TEMPLATES = (
    (f"{MESSAGE}{{id}}", "message", "One message of yours."),
    (f"{THREAD}{{id}}", "thread", "A conversation, by the id of any message of it."),
    (f"{AGENT}{{name}}", "agent", "Somebody: what it is for, how it is reached, what waits for it."),
)
_MOST = 50


class Unknown(NotFound):
    """There is no such resource."""


def read(caller: "Caller", uri: str) -> Json:
    """What a resource holds now; `Unknown` where there is none, or none for who asks."""
    kind, _, name = uri.removeprefix(SCHEME).partition("/")
    try:
        if uri == INBOX:
            return {"messages": [shown.line(mail) for mail in caller.room.peek(limit=_MOST)]}
        if kind == "message" and name:
            message = caller.room.message(name)
            if not is_visible(caller, message):
                raise Unknown
            return shown.message(message) | _receipts(caller, message)
        if kind == "thread" and name:
            found = [one for one in caller.room.thread(name) if is_visible(caller, one)]
            if not found:
                raise Unknown
            return {"messages": [shown.message(one) for one in found]}
        if kind == "agent" and name:
            return _agent(caller, name)
    except (UnknownMessage, NotFound) as exc:
        raise Unknown(str(exc)) from None
    raise Unknown


def _receipts(caller: "Caller", message: "Message") -> Json:
    """How far it got with each, for who sent it."""
    if message.sender_id != caller.agent.id:
        return {}
    deliveries = caller.room.store.look().deliveries(message.seq)
    return {"receipts": [{"name": one.recipient, "state": one.state.value} for one in deliveries]}


def _agent(caller: "Caller", name: str) -> Json:
    wanted = caller.room.known(name)
    here = caller.agent.project or caller.room.project()
    for one in caller.room.agents(everyone=True):
        if one.agent.id == wanted.id:
            return shown.status(one, here)
    raise Unknown


def is_visible(caller: "Caller", message: "Message") -> bool:
    """Whether somebody wrote it, got it, or may see all."""
    me = caller.agent.id
    if caller.sees_all or is_of(message.sender_id, me):
        return True
    return any(is_of(d.recipient_id, me) for d in caller.room.store.look().deliveries(message.seq))


def followed(caller: "Caller", uri: str) -> str:
    """As what `Change` tells of a resource: a message has two names, a thread those of each message of it.

    What there is not (yet) is followed as it was named. Whoever follows it still may not see it.
    """
    kind, _, name = uri.removeprefix(SCHEME).partition("/")
    if kind in ("message", "thread") and name:
        with suppress(PostroomError):
            message = caller.room.message(name)
            return MESSAGE + message.id if kind == "message" else THREAD + message.thread
    return uri


class Change:
    """What an event changes: for whose inbox, and which resources that only some may see."""

    __slots__ = ("everyones", "party", "private", "readers")

    def __init__(self, look: "ReadTx", event: Event) -> None:
        seq = event.refs.get("seq")
        message = None if seq is None else event.message or look.message_at(seq)
        self.party: set[str] = set()  # whose inbox
        self.readers: set[str] = set()
        self.private: list[str] = []
        changed = {event.party}  # whose reach, or what waits for whom
        if message is not None:
            recipients = {d.recipient_id for d in look.deliveries(message.seq)}
            self.party = recipients if event.type == "message.sent" else {event.party or ""}
            self.readers = recipients | {message.sender_id}
            self.private = [MESSAGE + message.id, THREAD + message.thread]
            changed = self.party
        agents = [agent for party in sorted(changed - {""}) if (agent := look.agent(party))]
        self.everyones = [
            AGENT + name for agent in agents for name in dict.fromkeys((agent.name, agent.address))
        ]

    def seen_by(self, party: str, *, sees_all: bool) -> list[str]:
        """The resources that it changes for somebody."""
        mine = [INBOX] if any(is_of(one, party) for one in self.party) else []
        if sees_all or any(is_of(one, party) for one in self.readers):
            mine += self.private
        return mine + self.everyones
