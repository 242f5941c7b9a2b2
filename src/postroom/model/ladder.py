"""The receipt ladder: where a delivery stands, which moves are legal, and what counts as evidence.

`MOVES` is the one definition. The CHECK in the SQL schema and the diagram in
docs/explanation/ladder.md are proven equal to it by tests/unit/test_ladder.py.
"""

from enum import IntEnum, StrEnum

from postroom.errors import IllegalMove


class State(StrEnum):
    """How far a delivery got."""

    STORED = "stored"
    OFFERED = "offered"
    SEEN = "seen"
    ACKED = "acked"
    BOUNCED = "bounced"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    DEAD = "dead"


_EXITS = frozenset((State.BOUNCED, State.EXPIRED, State.WITHDRAWN, State.DEAD))

MOVES: dict[State, frozenset[State]] = {
    State.STORED: _EXITS | {State.OFFERED, State.ACKED},
    State.OFFERED: _EXITS | {State.STORED, State.SEEN, State.ACKED},
    State.SEEN: frozenset((State.ACKED, State.BOUNCED, State.STORED)),
    State.ACKED: frozenset(),
    State.BOUNCED: frozenset(),
    State.EXPIRED: frozenset(),
    State.WITHDRAWN: frozenset(),
    State.DEAD: frozenset((State.STORED,)),
}

RUNGS = (State.STORED, State.OFFERED, State.SEEN, State.ACKED)


def move(old: State, new: State) -> State:
    """The state after a legal move; raises `IllegalMove` for any other."""
    if new not in MOVES[old]:
        raise IllegalMove(f"a delivery that is {old} cannot become {new}", state=str(old), wanted=str(new))
    return new


def reached(state: State, rung: State) -> bool:
    """Whether a delivery stands on `rung` or above it."""
    return state in RUNGS and RUNGS.index(state) >= RUNGS.index(rung)


def ended(state: State) -> bool:
    """Whether nothing further will happen to a delivery by itself."""
    return state in _EXITS or state is State.ACKED


class Priority(IntEnum):
    """Lower goes first."""

    URGENT = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3


class Evidence(StrEnum):
    """What proves that a delivery was seen, strongest first."""

    TRANSCRIPT = "transcript"
    RUNTIME_ACK = "runtime_ack"
    BOUNDARY = "boundary"
    TERMINAL = "terminal"
    AGENT = "agent"
    INBOX = "inbox"  # its runtime took it out of an inbox of its own, and says no more
    IMPORTED = "imported"  # another tool's files say so, and nothing else does


class Outcome(StrEnum):
    """How one attempt to hand a delivery over ended."""

    OPEN = "open"
    PROVEN = "proven"
    LOST = "lost"
    UNPROVEN = "unproven"
    UNCERTAIN = "uncertain"
    REFUSED = "refused"


class Cause(StrEnum):
    """What ended an attempt that nothing proved, where that is known."""

    GONE = "gone"  # its process had ended
    LAPSED = "lapsed"  # its process did not hand it over in time
    CONTEXT = "context"  # its session ended, or began anew
    LET_GO = "let_go"  # its program stopped listening, and had not asked for the next
    LEFT = "left"  # the agent left
    API_ERROR = "api_error"  # no model answered the request that had it


class Reason(StrEnum):
    """Why a delivery waits."""

    BUSY = "busy"
    APPROVAL = "approval"
    DRAFT = "draft"
    UNKNOWN_SCREEN = "unknown_screen"
    LEFT_TEXT = "left_text"  # an earlier text of ours stands in its composer
    TYPING = "typing"  # a person is, in the agent's terminal
    COPY_MODE = "copy_mode"  # its terminal is scrolled back
    SYNCHRONISED = "synchronised"  # what is typed there goes into other terminals, too
    BACKGROUND = "background"  # another program has its terminal
    TOO_LONG = "too_long"  # its terminal is too small to show all of it, so that it could be checked
    UNCERTAIN = "uncertain"  # it was typed once, and what became of it cannot be known
    OFFLINE = "offline"
    WAKING = "waking"
    UNPROVEN = "unproven"
    UNACKNOWLEDGED = (
        "unacknowledged"  # connections ended before they acknowledged it; it is pushed again later
    )
    MUTED = "muted"
    PAUSED = "paused"
    QUIET_HOURS = "quiet_hours"
    DIGEST = "digest"  # for others, to be offered with them
    RATE_LIMITED = "rate_limited"
    DEFERRED = "deferred"  # its recipient has refused it for now, and wants it again later
    API_ERROR = "api_error"  # its agent's model takes no requests now
    STOP_CAP = "stop_cap"
    SCHEDULED = "scheduled"
    TAKEN = "taken"  # by another of those to whom it was sent as `one:`
    IN_HAND = "in_hand"  # of a program that listens; the store will know when that asks for the next one
