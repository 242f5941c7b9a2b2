"""Routes: who may write to whom, by address, role or type of message. The first that fits decides."""

from typing import Any, NamedTuple, cast

from postroom.errors import InvalidAddress, InvalidValue
from postroom.model.address import ALL, UP, Kind, parse, render, trade
from postroom.model.message import Agent

_KEYS = ("from", "to", "type", "allow")
_ANY = "*"
_HINT = 'A route looks like this: [[route]] from = "@builders", to = ["@reviewers", "human:*"], allow = false'


class Route(NamedTuple):
    """One rule. An empty tuple fits everything."""

    number: int  # its place in the config, from 1
    sender: tuple[str, ...]
    to: tuple[str, ...]
    types: tuple[str, ...]
    allow: bool

    def __str__(self) -> str:
        verb = "allows" if self.allow else "refuses"
        kind = f" of type {_said(self.types)}" if self.types else ""
        return f"route {self.number} {verb} {_said(self.sender)} → {_said(self.to)}{kind}"

    def fits(self, letter: "Letter", recipient: Agent) -> bool:
        here, written = letter.project, letter.to
        return (
            (not self.types or letter.type in self.types)
            and (not self.sender or any(_is(letter.author, one, here) for one in self.sender))
            and (
                not self.to or any(_is_written(written, one) or _is(recipient, one, here) for one in self.to)
            )
        )


class Letter(NamedTuple):
    """What of a message a route looks at."""

    author: Agent
    project: str  # in which bare names are looked for
    to: str
    type: str


def _said(patterns: tuple[str, ...]) -> str:
    return ", ".join(patterns) or "anybody"


def read(declared: list[Any]) -> list[Route]:
    """The routes a config declares; says which of them makes no sense, and why."""
    routes: list[Route] = []
    for number, table in enumerate(declared, 1):
        try:
            routes.append(_read(number, table))
        except (InvalidAddress, InvalidValue) as exc:
            raise InvalidValue(f"route {number} in the config: {exc}", hint=_HINT, route=number) from None
    return routes


def _read(number: int, found: Any) -> Route:
    if not isinstance(found, dict):
        raise InvalidValue("it is no table")
    table = cast("dict[str, Any]", found)
    for key in table:
        if key not in _KEYS:
            raise InvalidValue(f"there is no {key!r} in a route, only {', '.join(_KEYS)}")
    allow = table.get("allow", True)
    if not isinstance(allow, bool):
        raise InvalidValue(f"allow must be true or false, not {allow!r}")
    senders, recipients = (tuple(map(_pattern, _texts(table, key))) for key in ("from", "to"))
    for one in senders:
        if one.startswith(("topic:", "one:")):
            raise InvalidValue(f"nobody writes from {one}")
    return Route(number, _fold(senders), _fold(recipients), _fold(_texts(table, "type")), allow)


def _texts(table: dict[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, _ANY)
    texts = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise InvalidValue(f"{key} must be a text or a list of texts, not {value!r}")
    return tuple(texts)


def _fold(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return () if _ANY in patterns else patterns


def _pattern(text: str) -> str:
    """A pattern as it is compared: addresses as they are rendered, groups as the trade they mean."""
    if text == _ANY:
        return text
    prefix, star, rest = text.partition(_ANY)
    if star and not rest and (prefix in ("human:", "topic:") or prefix.endswith("/")):
        parse(prefix + "x")
        return text
    address = parse(text)
    if address.live or (address.kind is Kind.GROUP and address.name == UP):
        raise InvalidValue(f"{text} means others at each time: name the group, or who is in it")
    return as_written(text)


def as_written(text: str) -> str:
    """An address as it is compared: groups as the trade they mean, singular or plural."""
    address = parse(text)
    if address.kind in (Kind.GROUP, Kind.ONE):
        return render(address.kind, address.project, _group(address.name))
    return str(address)


def _group(name: str) -> str:
    return name if name == ALL else trade(name)


def _is_written(written: str, pattern: str) -> bool:
    """Whether a topic, or whoever of a group is first, was written to under that address."""
    if not written.startswith(("topic:", "one:")):
        return False
    return pattern == as_written(written) or (pattern == "topic:*" and written.startswith("topic:"))


def _is(agent: Agent, pattern: str, here: str) -> bool:
    """Whether a pattern means somebody; a bare name is one of the project `here`."""
    project, slash, group = pattern.rpartition("/")
    if group.startswith("@"):
        if slash and agent.project != project:
            return False
        pattern = group
        trades = {trade(text) for text in (agent.role, *agent.capabilities)}
        return not agent.is_human if pattern == f"@{ALL}" else pattern[1:] in trades
    if pattern.endswith(_ANY):
        return agent.address.startswith(pattern[:-1])
    return pattern == agent.address or (agent.project == here and pattern == agent.name)


def decide(
    routes: list[Route], letter: Letter, recipient: Agent, *, strict: bool, answers: bool
) -> tuple[bool, Route | None]:
    """Whether it may be written, and by which route.

    Who was written to may answer, unless a route forbids that type of message by name.
    """
    for route in routes:
        if answers and not route.allow and not route.types:
            continue
        if route.fits(letter, recipient):
            return route.allow, route
    return answers or not strict, None
