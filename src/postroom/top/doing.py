"""What an agent does, how that is known, and whether somebody should look after it."""

import re
from typing import Literal, NamedTuple

from postroom import home
from postroom.clock import rough, wall
from postroom.model.message import Json
from postroom.protocol.unwire import moment
from postroom.runtimes import NAMES, load
from postroom.top.text import many, plain

State = Literal["asks", "stuck", "paused", "busy", "idle", "off", "person", "left"]

_TERMINALS = ("tmux", "pty")  # the bridges that see a screen
_ORDER: tuple[State, ...] = ("asks", "stuck", "paused", "busy", "idle", "off", "person", "left")


class Doing(NamedTuple):
    """`until`: what its mail waits for; `trouble`: what somebody should look at, `doubt` included.

    Empty where there is no such thing.
    """

    state: State
    word: str
    evidence: str
    until: str = ""
    doubt: str = ""
    trouble: str = ""


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


def runs(agent: Json) -> bool:
    """Whether something of it is there to be stopped."""
    return not agent["left_at"] and (session(agent) is not None or agent["reach"] == "live")


def doing(agent: Json) -> Doing:
    """The page has the same rule, and a test that they agree."""
    if agent["left_at"]:
        return Doing("left", "has left", f"since {ago(agent['left_at'])}")
    if agent["kind"] == "human":
        return Doing("person", "a person", "")
    found, count, unsure = _present(agent), inbox(agent), agent["uncertain"]
    waits = f"{many(count, 'message')} {'waits' if count == 1 else 'wait'}" if count else ""
    doubt = f"of {many(unsure, 'message')} nobody can tell what became of it" if unsure else ""
    if found.state == "stuck" and not waits:
        found = found._replace(state="off")
    said = {
        "asks": "; ".join(filter(None, ("needs a person’s answer to go on", waits))),
        "stuck": f"{found.word}; {waits}",
        "paused": waits and f"is paused; {waits} until it is resumed",
    }.get(found.state, "")
    word = f"{found.word}, told to stop" if agent.get("told_to_stop") else found.word
    return found._replace(word=word, doubt=doubt, trouble="; ".join(filter(None, (said, doubt))))


def _present(agent: Json) -> Doing:
    one = session(agent)
    if is_paused(agent):
        return Doing("paused", "paused", "it gets nothing until it is resumed", "until it is resumed")
    if one is None:
        return _absent(agent)
    match one["presence"]:
        case "permission":
            return Doing("asks", "needs a person", known(one), "until a person has answered")
        case "busy":
            return Doing("busy", "working", known(one))
        case "idle":
            return Doing("idle", "idle", known(one))
        case _:
            return _unknown(agent, one)


def _unknown(agent: Json, one: Json) -> Doing:
    """A screen that says nothing is no sign of death. Stuck, if mail waits."""
    seen: Json = agent.get("bridge") or {}
    if not one.get("bridge"):
        return Doing("stuck", "no sign of life", known(one), "until it shows one")
    if seen.get("reason") == "unknown_screen":
        return Doing("stuck", "its screen is not known", known(one), "until its screen is known")
    if seen.get("doing") != "starting" and one["bridge"] not in _TERMINALS:
        word = "mailbox served" if one["bridge"] == "files" else "running"  # it has no screen to be looked at
        return Doing("idle", word, known(one))
    word = "starting" if seen.get("doing") == "starting" else "not looked at yet"
    return Doing("stuck", word, known(one), "until it has been looked at")


def _absent(agent: Json) -> Doing:
    if agent["reach"] == "live":
        return Doing("idle", "listening", "a program of its own listens")
    seen: Json = agent.get("bridge") or {}
    why = plain(seen["because"]) if seen.get("doing") == "gone" else ""
    return Doing("off", "not running", why, "until it is started")


def known(one: Json) -> str:
    """How it is known what a session does."""
    when = ago(one["since"])
    if because := plain(one["because"] or ""):
        is_now = when in ("", "just now")
        return because if is_now else f"seen {when}: {re.sub(' ago$', ' before', because)}"
    if one["event"]:
        return f"its last event: {plain(one['event'])}, {when}"
    return f"last seen {when}" if when else "it runs, and left no sign"


def hindrance(agent: Json) -> str:
    """What keeps it from being stopped, by its name in `word.HINDERS`; empty: nothing that is known."""
    if not agent.get("stops"):
        there = any(one.get("bridge") and one["presence"] != "gone" for one in agent["sessions"])
        return "unable" if there else "unreached"
    one = session(agent)
    seen: Json = agent.get("bridge") or {}
    if one and one["presence"] == "permission":
        return "dialog"
    return "unknown" if seen.get("reason") == "unknown_screen" else ""


def at_home(me: Json, command: str) -> str:
    """A command of ours as it finds this room in any terminal, though another one is the usual."""
    return home.at_home(command, plain(me["home"] or ""))


def attach(agent: Json) -> str:
    """The command that gets a person to its terminal; empty: that is not known."""
    one = session(agent)
    is_there = one and (one.get("pane") or one.get("bridge") in _TERMINALS)
    return f"postroom attach {plain(agent['address'])}" if is_there else ""


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
        way = "its terminal" if bridge in _TERMINALS else f"the bridge {bridge}"
        return f"By {way}{f', in {name}' if name else ''}.{doubt}"
    wakes = "; it is woken when mail comes" if one["wake"] else ", at its next prompt"
    when = {"idle": wakes, "busy": ", after its next tool"}.get(one["presence"], "")
    return f"By hooks of {name}{when}.{doubt}"


def title(runtime: str) -> str:
    """As people call it."""
    return load(runtime).title if runtime in NAMES else plain(runtime)


def _urgency(found: Doing) -> int:
    """An agent that asks cannot go on without a person; then whatever else somebody should look at."""
    return 0 if found.state == "asks" else 1 if found.trouble else 2


def in_order(agents: list[Json]) -> list[tuple[Json, Doing]]:
    """Those who need somebody first."""
    found = [(one, doing(one)) for one in agents]
    return sorted(
        found, key=lambda pair: (_urgency(pair[1]), _ORDER.index(pair[1].state), pair[0]["address"])
    )
