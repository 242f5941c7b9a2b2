"""The fake agent's terminal, as a runtime's module would describe it."""

from postroom.runtimes.screen import Composer, Dialog, Fold, Look, Profile

_RULE = r"─{10,}"
PROFILE = Profile(
    Composer(
        r"\u276f(?: |$)", above=_RULE, below=_RULE,
        ghost=(Look(dim=True), Look(foreground="90"), Look(foreground="38;5;8")),
    ),
    busy=(r"^[✻✽✢✳✶] Working…",),  # what is said or typed never begins so far left
    dialogs=(
        Dialog("permission", r"^ Do you want to [^\n]*\n(?:.*\n)*? *\u276f *\d\. "),
        Dialog("trust", r"^ Do you trust [^\n]*\n(?:.*\n)*? *\u276f *\d\. ", is_first=True),
    ),
    pasted=r"\[Pasted text #\d+ \+(?P<breaks>\d+) lines\]",
    folds=Fold(lines=11),
    deaf=(r"^ *-- NORMAL --",),
    queues=True,
)  # fmt: skip
