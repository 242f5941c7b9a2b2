"""Going idle: an agent has nothing more to do for now. Whoever waits for an answer of it is told, once.

A program calls this when its turn ends; a runtime's hook will do the same.
"""

from typing import TYPE_CHECKING

from postroom.model.ladder import State
from postroom.model.message import Message
from postroom.room import directory

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


def gone_idle(room: "LocalRoom", agent: str | None) -> list[Message]:
    """Tell the askers of what an agent has seen and neither answered nor acknowledged; what that is.

    Each asker is told once for each request. Nothing is taken back: the agent may still answer.
    """
    if not room.store.look().watched(room.who(agent).id):
        return []
    from postroom.room.unanswered import Why, tell  # noqa: PLC0415 - only who has left something

    told: list[Message] = []
    with room.write() as tx:
        who, after = directory.caller(tx, agent or room.agent, room.scope), 0
        while page := tx.watched(who.id, after=after):
            after = page[-1].message.seq
            left = (mail for mail in page if mail.delivery.state is State.SEEN)
            told += [mail.message for mail in left if tell(tx, mail, Why.IDLE)]
    return told
