"""Holds the mail of agents whose model takes no requests: at a usage limit, or because of another API error.

While that is so, an agent's mail is held, but for one message at a time, which is the next attempt. It is
made at the time that the provider told, or after pauses that grow (`postroom.model.refusal`). Any answer of
the model ends it. A refusal has a scope, by which others than one agent may be held together later.
"""

from typing import TYPE_CHECKING

from postroom.model.ladder import Reason
from postroom.model.manners import Hold
from postroom.model.message import Mail
from postroom.model.refusal import Refusal, next_try
from postroom.room.probe import is_out, note, probe, scope_of, wish_of
from postroom.room.rest import hold, keep_resting, release
from postroom.text import storable

if TYPE_CHECKING:
    from postroom.runtimes.contract import Failure
    from postroom.store.contract import ReadTx, WriteTx

_LONGEST = 500  # characters of what a runtime told


def refused(tx: "WriteTx", party: str, failure: "Failure") -> None:
    """Note that a request of an agent's model was refused, and hold what waits for it.

    What a person tries before the time of the next attempt does not change that time, unless one is told.
    Give back what the request had in it after this, so that it is held, too.
    """
    known = tx.refusal(scope_of(party))
    if known is None:
        tries, since = 1, tx.now
    else:
        tries, since = known.tries, known.since
    told = _told(failure, tx.now)
    until = next_try(tries, tx.now, told)
    if known is not None and known.until > tx.now and told is None:
        until = known.until
    words, reason = storable(failure.words[:_LONGEST]), Reason.API_ERROR.value
    note(tx, "agent.api_refused", party, Refusal(scope_of(party), reason, words, tries, since, tx.now, until))
    hold_waiting(tx, party)
    _hold_again(tx, party)


def _told(failure: "Failure", now: int) -> int | None:
    """Return when requests are taken again, if the provider said so."""
    from postroom.runtimes.reset import reset  # noqa: PLC0415 - rarely

    return reset(failure.words, now)


def answered(tx: "WriteTx", party: str, since: int) -> None:
    """A model has answered an agent's request that was made at a moment or later: let its mail go."""
    known = tx.refusal(scope_of(party))
    if known is None or since <= known.at:
        return
    tx.append("agent.api_answered", party, payload={"scope": known.scope, "since": known.since})
    let_go(tx, party)


def let_go(tx: "WriteTx", party: str) -> None:
    """Release what was held because an agent's requests were refused, unless it rests for another reason."""
    for mail in _held(tx, party):
        if not keep_resting(tx, mail):
            release(tx, mail)


def hold_waiting(tx: "WriteTx", party: str) -> None:
    """Hold what waits for an agent, if its requests are refused; whatever way it came in by."""
    if tx.refusal(scope_of(party)) is None:
        return
    after = 0
    while page := tx.waiting(party, after):
        after = page[-1].delivery.seq
        for mail in page:
            if (wish := wish_of(tx, mail.message, party)) is not None:
                hold(tx, mail.message, party, wish)


def let_out(tx: "WriteTx", party: str) -> None:
    """Let the first message go: a person has started a session, which asks its model anyway."""
    known = tx.refusal(scope_of(party))
    if known is None or is_out(tx, known, party):
        return
    held = sorted(_held(tx, party), key=lambda mail: (mail.message.priority, mail.message.seq))
    if held:
        probe(tx, known, party, held[0].message.seq)
        if not keep_resting(tx, held[0]):
            release(tx, held[0])


def is_held(tx: "ReadTx", party: str) -> bool:
    """Return True if an agent must not be woken: its requests are refused, and no attempt is due."""
    known = tx.refusal(scope_of(party))
    if known is None or known.probe is None:
        return known is not None
    return not is_out(tx, known, party)


def _held(tx: "ReadTx", party: str) -> list[Mail]:
    found: list[Mail] = []
    after = 0
    while page := tx.held(party, after):
        after = page[-1].delivery.seq
        found += [mail for mail in page if mail.delivery.reason == Reason.API_ERROR.value]
    return found


def _hold_again(tx: "WriteTx", party: str) -> None:
    """Hold until the same moment what is held already."""
    known = tx.refusal(scope_of(party))
    assert known is not None
    for mail in _held(tx, party):
        if mail.delivery.due_at != min(known.until, mail.message.expires_at or known.until):
            hold(tx, mail.message, party, Hold(known.until, Reason.API_ERROR))
