"""All that is shown at once, taken in one go."""

from typing import NamedTuple

from postroom.clock import iso, wall
from postroom.errors import InvalidValue
from postroom.model.ladder import State
from postroom.model.message import Json
from postroom.protocol.operation import OBSERVE, OPERATE
from postroom.top.source import Source

MAIL = 300  # messages that are listed
_CHARS = 300  # of each
_ASKS = 100  # requests to the caller
_WHOLE = 2_000  # characters of each: what its answerer is shown
_FIELDS = ("from", "to", "type", "state", "topic", "project", "with")
_NAMES = {"from": "sender"}  # as the API has them
_STATES = [state.value for state in State]


class View(NamedTuple):
    """The room as it is now."""

    me: Json
    agents: list[Json]
    mail: list[Json]  # newest first
    gates: list[Json]
    asks: list[Json]  # what the caller was asked and has not answered, the oldest first
    dead: list[Json]
    uncertain: list[Json]
    health: Json  # what the daemon tells of itself; empty where none answers, or the caller may not know
    at: int

    @property
    def may_operate(self) -> bool:
        return OPERATE in self.me["scopes"]

    @property
    def mine(self) -> list[Json]:
        """Decisions that the caller may make."""
        return [one for one in self.gates if one["mine"]]

    @property
    def others(self) -> list[Json]:
        """Those of others."""
        return [one for one in self.gates if not one["mine"]]

    def document(self) -> Json:
        return {**self._asdict(), "at": iso(self.at)}


def sieve(text: str) -> dict[str, str]:
    """What mail is wanted: `from:backend state:dead some words`."""
    wanted: dict[str, str] = {}
    words: list[str] = []
    for part in text.split():
        name, colon, value = part.partition(":")
        if colon and value and name in _FIELDS:
            wanted[_NAMES.get(name, name)] = value
        else:
            words.append(part)
    return wanted | ({"q": " ".join(words)} if words else {})


def look(source: Source, wanted: str = "", *, limit: int = MAIL) -> View:
    """Raises `InvalidValue` for a filter that means nothing."""
    me = source.call("me")
    unread: Json = {"dead": [], "uncertain": []}
    observes = OBSERVE in me["scopes"]
    lost = source.call("dead") if observes else unread
    return View(
        me,
        source.call("agents")["agents"],
        _mail(source, wanted, limit),
        source.call("gates")["gates"],
        source.call("requests", limit=_ASKS, chars=_WHOLE)["requests"],
        lost["dead"],
        lost["uncertain"],
        source.health() if observes else {},
        wall(),
    )


def look_around(source: Source, view: View) -> View:
    """The same, with what everybody does now, the daemon as well."""
    health = source.health() if OBSERVE in view.me["scopes"] else {}
    return view._replace(agents=source.call("agents")["agents"], health=health, at=wall())


def _mail(source: Source, wanted: str, limit: int) -> list[Json]:
    asked = sieve(wanted)
    if (state := asked.get("state")) and state not in _STATES:
        raise InvalidValue(f"there is no state {state!r}", hint=f"One of: {', '.join(_STATES)}")
    return source.call("messages", **asked, limit=limit, chars=_CHARS)["messages"]
