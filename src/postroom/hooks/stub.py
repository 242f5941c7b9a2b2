"""The shell half of a hook: a sign of life, a test of the quiet marker, and Python only when it must be.

With no mail this is all that runs, so it may cost little more than an empty shell. `-nt /proc/self`
compares the marker's time with now without starting a process: what /proc/self shows was made this instant.
What a sandbox kept out of the room lies in an outbox, here or in the session's first directory (to which
`room/spool.py` leaves a link), and nobody could withdraw the promise for it.
The sign of life is the first line of its file, written over the last one: some file systems take half a
millisecond to make a file empty first.
A runtime may run its hooks where our program, or the Python that its first line names, is not (in its
sandbox, or after either was removed), and may take a hook that fails for a refusal: then this ends well, and
says nothing. That is asked first, because a shell that cannot become a program fails, and says so. It does
become it: a hook that takes too long, or dies, is its runtime's to end, and not hidden from it.
While mail that kept turns from ending is counted (`room/stop.py`), a prompt starts Python though quiet is
promised: a person may have spoken, which ends the count.
What a runtime calls its session becomes a file's name, so it must be one: nothing is written beside our own.
"""

import shlex

_PARENT = "p$PPID"
_A_NAME = f"case $k in .*|*/*) k={_PARENT};; esac"
_QUIET = '[ "$r/run/quiet/s/$k" -nt /proc/self ]'
_EMPTY = '[ ! -d .postroom/outbox ] && [ ! -d "$r-hooks/outbox/$k" ]'
_UNCOUNTED = '[ ! -d "$r/run/stops/$k" ]'
_HAS_PYTHON = 'p="${p#??}" && [ -x "${p%% *}" ]'  # of its first line, `#!/usr/bin/python3 -IS`


def stub(
    home: str,
    event: str,
    command: str,
    key: str = _PARENT,
    *,
    alive: bool = True,
    quiet: bool = True,
    prompt: bool = False,
    program: str = "",
    harmless: bool = False,
) -> str:
    """A POSIX shell command: quiet → exit 0, otherwise become `command`, with the key as its last word.

    `key` is a shell word that names the session (its id from the runtime's environment, or the parent's
    pid). Without `alive` the event leaves no sign of life, because it says nothing of what the agent does.
    Without `quiet` Python always runs. `prompt`: this may be the word of a person. Where `program` is named
    and cannot be started, nothing is run. `harmless`: the exit code is 0 whatever becomes of the command.
    """
    lines = [f'r={shlex.quote(home)} k="{key}"', *([_A_NAME] if key != _PARENT else [])]
    if alive:
        # zsh would tell of a directory that is not there before it has looked where to tell it.
        lines.append(f'{{ echo {shlex.quote(event)} 1<>"$r-hooks/life/$k"; }} 2>/dev/null')
    if quiet:
        lines.append(" && ".join([_QUIET, _EMPTY, *([_UNCOUNTED] if prompt else []), "exit 0"]))
    if program:
        path = shlex.quote(program)
        lines.append(f"[ -x {path} ] && {{ read -r p <{path}; }} 2>/dev/null && {_HAS_PYTHON} || exit 0")
    return "; ".join([*lines, f'{command} "$k"; exit 0' if harmless else f'exec {command} "$k"'])


def program_in(command: str, runtime: str) -> str:
    """What a user's command becomes, if it is one of ours for that runtime; else empty."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    for before, program, name in zip(words, words[1:], words[2:], strict=False):
        if (before, name) == ("exec", runtime):
            return program
    return ""
