"""Find what a command has stored before it failed, so that the user does not repeat it."""

from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.errors import PostroomError, StoredBut, StoreError, stored_but
from postroom.model.address import ROOM

if TYPE_CHECKING:
    from postroom.cli.context import Context

# Each makes one change to mail, so a failure after that is a failure of what comes after.
_OF_MAIL = ("send", "ask", "reply", "forward", "decide", "ack", "nack", "withdraw")
# The events of such a change, in words; the room may write others before the command does its work.
_MAIL = {
    "delivery.acked": "acknowledged", "delivery.bounced": "refused", "delivery.deferred": "refused for now",
    "delivery.withdrawn": "withdrawn", "gate.decided": "decided",
}  # fmt: skip
_OTHERS = {
    "agent.interrupted": "", "agent.joined": "", "agent.left": "", "agent.manners": "", "agent.renamed": "",
    "agent.updated": "", "delivery.retried": "put back into the queue", "message.redacted": "redacted",
    "project.deleted": "", "room.pruned": "", "topic.subscribed": "", "topic.unsubscribed": "",
}  # fmt: skip
# The operations of a room elsewhere, in the same words.
_OPERATIONS = {"ack": "acknowledged", "nack": "refused", "withdraw": "withdrawn"}
_CHANGE = "the change is stored"


class Change(NamedTuple):
    """Describe what was stored: in words, and by the message's id."""

    words: str
    id: str = ""


def failed(change: Change, exc: Exception) -> StoredBut:
    """Return the error that names the change and the failure after it."""
    return exc if isinstance(exc, StoredBut) else stored_but(change.words, exc, change.id)


def after(exc: Exception, command: str, context: "Context") -> Exception:
    """Return the failure itself, or one that says what was stored before it."""
    is_ours = isinstance(exc, PostroomError) and not isinstance(exc, StoreError)
    if command not in _OF_MAIL or is_ours or isinstance(exc, StoredBut):
        return exc
    change = context.change()
    return failed(change, exc) if change is not None else exc


def found(room: Any, command: str) -> Change | None:
    """Return the change that the command made, by its first message; None if it made none."""
    words = _MAIL if command in _OF_MAIL else _MAIL | _OTHERS
    change: Change | None = None
    for first, last in room.committed or ():
        if isinstance(first, str):  # of a room elsewhere
            return _of(last, last[-8:], _OPERATIONS.get(first, "stored"))
        for event in _events(room, first, last):
            if event.type == "message.sent" and event.message is not None:
                if event.message.sender_id != ROOM:
                    return _of(event.message.id, event.message.handle, "stored")
            elif event.type in words and change is None:
                change = _about(room, event, words[event.type])
    return change


def _about(room: Any, event: Any, words: str) -> Change:
    seq = event.refs.get("seq")
    message = event.message or (room.store.look().message_at(seq) if seq else None)
    return _of(message.id, message.handle, words) if message is not None and words else Change(_CHANGE)


def _of(id: str, handle: str, words: str) -> Change:
    return Change(f"message {handle} is {words}", id) if id else Change(_CHANGE)


def _events(room: Any, first: int, last: int) -> list[Any]:
    """Return the events of one transaction; none where they cannot be read."""
    try:
        return room.store.look().events(str(first - 1), last - first)
    except Exception:
        return []
