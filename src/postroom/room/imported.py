"""Taking in mail that another tool has kept: as it lay there, once, and with no more evidence than that.

Such a message is stored now, because that is when it came into the room; when it was written stands in its
metadata. What its recipient had done with it is told as history, with the evidence `imported`: it is never
offered to anybody again, and nobody is asked for an answer to it. What waited there waits here.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from postroom import host, label
from postroom.errors import UnknownAgent
from postroom.model import ids
from postroom.model.address import parse
from postroom.model.context import context_id, session_id
from postroom.model.ladder import Evidence, State
from postroom.model.message import Agent, Delivery, Json, Message
from postroom.room import directory
from postroom.room.draft import Draft
from postroom.room.send import compose

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx

ROUTE = "import"
_BATCH = 100  # messages a transaction
_EVIDENCE = Evidence.IMPORTED.value


class Rung(StrEnum):
    """How far a message had got, as far as its files tell."""

    WAITING = "waiting"
    SEEN = "seen"
    ACKED = "acked"
    REFUSED = "refused"
    GONE = "gone"  # it was sent, and nobody knows what became of it


class Ref(NamedTuple):
    """Another message that was or will be imported."""

    sender: str  # its address
    key: str


class Piece(NamedTuple):
    """One message for one recipient."""

    sender: str  # an address, as is the next
    to: str
    draft: Draft
    rung: Rung
    reason: str = ""  # why it was refused
    answers: Ref | None = None
    thread: Ref | None = None  # the first message of its conversation
    is_claimed: bool = False  # there, somebody has it in hand, or it says so because it was offered here

    @property
    def ref(self) -> Ref:
        return Ref(self.sender, self.draft.key or "")


class Standing(StrEnum):
    """What an import does with a piece."""

    NEW = "new"
    MOVED = "moved"  # it is here, and has got further there since
    HERE = "here"  # it is here, as far as it had got there


def standing(room: "LocalRoom", pieces: Sequence[Piece]) -> list[Standing]:
    """What taking in each of them would do."""
    with room.store.read() as tx:
        return [_standing(tx, room, piece) for piece in pieces]


def _standing(tx: "ReadTx", room: "LocalRoom", piece: Piece) -> Standing:
    message = _known(tx, room, piece.ref)
    if message is None:
        return Standing.NEW
    deliveries = tx.deliveries(message.seq)
    return Standing.MOVED if deliveries and _is_behind(deliveries[0], piece) else Standing.HERE


def take_in(room: "LocalRoom", pieces: Iterable[Piece]) -> list[Standing]:
    """Take them in, in their order. Whoever is killed on the way has taken in the first of them, whole."""
    pieces = list(pieces)
    _introduce(room, pieces)
    done: list[Standing] = []
    waiting = iter(pieces)
    while batch := list(islice(waiting, _BATCH)):
        with room.write() as tx:
            was = set(tx.stirred)
            settled = [_take(room, tx, piece) for piece in batch]
            # What was done with long ago is due for nobody.
            tx.stirred -= (
                {party for party, _, _ in settled} - {party for party, _, is_due in settled if is_due} - was
            )
        done += [standing for _, standing, _ in settled]
        if label.armed:
            label.here("after-import")
    return done


def _introduce(room: "LocalRoom", pieces: Iterable[Piece]) -> None:
    """Whoever wrote or was written to has an address from now on."""
    for address in dict.fromkeys(address for piece in pieces for address in (piece.sender, piece.to)):
        if _found(room.store.look(), room, address) is None:
            room.join(address)


def _found(tx: "ReadTx", room: "LocalRoom", address: str) -> Agent | None:
    return directory.find(tx, parse(address), room.scope.find(tx))


def _take(room: "LocalRoom", tx: "WriteTx", piece: Piece) -> tuple[str, Standing, bool]:
    """Whose mailbox it is in, what was done, and whether it is due there now."""
    message = _known(tx, room, piece.ref)
    if message is None:
        message, recipient = _post(room, tx, piece)
        _settle(tx, message, recipient, piece)
        return recipient, Standing.NEW, piece.rung is Rung.WAITING
    deliveries = tx.deliveries(message.seq)
    if not deliveries or not _is_behind(deliveries[0], piece):
        return "", Standing.HERE, False
    [here] = deliveries
    if here.state is State.STORED:
        room.contest(tx, here.recipient_id)  # a listener may have read it ahead
    _settle(tx, message, here.recipient_id, piece, here.attempts)
    return here.recipient_id, Standing.MOVED, False


def _is_behind(here: Delivery, piece: Piece) -> bool:
    """Tell whether a message has got further there than here. What an agent has in hand here stays so.

    What was offered here and came back waits, though its row may still be claimed: that was written for here.
    """
    there = piece.rung
    if here.state is State.STORED:
        if there is Rung.SEEN and piece.is_claimed and here.attempts:
            return False
        return there in (Rung.SEEN, Rung.ACKED, Rung.REFUSED)
    return here.state is State.SEEN and there in (Rung.ACKED, Rung.REFUSED)


def known(room: "LocalRoom", tx: "ReadTx", ref: Ref) -> list[tuple[Message, str]]:
    """A message that was imported, with each who got it; none where it is not here."""
    message = _known(tx, room, ref)
    return [(message, one.recipient_id) for one in tx.deliveries(message.seq)] if message else []


def is_here(room: "LocalRoom", ref: Ref) -> bool:
    return _known(room.store.look(), room, ref) is not None


def _known(tx: "ReadTx", room: "LocalRoom", ref: Ref) -> Message | None:
    author = _found(tx, room, ref.sender)
    return tx.message_by_key(author.id, ref.key) if author else None


def _post(room: "LocalRoom", tx: "WriteTx", piece: Piece) -> tuple[Message, str]:
    author, recipient = (_party(room, tx, address) for address in (piece.sender, piece.to))
    lane = directory.lane(author, [recipient], room.scope.find(tx), piece.to, refused=tx.refused())
    wanted = piece.draft
    begun = _known(tx, room, piece.thread) if piece.thread else None
    answered = _known(tx, room, piece.answers) if piece.answers else None
    if begun or answered:
        wanted = wanted._replace(
            thread=begun and begun.id, reply_to=answered and answered.id,
            correlation=_correlation(wanted, answered),
        )  # fmt: skip
    message = compose(tx, lane, wanted)
    tx.post(message, lane.ids)
    if piece.rung is Rung.WAITING and (lane.reserved or room.is_shaped):
        from postroom.room.manners import hold_new  # noqa: PLC0415 - for who wants to be left alone

        hold_new(room, tx, message, lane.recipients)
    return message, recipient.id


def _correlation(wanted: Draft, answered: Message | None) -> str | None:
    """Return what it shares with the message that it answers; else what it says itself."""
    if answered is None:
        return wanted.correlation
    return answered.correlation or wanted.correlation or answered.id


def _party(room: "LocalRoom", tx: "ReadTx", address: str) -> Agent:
    found = _found(tx, room, address)
    if found is None:
        raise UnknownAgent(f"{address} has left while its mail was taken in", hint="Import it again.")
    return found


def _settle(tx: "WriteTx", message: Message, recipient: str, piece: Piece, attempts: int = 0) -> None:
    """Tell of a message what its recipient had done with it."""
    match piece.rung:
        case Rung.WAITING:
            return
        case Rung.SEEN:
            _tell(tx, message, recipient, "offered", _claim(attempts + 1))
            _tell(tx, message, recipient, "seen", {"n": attempts + 1, "evidence": _EVIDENCE})
        case Rung.ACKED:
            _tell(tx, message, recipient, "acked", {"n": None, "evidence": _EVIDENCE})
        case Rung.REFUSED:
            _tell(tx, message, recipient, "bounced", {"reason": piece.reason})
        case Rung.GONE:
            reason = "it was sent before the import, and nobody knows what became of it"
            _tell(tx, message, recipient, "expired", {"reason": reason})


def _claim(n: int) -> Json:
    return {
        "n": n, "route": ROUTE, "context": context_id(session_id(ROUTE, host.identity()), 0),
        "nonce": ids.nonce(), "claimer": host.identity(), "handed": True, "lease_until": None,
    }  # fmt: skip


def _tell(tx: "WriteTx", message: Message, recipient: str, what: str, payload: Json) -> None:
    tx.append(f"delivery.{what}", recipient, about=message, payload=payload, status=what)
