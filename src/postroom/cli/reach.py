"""How an agent can be reached, in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.cli.context import Context
    from postroom.cli.distant import Distant
    from postroom.model.message import Session
    from postroom.model.presence import Sight

DOUBT = "route not proven"
_LET_GO = "let go: nothing types there"
_TMUX = "tmux"  # the bridge whose agents run on without it
_MAILBOX = "files"  # by its name, too
_ABSENT = "not running"


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
    """How somebody can be reached; `place` is where its pane is, as people name it."""
    if (room := context.elsewhere) is not None:
        return _from_afar(reach, party, room)
    return _here(reach, party, sight, context, place)


def _here(reach: str, party: str, sight: "Sight | None", context: "Context", place: str) -> Way:
    """Whoever only waits for an answer gets no other mail by that; what its session does tells more."""
    if reach == "live" and _asks(party, context):
        if sight is None or not sight.is_live:
            return Way("waits for an answer", is_now=True)
        reach = sight.presence.value
    if reach == "stored" and context.room().store.look().had_session(party):
        sight = _session(party, context)
        if sight is None:
            return Way(_why_absent(party, context))
        reach = sight.presence.value
    if reach == "left":
        return Way("has left")
    if reach == "live" or sight is None:
        return _alone(reach, is_person=party[:1] == "h")
    if (bridged := _bridged(party, context)) is not None:
        from postroom.cli.bridged import text as told_of

        return Way(told_of(party, bridged, sight, context, place), is_doubted=not sight.proven)
    from postroom.room.seat import bears

    text = _by_hooks(sight, sight.title, bears=bears(sight.session))
    return Way(text, is_doubted=not sight.proven)


def _by_hooks(sight: "Sight", title: str, *, bears: bool) -> str:
    return {
        "idle": f"idle in {title}, {'wakes' if sight.wake else 'until its next prompt'}",
        "busy": f"busy in {title}: after its tool",
        "permission": f"waits for permission in {title}",
    }.get(sight.presence.value) or (f"running in {title}" if bears else "at its next hook plain")


def _from_afar(reach: str, party: str, room: "Distant") -> Way:
    """The same by what a room elsewhere tells of somebody: its files and processes are not here."""
    status, seen = room.seen(party)
    sights = status.sessions if status else ()
    live = [sight for sight in sights if sight.is_live]
    if reach == "left":
        return Way("has left")
    if reach == "live" or not sights:
        is_person = status is not None and status.agent.is_human
        return _alone("live" if reach == "live" else "stored", is_person=is_person)
    if not live:
        return Way(_ABSENT)
    from postroom.cli.bridged import from_afar, titled
    from postroom.room.seat import is_bridged
    from postroom.runtimes import NAMES

    first = live[0]
    if status is not None and any(is_bridged(sight.session) for sight in live):
        return Way(from_afar(status.agent, live, seen), is_doubted=not first.proven)
    runtime = first.session.runtime
    return Way(_by_hooks(first, titled(runtime), bears=runtime in NAMES), is_doubted=not first.proven)


def _bridged(party: str, context: "Context") -> "Session | None":
    """The session by which a bridge reaches somebody."""
    from postroom.room.seat import is_bridged, is_live

    for session in context.room().store.look().sessions(party):
        if is_bridged(session) and is_live(session):
            return session
    return None


def _alone(reach: str, *, is_person: bool) -> Way:
    """Of who has no session; nobody says of a person that they run."""
    if reach == "live":
        return Way("listening", is_now=True)
    return Way("not listening", is_now=True) if is_person else Way(_ABSENT)


def _why_absent(party: str, context: "Context") -> str:
    """Whoever had a session, and has none that runs."""
    from postroom.model.context import session_id
    from postroom.room.berth import let_go

    look = context.room().store.look()
    if let_go(look, party, _TMUX):
        return _LET_GO
    if look.session(session_id(_MAILBOX, party)) is not None:
        return f"{_ABSENT}, and its mailbox is served no longer: postroom mailbox add DIR"
    return _absent(party, context)


def _absent(party: str, context: "Context") -> str:
    """Of an agent without a session; another session may be meant to be it."""
    from postroom.room.own_terminal import bearer_in_doubt

    look = context.room().store.look()
    agent = look.agent(party)
    other = bearer_in_doubt(look, agent.project, agent.name) if agent and not agent.is_human else None
    return f"{_ABSENT}; it may be {other.address}: postroom agents" if other else _ABSENT


def _session(party: str, context: "Context") -> "Sight | None":
    """One that runs, though no bell reaches it: that of who only looks (`hook plain`)."""
    from postroom.room.reach import ways

    return ways(context.room(), [party]).get(party)


def _asks(party: str, context: "Context") -> bool:
    from postroom.room.asking import is_only_asking

    return is_only_asking(context.room(), party)
