"""Writing to people: to the one who is named, to the person above an agent, or to all there are.

Where nobody has an address yet, whoever this room belongs to is given one: what an agent says is then there
when they look, on the page or in a terminal.
"""

from typing import TYPE_CHECKING

from postroom.errors import InvalidAddress, UnknownRecipient
from postroom.model.message import Agent, Sent
from postroom.room import directory
from postroom.room.draft import Draft
from postroom.room.group import present
from postroom.room.send import admitted, answer, duplicate, post

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx, WriteTx


def above(tx: "ReadTx", agent: Agent) -> list[Agent]:
    """The person above an agent, else all people there are: an agent decides nothing for another."""
    found = tx.agent(agent.supervisor) if agent.supervisor else None
    if found is not None and found.is_human and found.left_at is None:
        return [found]
    return [*present(tx, "")]


def write(room: "LocalRoom", wanted: Draft, to: str = "") -> Sent:
    """Send it to `human:NAME`, or where nobody is named to whoever is above; once for each key."""
    unit = room.write()
    note = ""
    with unit as tx:
        author = directory.caller_or_new(tx, room.agent, room.scope)
        people = [_named(tx, to)] if to else above(tx, author) or [_owner(tx, room)]
        called = people[0].address if len(people) == 1 else "@up"
        origin = room.scope.origin(tx, author)
        lane = directory.lane(author, people, author.project, called, personal=False, origin=origin)
        wanted = wanted._replace(to=called)
        if wanted.key and (earlier := tx.message_by_key(author.id, wanted.key)):
            return duplicate(tx, earlier, wanted._replace(to=earlier.to))
        if room.is_policed:
            lane, note = admitted(room, tx, lane, wanted)
        message, holds = post(room, tx, lane, wanted)
    return answer(message, lane.recipients, unit, holds, note)


def _named(tx: "ReadTx", to: str) -> Agent:
    found = directory.find(tx, directory.personal(to if to.startswith("human:") else f"human:{to}"), "")
    if found is None or found.left_at is not None:
        known = ", ".join(one.address for one in present(tx, "")) or "nobody yet"
        raise UnknownRecipient(
            f"there is no person {to!r}", address=to, hint=f"People here: {known}. Or leave the name out."
        )
    return found


def _owner(tx: "WriteTx", room: "LocalRoom") -> Agent:
    import getpass  # noqa: PLC0415 - once for each room

    try:
        return directory.join(tx, f"human:{getpass.getuser()}", room.scope, {})
    except (KeyError, OSError, InvalidAddress):
        raise UnknownRecipient(
            "nobody is here to be told", hint="A person has an address after: postroom join human:NAME"
        ) from None
