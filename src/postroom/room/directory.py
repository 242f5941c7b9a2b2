"""Who an address is, and which project a caller stands in."""

from typing import TYPE_CHECKING, NamedTuple

from postroom import config
from postroom.errors import (
    InvalidAddress,
    NoIdentity,
    NotYourName,
    UnknownAgent,
    UnknownRecipient,
    UnknownToken,
)
from postroom.model import ids
from postroom.model.address import ROOM, Address, Kind, name, parse
from postroom.model.message import NOTHING, Agent, Json
from postroom.room.draft import check_text
from postroom.room.identity import TOKEN, UNKNOWN, UNVERIFIED, is_of
from postroom.text import storable

if TYPE_CHECKING:
    from postroom.room.identity import Evidence, Origin, Witness
    from postroom.room.options import About
    from postroom.store.contract import ReadTx, WriteTx

DEFAULT_PROJECT = "default"
SUBAGENT = "subagent"  # the role of those that a runtime starts in an agent's conversation
_MOST_REMEMBERED = 1000
_PEOPLE = ""  # people belong to no project


class Scope:
    """The project a caller stands in: named, or found from the directory it runs in.

    It also remembers whom names mean, and knows by its witness who calls. Without one names are believed.
    """

    def __init__(
        self, explicit: str | None, start: str | None = None, witness: "Witness | None" = None
    ) -> None:
        self._name = name(explicit) if explicit else ""
        self._root = "" if explicit else storable(config.project_root(start))
        self.memory = Memory(-1)  # what was true the last time
        self.newcomer = ""  # who was given an address because they wrote
        self.twin = ""  # the project here, made known just now under another name than its directory's
        self.witness = witness

    def remember(self, tx: "WriteTx") -> "Memory":
        """What is known of names and lanes, and true now; add what you find out.

        A transaction that changed the directory gets a memory of its own: it may yet be rolled back.
        """
        memory = self.memory
        if memory.generation == tx.directory and len(memory.lanes) + len(memory.names) < _MOST_REMEMBERED:
            return memory
        memory = Memory(tx.directory)
        if tx.directory is not None:
            self.memory = memory
        return memory

    def find(self, tx: "ReadTx") -> str:
        """The project's name, as far as the room knows it or would name it."""
        if not self._name and self._root:
            known = tx.project_at(self._root)
            if known is None:
                return _free_name(tx, config.slug(self._root))
            if tx.directory is None:  # perhaps this transaction named it, and it may yet be rolled back
                return known.name
            self._name = known.name
        return self._name or DEFAULT_PROJECT

    def origin(self, tx: "ReadTx", author: Agent) -> "Origin":
        """How somebody who writes is verified."""
        return UNKNOWN if self.witness is None else self.witness.origin(tx, author)

    def ensure(self, tx: "WriteTx") -> str:
        """The project's name, made known to the room if it is new."""
        project = self.find(tx)
        if tx.project(project) is None:
            tx.append("project.created", payload={"name": project, "root": self._root})
            if self._root and project != config.slug(self._root):
                self.twin = project
        return project


class Lane(NamedTuple):
    """From somebody to somebody, and what all messages between them have in common."""

    author: Agent
    recipients: list[Agent]
    ids: list[str]  # of the recipients
    mailbox: str  # the one it leads to; empty where it could be several
    head: tuple[str | None, ...]  # a message's fields from `tenant` to `verified`
    to: str  # the address, as it is kept
    reserved: bool  # whether any of them may want to be left alone
    rest: tuple[str | None, ...]  # a message's fields from `sender_session` on, where it has no others


def lane(
    author: Agent,
    recipients: list[Agent],
    project: str,
    to: str,
    *,
    personal: bool = True,
    origin: "Origin" = UNKNOWN,
    refused: frozenset[str] = frozenset(),
) -> Lane:
    """The lane of mail that belongs to a project, unless its author has one.

    `refused`: the scopes in which the model of an agent takes no requests, so that its mail is held.
    """
    home, sender = author.project, author.name
    for recipient in recipients:
        if recipient.project != home or author.is_human:
            sender = author.address  # under this name every one of them can write back
    verified, *session = origin
    head = (author.tenant, home or project, author.id, sender, author.role or None, verified)
    ids = [agent.id for agent in recipients]
    reserved = any(agent.manners for agent in recipients) or (bool(refused) and _is_held(ids, refused))
    rest = (*session, *NOTHING[2:]) if session != [None, None] else NOTHING
    return Lane(author, recipients, ids, ids[0] if personal else "", head, to, reserved, rest)


