"""Whether something may be typed into a terminal now; if not, why. A pure function of one look at it.

The order is part of the promise: what is certain and dangerous first, what may change in a moment last. A
screen that is not understood is never typed into.
"""

from typing import NamedTuple

from postroom.bridges.contract import Text
from postroom.bridges.terminal.port import View
from postroom.bridges.terminal.reading import Reading, State
from postroom.model.ladder import Reason
from postroom.protocol.frame import holds_frame
from postroom.runtimes.contract import NUDGE
from postroom.runtimes.screen import Profile

QUIET = 3.0  # seconds since a person's last key
LAUNCH = "launch_blocked:"
OURS = "an earlier text of ours stands in its composer"


class Refusal(NamedTuple):
    """What is in the way."""

    reason: str  # of `Reason`, or `launch_blocked:<dialog>`
    words: str


def refusal(view: View, reading: Reading, profile: Profile, text: Text, held: str = "") -> Refusal | None:
    """What keeps a text from being typed or submitted. `held`: what the composer may hold, being ours.

    A person who types counts even then: what they typed may not be shown yet.
    """
    return _of_terminal(view) or _of_screen(reading, profile, text) or _of_person(view, reading, held)


def _of_terminal(view: View) -> Refusal | None:
    if not view.alive:
        return Refusal(Reason.OFFLINE.value, "the agent has ended, or another runs in its place")
    if not view.foreground:
        return Refusal(Reason.BACKGROUND.value, "another program has the agent's terminal")
    if view.shell:
        return Refusal(Reason.BACKGROUND.value, "a shell is there, which would run whatever is typed")
    if view.in_mode:
        return Refusal(Reason.COPY_MODE.value, "its terminal is scrolled back")
    if view.synchronised:
        return Refusal(Reason.SYNCHRONISED.value, "what is typed there goes into other panes, too")
    return None


def _of_screen(reading: Reading, profile: Profile, text: Text) -> Refusal | None:
    if reading.state is State.DIALOG:
        return _of_dialog(reading.dialog, profile)
    if reading.state is State.BUSY and not (text.while_busy and profile.queues):
        return Refusal(Reason.BUSY.value, "it is at work")
    if reading.draft is None:
        return Refusal(Reason.UNKNOWN_SCREEN.value, "its screen shows no place to write that is known")
    return None


def _of_dialog(name: str, profile: Profile) -> Refusal:
    if any(dialog.name == name and dialog.is_first for dialog in profile.dialogs):
        return Refusal(f"{LAUNCH}{name}", f"it asks something before it starts: {name}")
    return Refusal(Reason.APPROVAL.value, f"it asks a person: {name}")


def is_ours(draft: str) -> bool:
    """Whether a draft has the first line of a frame in it, or a wake: nobody else has typed that."""
    flat = " ".join(draft.split())
    return NUDGE in flat or holds_frame(flat)


def _of_person(view: View, reading: Reading, held: str) -> Refusal | None:
    if view.typed_ago is not None and view.typed_ago < QUIET:
        return Refusal(Reason.TYPING.value, f"somebody typed there {view.typed_ago:.0f} s ago")
    if reading.draft and reading.draft != held:
        if is_ours(reading.draft):
            return Refusal(Reason.LEFT_TEXT.value, OURS)
        return Refusal(Reason.DRAFT.value, "its composer holds something that is not ours")
    return None
