"""How an agent can be reached, in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.presence import Sight

DOUBT = " (route not proven)"
_LISTENING = {"live": "listening now", "stored": "not listening now", "left": "has left"}


def words(reach: str, party: str, sight: "Sight | None", context: "Context") -> str:
    """What a sender should know: when it will be shown, and whether that was ever proven.

    Whoever only waits for an answer gets no other mail by that; what its session does tells more.
    """
    if reach == "live" and _asks(party, context):
        if sight is None or not sight.is_live:
            return "waits for an answer now"
        reach = sight.presence.value
    if reach == "stored" and context.room().store.look().had_session(party):
        sight = _session(party, context)
        if sight is None:
            return "not running"
        reach = sight.presence.value
    if reach in ("live", "left") or sight is None:
        return _LISTENING[reach]
    from postroom.room.seat import bears

    text = {
        "idle": f"idle in {sight.title}, {'wakes' if sight.wake else 'until its next prompt'}",
        "busy": f"busy in {sight.title}: after its tool",
        "permission": f"waits for permission in {sight.title}",
    }.get(reach) or (f"running in {sight.title}" if bears(sight.session) else "at its next hook plain")
    return text if sight.proven else f"{text}{DOUBT}"


def _session(party: str, context: "Context") -> "Sight | None":
    """One that runs, though no bell reaches it: that of who only looks (`hook plain`)."""
    from postroom.room.reach import ways

    return ways(context.room(), [party]).get(party)


def _asks(party: str, context: "Context") -> bool:
    from postroom.room.asking import is_only_asking

    return is_only_asking(context.room(), party)
