"""A letter of another tool in the words of ours: of its own type where it fits that, else a note."""

from postroom.bridges.files.dialect import Read
from postroom.config import Settings
from postroom.errors import InvalidPayload, UsageError
from postroom.model.message import Json
from postroom.room.draft import Draft, draft

_AS_NOTES = ("", "note", "custom", "broadcast", "decision_gate", "interrupt", "system")  # some act when shown


def drafted(
    read: Read, to: str, settings: Settings, home: str, *, key: str, about: Json, under: str
) -> Draft:
    """Draft what the room is given. `about` says where it came from; the metadata has it under a name."""
    letter = read.letter
    if letter.correlation:
        about["correlation"] = letter.correlation
    if read.rest and (letter.body or letter.payload):
        about["rest"] = read.rest

    def made(type: str, body: str, payload: Json | None) -> Draft:
        return draft(
            settings, to, body, type=type, payload=payload, home=home,
            subject=" ".join(letter.subject.split()), priority=letter.priority,
            requires_ack=letter.requires_ack, correlation=letter.correlation,
            metadata={**(letter.metadata or {}), under: about},
        )._replace(key=key)  # fmt: skip

    text, payload = _noted(letter.body, letter.payload or (None if letter.body else read.rest) or None)
    for content in ((text, payload), (letter.body, letter.payload)) if letter.type not in _AS_NOTES else ():
        try:
            return made(letter.type, *content)
        except UsageError:
            pass  # it is said in another way, and what it was called is kept
    if letter.type not in ("", "note"):
        about["type"] = letter.type
    try:
        return made("note", text, payload)
    except InvalidPayload:
        about["payload"] = payload
        return made("note", text or "(what it says is in its metadata)", None)


def _noted(body: str, payload: Json | None) -> tuple[str, Json | None]:
    """A note says its text in its body."""
    text = (payload or {}).get("text")
    if body or payload is None or not isinstance(text, str):
        return body, payload
    return text, {key: value for key, value in payload.items() if key != "text"} or None
