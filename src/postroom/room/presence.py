"""Who is here, what waits for them, and how they come and go."""

from typing import TYPE_CHECKING

from postroom import host
from postroom.errors import NameTaken
from postroom.model import address
from postroom.model.address import ROOM
from postroom.model.ladder import Reason, State
from postroom.model.message import Agent, AgentStatus, Delivery
from postroom.model.presence import Sight
from postroom.room import directory
from postroom.room.hand import REACHING
from postroom.room.probe import scope_of
from postroom.room.reach import reason, sights

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx


def statuses(room: "LocalRoom", *, everyone: bool) -> list[AgentStatus]:
    """Everyone in the room; those who left only when asked for."""
    room.sweep()
    room.rouse()
    found: list[AgentStatus] = []
    with room.store.read() as tx:
        offset = 0
        any_session = tx.has_sessions()
        while page := tx.agents(offset=offset):
            offset += len(page)
            for agent in page:
                if agent.left_at is not None and not everyone:
                    continue
                lease = tx.lease(agent.id)
                holder = lease.holder if lease and lease.holder and not host.is_gone(lease.holder) else None
                live = holder is not None or room.bell.waiting(agent.id) > 0
                seen = sights(room, tx, agent.id) if any_session else []
                reach = "live" if live else _reach(agent, seen)
                waiting, offered, held, uncertain = tx.counts(agent.id)
                shown = len(in_hand(room, tx, agent.id))
                sessions = tuple(seen)
                found.append(
                    AgentStatus(
                        agent,
                        waiting - shown,
                        offered + shown,
                        reach,
                        holder,
                        held,
                        sessions,
                        uncertain,
                        tx.refusal(scope_of(agent.id)),
                    )
                )
    return found


def _reach(agent: Agent, seen: list[Sight]) -> str:
    if seen and seen[0].is_live:
        return seen[0].presence.value
    return "left" if agent.left_at is not None else "stored"


def in_hand(room: "LocalRoom", tx: "ReadTx", party: str) -> list[int]:
    """The seq of what a listener is showing just now, if the store does not know it yet; one at most."""
    lease = tx.lease(party)
    seq = room.hand(party).read(lease.fence) if lease is not None and lease.holder is not None else None
    mail = tx.mail(seq, party) if seq and seq != REACHING else None
    return [mail.delivery.seq] if mail is not None and mail.delivery.state is State.STORED else []


def as_shown(room: "LocalRoom", tx: "ReadTx", delivery: Delivery) -> Delivery:
    """A delivery that waits, with a word of it if a listener has it in hand, or its agent's session tells."""
    if delivery.state is not State.STORED:
        return delivery
    if delivery.seq in in_hand(room, tx, delivery.recipient_id):
        return delivery._replace(reason=Reason.IN_HAND.value)
    if delivery.held or delivery.reason is not None:
        return delivery
    why = reason(room, tx, delivery.recipient_id, delivery.stored_at)
    return delivery if why is None else delivery._replace(reason=why)


def leave(room: "LocalRoom", agent: str | None) -> Agent:
    """Mark an agent as gone. Its address and its mail stay; what was for one of many, others get.

    Whoever has asked it something and got no answer is told.
    """
    from postroom.room.departure import depart  # noqa: PLC0415 - who leaves does so once

    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        depart(tx, who, room.settings)
        return tx.agent(who.id) or who


def rename(room: "LocalRoom", agent: str | None, new: str) -> Agent:
    """Give an agent another name. Its id, its mail and its threads stay."""
    name = address.name(new)
    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        if name == ROOM or (tx.agent_named(who.project, name) or who).id != who.id:
            raise NameTaken(f"the name {name!r} is taken in {who.project or 'this room'}", name=name)
        if name != who.name:
            directory.check_new_name(tx, who, name, room.scope)
            room.unsettle()
            tx.append("agent.renamed", who.id, payload={"name": name, "was": who.name})
        return tx.agent(who.id) or who
