"""The loop guard of threads: agents that answer each other do not do so for ever, nor thank for thanks.

It refuses what goes back and forth too often without a person, keeps mere thanks for an answer from being
delivered, and does not store again what still waits unread. Each time it says so.
"""

from typing import TYPE_CHECKING

from postroom.errors import LoopGuard
from postroom.model.address import ROOM
from postroom.model.ladder import Evidence, Priority, State
from postroom.model.message import Message
from postroom.room.draft import Draft
from postroom.room.one import is_taken

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx

IMPORT = "import:"  # before the keys of what was imported
COURTESY = "not delivered: thanks for an answer would only be thanked for again; it is in the thread"
REPEAT = "not stored again: the same text still waits there unread"

# Thanks, and no more than that: "ok" may be consent.
_PLEASANTRIES = frozenset((
    "thanks", "thank you", "many thanks", "thanks a lot", "thank you very much", "thx", "ty", "got it", "ack",
    "acked", "acknowledged", "roger", "understood", "noted", "received", "copy that", "cheers", "welcome",
    "you're welcome", "np", "no problem", "👍", "🙏",
))  # fmt: skip
_COMMAS = str.maketrans(dict.fromkeys(".!;:\n", ","))
_LONGEST = 80
_RECENT = 20  # messages of a thread


def check_hops(tx: "ReadTx", answered: Message | None, most: int) -> None:
    """Refuse an answer to an answer to an answer … that no person has had a part in."""
    hops, message, chain = 0, answered, list[Message]()
    while message is not None and message.sender_id[:1] != "h":
        hops += 1
        chain.append(message)
        if hops >= most:
            if _has_person_since(tx, message) or _are_imported(tx, chain):
                return
            raise LoopGuard(
                f"thread {message.thread[-8:]} has gone back and forth {hops} times without a person",
                rule="max_hops", thread=message.thread, limit=most,
            )  # fmt: skip
        message = tx.message(message.reply_to) if message.reply_to else None


def _has_person_since(tx: "ReadTx", message: Message) -> bool:
    """Whether a person has written in its thread since: not as an answer to these, but to go on."""
    later = (one for one in tx.thread_end(message.thread) if one.seq > message.seq)
    return any(one.sender_id[:1] == "h" for one in later)


def _are_imported(tx: "ReadTx", messages: list[Message]) -> bool:
    """Whether any of them came with another tool's history: then a person has had a part in it."""
    kept = [one for one in messages if one.key and one.key.startswith(IMPORT)]
    return any(d.evidence is Evidence.IMPORTED for one in kept for d in tx.deliveries(one.seq))


def check_turns(tx: "ReadTx", author: str, thread: str, most: int) -> None:
    """Refuse what goes on in a thread, answer or not, where agents take turns without a person."""
    turns, last, recent = 0, author, tx.thread_end(thread)
    for message in recent:
        if message.sender_id[:1] == "h":
            return
        if message.sender_id == ROOM:
            continue
        turns += message.sender_id != last
        last = message.sender_id
        if turns >= most:
            if _are_imported(tx, recent):
                return
            raise LoopGuard(
                f"in thread {thread[-8:]} agents have taken {turns} turns without a person",
                rule="max_hops",
                thread=thread,
                limit=most,
            )


def is_courtesy(wanted: Draft, answered: Message | None) -> bool:
    """Whether it only thanks for an answer."""
    if (
        answered is None
        or answered.type != "response"
        or wanted.payload
        or wanted.requires_ack
        or wanted.parcel
    ):
        return False
    if len(wanted.body) > _LONGEST or wanted.type not in ("response", "note"):
        return False
    if answered.requires_ack or "?" in answered.body or wanted.priority < Priority.NORMAL:
        return False  # it may be the consent that was asked for
    phrases = [phrase.strip() for phrase in wanted.body.casefold().translate(_COMMAS).split(",")]
    return any(phrases) and all(phrase in _PLEASANTRIES for phrase in phrases if phrase)


def repeated(
    tx: "ReadTx", author: str, recipients: list[str], wanted: Draft, *, thread: str, answered: str | None
) -> Message | None:
    """The message that says the same to the same, in answer to the same, and that all have yet to see."""
    for message in () if wanted.parcel else tx.thread_end(thread, _RECENT):
        if message.sender_id != author or message.body != wanted.body or not wanted.body:
            continue
        if _sense(message, message.reply_to) != _sense(wanted, answered):
            continue
        waiting = {
            d.recipient_id
            for d in tx.deliveries(message.seq)
            if d.state is State.STORED and not d.is_scheduled and not is_taken(d)
        }
        if waiting == set(recipients):
            return message
    return None


def _sense(what: Message | Draft, answered: str | None) -> tuple[object, ...]:
    """What must be equal for two messages of the same text to say the same."""
    return answered, what.type, what.payload, what.subject, what.priority, what.requires_ack, what.cls
