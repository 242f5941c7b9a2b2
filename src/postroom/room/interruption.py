"""Stopping an agent, or holding it: by its bridge where one can, else by a message; and what was proven.

Whoever asks for it has been allowed to (`authority.py`); the command line and the server both come here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from postroom.errors import BridgeError, TimedOut, UnknownAgent
from postroom.model.message import Agent, Json, Mail
from postroom.room.authority import Operator
from postroom.room.cancel import cancel
from postroom.room.manners import pause

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom

KINDS = ("stop", "pause", "cancel")

Stop = Callable[[], "Json | None"]  # by a bridge: what came of it; None where none reaches it, or can


def interrupt(
    room: "LocalRoom", agent: Agent, by: Operator, stop: Stop, *, kind: str, reason: str
) -> dict[str, Any]:
    """What was done, as it is in JSON."""
    found: dict[str, Any] = {"agent": agent.address, "kind": kind, "by": by.name}
    if kind == "pause":  # before the stop, or its next message would come in between
        was, held = pause(room, agent, by, paused=True)
        found |= {"paused": True, "was_paused": was, "held": held}
    found |= _stopped(room, agent, by, stop, kind=kind, reason=reason)
    if kind == "cancel":
        found["cancelled"] = [_document(mail) for mail in cancel(room, agent, by, reason)]
    return found


def _stopped(
    room: "LocalRoom", agent: Agent, by: Operator, stop: Stop, *, kind: str, reason: str
) -> dict[str, Any]:
    try:
        done = stop()
    except (BridgeError, TimedOut, UnknownAgent) as exc:
        hint = f". {exc.hint}" if exc.hint else ""
        return {"proven": False, "words": f"{exc}{hint}", "message": None}
    if done is not None:
        return {"proven": done["proven"], "words": done["words"], "message": None}
    return _told(room, agent, by, kind, reason)


def _told(room: "LocalRoom", agent: Agent, by: Operator, kind: str, reason: str) -> dict[str, Any]:
    payload = {"kind": kind} | ({"reason": reason} if reason else {})
    sent = room.send(
        agent.address, reason or f"{kind.capitalize()} what you are doing.", type="interrupt",
        cls="interrupt", priority="urgent", payload=payload,
    )  # fmt: skip
    with room.write() as tx:
        note = {**payload, "by": by.name, "proven": False, "words": "stored", "message": sent.id}
        tx.append("agent.interrupted", agent.id, payload=note, role=by.role)
    return {"proven": False, "words": _how_told(room, agent.id, sent.reach[0]), "message": sent.id}


def _how_told(room: "LocalRoom", agent: str, reach: str) -> str:
    """When it will know of the message that tells it to stop."""
    from postroom.room.berth import carrier  # noqa: PLC0415 - only for who is told so

    if carrier(room.store.look(), agent) is not None:
        return "no bridge can stop it; its hooks show the message at its next tool"
    if reach == "live":
        return "no bridge can stop it; the program that listens gets the message"
    if reach in ("stored", "left"):
        return "nothing of it runs; it is told when it reads its mail"
    return "no bridge can stop it; it is told when it reads its mail"


def _document(mail: Mail) -> dict[str, str]:
    return {"id": mail.id, "type": mail.type, "sender": mail.sender}
