"""What an agent does, how that is known, and whether somebody should look after it."""

from typing import Literal, NamedTuple

from postroom.clock import rough, wall
from postroom.model.message import Json
from postroom.protocol.unwire import moment
from postroom.runtimes import NAMES, load
from postroom.top.text import many, plain

State = Literal["stuck", "paused", "busy", "idle", "off", "person", "left"]

_ORDER: tuple[State, ...] = ("stuck", "paused", "busy", "idle", "off", "person", "left")


class Doing(NamedTuple):
    """`until`: what its mail waits for; `doubt`: what nobody can tell. Empty where there is no such thing."""

    state: State
    word: str
    evidence: str
    until: str = ""
    doubt: str = ""


def ago(at: str | None) -> str:
    """How long ago, in steps that do not flicker."""
    then = moment(at)
    if then is None:
        return ""
    span = wall() - then
    return "just now" if span < 10_000 else f"{rough(span)} ago"


def inbox(agent: Json) -> int:
    """What waits for it, held or not."""
    return agent["waiting"] + agent["held"]


def session(agent: Json) -> Json | None:
    """The one that is reached soonest."""
    return next((one for one in agent["sessions"] if one["presence"] != "gone"), None)


def is_paused(agent: Json) -> bool:
    manners: Json = agent["manners"] or {}
    return bool(manners.get("paused"))


def doing(agent: Json) -> Doing:
    if agent["left_at"]:
        return Doing("left", "has left", f"since {ago(agent['left_at'])}")
    if agent["kind"] == "human":
        return Doing("person", "a person", "")
    one, unsure = session(agent), agent["uncertain"]
    doubt = f"of {many(unsure, 'message')} nobody can tell what became of it" if unsure else ""
    if is_paused(agent):
        return Doing("paused", "paused", known(one) if one else "", "until it is resumed", doubt)
    found = _running(one) if one else _absent(agent)
    is_off = found.state == "off" and inbox(agent) > 0
    return found._replace(state="stuck" if is_off else found.state, doubt=doubt)


def _running(one: Json) -> Doing:
    evidence = known(one)
    match one["presence"]:
        case "permission":
            return Doing("stuck", "needs a person", evidence, "until a person has answered it")
        case "busy":
            return Doing("busy", "working", evidence)
        case "idle":
            return Doing("idle", "idle", evidence)
        case _:
            return Doing("off", "no sign of life", evidence, "until it shows one")


def _absent(agent: Json) -> Doing:
    if agent["reach"] == "live":
        return Doing("idle", "listening", "a program of its own listens")
    bridge: Json = agent.get("bridge") or {}
    return Doing("off", "not running", plain(bridge.get("because") or ""), "until it is started")


def known(one: Json) -> str:
    """How it is known what a session does."""
    when = ago(one["since"])
    if one["because"]:
        return ", ".join(filter(None, (plain(one["because"]), when)))
    if one["event"]:
        return f"its last event: {plain(one['event'])}, {when}"
    return f"last seen {when}" if when else "it runs, and left no sign"


def reached(agent: Json) -> str:
    """How mail gets to it."""
    if agent["left_at"]:
        return "Not any more."
    if agent["kind"] == "human":
        return "Reads mail here, or with postroom inbox."
    one = session(agent)
    if one is None:
        if agent["reach"] == "live":
            return "At once: a program of its own listens."
        return "Not now: mail is kept until it is started or reads its inbox."
    doubt = "" if one["proven"] else " This was never proven to arrive."
    name = title(one["runtime"] or "")
    if bridge := one["bridge"]:
        way = "its terminal" if bridge in ("tmux", "pty") else f"the bridge {bridge}"
        return f"By {way}{f', in {name}' if name else ''}.{doubt}"
    wakes = "; it is woken when mail comes" if one["wake"] else ", at its next prompt"
    when = {"idle": wakes, "busy": ", after its next tool"}.get(one["presence"], "")
    return f"By hooks of {name}{when}.{doubt}"


def title(runtime: str) -> str:
    """As people call it."""
    return load(runtime).title if runtime in NAMES else plain(runtime)


def in_order(agents: list[Json]) -> list[tuple[Json, Doing]]:
    """Those who need somebody first."""
    found = [(one, doing(one)) for one in agents]
    return sorted(found, key=lambda pair: (_ORDER.index(pair[1].state), pair[0]["address"]))
