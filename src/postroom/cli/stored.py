"""Find what a command has stored before it failed, so that the user does not give it again."""

from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.errors import PostroomError, StoredBut, StoreError
from postroom.model.address import ROOM

if TYPE_CHECKING:
    from postroom.cli.context import Context

# Each makes one change, so a failure after that is a failure of what comes after.
_ONE_CHANGE = ("send", "ask", "reply", "forward", "decide", "ack", "nack", "withdraw")
# What every command may write beside what it is asked for.
_BESIDE = frozenset(
    (
        "delivery.due", "delivery.held", "delivery.returned", "delivery.expired", "delivery.dead",
        "delivery.offered", "delivery.handed", "delivery.seen", "delivery.labelled", "lease.taken",
        "lease.ended", "session.started", "session.ended", "agent.route",
    )
)  # fmt: skip


class Change(NamedTuple):
    """Describe what was stored: in words, and by the message's id."""

    words: str
    id: str = ""


def failed(change: Change, exc: Exception) -> StoredBut:
    """Return the error that names the change and the failure after it."""
    if isinstance(exc, StoredBut):
        return exc
    why = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    facts: dict[str, Any] = {"id": change.id, "message_ref": change.id} if change.id else {}
    hint = (
        f"Do not give it again. See: postroom receipts {change.id[-8:]}"
        if change.id
        else "Do not give it again."
    )
    return StoredBut(f"{change.words}, but {why}", hint=hint, **facts)


def after(exc: Exception, command: str, context: "Context") -> Exception:
    """Return the failure itself, or one that says what was stored before it."""
    is_ours = isinstance(exc, PostroomError) and not isinstance(exc, StoreError)
    if command not in _ONE_CHANGE or is_ours or isinstance(exc, StoredBut):
        return exc
    change = context.change()
    return failed(change, exc) if change is not None else exc


def found(room: Any) -> Change | None:
    """Return the change that the command made, by its first message; None if it made none."""
    change: Change | None = None
    for one in room.committed or ():
        if isinstance(one, str):  # of a room elsewhere
            return Change(
                f"what you asked for about message {one[-8:]} is stored" if one else "it is stored", one
            )
        for event in _events(room, *one):
            if event.type in _BESIDE:
                continue
            if event.type == "message.sent" and event.message is not None:
                if event.message.sender_id == ROOM:
                    continue
                return Change(f"message {event.message.handle} is stored", event.message.id)
            change = change or _about(room, event)
    return change


def _about(room: Any, event: Any) -> Change:
    seq = event.refs.get("seq")
    message = event.message or (room.store.look().message_at(seq) if seq else None)
    if message is None:
        return Change("it is done")
    what = event.type.removeprefix("delivery.").replace(".", " ")
    return Change(f"message {message.handle} is {what}", message.id)


def _events(room: Any, first: int, last: int) -> list[Any]:
    """Return the events of one transaction; none where they cannot be read."""
    try:
        return room.store.look().events(str(first - 1), last - first)
    except Exception:
        return []
