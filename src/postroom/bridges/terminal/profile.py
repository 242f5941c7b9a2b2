"""The profile of what runs in a terminal: a runtime's own, or one that its user has given by hand."""

from postroom.bridges.contract import Berth
from postroom.errors import BridgeError
from postroom.runtimes import NAMES
from postroom.runtimes.screen import Composer, Profile, given, of

_NONE = Profile(Composer(r"(?!)"))  # fits no screen


def profile_of(berth: Berth) -> Profile:
    """What nobody knows has one that fits no screen, so that nothing is typed there."""
    table = berth.details.get("profile")
    if table:
        return given(table)
    return of(berth.runtime) if berth.runtime in NAMES else _NONE


def check(berth: Berth) -> None:
    """Raises `BridgeError` where nobody knows what the terminal looks like."""
    if profile_of(berth) is _NONE:
        raise BridgeError(
            f"nobody knows what the terminal of {berth.address} looks like",
            hint="Name its runtime (--runtime), or give it a profile: postroom help adopt",
        )
