"""Conversations: the threads somebody has a part in, and passing on what was said in one to another."""

from typing import TYPE_CHECKING, cast

from postroom.model.conversation import Thread
from postroom.model.message import Message, Sent
from postroom.room import directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from postroom.room.local import LocalRoom
    from postroom.room.options import Attachable, SendOptions
    from postroom.store.contract import ReadTx

WINDOW = 50_000  # events back from now; what nobody has added to since then is found by `thread` and `search`
_LONGEST_SUMMARY = 120


def threads(room: "LocalRoom", agent: str | None, limit: int) -> list[Thread]:
    """The conversations of somebody, the latest first."""
    with room.store.read() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        unread: dict[str, int] = {}
        for mail in tx.ready(who.id, 500):
            unread[mail.thread] = unread.get(mail.thread, 0) + 1
        return [
            _thread(tx, thread, seq, unread.get(thread, 0))
            for thread, seq in tx.threads(who.id, WINDOW, limit)
        ]


def _thread(tx: "ReadTx", thread: str, latest_seq: int, unread: int) -> Thread:
    latest = tx.message_at(latest_seq)
    assert latest is not None, "it was there a moment ago"
    first = tx.message(thread) or latest
    people = [agent.address for id in tx.thread_people(thread) if (agent := tx.agent(id))]
    return Thread(thread, summary(first), sorted(people), tx.thread_size(thread), unread, latest)


def summary(first: Message) -> str:
    """What a conversation is about, in a line."""
    if first.redacted is not None:
        return "(redacted)"
    text = first.subject or first.body.strip().partition("\n")[0] or first.type
    return text if len(text) <= _LONGEST_SUMMARY else text[: _LONGEST_SUMMARY - 1] + "…"


def forward(
    room: "LocalRoom", ref: str, to: str, note: str, sender: str | None, **options: "Unpack[SendOptions]"
) -> Sent:
    """Pass a message on to somebody else, in a thread of its own; what it said is quoted, not claimed."""
    original = room.message(ref)
    quoted = "\n".join(f"> {line}" for line in original.body.splitlines())
    head = f"Forwarded from {original.sender} ({original.handle}):"
    options["subject"] = options.get("subject") or f"Fwd: {summary(original)}"
    options["metadata"] = {**(options.get("metadata") or {}), "forwarded": original.id}
    if original.payload is not None:
        forwarded = {"type": original.type, "payload": original.payload}
        options["payload"] = {**(options.get("payload") or {}), "forwarded": forwarded}
    if original.attachments:
        given = cast("Sequence[Attachable]", options.get("attachments") or ())
        options["attachments"] = [*original.attachments, *given]
    return room.send(to, "\n\n".join(filter(None, (note, f"{head}\n{quoted}"))), sender=sender, **options)