def _is_held(ids: list[str], refused: frozenset[str]) -> bool:
    from postroom.room.probe import scope_of  # noqa: PLC0415 - rarely

    return any(scope_of(id) in refused for id in ids)


class Memory:
    """Whom names mean, and the lanes between them: true while the room's directory has not changed."""

    __slots__ = ("generation", "lanes", "names")

    def __init__(self, generation: int | None) -> None:
        self.generation = generation
        self.names: dict[str, Agent] = {}
        self.lanes: dict[tuple[str, str], Lane] = {}  # by author and address


def _free_name(tx: "ReadTx", wanted: str) -> str:
    project, n = wanted, 1
    while tx.project(project) is not None:
        n += 1
        project = f"{wanted}-{n}"
    return project


def find(tx: "ReadTx", address: Address, project: str) -> Agent | None:
    """The agent or person an address names."""
    if address.kind is Kind.HUMAN:
        return tx.agent_named(_PEOPLE, address.name)
    return tx.agent_named(address.project or project, address.name)


def caller(tx: "ReadTx", who: str | None, scope: Scope) -> Agent:
    """The agent or person on whose behalf a call is made; must exist."""
    agent = evident(tx, who, scope)
    if agent is not None:
        return agent
    return _existing(tx, _named(who, scope), scope)


def _named(who: str | None, scope: Scope) -> str:
    """The name that a caller gave, or that of the person who sits here; only where nothing is evident."""
    who = who or (scope.witness.person() if scope.witness else "")
    if not who:
        raise NoIdentity
    return who


def caller_or_none(tx: "ReadTx", who: str | None, scope: Scope) -> Agent | None:
    """As `caller`, for who only looks: None without a name, and for one that nobody or another has."""
    try:
        agent = evident(tx, who, scope)
        return agent or find(tx, personal(_named(who, scope)), scope.find(tx))
    except (InvalidAddress, NoIdentity, NotYourName, UnknownToken):
        return None


def evident(tx: "ReadTx", who: str | None, scope: Scope) -> Agent | None:
    """Who calls, by evidence, which a name must not contradict. None: there is only the name."""
    witness = scope.witness
    evident = witness.find(tx) if witness else None
    agent = tx.agent(evident.agent) if evident else None
    if witness is None or evident is None or agent is None or not who:
        return agent
    is_inherited = who == witness.inherited
    if evident.verified == UNVERIFIED:
        return agent if is_inherited else None
    claimed = _inherited(who) if is_inherited else personal(who)
    named = find(tx, claimed, scope.find(tx)) if claimed else None
    if named is not None and is_of(named.id, agent.id):
        return named
    if named is None and claimed and _would_be_child(claimed, agent, scope.find(tx)):
        return None
    if not is_inherited:
        raise _not_yours(who, agent, evident)
    witness.ignored = agent.called
    return agent


def _inherited(text: str) -> Address | None:
    """What a variable names; it is overruled in any case, so nonsense is no error."""
    try:
        return personal(text)
    except InvalidAddress:
        return None


def _would_be_child(claimed: Address, agent: Agent, project: str) -> bool:
    return (claimed.project or project) == agent.project and claimed.name.startswith(f"{agent.name}.")


def _not_yours(who: str, agent: Agent, evident: "Evidence") -> NotYourName:
    return NotYourName(
        f"you are {agent.called}, not {who}: {evident.because}", claimed=who, evident=agent.address,
        session=evident.session, verified=evident.verified,
        hint="Leave out that name (--as; over HTTP, `agent` or `sender`), or take an address under your own:"
        f" {agent.called}.NAME",
    )  # fmt: skip


def _existing(tx: "ReadTx", who: str, scope: Scope) -> Agent:
    return known(tx, who, scope, f"Give it an address first: postroom join {who}")


