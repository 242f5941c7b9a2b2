"""Groups: whom `@builders`, `@all` and `@up` mean at the moment of sending. Never the sender."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from postroom.errors import UnknownRecipient
from postroom.model.address import ALL, UP, Address, Kind, is_name, trade
from postroom.model.message import Agent
from postroom.room.topic import subscribers

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx

ESCALATION = "escalation"


def present(tx: "ReadTx", project: str) -> Iterator[Agent]:
    """Every agent of a project that has not left."""
    after = ""
    while page := tx.agents_in(project, after):
        after = page[-1].name
        yield from (agent for agent in page if agent.left_at is None)


def trades(agent: Agent) -> set[str]:
    """The groups an agent belongs to by what it is and can do."""
    return {name for text in (agent.role, *agent.capabilities) if is_name(name := trade(text))} - {ALL, UP}


def groups(tx: "ReadTx", project: str) -> dict[str, list[Agent]]:
    """Every group of a project that somebody belongs to, by name."""
    found: dict[str, list[Agent]] = {}
    for agent in present(tx, project):
        for name in trades(agent):
            found.setdefault(name, []).append(agent)
    return dict(sorted(found.items()))


def resolve(
    tx: "ReadTx", address: Address, author: Agent, project: str, *, type: str, is_live: Callable[[str], bool]
) -> list[Agent]:
    """Whom an address of several means now. Never empty, and never its author."""
    if address.kind is Kind.TOPIC:
        return subscribers(tx, address, author, project)
    if address.name == UP:
        return above(tx, author, type)
    if address.project:
        project = address.project
        if tx.project(project) is None:
            raise UnknownRecipient(
                f"there is no project {project!r}", address=str(address), hint="See: postroom projects"
            )
    return members(tx, address, author, project, is_live)


def members(
    tx: "ReadTx", address: Address, author: Agent, project: str, is_live: Callable[[str], bool]
) -> list[Agent]:
    """Whom a group means now, its author aside. Never empty."""
    wanted = trade(address.name)
    everyone = [
        agent for agent in present(tx, project) if address.name == ALL or wanted in trades(agent)
    ]  # fmt: skip
    others = [agent for agent in everyone if agent.id != author.id]
    found = [agent for agent in others if is_live(agent.id)] if address.live else others
    if found:
        return found
    if others:
        names = ", ".join(agent.name for agent in others[:5])
        raise UnknownRecipient(
            f"nobody of {address} is running now ({names})", address=str(address),
            hint=f"Leave out :live, and it waits for them: {address._replace(live=False)}",
        )  # fmt: skip
    raise _nobody(tx, address, project, only_author=bool(everyone))


def _nobody(tx: "ReadTx", address: Address, project: str, *, only_author: bool) -> UnknownRecipient:
    if only_author or address.name == ALL:
        whom = "nobody but you" if only_author or not address.project else "nobody"
        text = f"there is {whom} in {address if only_author and address.name != ALL else project}"
        return UnknownRecipient(text, address=str(address))
    from postroom.near import meant, near  # noqa: PLC0415 - only to word an error

    known = list(groups(tx, project))
    found = [f"@{name}" for name in near(trade(address.name), known)]
    if found:
        hint = meant(found)
    elif known:
        hint = f"Groups here: {', '.join(f'@{name}' for name in known[:8])}. See: postroom groups"
    else:
        hint = f"Nobody has a role yet. Give one: postroom join NAME --role {trade(address.name)}"
    return UnknownRecipient(
        f"nobody in {project} has the role or capability {trade(address.name)!r}",
        address=str(address), near=found, hint=hint,
    )  # fmt: skip


def above(tx: "ReadTx", author: Agent, type: str) -> list[Agent]:
    """Who stands above somebody (`@up`): its supervisor; for an escalation, else the people."""
    supervisor = tx.agent(author.supervisor) if author.supervisor else None
    if supervisor is not None and supervisor.left_at is None and supervisor.id != author.id:
        return [supervisor]
    if type == ESCALATION and (people := [p for p in present(tx, "") if p.id != author.id]):
        return people
    who = author.called
    text = f"{who} has no supervisor"
    if supervisor is not None and supervisor.left_at is not None:
        text = f"{supervisor.called}, the supervisor of {who}, has left"
    if type == ESCALATION:
        text += ", and there are no people here"
    hint = f"Name one: postroom join {who} --supervisor NAME"
    raise UnknownRecipient(text, address=f"@{UP}", hint=hint)
