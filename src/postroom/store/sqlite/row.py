"""From rows to what they stand for. A word that cannot stand where it does is damage, and is told as such."""

import json
from typing import Any, TypeVar

from postroom.errors import StoreCorrupt
from postroom.model.ladder import Evidence, Priority, State
from postroom.model.message import (
    NOTHING,
    Agent,
    Delivery,
    Event,
    Json,
    Mail,
    Message,
    Session,
    Standing,
    make,
)

T = TypeVar("T")
_HINT = f"If a newer Postroom uses this room now, restart this program. Else: {StoreCorrupt.hint}"


class _Words(dict[str | None, T]):
    """The words a column may hold. Any other is damage."""

    def __missing__(self, word: str | None) -> T:
        raise StoreCorrupt(f"the room is damaged: {word!r} stands where it cannot", hint=_HINT)


_STATE = _Words({str(state): state for state in State})
_EVIDENCE = _Words({str(evidence): evidence for evidence in Evidence} | {None: None})
_PRIORITY = {priority.value: priority for priority in Priority}
DELIVERY_WIDTH = len(Delivery._fields)
STORED_AT = Delivery._fields.index("stored_at")
_PLAIN_WIDTH = len(Message._fields) - len(NOTHING)  # fields every message has; the others are one column
PLACE_AT = _PLAIN_WIDTH + 1  # where it lies, then its latest event
MAIL_WIDTH = DELIVERY_WIDTH + PLACE_AT

Row = tuple[Any, ...]


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise StoreCorrupt("the room is damaged: what should be JSON is not") from None


def to_message(row: Row) -> Message:
    rest = row[_PLAIN_WIDTH]
    return make(Message, (
        *row[:15], _PRIORITY[row[15]], row[16] == 1, *(NOTHING if rest is None else _rest(rest)),
    ))  # fmt: skip


def _rest(text: str) -> tuple[Any, ...]:
    """The fields that most messages do not have."""
    session, runtime, payload, metadata, reply_to, correlation, attachments, *others, redacted = read_json(
        text
    )
    payload, metadata, attachments, redacted = (
        None if value is None else read_json(value) for value in (payload, metadata, attachments, redacted)
    )
    return session, runtime, payload, metadata, reply_to, correlation, attachments, *others, redacted


def to_delivery(row: Row) -> Delivery:
    return make(Delivery, (
        *row[:4], _STATE[row[4]], row[5], _EVIDENCE[row[6]], *row[7:10], _PRIORITY[row[10]], row[11] == 1,
        row[12] == 1, *row[13:DELIVERY_WIDTH],
    ))  # fmt: skip


def to_mail(row: Row) -> Mail:
    return Mail(to_message(row[DELIVERY_WIDTH:MAIL_WIDTH]), to_delivery(row))


def to_standing(row: Row) -> Standing:
    holder, others, due = row
    return make(Standing, (holder, others == 1, due))


def to_agent(row: Row) -> Agent:
    return Agent._make((*row[:6], read_json(row[6]), *row[7:11], row[11] and read_json(row[11])))


def to_session(row: Row) -> Session:
    return Session._make((*row[:12], read_json(row[12]) if row[12] else {}))


def to_event(row: Row) -> Event:
    payload: Json = read_json(row[10]) if row[10] else {}
    refs: Json = {} if row[11] is None else {"message": row[12], "seq": row[11]}
    return Event._make((*row[:10], payload, refs, row[13], None))
