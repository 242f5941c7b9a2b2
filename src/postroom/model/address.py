"""The grammar of addresses: `[project/]name[.child]`, and the prefixes `@ topic: one: human:`."""

from enum import StrEnum
from typing import NamedTuple

from postroom.errors import InvalidAddress, InvalidName

ROOM = "postroom"  # the room itself as a sender; no agent may take this name

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_REST = _FIRST | frozenset("-_")
_LONGEST = 64


class Kind(StrEnum):
    """What an address names."""

    AGENT = "agent"
    HUMAN = "human"
    GROUP = "group"
    TOPIC = "topic"
    ONE = "one"


class Address(NamedTuple):
    """A parsed address. `project` is empty when none was written."""

    kind: Kind
    project: str
    name: str

    def __str__(self) -> str:
        return render(self.kind, self.project, self.name)


_PREFIXES = (
    ("human:", Kind.HUMAN),
    ("topic:", Kind.TOPIC),
    ("one:", Kind.ONE),
    ("#", Kind.TOPIC),
    ("@", Kind.GROUP),
)


def render(kind: Kind, project: str, name: str) -> str:
    """The address as people write it."""
    if kind is Kind.AGENT:
        return f"{project}/{name}" if project else name
    return ("@" if kind is Kind.GROUP else f"{kind}:") + name


def name(text: str) -> str:
    """A valid name, folded to lower case; `backend.child` names a subagent."""
    folded = text.lower()
    for part in folded.split("."):
        if not part or part[0] not in _FIRST or not _REST.issuperset(part) or len(part) > _LONGEST:
            raise InvalidName(f"{text!r} is not a name", name=text)
    return folded


def parse(text: str) -> Address:
    """Read an address, or say why it is none."""
    for prefix, kind in _PREFIXES:
        if text.startswith(prefix):
            rest = text[len(prefix) :]
            return Address(kind, "", rest.lower() if kind in (Kind.ONE, Kind.GROUP) else _part(text, rest))
    project, slash, last = text.rpartition("/")
    return Address(Kind.AGENT, _part(text, project) if slash else "", _part(text, last))


def _part(whole: str, part: str) -> str:
    try:
        return name(part)
    except InvalidName as exc:
        raise InvalidAddress(f"{whole!r} is not an address", address=whole) from exc
