"""Check that the roles of sender and recipient fit the type of a message.

Each type says who writes it to whom (`lead → worker`). An agent that has no role is not checked. An agent
whose role is none of those below is a worker. The supervisor of the other agent fits each place above.
"""

from typing import TYPE_CHECKING

from postroom.errors import WrongDirection
from postroom.model.address import is_name, trade
from postroom.protocol import registry

if TYPE_CHECKING:
    from postroom.model.message import Agent
    from postroom.room.directory import Lane
    from postroom.room.local import LocalRoom

BEGINNING = "Wrong direction: "
_ARROW = " → "
_NAMED = 3  # of several recipients

# By a role in the vocabulary: the places in a direction that it fits.
_COORDINATOR = frozenset(("coordinator", "lead", "supervisor", "reviewer", "merger"))
_LEAD = frozenset(("lead", "supervisor", "reviewer", "merger"))
_FITS = {
    "coordinator": _COORDINATOR, "orchestrator": _COORDINATOR, "planner": _COORDINATOR,
    "lead": _LEAD, "supervisor": _LEAD | {"coordinator"}, "manager": _LEAD,
    "monitor": frozenset(("supervisor",)),
    "reviewer": frozenset(("reviewer", "worker")),
    "merger": frozenset(("merger", "worker")), "integrator": frozenset(("merger", "worker")),
}  # fmt: skip
_WORKER = frozenset(("worker",))
_PERSON = _COORDINATOR | {"person"}
_ABOVE = frozenset(("coordinator", "lead", "supervisor"))  # places that a supervisor fits
_ANYONE = frozenset[str]()  # nobody in particular: not checked
_PLACES = _COORDINATOR | _WORKER | {"person", "agent", "room"}


def check(room: "LocalRoom", lane: "Lane", type: str) -> str:
    """Return what the sender should know; raises `WrongDirection` where the room refuses it."""
    definition = registry.find(type, room.home)
    direction = str(definition.get("direction", ""))
    sender, arrow, recipient = direction.partition(_ARROW)
    if not arrow:
        return ""
    sends, gets = _places(sender), _places(recipient)
    places = _PLACES | sends | gets if definition["group"] == "yours" else _PLACES
    sends, gets = (part if part <= places else _ANYONE for part in (sends, gets))
    wrong = [
        (agent, problem)
        for agent in lane.recipients
        if (problem := _problem(lane.author, agent, sends, gets))
    ]
    if not wrong:
        return ""
    names = ", ".join(dict.fromkeys(problem for _, problem in wrong[:_NAMED]))
    more = f", and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
    text = f"{type} goes {direction}, but {names}{more}"
    if room.settings.directions == "refuse":
        raise WrongDirection(
            f"{type} was not sent: it goes {direction}, but {names}{more}",
            type=type, direction=direction, recipients=[agent.address for agent, _ in wrong],
        )  # fmt: skip
    return BEGINNING + text


def joined(note: str, more: str) -> str:
    """Return both, each on a line of its own."""
    return f"{note}\n{more}" if note and more else note or more


def _places(text: str) -> frozenset[str]:
    """Return the places that a side of a direction names: `person or supervisor`; none where it is anyone."""
    found = frozenset(trade(one) for one in text.split(" or "))
    return _ANYONE if found & {"anyone", "anybody", ""} else found


def _problem(author: "Agent", recipient: "Agent", sends: frozenset[str], gets: frozenset[str]) -> str:
    if not _fits(author, sends, above=recipient.supervisor == author.id):
        return _said(author)
    if not _fits(recipient, gets, above=author.supervisor == recipient.id):
        return _said(recipient)
    return ""


def _said(agent: "Agent") -> str:
    return f"{agent.called} is {'a person' if agent.is_human else f'{_a(agent.role)} {agent.role}'}"


def _a(word: str) -> str:
    return "an" if word[:1].lower() in "aeiou" else "a"


def _fits(agent: "Agent", wanted: frozenset[str], *, above: bool) -> bool:
    """Return whether an agent fits one of the places; `above`: it supervises the other."""
    if wanted == _ANYONE:
        return True
    if wanted & {"agent"}:
        return not agent.is_human or bool(wanted & _PERSON)
    if above and wanted & _ABOVE:
        return True
    if agent.is_human:
        return bool(wanted & _PERSON)
    if not agent.role or not is_name(role := trade(agent.role)):
        return not wanted <= {"person", "room"}
    return bool(wanted & (_FITS.get(role, _WORKER) | {role, *map(trade, agent.capabilities)}))
