"""`postroom watch`."""

from typing import TYPE_CHECKING

from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.daemon.watch import Watch

HELP = """\
Mail what a pane prints and matches a regular expression to an agent or a person: a dev server's errors, a
failing test. The pane may run anything. What comes together goes in one letter (2 seconds from the first line
on, up to 30 while more keeps coming), with equal lines counted. It is sent as a note of yours, marked as
outside content. The daemon does it, also after it was started again, until --stop, or until the pane is
closed, which you are told. Only a person may ask for it, and only what is printed from now on counts."""
EXAMPLES = """\
  postroom watch work:1.0 --match 'ERROR|Traceback' --to backend
  postroom watch %3 --match '^FAIL' --to backend --window 10s
  postroom watch --list
  postroom watch --stop 3fa2c1"""

_WINDOW = 2.0


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("pane", metavar="PANE", nargs="?", help="a pane (%%3, work:1.0), or an agent's name")
    parser.add_argument("--match", metavar="RE", help="a regular expression, searched for in each line")
    parser.add_argument("--to", metavar="NAME", help="who gets what matches")
    parser.add_argument("--subject", metavar="TEXT", default="", help="of the letters")
    parser.add_argument("--window", metavar="TIME", help="how long lines are gathered at least (2s)")
    parser.add_argument("--list", action="store_true", help="what is watched")
    parser.add_argument("--stop", metavar="ID", help="watch no longer")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.list or args.stop:
        if args.pane or (args.list and args.stop):
            raise UsageError("--list and --stop stand alone", hint="See: postroom help watch")
        return _stop(args.stop, context) if args.stop else _list(context)
    if not (args.pane and args.match and args.to):
        raise UsageError("watch needs PANE, --match and --to", hint="See: postroom help watch")
    return _begin(args, context)


def _begin(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.daemon import start
    from postroom.daemon.control import ask
    from postroom.room.authority import person

    person(context.room(), "have a pane watched")
    wanted, home = _wanted(args, context), context.room().home
    start(context)
    ask(home, "watch", watch=wanted._asdict())
    if context.json:
        context.put_json(_document(wanted))
    elif context.quiet:
        context.put(f"{wanted.id}\n")
    else:
        watch = context.out.paint(wanted.id, "cyan")
        context.put(f"{watch}  what {wanted.place} prints and matches goes to {wanted.to}\n")
    return 0


def _wanted(args: "argparse.Namespace", context: "Context") -> "Watch":
    from postroom.cli.moment import span
    from postroom.cli.person import writer
    from postroom.cli.terminal import named
    from postroom.daemon.burst import LONGEST
    from postroom.daemon.watch import Watch, check_pattern, new_id

    window = span(args.window) if args.window else _WINDOW
    if not 0.1 <= window <= LONGEST:
        raise UsageError(f"a window has 0.1 to {LONGEST:g} seconds", hint="See: postroom help watch")
    room = context.room()
    pattern, pane, to = check_pattern(args.match), named(args.pane, context), room.known(args.to)
    who = writer(context)
    return Watch(
        new_id(), str(pane.there), pane.name, pattern, to.address, who.id, who.address, args.subject, window,
        room.now(),
    )  # fmt: skip


def _list(context: "Context") -> int:
    from postroom.daemon.place import running
    from postroom.daemon.watch import every

    home = context.room().home
    found, is_kept = every(home), bool(running(home))
    if context.json:
        context.put_json({"watches": [_document(one) for one in found], "daemon": is_kept})
    elif found:
        from postroom.cli.moment import age

        rows = [(one.id, one.place, one.to, one.sender, age(one.at), one.pattern) for one in found]
        context.put_table(
            rows, ("cyan", "bold", "bold", "", "dim"), ("ID", "PANE", "TO", "BY", "SINCE", "MATCH")
        )
        if not is_kept:
            context.note("No daemon runs, so nothing is watched now. Start it: postroom up")
    else:
        context.note("Nothing is watched.")
    return 0


def _stop(id: str, context: "Context") -> int:
    from postroom.daemon import watch
    from postroom.daemon.control import ask
    from postroom.daemon.place import running
    from postroom.errors import NotFound
    from postroom.room.authority import person

    home = context.room().home
    person(context.room(), "end a watch")
    if watch.get(home, id) is None:
        raise NotFound(f"there is no watch {id!r}", hint="See: postroom watch --list")
    if running(home):
        ask(home, "unwatch", id=id)
    else:
        watch.remove(home, id)
    if context.json:
        context.put_json({"stopped": id})
    elif not context.quiet:
        context.put(f"{context.out.paint(id, 'cyan')}  is watched no longer\n")
    return 0


def _document(watch: "Watch") -> dict[str, object]:
    return {
        "id": watch.id, "pane": watch.pane, "place": watch.place, "match": watch.pattern, "to": watch.to,
        "by": watch.sender, "subject": watch.subject or None, "window": watch.window, "since": watch.at,
    }  # fmt: skip
