"""Rows as the API gives them, and the same written out at once."""

from typing import Any

import pytest

from postroom.model.ladder import Priority
from postroom.model.message import NOTHING, Message, make
from postroom.protocol import record
from postroom.text import encode

PLAIN = make(Message, (
    7, "0192f0a1-0000-7000-8000-00000000abcd", "local", "p", "a1", "planner", "lead", "session", "builder",
    "note", "turn", "", "hello", "0192f0a1-0000-7000-8000-00000000abcd", 1_763_000_000_123, Priority.NORMAL,
    False, *NOTHING,
))  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"body": '"quoted", \\ and\nmore ü \U0001f600 \x07'},
        {"sender_role": None},
        {"sender_role": ""},
        {"subject": 'a "subject"', "to": "@all", "type": "status", "sender": "p/x", "project": "é"},
        {"priority": Priority.URGENT, "requires_ack": True, "cls": "interrupt", "verified": "room"},
        {"payload": {"a": [1, None]}},
        {"sender_session": "claude:1", "sender_runtime": "claude"},
        {"not_before": 1_763_000_001_000, "expires_at": 1_763_000_002_000, "reply_to": "r", "key": "k"},
        {"redacted": {"body": "hash"}},
    ],
)
def test_a_message_is_written_out_as_it_would_be_encoded(other: dict[str, Any]):
    message = PLAIN._replace(**other)
    assert record.spelt(message) == encode(record.message(message))
