"""Handing out: what one process brings to many mailboxes, claimed and settled for all in one transaction.

Each stand is a context of its own, and each claim is numbered in it. So one number says all that a reader has
got, and it may say so even after its stand is gone, with the process that kept it.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from postroom import host
from postroom.errors import InvalidValue, MailboxLeased
from postroom.model import ids
from postroom.model.context import context_id, session_id
from postroom.model.ladder import Cause, Evidence, Outcome
from postroom.model.message import Json, Mail, Message, make
from postroom.room import one
from postroom.room.offer import claim, guard_lease, offered_first
from postroom.room.settle import see
from postroom.room.sweep import act_on_due, give_back, is_due, is_offered, reap

if TYPE_CHECKING:
    from postroom.config import Settings
    from postroom.room.local import LocalRoom
    from postroom.store.contract import WriteTx

ROUTE = "websocket"


class Stand(NamedTuple):
    """Where the mail of one mailbox is handed out: a context, for as long as a reader is there."""

    id: str
    party: str
    called: str  # how its mail is addressed
    claimer: str
    context: str


class Claim(NamedTuple):
    """One message that was handed out, and not proven yet."""

    party: str
    seq: int
    nonce: str


class Want(NamedTuple):
    """A stand that has room for so many more, numbered from `after` on."""

    stand: Stand
    most: int
    after: int


class Proof(NamedTuple):
    """What was seen, and by what evidence."""

    claim: Claim
    evidence: Evidence = Evidence.AGENT


class Return(NamedTuple):
    """What was not proven before its stand was closed; whether it had been handed over."""

    claim: Claim
    handed: bool


class Cursor(NamedTuple):
    """Up to where somebody has got what was handed out at a stand."""

    stand: str
    number: int

    def __str__(self) -> str:
        return f"{self.stand}.{self.number}"


def stand(party: str, called: str) -> Stand:
    """A new one. Its claims end with this process at the latest."""
    name = ids.nonce()
    return Stand(name, party, called, f"{host.identity()}.{name}", context_id(session_id(ROUTE, name), 0))


def claim_of(mail: Mail) -> Claim:
    """That by which it was handed out."""
    delivery = mail.delivery
    assert delivery.nonce is not None
    return make(Claim, (delivery.recipient_id, delivery.seq, delivery.nonce))


def cursor(text: str) -> Cursor:
    """As a frame has it; `InvalidValue` for what is none."""
    name, _, number = text.rpartition(".")
    if not (name.isascii() and name.isalnum() and number.isascii() and number.isdigit() and len(text) < 40):
        raise InvalidValue(f"{text[:40]!r} is no cursor of a mailbox", field="cursor")
    return Cursor(name, int(number))


def settle(
    tx: "WriteTx", settings: "Settings", proofs: Iterable[Proof] = (), returns: Iterable[Return] = ()
) -> None:
    """Settle what was proven, and take back what was not."""
    for proof in proofs:
        if (mail := _claimed(tx, proof.claim)) is not None:
            see(tx, mail, evidence=proof.evidence)
    for back in returns:
        if (mail := _claimed(tx, back.claim)) is not None:
            if back.handed:
                give_back(tx, mail, settings, cause=Cause.LET_GO)
            else:
                give_back(tx, mail, settings, Outcome.LOST)


def lapsed(tx: "WriteTx", claims: Iterable[Claim]) -> list[Claim]:
    """Those of them that were settled, or taken away, by somebody else."""
    return [one for one in claims if _claimed(tx, one) is None]


def hand_out(tx: "WriteTx", room: "LocalRoom", want: Want) -> list[Mail]:
    """Claim what waits. Nothing, where a program of its own listens on that mailbox."""
    at = want.stand
    standing, first = tx.next(at.party, at.claimer, at.called)
    if standing.holder == host.identity():
        return []
    if standing.holder is not None or standing.others or is_due(standing.due, tx.now):
        act_on_due(tx, room.settings)
        try:
            guard_lease(tx, at.party, room)
        except MailboxLeased:
            return []
        reap(tx, at.party, room.settings)
        first = tx.next(at.party, at.claimer, at.called)[1]
    if first is None or want.most < 1:
        return []
    waiting = [first] if want.most == 1 else tx.ready(at.party, want.most, at.called)
    if any(mail.delivery.is_paused for mail in waiting):
        waiting = tx.pushable(at.party, want.most, at.called)
    return [
        claim(
            tx, mail, route=ROUTE, context=at.context, handed=True, lease=0, claimer=at.claimer,
            nonce=str(Cursor(at.id, number)),
        )
        for number, mail in enumerate(waiting, want.after + 1)
    ]  # fmt: skip


def hand_out_new(tx: "WriteTx", message: Message, wants: list[Want]) -> list[Mail | None]:
    """Claim what this transaction has posted, for many at once; None where something else may come first."""
    others = tx.not_alone(message, {at.party: at.claimer for at, _, _ in wants})
    offers: list[tuple[str, Json]] = []
    found: list[Mail | None] = []
    for at, _, after in wants:
        if at.party in others:
            found.append(None)
            continue
        said: Json = {
            "n": 1, "route": ROUTE, "context": at.context, "nonce": f"{at.id}.{after + 1}",
            "claimer": at.claimer, "handed": True, "lease_until": None,
        }  # fmt: skip
        offers.append((at.party, said))
        found.append(offered_first(message, at.party, at.called, said, tx.now))
    tx.offer_new(message, offers)
    return found


def is_new(tx: "WriteTx") -> Message | None:
    """The message that is all a transaction has written, if whoever gets it may have it now."""
    message = tx.posted
    if message is None or tx.next_seq - tx.first_seq > 1 or message.not_before is not None:
        return None
    return None if one.is_one(message) else message


def resume(room: "LocalRoom", party: str, upto: Cursor) -> int:
    """Whoever reads a mailbox has got all that was handed out at an earlier stand, up to there: it is seen.

    Whatever it had not got comes back. How much was seen by this.
    """
    seen = 0
    with room.write() as tx:
        for claimer in tx.claimers(party):
            if claimer.endswith(f".{upto.stand}"):
                for mail in tx.offered(party, claimer):
                    if _is_within(mail.delivery.nonce, upto):
                        see(tx, mail)
                        seen += 1
                    else:
                        give_back(tx, mail, room.settings, cause=Cause.LET_GO)
        reap(tx, party, room.settings)
        for mail in tx.ready(party, 500):
            if mail.shown_before and _is_within(mail.delivery.nonce, upto):
                see(tx, claim(tx, mail, route=ROUTE, context=_context(upto), handed=True, lease=0))
                seen += 1
    return seen


def _claimed(tx: "WriteTx", wanted: Claim) -> Mail | None:
    """What is still claimed so: an act of the agent's may have settled it, or a person taken it away."""
    mail = tx.mail(wanted.seq, wanted.party)
    return mail if mail and is_offered(mail) and mail.delivery.nonce == wanted.nonce else None


def _is_within(nonce: str | None, upto: Cursor) -> bool:
    name, _, number = (nonce or "").rpartition(".")
    return name == upto.stand and number.isdigit() and int(number) <= upto.number


def _context(upto: Cursor) -> str:
    return context_id(session_id(ROUTE, upto.stand), 0)
