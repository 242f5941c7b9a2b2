"""The shell half of a hook: a sign of life, a test of the quiet marker, and Python only when it must be.

With no mail this is all that runs, so it may cost little more than an empty shell. `-nt /proc/self`
compares the marker's time with now without starting a process: what /proc/self shows was made this instant.
What a sandbox kept out of the room lies in `.postroom/outbox`, and nobody could withdraw the promise for it.
The sign of life is the first line of its file, written over the last one: some file systems take half a
millisecond to make a file empty first.
"""

import shlex


def stub(
    home: str, event: str, command: str, key: str = "p$PPID", *, alive: bool = True, quiet: bool = True
) -> str:
    """A POSIX shell command: quiet → exit 0, otherwise become `command`, with the key as its last word.

    `key` is a shell word that names the session (its id from the runtime's environment, or the parent's
    pid). Without `alive` the event leaves no sign of life, because it says nothing of what the agent does.
    Without `quiet` Python always runs.
    """
    lines = [f'r={shlex.quote(home)} k="{key}"']
    if alive:
        lines.append(f'echo {shlex.quote(event)} 2>/dev/null 1<>"$r-hooks/life/$k"')
    if quiet:
        lines.append('[ "$r/run/quiet/s/$k" -nt /proc/self ] && [ ! -d .postroom/outbox ] && exit 0')
    return "; ".join([*lines, f'exec {command} "$k"'])
