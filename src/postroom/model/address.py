"""The grammar of addresses: `[project/]name[.child]`, `[project/]@group`, prefixes `topic: one: human:`."""

from enum import StrEnum
from typing import NamedTuple

from postroom.errors import InvalidAddress, InvalidName

ROOM = "postroom"  # the room itself as a sender; no agent may take this name
ALL, UP = "all", "up"  # groups that no role or capability makes

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_REST = _FIRST | frozenset("-_")
_LONGEST = 64
_LIVE = ":live"


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
    live: bool = False  # of a group: only those of it that run

    def __str__(self) -> str:
        return render(self.kind, self.project, self.name) + (_LIVE if self.live else "")


_PREFIXES = (
    ("human:", Kind.HUMAN),
    ("topic:", Kind.TOPIC),
    ("one:@", Kind.ONE),
    ("#", Kind.TOPIC),
    ("@", Kind.GROUP),
)
_WRITTEN = {Kind.GROUP: "@", Kind.ONE: "one:@", Kind.TOPIC: "topic:", Kind.HUMAN: "human:"}


def render(kind: Kind, project: str, name: str) -> str:
    """The address as people write it."""
    if kind in (Kind.AGENT, Kind.GROUP):
        written = name if kind is Kind.AGENT else _WRITTEN[kind] + name
        return f"{project}/{written}" if project else written
    return _WRITTEN[kind] + name


def name(text: str) -> str:
    """A valid name, folded to lower case; `backend.child` names a subagent."""
    folded = text.lower()
    for part in folded.split("."):
        if not part or part[0] not in _FIRST or not _REST.issuperset(part) or len(part) > _LONGEST:
            raise InvalidName(f"{text!r} is not a name", name=text)
    return folded


def is_name(text: str) -> bool:
    try:
        name(text)
    except InvalidName:
        return False
    return True


def parse(text: str) -> Address:
    """Read an address, or say why it is none."""
    for prefix, kind in _PREFIXES:
        if text.startswith(prefix):
            rest = text[len(prefix) :]
            live = kind in (Kind.GROUP, Kind.ONE) and rest.lower().endswith(_LIVE)
            return Address(kind, "", _part(text, rest[: -len(_LIVE)] if live else rest), live)
    project, slash, last = text.rpartition("/")
    if slash and last.startswith(_WRITTEN[Kind.GROUP]):
        group = parse(last)
        if group.name == UP:
            raise InvalidAddress(
                f"{text!r} is not an address: {last} is above you, in no other project", address=text
            )
        return group._replace(project=_part(text, project))
    return Address(Kind.AGENT, _part(text, project) if slash else "", _part(text, last))


def _part(whole: str, part: str) -> str:
    try:
        return name(part)
    except InvalidName as exc:
        raise InvalidAddress(f"{whole!r} is not an address", address=whole) from exc


def is_of_several(text: str) -> bool:
    """Whether an address, as it is written, is that of a group or a topic."""
    return text.startswith(("@", "topic:", "one:", "#")) or "/@" in text


def trade(text: str) -> str:
    """A role or a capability as a group is named after it: singular and plural are one."""
    word = "-".join(text.lower().split())
    if len(word) <= 3 or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")
