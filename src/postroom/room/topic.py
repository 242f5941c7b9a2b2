"""Topics: who follows one gets what is written to it from then on; what was said before can be looked up."""

from typing import TYPE_CHECKING

from postroom.errors import UnknownRecipient
from postroom.model import address
from postroom.model.address import Address
from postroom.model.conversation import Topic
from postroom.model.message import Agent, Message
from postroom.room import directory

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom
    from postroom.store.contract import ReadTx


def name(text: str) -> str:
    """A topic's name, however it was written: `frontend`, `topic:frontend`, `#frontend`."""
    found = address.parse(text if text.startswith(("topic:", "#")) else f"topic:{text}")
    return found.name


def subscribe(room: "LocalRoom", topic: str, agent: str | None) -> bool:
    """Follow a topic; False if that was so already."""
    wanted = name(topic)
    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        project = room.scope.ensure(tx)
        if tx.is_subscribed(project, wanted, who.id):
            return False
        payload = {"project": project, "topic": wanted}
        tx.append("topic.subscribed", who.id, payload=payload, role="human" if who.is_human else "agent")
    return True


def unsubscribe(room: "LocalRoom", topic: str, agent: str | None) -> bool:
    """Follow a topic no longer; False if that was so already. What was delivered stays."""
    wanted = name(topic)
    with room.write() as tx:
        who = directory.caller(tx, agent or room.agent, room.scope)
        project = room.scope.find(tx)
        if not tx.is_subscribed(project, wanted, who.id):
            return False
        payload = {"project": project, "topic": wanted}
        tx.append("topic.unsubscribed", who.id, payload=payload, role="human" if who.is_human else "agent")
    return True


def subscribers(tx: "ReadTx", topic: Address, author: Agent, project: str) -> list[Agent]:
    """Who follows a topic now, its author aside. Never empty."""
    found: list[Agent] = []
    after = ""
    while page := tx.subscribers(project, topic.name, after):
        after = page[-1].id
        found += [agent for agent in page if agent.id != author.id and agent.left_at is None]
    if not found:
        raise _nobody(tx, topic, author, project)
    return found


def _nobody(tx: "ReadTx", topic: Address, author: Agent, project: str) -> UnknownRecipient:
    from postroom.near import meant, near  # noqa: PLC0415 - only to word an error

    others = [name for name in _names(tx, project) if name != topic.name]
    found = [f"topic:{name}" for name in near(topic.name, others)]
    whom = (
        "nobody but you subscribes to"
        if tx.is_subscribed(project, topic.name, author.id)
        else "nobody subscribes to"
    )
    hint = meant(found) or f"Subscribe to it: postroom topics subscribe {topic.name}"
    return UnknownRecipient(f"{whom} {topic}", address=str(topic), near=found, hint=hint)


def _names(tx: "ReadTx", project: str) -> list[str]:
    names: list[str] = []
    following: str | None = ""
    while (following := tx.topic_after(project, following)) is not None:
        names.append(following)
    return names


def topics(room: "LocalRoom") -> list[Topic]:
    """Every topic of the project that somebody follows or has written to."""
    with room.store.read() as tx:
        project = room.scope.find(tx)
        found: list[Topic] = []
        for topic in _names(tx, project):
            following, messages = tx.topic_counts(project, topic)
            latest = tx.messages_in_topic(project, topic, limit=1)
            found.append(Topic(topic, project, following, messages, latest[0].created_at if latest else None))
        return found


def history(room: "LocalRoom", topic: str, limit: int) -> list[Message]:
    """What was written to a topic, oldest first: the latest so many."""
    wanted = name(topic)
    with room.store.read() as tx:
        return tx.messages_in_topic(room.scope.find(tx), wanted, limit=limit)[::-1]


def subscribers_of(room: "LocalRoom", topic: str) -> list[Agent]:
    """Who follows a topic."""
    wanted = name(topic)
    with room.store.read() as tx:
        project, found, after = room.scope.find(tx), list[Agent](), ""
        while page := tx.subscribers(project, wanted, after):
            after = page[-1].id
            found += page
        return found
