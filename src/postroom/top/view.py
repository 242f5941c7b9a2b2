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
_ASKS = 100  # requests of a state
_WHOLE = 2_000  # characters of each: what its answerer is shown
_OPEN = (State.STORED.value, State.OFFERED.value, State.SEEN.value)  # neither answered, acked nor over
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
    at: int

    @property
    def may_operate(self) -> bool:
        return OPERATE in self.me["scopes"]

    @property
    def mine(self) -> list[Json]:
        """Decisions that the caller may make."""
        return [one for one in self.gates if self._is_mine(one)]

    @property
    def others(self) -> list[Json]:
        """Those of others."""
        return [one for one in self.gates if not self._is_mine(one)]

    def _is_mine(self, gate: Json) -> bool:
        me, project = self.me["agent"] or "", gate["message"]["project"]
        return any(one in (me, me.removeprefix(f"{project}/")) for one in gate["asked"])

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
    lost = source.call("dead") if OBSERVE in me["scopes"] else unread
    agents = source.call("agents")["agents"]
    is_known = any(one["address"] == me["agent"] for one in agents)  # else it was never written to
    return View(
        me,
        agents,
        _mail(source, wanted, limit),
        source.call("gates")["gates"],
        _asks(source, me["agent"]) if is_known else [],
        lost["dead"],
        lost["uncertain"],
        wall(),
    )


def look_around(source: Source, view: View) -> View:
    """The same, with what everybody does now."""
    return view._replace(agents=source.call("agents")["agents"], at=wall())


def _asks(source: Source, me: str) -> list[Json]:
    wanted = {"with": me, "type": "request", "limit": _ASKS, "chars": _WHOLE}
    found = {
        one["id"]: one
        for state in _OPEN
        for one in source.call("messages", **wanted, state=state)["messages"]
        if any(each["recipient"] in (me, me.removeprefix(f"{one['project']}/")) and each["state"] in _OPEN
               for each in one["deliveries"])
    }  # fmt: skip
    return sorted(found.values(), key=lambda one: one["seq"])


def _mail(source: Source, wanted: str, limit: int) -> list[Json]:
    asked = sieve(wanted)
    if (state := asked.get("state")) and state not in _STATES:
        raise InvalidValue(f"there is no state {state!r}", hint=f"One of: {', '.join(_STATES)}")
    return source.call("messages", **asked, limit=limit, chars=_CHARS)["messages"]
