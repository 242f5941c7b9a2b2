"""How an agent can be reached, in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.model.message import Session
    from postroom.model.presence import Sight

DOUBT = "route not proven"
_LET_GO = "let go: nothing types there"
_TMUX = "tmux"  # the bridge whose agents run on without it
_LISTENING = {"live": "listening", "stored": "not listening"}


class Way:
    """How mail gets to somebody."""

    __slots__ = ("is_doubted", "is_now", "text")

    def __init__(self, text: str, *, is_now: bool = False, is_doubted: bool = False) -> None:
        self.text = text
        self.is_now = is_now  # and may be otherwise in a moment
        self.is_doubted = is_doubted  # nothing has ever proven that it arrives so


def told(reach: str, party: str, sight: "Sight | None", context: "Context") -> str:
    """What a sender should know: when it will be shown, and whether that was ever proven."""
    found = way(reach, party, sight, context)
    doubt = f" ({DOUBT})" if found.is_doubted else ""
    return f"{found.text}{' now' if found.is_now else ''}{doubt}"


def way(reach: str, party: str, sight: "Sight | None", context: "Context", place: str = "") -> Way:
    """How somebody can be reached; `place` is where its pane is, as people name it.

    Whoever only waits for an answer gets no other mail by that; what its session does tells more.
    """
    if reach == "live" and _asks(party, context):
        if sight is None or not sight.is_live:
            return Way("waits for an answer", is_now=True)
        reach = sight.presence.value
    if reach == "stored" and context.room().store.look().had_session(party):
        sight = _session(party, context)
        if sight is None:
            return Way(_LET_GO if _is_let_go(party, context) else "not running")
        reach = sight.presence.value
    if reach == "left":
        return Way("has left")
    if reach == "live" or sight is None:
        return Way(_LISTENING[reach], is_now=True)
    if (bridged := _bridged(party, context)) is not None:
        from postroom.cli.bridged import text as told_of

        return Way(told_of(party, bridged, sight, context, place), is_doubted=not sight.proven)
    from postroom.room.seat import bears

    text = {
        "idle": f"idle in {sight.title}, {'wakes' if sight.wake else 'until its next prompt'}",
        "busy": f"busy in {sight.title}: after its tool",
        "permission": f"waits for permission in {sight.title}",
    }.get(reach) or (f"running in {sight.title}" if bears(sight.session) else "at its next hook plain")
    return Way(text, is_doubted=not sight.proven)


def _bridged(party: str, context: "Context") -> "Session | None":
    """The session by which a bridge reaches somebody."""
    from postroom.room.seat import is_bridged, is_live

    for session in context.room().store.look().sessions(party):
        if is_bridged(session) and is_live(session):
            return session
    return None


def _is_let_go(party: str, context: "Context") -> bool:
    from postroom.room.berth import let_go

    return let_go(context.room().store.look(), party, _TMUX)


def _session(party: str, context: "Context") -> "Sight | None":
    """One that runs, though no bell reaches it: that of who only looks (`hook plain`)."""
    from postroom.room.reach import ways

    return ways(context.room(), [party]).get(party)


def _asks(party: str, context: "Context") -> bool:
    from postroom.room.asking import is_only_asking

    return is_only_asking(context.room(), party)
