"""Who is here, what waits for them, and how they come and go."""

from typing import TYPE_CHECKING

from postroom import host
from postroom.errors import NameTaken
from postroom.model import address
from postroom.model.address import ROOM
from postroom.model.message import Agent, AgentStatus
from postroom.room import directory

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


def statuses(room: "LocalRoom", *, everyone: bool) -> list[AgentStatus]:
    """Everyone in the room; those who left only when asked for."""
    room.sweep()
    found: list[AgentStatus] = []
    with room.store.read() as tx:
        offset = 0
        while page := tx.agents(offset=offset):
            offset += len(page)
            for agent in page:
                if agent.left_at is not None and not everyone:
                    continue
                lease = tx.lease(agent.id)
                holder = lease.holder if lease and lease.holder and not host.is_gone(lease.holder) else None
                live = holder is not None or room.bell.waiting(agent.id) > 0
                reach = "live" if live else "left" if agent.left_at is not None else "stored"
                found.append(AgentStatus(agent, *tx.counts(agent.id), reach, holder))
    return found


def leave(room: "LocalRoom", agent: str | None) -> Agent:
    """Mark an agent as gone for good. Its address and its mail stay."""
    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        if who.left_at is None:
            tx.append("agent.left", who.id, role="human" if who.is_human else "agent")
        return tx.agent(who.id) or who


def rename(room: "LocalRoom", agent: str | None, new: str) -> Agent:
    """Give an agent another name. Its id, its mail and its threads stay."""
    name = address.name(new)
    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        if name == ROOM or (tx.agent_named(who.project, name) or who).id != who.id:
            raise NameTaken(f"the name {name!r} is taken in {who.project or 'this room'}", name=name)
        if name != who.name:
            room.unsettle()
            tx.append("agent.renamed", who.id, payload={"name": name, "was": who.name})
        return tx.agent(who.id) or who
