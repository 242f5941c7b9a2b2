"""Who waits for whose answer just now, noted beside the store, so that two do not wait for each other.

`run/asking/<who>/<request>` holds the process that waits and the ids of those it asked. A note whose process
is gone counts for nothing.
"""

import contextlib
import json
import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple

from postroom import host
from postroom.errors import WaitingInCircle
from postroom.model.message import Sent

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


class Note(NamedTuple):
    """Somebody waits for somebody."""

    request: str
    whom: list[str]


@contextlib.contextmanager
def noted(room: "LocalRoom", sent: Sent) -> Generator[None]:
    """Within, others can see that the sender waits for an answer. A full disk only hides that."""
    directory = _directory(room, sent.message.sender_id)
    path = os.path.join(directory, sent.id)
    with contextlib.suppress(OSError):
        host.private_directory(directory)
        whom = [delivery.recipient_id for delivery in sent.deliveries]
        host.replace(path, json.dumps({"process": host.identity(), "whom": whom}).encode())
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def is_only_asking(room: "LocalRoom", party: str) -> bool:
    """Whether it waits for an answer, and no program of its own listens: that shows it no other mail."""
    lease = room.store.look().lease(party)
    listens = lease is not None and lease.holder is not None and not host.is_gone(lease.holder)
    return not listens and any(_notes(room, party))


def _directory(room: "LocalRoom", party: str) -> str:
    return os.path.join(room.home, "run", "asking", party)


def _notes(room: "LocalRoom", party: str) -> Iterator[Note]:
    directory = _directory(room, party)
    for request in os.listdir(directory) if os.path.isdir(directory) else ():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(os.path.join(directory, request), encoding="utf-8") as file:
                note = json.load(file)
            if not host.is_gone(note["process"]):
                yield Note(request, note["whom"])
            else:
                os.unlink(os.path.join(directory, request))


def check_circle(room: "LocalRoom", sent: Sent) -> None:
    """Refuse to wait for somebody who waits, directly or not, for the one who asks.

    Say, then look: of two who ask each other at once, one at least sees it. Who also listens can answer while
    it waits, and makes no circle.
    """
    me = sent.message.sender_id
    if _listens(room, me):
        return
    seen: set[str] = set()
    ahead = [delivery.recipient_id for delivery in sent.deliveries]
    if len(ahead) != 1:
        return  # another of them may answer
    while ahead:
        party = ahead.pop()
        if party in seen or _listens(room, party):
            continue
        seen.add(party)
        for note in _notes(room, party):
            if note.whom == [me]:
                raise _circle(room, sent, party, note)
            if len(note.whom) == 1:
                ahead += note.whom


def _listens(room: "LocalRoom", party: str) -> bool:
    lease = room.store.look().lease(party)
    return lease is not None and lease.holder is not None and not host.is_gone(lease.holder)


def _circle(room: "LocalRoom", sent: Sent, party: str, note: Note) -> WaitingInCircle:
    agent = room.store.look().agent(party)
    return WaitingInCircle(
        f"{agent.name if agent else party} waits for your answer to {note.request[-8:]}; your question"
        f" {sent.message.handle} is stored, and its answer comes to your inbox",
        message_ref=sent.id, waiting=note.request,
        hint=f"Answer first: postroom reply {note.request[-8:]} - <<'EOF'",
    )  # fmt: skip
