"""The letters in outboxes: which of them no session takes in any more, and taking them in all the same."""

from collections.abc import Iterator
from shlex import quote

from postroom.hooks.intake import left, take_in
from postroom.room.local import LocalRoom
from postroom.room.outbox import lying
from postroom.room.spool import BASE, REJECTED
from postroom.setup.examine import Problem
from postroom.setup.plan import calling


def problems(room: LocalRoom) -> Iterator[Problem]:
    """Of this workspace, and of those in which sessions run. Who waits for its own session is none."""
    for one in lying(room.agents()):
        if one.waiting and (number := left(room, one.path)):
            what = f"spooled, not stored: {_letters(number)} in {one.path}, and no session that takes them in"
            yield Problem(what, f"{calling(room.home)} doctor --fix")
        if one.rejected:
            aside = f"{one.path}/{BASE}/{REJECTED}"
            what = f"put aside, because it is not a letter of this room: {one.rejected} in {aside}"
            yield Problem(what, f"rm -r {quote(aside)}", advice="Look at it, then:")


def mend(room: LocalRoom) -> int:
    """Take in what no session will; its sender is unverified. Returns how many letters that were."""
    paths = [one.path for one in lying(room.agents()) if one.waiting]
    number = sum(left(room, path) for path in paths)
    take_in(room, "", paths)
    return number - sum(left(room, path) for path in paths)


def _letters(number: int) -> str:
    return "1 letter" if number == 1 else f"{number} letters"
