"""A clerk: does in the room what the letters of one mailbox ask for, each by itself."""

import shlex
from typing import TYPE_CHECKING

from postroom.bridges.files import arrivals
from postroom.bridges.files.box import Box
from postroom.bridges.files.letter import ACK, NACK, Flaw, Letter, is_same, key, options, reason
from postroom.errors import KeyConflict, NotYourName, UnknownMessage, UnknownRecipient
from postroom.model import ids
from postroom.model.address import ROOM
from postroom.model.message import Message, Sent
from postroom.room import directory

if TYPE_CHECKING:
    from postroom.room.options import SendOptions


class Clerk:
    """One mailbox's. The writer's own id is the key by which the room knows a letter that it has already."""

    def __init__(self, box: Box) -> None:
        self._box, self._room = box, box.room

    def obey(self, letter: Letter | Flaw) -> Sent | None:
        """What was sent, if that is what it asked for."""
        if isinstance(letter, Flaw):
            raise letter.why
        self._check_sender(letter)
        if letter.type == ACK:
            self._room.ack(self._named(letter.reply_to or "").id)
        elif letter.type == NACK:
            self._room.nack(self._named(letter.reply_to or "").id, reason(letter))
        else:
            return self._send(letter)
        return None

    def _check_sender(self, letter: Letter) -> None:
        """The name of its folder is its own, too, while nobody else bears it: whoever was renamed may not
        know it.
        """
        if not letter.sender:
            return
        agent, folder = self._box.agent, self._box.shelf.place.rpartition("/")[2]
        sender = letter.sender.lower()
        if sender not in (agent.name, agent.address) and not (sender == folder and self._is_free(folder)):
            raise NotYourName(
                f"it says that it is from {letter.sender!r}, and lay in the mailbox of {agent.called}"[:300],
                hint=f'Write "from": "{agent.called}", or leave it out.',
            )

    def _is_free(self, folder: str) -> bool:
        bearer = self._room.store.look().agent_named(self._box.agent.project, folder)
        return bearer is None or bearer.id == self._box.id

    def _send(self, letter: Letter) -> Sent:
        answered = self._named(letter.reply_to) if letter.reply_to else None
        if answered is not None and answered.sender_id == ROOM and not letter.to:
            self._room.ack(answered.id)
            raise UnknownMessage("the room itself takes no answers", hint="", is_untold=True)
        if answered is not None and self._is_answer(letter, answered):
            sent = self._room.reply(answered.id, letter.body, **options(letter, "response"))
        else:
            wanted: SendOptions = {**options(letter)}
            if answered is not None:
                wanted["reply_to"] = answered.id
            if letter.correlation:
                wanted["correlation"] = letter.correlation
            if letter.thread:
                wanted["thread"] = self._named(letter.thread).id
            sent = self._sent(letter, wanted)
        if sent.duplicate and not is_same(letter, sent.message):
            raise _used(letter.id, sent.message.id)
        return sent

    def _sent(self, letter: Letter, wanted: "SendOptions") -> Sent:
        try:
            return self._room.send(letter.to, letter.body, **wanted)
        except KeyConflict as exc:
            raise _used(letter.id, str(exc.facts["message_ref"])) from None
        except UnknownRecipient as exc:
            if not self._box.own_tree:
                raise
            raise _without_directory(self._box.own_tree, exc) from None

    def _is_answer(self, letter: Letter, answered: Message) -> bool:
        """Whether it goes back to who wrote what it answers."""
        look = self._room.store.look()
        if look.mail(answered.seq, self._box.id) is None:
            return False
        if not letter.to:
            return True
        found = directory.find(look, directory.personal(letter.to), self._room.scope.find(look))
        return found is not None and found.id == answered.sender_id

    def _named(self, ref: str) -> Message:
        """A message by the room's id or handle, or by the id that this mailbox gave it."""
        look = self._room.store.look()
        found = (
            (look.message(ref) if ids.is_uuid(ref) else None)
            or look.message_by_key(self._box.id, key(ref))
            or arrivals.find(look, self._box.id, ref)
            or (look.message(ref) if ids.is_handle(ref) else None)
        )
        if found is None:
            raise UnknownMessage(
                f"there is no message {ref!r}", message_ref=ref, hint="Write the id of a letter."
            )
        return found


def _without_directory(tree: str, exc: UnknownRecipient) -> UnknownRecipient:
    """No command of the room gives anybody an address there."""
    making = f"mkdir -p {shlex.quote(tree)}/NAME"
    hint = f"Who has a directory in {tree} has an address. Make it before you write: {making}"
    return UnknownRecipient(str(exc), hint=hint, **exc.facts)


def _used(id: str, ref: str) -> KeyConflict:
    return KeyConflict(
        f"another letter had the id {id!r}", hint="Give each letter an id of its own.", message_ref=ref
    )
