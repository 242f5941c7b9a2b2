"""How an agent can be reached, in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.model.presence import Sight

DOUBT = " (route not proven)"
_LISTENING = {"live": "listening now", "stored": "not listening now", "left": "has left"}


def words(reach: str, sight: "Sight | None", *, asks: bool = False, proven: bool = False) -> str:
    """What a sender should know: when it will be shown, and whether that was ever proven.

    Whoever only waits for an answer gets no other mail by that; what its session does tells more.
    """
    if reach == "live" and asks:
        if sight is None or not sight.is_live:
            return "waits for an answer now"
        reach = sight.presence.value
    if reach in ("live", "left") or sight is None:
        return _LISTENING[reach]
    if not sight.is_live:
        return "not running"
    text = {
        "idle": f"idle in {sight.title}, {'wakes' if sight.wake else 'until its next prompt'}",
        "busy": f"busy in {sight.title}: after its tool",
        "permission": f"waits for permission in {sight.title}",
    }.get(reach, f"running in {sight.title}")
    return text if sight.proven or proven else f"{text}{DOUBT}"