def known(tx: "ReadTx", who: str, scope: Scope, otherwise: str = UnknownAgent.hint) -> Agent:
    """Somebody a caller names; must exist. `otherwise` is what to do where nobody's name is near."""
    project = scope.find(tx)
    asked = personal(who)
    agent = find(tx, asked, project)
    if agent is None:
        found = near_to(tx, who)
        where = "" if asked.project or asked.kind is Kind.HUMAN else f" in {project}"
        raise UnknownAgent(
            f"there is no agent {who!r}{where}", agent=who, near=found, hint=_meant(found, otherwise)
        )
    return agent


def caller_of(tx: "WriteTx", who: str | None, scope: Scope) -> Agent:
    """As `caller`, from memory where that is still true."""
    names = scope.remember(tx).names
    agent = names.get(who or "")
    if agent is None:
        agent = names[who or ""] = caller(tx, who, scope)
    return agent


def caller_or_new(tx: "WriteTx", who: str | None, scope: Scope) -> Agent:
    """As `caller`, but somebody new is given an address: whoever sends must be able to get answers."""
    agent = evident(tx, who, scope)
    if agent is not None:
        return agent
    who = _named(who, scope)
    agent = find(tx, personal(who), scope.find(tx))
    if agent is None:
        agent = join_as(tx, who, scope, {})
        scope.newcomer = agent.address
    return agent


def recipient(tx: "ReadTx", address: Address, project: str) -> Agent:
    """Whom the address of one agent or one person reaches."""
    agent = find(tx, address, project)
    if agent is None:
        from postroom.room.own_terminal import bearer_in_doubt  # noqa: PLC0415 - for an error only

        to = str(address)
        found = near_to(tx, to)
        hint = _meant(found, "See who is here: postroom agents. Give it an address: postroom join NAME")
        if (other := bearer_in_doubt(tx, address.project or project, address.name)) is not None:
            found = [other.address, *found]
            hint = f"A session may be {to}: it is called {other.address} now. See: postroom agents"
        raise UnknownRecipient(f"nobody has the address {to!r}", address=to, near=found, hint=hint)
    return reading(agent)


def reading(agent: Agent) -> Agent:
    """The same, who may still read what is sent now: a subagent that has ended never does."""
    if agent.left_at is None or agent.role != SUBAGENT:
        return agent
    above = agent.called.rpartition(".")[0]
    raise UnknownRecipient(
        f"{agent.called} was a subagent, and has ended", address=agent.called, near=[above],
        hint=f"Write to whom it worked for: {above}",
    )  # fmt: skip


def personal(text: str) -> Address:
    """An address of one agent or one person."""
    address = parse(text)
    if address.kind not in (Kind.AGENT, Kind.HUMAN):
        raise InvalidAddress(f"{text!r} is not the address of one agent or person", address=text)
    return address


def agents_own(text: str) -> Address:
    """An address of one agent, for what can be done to no person: starting, adopting, stopping one."""
    address = personal(text)
    if address.kind is Kind.HUMAN:
        hint = f"Agents have names like {address.name}"
        raise InvalidAddress(f"{address} is a person, and no agent", hint=hint, address=text)
    return address


def join_as(tx: "WriteTx", who: str, scope: Scope, about: "About") -> Agent:
    """As `join`, for whoever calls: by its token, an agent gives addresses to itself and its children alone;
    from its session, to newcomers too, and it says nothing of others who are here.
    """
    me, verified = _evident_agent(tx, scope)
    is_told_of = any(about.values()) and find(tx, personal(who), scope.find(tx)) is not None
    if me is not None and (verified == TOKEN or is_told_of):
        check_own(tx, who, me, scope, about.get("supervisor"))
    return join(tx, who, scope, about)


def _evident_agent(tx: "ReadTx", scope: Scope) -> tuple[Agent | None, str]:
    """The agent that calls, and how that is known, where more than its own word says so."""
    found = scope.witness.find(tx) if scope.witness else None
    agent = tx.agent(found.agent) if found and found.verified != UNVERIFIED else None
    return (None, "") if found is None or agent is None or agent.is_human else (agent, found.verified)


