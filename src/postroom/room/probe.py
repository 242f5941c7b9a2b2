"""Makes the next attempt at an agent whose model takes no requests: one message; the others are held."""

from typing import TYPE_CHECKING

from postroom.model.ladder import Reason, State
from postroom.model.message import Json, Message

if TYPE_CHECKING:
    from postroom.model.manners import Hold
    from postroom.model.refusal import Refusal
    from postroom.store.contract import ReadTx, WriteTx


def scope_of(party: str) -> str:
    """Return the scope in which an agent's requests are refused together with others: now always its own."""
    return f"agent:{party}"


def party_of(scope: str) -> str:
    """Return the agent that a scope holds."""
    return scope.removeprefix("agent:")


def wish_of(tx: "WriteTx", message: Message, party: str) -> "Hold | None":
    """Return how long something waits that would be shown to an agent now; None: no refusal holds it.

    When the time of the next attempt has come, this message becomes that attempt.
    """
    known = tx.refusal(scope_of(party))
    if known is None or message.type == "interrupt" or message.seq == known.probe:
        return None
    from postroom.model.manners import Hold  # noqa: PLC0415 - rarely

    if known.until <= tx.now:
        out = is_out(tx, known, party)
        known = probe(tx, known, party, known.probe if out else message.seq)
        if not out:
            return None
    return Hold(known.until, Reason.API_ERROR)


def is_out(tx: "ReadTx", known: "Refusal", party: str) -> bool:
    """Return True if the last attempt has neither succeeded nor failed yet."""
    mail = tx.mail(known.probe, party) if known.probe is not None else None
    if mail is None or mail.delivery.held:
        return False
    return mail.delivery.state in (State.STORED, State.OFFERED)


def probe(tx: "WriteTx", known: "Refusal", party: str, message: int | None) -> "Refusal":
    """Note which message is the attempt now, and when the next one is made if this one fails."""
    from postroom.model.refusal import next_try  # noqa: PLC0415 - rarely

    until, tries = known.until, known.tries
    if until <= tx.now:
        tries += 1
        until = next_try(tries, tx.now)
    now = known._replace(tries=tries, until=until, probe=message)
    note(tx, "agent.api_retried", party, now)
    return now


def note(tx: "WriteTx", type: str, party: str, refusal: "Refusal") -> None:
    payload: Json = refusal._asdict()
    tx.append(type, party, payload=payload)
