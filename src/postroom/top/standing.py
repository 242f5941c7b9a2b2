"""How far mail got: the rungs as a small rail, and where it stands in a word."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from postroom.model.ladder import RUNGS, Reason
from postroom.model.message import Json
from postroom.top import word
from postroom.top.doing import is_paused, session
from postroom.top.text import plain

Tone = Literal["fine", "waits", "trouble"]

_RUNGS = [rung.value for rung in RUNGS]
_MOVING = (Reason.BUSY, Reason.WAKING)  # was so when it was stored; what its agent does now tells more


class Standing(NamedTuple):
    word: str
    tone: Tone
    rail: str  # as many marks as there are rungs


def height(delivery: Json) -> int:
    """The highest rung it reached, 0 to 3, even if it left it by an exit."""
    if delivery["state"] in _RUNGS:
        return _RUNGS.index(delivery["state"])
    return 2 if delivery.get("seen_at") else 1 if delivery.get("offered_at") else 0


def is_exit(delivery: Json) -> bool:
    return delivery["state"] not in _RUNGS


def reason(delivery: Json, agent: Json | None) -> str | None:
    """Why a delivery waits, by what its recipient does now."""
    state, said = delivery["state"], delivery.get("reason")
    if state != "stored" or (said and said not in _MOVING):
        return said if state in ("stored", "offered") else None
    if agent is None or agent["kind"] == "human":
        return said
    if is_paused(agent):
        return Reason.PAUSED.value
    one = session(agent)
    if one is None:
        return None if agent["reach"] == "live" else Reason.OFFLINE.value
    now = {"permission": Reason.APPROVAL.value, "busy": Reason.BUSY.value}
    return now.get(one["presence"], said)


def standing(delivery: Json, agent: Json | None) -> Standing:
    """One delivery."""
    state = delivery["state"]
    rungs = height(delivery) + 1
    if is_exit(delivery):
        tone: Tone = "waits" if state == "withdrawn" else "trouble"
        return Standing(state, tone, ("●" * rungs + "×").ljust(len(_RUNGS), " ")[: len(_RUNGS)])
    rail = "●" * rungs + "○" * (len(_RUNGS) - rungs)
    if state in ("seen", "acked"):
        return Standing(state, "fine", rail)
    why = reason(delivery, agent)
    if not why or (state == "offered" and why == Reason.UNPROVEN):
        return Standing(state, "waits", rail)
    return Standing(f"waits: {plain(word.waits(why))}", "waits" if why in word.PASSING else "trouble", rail)


def summary(message: Json, who: Callable[[str], Json | None]) -> Standing:
    """All deliveries of a message; of one for whoever is first, that one's."""
    deliveries: list[Json] = message["deliveries"]
    if not deliveries:
        return Standing("for nobody", "waits", "○○○○")
    here = [one for one in deliveries if not is_exit(one)] if message["to"].startswith("one:") else []
    if first := next((one for one in here if height(one) > 1), None):
        found = standing(first, who(first["recipient_id"]))
        return found._replace(word=f"{found.word} by {plain(first['recipient'])}")
    each = [standing(one, who(one["recipient_id"])) for one in deliveries]
    if len(each) == 1:
        return each[0]
    count, lost = len(each), [one for one in deliveries if is_exit(one) and one["state"] != "withdrawn"]
    if lost:
        worst = each[deliveries.index(lost[0])]
        return Standing(f"{len(lost)} of {count} {lost[0]['state']}", "trouble", worst.rail)
    tops = [height(one) for one in deliveries]
    top = max(tops)
    if top == 0:
        return next((one for one in each if one.tone == "trouble"), each[0])
    there, towards = tops.count(top), "to" if top == 1 else "by"
    said = f"{_RUNGS[top]} {towards} {'all' if there == count else f'{there} of {count}'}"
    return Standing(said, "fine" if top > 1 else "waits", _shared(tops))


def _shared(tops: list[int]) -> str:
    """A rung that all have reached is full, one that some have is half full."""
    least, most = min(tops), max(tops)
    return "".join("●" if n <= least else "◐" if n <= most else "○" for n in range(len(_RUNGS)))
