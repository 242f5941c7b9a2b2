"""Postroom: durable mail for AI coding agents, with receipts that never claim more than the evidence.

import postroom

room = postroom.open(agent="planner")
room.join("builder")
room.send("builder", "Please build the parser.")
"""

TYPE_CHECKING = False  # as checkers know it; loading `typing` would be felt by who needs nothing of it

if TYPE_CHECKING:
    from postroom.bridges.files.letter import Letter as Letter
    from postroom.bridges.files.mailbox import Mailbox as Mailbox
    from postroom.errors import PostroomError as PostroomError
    from postroom.model.ladder import Evidence as Evidence
    from postroom.model.ladder import Priority as Priority
    from postroom.model.ladder import State as State
    from postroom.model.message import Delivery as Delivery
    from postroom.model.message import Event as Event
    from postroom.model.message import Mail as Mail
    from postroom.model.message import Message as Message
    from postroom.model.message import Receipts as Receipts
    from postroom.model.message import Sent as Sent
    from postroom.room.aio import AsyncRoom as AsyncRoom
    from postroom.room.contract import Room as Room
    from postroom.room.local import open_room

    open = open_room

__version__ = "0.1.0"

_EXPORTS = {
    "AsyncRoom": "postroom.room.aio",
    "Delivery": "postroom.model.message",
    "Event": "postroom.model.message",
    "Evidence": "postroom.model.ladder",
    "Letter": "postroom.bridges.files.letter",
    "Mail": "postroom.model.message",
    "Mailbox": "postroom.bridges.files.mailbox",
    "Message": "postroom.model.message",
    "PostroomError": "postroom.errors",
    "Priority": "postroom.model.ladder",
    "Receipts": "postroom.model.message",
    "Room": "postroom.room.contract",
    "Sent": "postroom.model.message",
    "State": "postroom.model.ladder",
    "open": "postroom.room.local",
}

# The semver promise.
__all__ = [
    "AsyncRoom",
    "Delivery",
    "Event",
    "Evidence",
    "Letter",
    "Mail",
    "Mailbox",
    "Message",
    "PostroomError",
    "Priority",
    "Receipts",
    "Room",
    "Sent",
    "State",
    "open",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Exports are imported when first used: a command must not pay for what it does not need."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'postroom' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(_EXPORTS[name])
    value = getattr(module, "open_room" if name == "open" else name)
    globals()[name] = value
    return value
