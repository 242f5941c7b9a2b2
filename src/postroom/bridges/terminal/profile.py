"""The profile of what runs in a terminal: a runtime's own, or one that its user has given by hand."""

from postroom.bridges.contract import Berth
from postroom.errors import BridgeError
from postroom.runtimes import NAMES
from postroom.runtimes.screen import Profile, given, of


def profile_of(berth: Berth) -> Profile:
    table = berth.details.get("profile")
    if table:
        return given(table)
    if berth.runtime in NAMES:
        return of(berth.runtime)
    raise BridgeError(
        f"nobody knows what the terminal of {berth.address} looks like",
        hint="Name its runtime (--runtime), or give it a profile: postroom help adopt",
    )