def check_own(tx: "ReadTx", who: str, me: Agent, scope: Scope, supervisor: str | None = None) -> None:
    """`NotYourName` unless an address is that of `me` or of a child of it, or would be: by id, as names are
    others' in another project. Who supervises whom is said by those above: else an agent could steer any.
    """
    address, project = personal(who), scope.find(tx)
    named = find(tx, address, project)
    known = named or (
        None if address.kind is Kind.HUMAN else _above(tx, address.project or project, address.name)
    )
    if known is None or not is_of(known.id, me.id):
        raise NotYourName(
            f"you are {me.called}, and {address} is no child of yours", claimed=who, evident=me.address,
            hint=f"Take a name under your own: {me.address}.NAME",
        )  # fmt: skip
    if not supervisor:
        return
    above = _existing(tx, supervisor, scope)
    is_mine = named is None or named.id != me.id
    allowed = {named.supervisor if named else None, *((me.id, me.supervisor) if is_mine else ())}
    if above.id not in allowed:
        raise NotYourName(
            f"you are {me.called}, and may not say that {address} reports to {above.called}",
            claimed=above.address, evident=me.address,
            hint="Its supervisor is you or yours, if it is a child of yours; any other, a person names:"
            " postroom join NAME --supervisor NAME",
        )  # fmt: skip


def check_new_name(tx: "ReadTx", agent: Agent, name: str, scope: Scope) -> None:
    """`NotYourName` where an agent, as which one calls, would look like the child of whose it is not."""
    prefix = name.rpartition(".")[0]
    if not prefix or prefix == agent.name.rpartition(".")[0] or _evident_agent(tx, scope)[0] is None:
        return
    above = _above(tx, agent.project, name)
    if above is None or above.id == agent.id or not is_of(agent.id, above.id):
        raise NotYourName(
            f"{agent.called} is no child of {above.called if above else prefix}", claimed=name,
            evident=agent.address, hint="Take a name without a dot.",
        )  # fmt: skip


def _above(tx: "ReadTx", project: str, name: str) -> Agent | None:
    """The nearest one under whose name another lies."""
    while name := name.rpartition(".")[0]:
        if (found := tx.agent_named(project, name)) is not None:
            return found
    return None


def join(tx: "WriteTx", who: str, scope: Scope, about: "About") -> Agent:
    """Give somebody an address, or bring what is known of them up to date."""
    address = personal(who)
    if address.name == ROOM:
        raise InvalidAddress(f"{ROOM!r} is the room itself", address=who, hint="Choose another name.")
    if address.kind is Kind.HUMAN:
        project, new_id, role = _PEOPLE, ids.human_id, "human"
    elif address.project:
        project, new_id, role = Scope(address.project).ensure(tx), ids.agent_id, "agent"
    else:
        project, new_id, role = scope.ensure(tx), ids.agent_id, "agent"
    known = tx.agent_named(project, address.name)
    facts = _facts(tx, known, about, scope)
    if known is None:
        above = _above(tx, project, address.name)
        party = ids.child_id(above.id) if above else new_id()
        tx.append(
            "agent.joined", party, payload={"project": project, "name": address.name, **facts}, role=role
        )
    else:
        party = known.id
        if known.left_at is not None or facts != _facts(tx, known, {}, scope):
            tx.append("agent.updated", party, payload=facts, role=role)
    joined = tx.agent(party)
    assert joined is not None
    return joined


def _facts(tx: "ReadTx", known: Agent | None, about: "About", scope: Scope) -> Json:
    for text in (about.get("role"), about.get("description"), *(about.get("capabilities") or ())):
        check_text("what is said of an agent", text or "")
    supervisor = about.get("supervisor")
    if supervisor:
        supervisor = _existing(tx, supervisor, scope).id
    return {
        "role": about.get("role") or (known.role if known else ""),
        "capabilities": list(about.get("capabilities") or (known.capabilities if known else [])),
        "description": about.get("description") or (known.description if known else ""),
        "supervisor": supervisor or (known.supervisor if known else None),
    }


def near_to(tx: "ReadTx", wanted: str) -> list[str]:
    """Addresses a caller may have meant."""
    from postroom import near  # noqa: PLC0415 - only to word an error

    known = {agent.address: agent for agent in tx.agents()}
    wanted = wanted.removeprefix("human:").rpartition("/")[2]
    by_name = near.near(wanted, [agent.name for agent in known.values()])
    return [address for address, agent in known.items() if agent.name in by_name][:5]


def _meant(found: list[str], otherwise: str) -> str:
    from postroom.near import meant  # noqa: PLC0415 - only to word an error

    return meant(found) or otherwise
