"""Waiting for the reply to a message that was sent earlier. It peeks: nothing is marked as seen."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.errors import Refused, TimedOut, UnknownMessage
from postroom.model import ids
from postroom.model.address import ROOM
from postroom.model.message import Mail, Message, Sent
from postroom.room import directory, unanswered
from postroom.room.ask import Question, is_bounce, state, wait_for

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx


def wait_for_reply(room: "LocalRoom", ref: str, agent: str | None, timeout: float | None) -> Mail:
    """Return the reply, at once if it came before."""
    awaited = Awaited(room, ref, agent)
    return awaited.replied(wait_for(room, awaited, timeout), timeout)


class Awaited:
    """A reply that somebody waits for: to one message by its id, or to all of theirs with a correlation."""

    def __init__(self, room: "LocalRoom", ref: str, agent: str | None) -> None:
        self._room, self._ref = room, ref
        with room.store.read() as tx:
            me = directory.caller(tx, agent or room.agent, room.scope)
            self.party = me.id
            asked = _asked(tx, ref, me.id)
            deliveries = [one for message in asked for one in tx.deliveries(message.seq)]
        self._whom = {one.recipient_id for one in deliveries}
        self._question: Question | None = None
        if asked:
            sent = Sent(asked[0], deliveries, [])
            self._question = Question.of(room, asked[0].to, sent)

    def look(self) -> Mail | None:
        """The reply, once it is there."""
        if self._question is not None:
            return self._question.look()
        with self._room.store.read() as tx:
            return next(_correlated(tx, self._ref, self.party), None)

    def check_hope(self) -> None:
        """Raises `NoAnswer` when no reply will come."""
        if self._question is not None:
            self._question.check_hope()

    def replied(self, found: Mail | None, timeout: float | None) -> Mail:
        """The reply; or the error that tells why there is none."""
        if found is None:
            raise self._timed_out(timeout or 0.0)
        if found.payload and is_bounce(found):
            text = f"{found.message.reply_to and found.message.reply_to[-8:]} was not taken"
            raise Refused(f"{text}: {found.payload['bounce']['reason']}", message_ref=found.message.reply_to)
        return found

    def _timed_out(self, timeout: float) -> TimedOut:
        after = f" after {timeout:g} s" if timeout > 0 else ""
        if self._question is None:
            return TimedOut(
                f"no mail with the correlation {self._ref!r} came{after}",
                hint="You sent nothing with it. See what you sent: postroom sent",
            )  # fmt: skip
        message = self._question.sent.message
        with self._room.store.read() as tx:
            known = dict.fromkeys(unanswered.told(mail) for mail in unanswered.letters(tx, message))
        facts = "; ".join((state(self._room, message), *known))
        return TimedOut(
            f"message {message.handle} has no reply{after}", message_ref=message.id,
            hint=f"It is {facts}. See: postroom receipts {message.handle}",
        )  # fmt: skip


def _asked(tx: "ReadTx", ref: str, me: str) -> list[Message]:
    """The messages that it replies to, the latest first: one by its id, or all of mine with a correlation."""
    if found := tx.correlated(me, ref):
        return found
    if not (ids.is_uuid(ref) or ids.is_handle(ref)):
        return []
    message = tx.message(ref)
    if message is None and tx.answer(ref, 0, me) is not None:
        return []  # a correlation that looks like an id
    if message is None or message.sender_id != me:
        raise UnknownMessage(f"there is no message {ref!r} of yours", message_ref=ref)
    return [message]


def _correlated(tx: "ReadTx", correlation: str, party: str) -> Iterator[Mail]:
    """What others wrote to somebody with a correlation, oldest first."""
    after = 0
    while (mail := tx.answer(correlation, after, party)) is not None:
        after = mail.message.seq
        if mail.message.sender_id not in (ROOM, party) and not mail.delivery.is_scheduled:
            yield mail
