"""`postroom doctor capture`: a screen kept, how it reads now, and what to do with it."""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.bridges.terminal.golden import Golden
    from postroom.bridges.terminal.reading import Reading
    from postroom.bridges.tmux.place import Place
    from postroom.cli.context import Context
    from postroom.cli.terminal import Named
    from postroom.runtimes.screen import Profile

_LONGEST = 60  # characters of a draft
_UNKNOWN = "other"  # the folder of what is no runtime of ours


class _Found(NamedTuple):
    """One screen, and what it means."""

    runtime: str
    golden: "Golden"
    reading: "Reading | None"  # None: nobody knows what such a screen looks like

    @property
    def reads(self) -> str:
        """In the words of `--state`."""
        if self.reading is None:
            return "unknown"
        return "draft" if self.reading.state == "idle" and self.reading.draft else self.reading.state.value

    @property
    def draft(self) -> str | None:
        """What stands in the composer, in one line of bounded length."""
        from postroom.bridges.terminal.reading import CUT

        if self.reading is None or self.reading.draft is None:
            return None
        draft, is_cut = self.reading.draft, self.reading.draft.startswith(CUT)
        line = " ".join(draft.removeprefix(CUT).split())
        shown = line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()} …"
        return f"… {shown} (cut)" if is_cut else shown


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.bridges.terminal.golden import STATES, keep
    from postroom.bridges.tmux.place import standing
    from postroom.cli.terminal import named

    if len(args.runtimes) != 2:
        raise UsageError("capture needs one PANE or NAME", hint="See: postroom help doctor")
    if args.state not in (None, *STATES):
        raise UsageError(
            f"--state is {', '.join(STATES)}, not {args.state!r}", hint="See: postroom help doctor"
        )
    what = named(args.runtimes[1], context)
    found = _found(what, standing(what.there))
    golden = found.golden._replace(state=args.state or found.reads)
    path = keep(os.path.join(args.out or "screens", found.runtime), golden)
    _tell(found, args.state, path, context)
    return 0


def _found(what: "Named", place: "Place") -> _Found:
    from postroom.bridges.terminal.golden import Golden, scrubbed
    from postroom.bridges.terminal.reading import read
    from postroom.bridges.terminal.screen import parse
    from postroom.bridges.tmux.candidate import in_front
    from postroom.bridges.tmux.place import captured

    text, facts = captured(place.target, colour=True, padded=True), place.facts
    runtime = what.runtime or in_front(int(facts["pane_pid"]), {})[1]
    profile = _profile(what, runtime)
    cursor = int(facts["cursor_y"])
    about = {
        "cursor": [int(facts["cursor_x"]), cursor], "cursor_shown": facts["cursor_flag"] == "1",
        "size": [int(facts["pane_width"]), int(facts["pane_height"])],
        "alternate": facts["alternate_on"] == "1", "command": facts["pane_current_command"],
    }  # fmt: skip
    names = (os.environ.get("LOGNAME", ""), os.environ.get("USER", ""), os.uname().nodename)
    plain = scrubbed(text, os.path.expanduser("~"), *names)
    reading = read(parse(text.removesuffix("\n"), cursor), profile) if profile else None
    return _Found(runtime or _UNKNOWN, Golden("", plain, about, _version(runtime)), reading)


def _profile(what: "Named", runtime: str) -> "Profile | None":
    from postroom.bridges.terminal.profile import profile_of
    from postroom.runtimes import NAMES
    from postroom.runtimes.screen import of

    if what.manifest is not None:
        return profile_of(what.manifest.berth)
    return of(runtime) if runtime in NAMES else None


def _version(runtime: str) -> str:
    from postroom.room.call import program_of
    from postroom.runtimes import NAMES, load
    from postroom.setup.installed import version

    path = program_of(load(runtime)) if runtime in NAMES else ""
    return version(path) if path else ""


def _tell(found: _Found, state: str | None, path: str, context: "Context") -> None:
    draft, dialog = found.draft, (found.reading.dialog if found.reading else "") or None
    if context.json:
        context.put_json({
            "path": path, "runtime": found.runtime, "version": found.golden.version or None,
            "state": state or found.reads, "reads": found.reads, "draft": draft, "dialog": dialog,
        })  # fmt: skip
        return
    more = f", a dialog: {dialog}" if dialog else f", with the draft {draft!r}" if draft else ""
    context.put(f"saved   {path}\nreads   {found.reads}{more}\n")
    context.note(_advice(found, state))


def _advice(found: _Found, state: str | None) -> str:
    look = "Look through it before you show it: your name, your home and mail addresses are gone, no more."
    if found.reading is None:
        return f"No profile knows this program, so nothing is typed there. {look}"
    if state is None:
        return f"If it was something else, say what: --state STATE. {look}"
    if found.reads == state:
        return f"It reads as it should; as a test it belongs to tests/data/screens/{found.runtime}. {look}"
    return (
        f"You say {state}, it reads as {found.reads}: its profile must learn that. Put both files into "
        f"tests/data/screens/{found.runtime}, or into an issue. {look}"
    )
