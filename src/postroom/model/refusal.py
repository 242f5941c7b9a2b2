"""An agent whose model takes no requests: when that began, and when the next one is tried."""

from typing import NamedTuple

STEPS = (60_000, 300_000, 900_000, 3_600_000)  # milliseconds to the first, second … attempt; then the last
FARTHEST = 8 * 86_400_000  # milliseconds; a time that is told and lies further away is not believed


class Refusal(NamedTuple):
    """The refusals in a row within one scope."""

    scope: str  # whom it holds; now always one agent
    reason: str  # of `postroom.model.ladder.Reason`
    words: str  # what the runtime told of the latest
    tries: int  # attempts so far
    since: int
    at: int  # the latest
    until: int  # when the next attempt is made
    probe: int | None = None  # the number of the message that is that attempt


def next_try(tries: int, now: int, told: int | None = None) -> int:
    """When to try again after so many attempts; `told`: when the provider said that it takes requests."""
    if told is not None and now < told <= now + FARTHEST:
        return told
    return now + STEPS[min(tries, len(STEPS)) - 1]
