"""What every command is given: who calls, the room, and the way to print."""

import os
import sys
from typing import TYPE_CHECKING, Any

from postroom.cli.output import standard_output
from postroom.errors import PostroomError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterable, Sequence

    from postroom.cli.distant import Distant
    from postroom.cli.stored import Change
    from postroom.room.local import LocalRoom

# Commands that make one change: a failure after it says so.
_CHANGING = frozenset(
    (
        "send", "ask", "reply", "forward", "decide", "ack", "nack", "withdraw", "join", "leave", "rename",
        "mute", "topics", "dead", "redact", "prune", "projects", "interrupt", "resume",
    )
)  # fmt: skip


class Context:
    """One call of the command line."""

    def __init__(self, args: "argparse.Namespace", command: str = "") -> None:
        self._args = args
        self._command = command
        self._room: LocalRoom | None = None
        self.refused: UsageError | None = None  # what is wrong with the config, where the room is open anyway
        self.leaves_journals = False  # whether the command says how these are, or writes them itself
        self.out = standard_output()
        self.json = bool(getattr(args, "json", False))
        self.quiet = bool(getattr(args, "quiet", False))
        self._change: Change | None = None

    def check(self, args: "argparse.Namespace") -> None:
        """Refuse what no store and no file name can hold, before anything is opened."""
        for name, value in vars(args).items():
            if isinstance(value, str) and name != "body":
                _check_text(name, value)
        _check_text("POSTROOM_HOME", os.environ.get("POSTROOM_HOME", ""))

    def room(self, *, create: bool = False, anyway: bool = False) -> "LocalRoom":
        """The room; made if it is not there only for who joins or restores.

        `anyway`: also where its config is refused (`refused`), then with the usual settings. That is for who
        only looks, or ends something: nobody acts by settings that are wrong.
        """
        if self._room is None:
            from postroom.room.local import open_room

            args = self._args
            home = args.home or os.environ.get("POSTROOM_HOME")
            if address := self._address:
                self._room = self._elsewhere(address)
                return self._room
            if home and _is_like_address(home) and not os.path.isdir(home):
                raise UsageError(
                    f"{home} is no directory", hint=f"A daemon's address begins so: http://{home}"
                )
            if home and os.path.isfile(home):
                raise UsageError(f"{home} is a file, not a directory", hint="Give a directory: --home DIR")
            try:
                self._room = open_room(args.home, project=args.project, create=create)
            except UsageError as exc:
                if not anyway:
                    raise
                from postroom.room.local import open_as_usual

                self._room, self.refused = open_as_usual(args.home, args.project), exc
            self._note_changes(self._room)
            if args.caller:
                self._room.claim(args.caller)
            elif witness := self._room.scope.witness:
                witness.person = _person
        return self._room

    @property
    def elsewhere(self) -> "Distant | None":
        """The room, where a daemon elsewhere serves it."""
        room: Any = self.room() if self._address else None
        return room

    @property
    def _address(self) -> str:
        """That of the daemon; empty where the room is a directory."""
        from postroom.config import address

        return address(self._args.home)

    def _elsewhere(self, address: str) -> "LocalRoom":
        """A room that a daemon serves: to commands, one like any other, as far as its API goes."""
        from typing import cast

        from postroom.cli.distant import Distant

        found, args = os.environ.get, self._args
        token = found("POSTROOM_TOKEN", "")
        room = Distant(
            address, token=token, agent=args.caller or (None if token else found("POSTROOM_AGENT")),
            project=args.project or found("POSTROOM_PROJECT"),
        )  # fmt: skip
        found = cast("LocalRoom", room)
        self._note_changes(found)
        return found

    def project(self) -> str:
        """The project the caller stands in: its agents go by their bare names."""
        return self.room().project()

    def finish(self, *, closing: bool) -> None:
        if self._room is not None:
            self._note_ignored(self._room)
            self._note_twin(self._room)
            self._room.finish()
            if closing:
                self.follow_up()
                self._room.close()

    def follow_up(self) -> None:
        """Do what is left to do for the room when the command's own work is confirmed."""
        room = self._room
        if room is None or self._address or self.leaves_journals:
            return
        try:
            if not room.has_overdue_journals():
                return
        except PostroomError:
            return  # there is no room, or the command has failed because of it
        from postroom.room.journal_catch_up import write_overdue

        if trouble := write_overdue(room):
            self.note(f"The journals are not written: {trouble}")

    def _note_ignored(self, room: "LocalRoom") -> None:
        witness = room.scope.witness
        if witness is not None and witness.ignored:
            self.note(f"POSTROOM_AGENT={witness.inherited} is ignored: you are {witness.ignored}")

    def _note_twin(self, room: "LocalRoom") -> None:
        if twin := room.scope.twin:
            self.note(
                f"This project is called {twin} here: there is another of its directory's name. "
                "To stand in that one: --project, or POSTROOM_PROJECT"
            )

    # what was changed

    def _note_changes(self, room: "LocalRoom") -> None:
        """Have the room remember what it stores, unless the command may run for days, or only looks."""
        if self._command in _CHANGING:
            room.committed = []

    def stored(self, words: str, id: str = "") -> None:
        """Note a change that the room itself does not know of: a failure from here on says so."""
        from postroom.cli.stored import Change

        self._change = Change(words, id)

    def change(self) -> "Change | None":
        """Return what this call has stored, if anything."""
        if self._change is not None or self._room is None:
            return self._change
        from postroom.cli.stored import found

        return found(self._room, self._command)

    def after(self, exc: Exception, command: str) -> Exception:
        """Return the failure, or one that says what was stored before it."""
        from postroom.cli.stored import after

        return after(exc, command, self)

    # printing

    def put(self, text: str) -> None:
        """Data for people, on standard output."""
        try:
            self.out.write(text)
        except OSError as exc:
            raise self._unwritten(exc) from exc

    def put_bytes(self, content: bytes) -> None:
        """Print an attachment without a change."""
        try:
            self.out.write_bytes(content)
        except OSError as exc:
            raise self._unwritten(exc) from exc

    def _unwritten(self, exc: OSError) -> Exception:
        """Return the error for output that could not be written: it says what was stored before."""
        problem = PostroomError(f"cannot write to standard output: {exc.strerror}")
        if (change := self.change()) is not None:
            from postroom.cli.stored import failed

            return failed(change, problem)
        return exc if isinstance(exc, BrokenPipeError) else problem

    def put_table(
        self,
        rows: "Iterable[Sequence[str]]",
        styles: "Sequence[str]",
        head: "Sequence[str]",
        spare: "Collection[int]" = (),
        **options: Any,
    ) -> None:
        """Columns under their names, which `--quiet` leaves out; see `Output.table`."""
        self.put(self.out.table(rows, styles, () if self.quiet else head, spare, **options))

    def put_json(self, document: Any) -> None:
        """Data for programs: one line, one document."""
        self.put(self.to_json(document) + "\n")

    def to_json(self, document: Any) -> str:
        """JSON that is exact, and harmless where a terminal shows it."""
        import json

        return json.dumps(document, ensure_ascii=self.out.is_terminal or not self.out.utf8)

    def as_called(self, text: str) -> str:
        """A text in which commands have the `--home` and the `--as` of this call."""
        if not (self._args.home or self._args.caller) or "postroom " not in text:
            return text
        from postroom.cli.again import as_called

        return as_called(text, self._args)

    def note(self, text: str, *, whole: bool = False) -> None:
        """What is not data, on standard error; `--quiet` and `--json` want none of it.

        Folded to the terminal's width; a command that somebody may want to copy stays `whole`.
        """
        if self.quiet or self.json or not hasattr(sys.stderr, "write"):
            return
        from postroom.cli.output import Output, clean

        indent, text = len(text) - len(text.lstrip(" ")), clean(text)
        if not whole:
            text = self.as_called(text)
            text = " " * indent + Output(sys.stderr).fold(text[indent:], indent + 2)
        try:
            sys.stderr.write(text + "\n")
        except OSError:
            pass


def _person() -> str:
    """Asked for only where nobody is named, and nothing tells who calls."""
    from postroom.cli.person import sitting

    return sitting()


def _is_like_address(home: str) -> bool:
    """`host:7678`, as one writes it who forgets the scheme."""
    host, _, port = home.rpartition(":")
    return port.isdecimal() and bool(host) and os.sep not in host


def _check_text(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{name.replace('_', '-')} is not valid UTF-8: {value!r}", hint="Write it as text."
        ) from None
