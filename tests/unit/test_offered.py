"""A delivery after its first claim, and the same made at once."""

from typing import Any

import pytest

from postroom.model.ladder import Priority
from postroom.model.message import NOTHING, Message, first_delivery, make
from postroom.room.offer import offered, offered_first

PLAIN = make(Message, (
    7, "0192f0a1-0000-7000-8000-00000000abcd", "local", "p", "a1", "planner", "lead", "session", "builder",
    "note", "turn", "", "hello", "0192f0a1-0000-7000-8000-00000000abcd", 1_763_000_000_123, Priority.NORMAL,
    False, *NOTHING,
))  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"priority": Priority.URGENT, "requires_ack": True, "cls": "interrupt"},
        {"expires_at": 1_763_000_002_000, "reply_to": "r", "key": "k", "payload": {"a": [1]}},
    ],
)
@pytest.mark.parametrize(("handed", "until"), [(True, None), (False, 1_763_000_015_456)])
def test_what_is_offered_first_is_as_if_it_had_been_stored_first(
    other: dict[str, Any], handed: bool, until: int | None
):
    message, now = PLAIN._replace(**other), 1_763_000_000_456
    said = {
        "n": 1, "route": "websocket", "context": "c", "nonce": "x.1", "claimer": "me", "handed": handed,
        "lease_until": until,
    }  # fmt: skip
    expected = offered(message, first_delivery(message, "h2", "human:ana"), said, now)
    assert offered_first(message, "h2", "human:ana", said, now) == expected
