"""Aider (0.86.2): it runs no hooks and reads no files of ours, so nothing can be shown to its model.

It can send, as any program can. What is for it waits until somebody takes it, or a terminal types it.
"""

from typing import TYPE_CHECKING

from postroom.runtimes.contract import Runtime
from postroom.runtimes.shape import beat, nothing

if TYPE_CHECKING:
    from postroom.runtimes.screen import Profile
    from postroom.runtimes.wiring import Wiring

RUNTIME = Runtime(
    name="aider",
    title="Aider",
    points=(),
    read=beat,
    say=nothing,
    programs=("aider",),
    remark="It has no way in but its terminal: it can send, and its mail waits.",
)


def profile() -> "Profile":
    from postroom.runtimes.screen import Composer, Dialog, Profile  # noqa: PLC0415 - for terminals

    asks = r"\(Y\)es/\(N\)o[^\n]*\s*\Z"
    return Profile(
        Composer(r"> ?", more=r"> ?", above=r"─{20,}"),
        busy=(r"^ *[░█ ]+ Waiting for [^\n]*\s*\Z",),  # at the end: it scrolls away
        dialogs=(
            Dialog("login", rf"no API keys were provided(?:.*\n)+?.*{asks}", is_first=True),
            Dialog("permission", asks),
        ),
        stop=("C-c",),  # once; a second within two seconds ends it, also when idle
    )


def wiring() -> "Wiring":
    from postroom.runtimes.wiring import Wiring  # noqa: PLC0415 - hooks do without it

    instead = "Give it an address (postroom join NAME); then, in Aider: /run postroom hook plain --as NAME"
    return Wiring(instead=f"{RUNTIME.remark} {instead} (and add what that prints to the chat)")
