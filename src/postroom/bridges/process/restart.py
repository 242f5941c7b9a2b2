"""Whether, and after how long, an agent that has ended is started again. No clock is read."""

from enum import StrEnum
from typing import NamedTuple

SHORTEST, LONGEST = 1.0, 60.0  # seconds between an end and the next start
STEADY = 60.0  # seconds of life after which what went before is forgotten


class Policy(StrEnum):
    """When an agent that has ended is started again."""

    NEVER = "never"
    ON_FAILURE = "on-failure"  # it ended with another code than 0, or by a signal
    ALWAYS = "always"


class Restart(NamedTuple):
    """A start to come."""

    delay: float  # seconds from the end
    tries: int  # so many in a row now; to be given back at the next end


def restart(
    policy: Policy, exit_code: int | None, lived: float, tries: int = 0, *, is_child: bool = False
) -> Restart | None:
    """What follows an end; None: nothing. `lived`: seconds; `tries`: restarts in a row before this end.

    An exit code that nobody knows is no failure: who ended a program in a pane may have wanted it to end.
    But for a child of the daemon's: that went down with the daemon, in the middle of its work.
    """
    ended_well = exit_code == 0 or (exit_code is None and not is_child)
    if policy is Policy.NEVER or (policy is Policy.ON_FAILURE and ended_well):
        return None
    tries = 1 if lived >= STEADY else tries + 1
    return Restart(min(LONGEST, SHORTEST * 2.0 ** min(tries - 1, 16)), tries)
