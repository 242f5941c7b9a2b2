"""`postroom mute`."""

from typing import TYPE_CHECKING

from postroom.cli import held
from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.manners import Manners
    from postroom.room.options import Wishes

HELP = """\
Be left alone for a while: what comes is stored and held, its sender is told so, and you get it when the time
is over. Urgent mail, interrupts, gates, escalations and answers to your own questions come through. With
--hours that is so every day; with --digest small messages wait for each other and come together. With nothing
said it only tells how it is."""
EXAMPLES = """\
  postroom mute
  postroom mute 2h
  postroom mute --until 18:00
  postroom mute --on
  postroom mute --off
  postroom mute --hours 22:00-07:00 --zone Europe/Berlin --as human:ana
  postroom mute --digest 10m"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("span", metavar="TIME", nargs="?", help="how long: 90s, 10m, 2h, 1d")
    parser.add_argument("--until", metavar="TIME", help="the same by the clock: 18:00, or a date and time")
    parser.add_argument("--on", action="store_true", help="be muted until --off")
    parser.add_argument("--off", action="store_true", help="be muted no longer")
    parser.add_argument("--hours", metavar="FROM-TO", help="quiet hours of every day: 22:00-07:00; or: off")
    parser.add_argument("--zone", metavar="ZONE", help="by which clock: Europe/Berlin (this machine's)")
    parser.add_argument("--digest", metavar="TIME", help="small messages together, every 10m; or: off")


def run(args: "argparse.Namespace", context: "Context") -> int:
    wishes = _wishes(args)
    room = context.room()
    wanted, kept = room.manners(**wishes), room.held()
    if context.json:
        from postroom.protocol import wire

        context.put_json({**wire.manners(wanted, room.now()), "held": held.documents(kept)})
    else:
        context.put("".join(f"{line}\n" for line in (*_lines(wanted, room.now()), *held.lines(kept))))
    return 0


def _wishes(args: "argparse.Namespace") -> "Wishes":
    """What the arguments ask for."""
    from postroom.cli.moment import span

    wishes: Wishes = {}
    if sum((args.span is not None, args.until is not None, args.on, args.off)) > 1:
        raise UsageError("TIME, --until, --on and --off exclude each other", hint="See: postroom help mute")
    if args.on or args.off:
        wishes["mute"] = args.on
    elif args.until is not None:
        wishes["mute"] = _until(args.until)
    elif args.span is not None:
        wishes["mute"] = span(args.span)
    if args.hours is not None:
        wishes["hours"] = None if args.hours == "off" else args.hours
    if args.zone is not None:
        wishes["zone"] = args.zone
    if args.digest is not None:
        wishes["digest"] = None if args.digest == "off" else span(args.digest)
    return wishes


def _until(text: str) -> "datetime":
    """A moment to come; a time of day that is over means tomorrow's."""
    from datetime import datetime, time, timedelta

    from postroom.cli.moment import moment

    now = datetime.now().astimezone()
    try:
        at = datetime.combine(now, time.fromisoformat(text)).astimezone()
    except ValueError:
        return moment(text)
    return at if at > now else at + timedelta(days=1)


def _lines(wanted: "Manners", now: int) -> list[str]:
    from postroom.cli.moment import clock, long
    from postroom.model.manners import rest

    lines: list[str] = []
    if wanted.paused:
        lines.append("paused, until somebody runs: postroom resume NAME")
    if wanted.muted == 0:
        lines.append("muted, until: postroom mute --off")
    elif wanted.muted is not None and wanted.muted > now:
        lines.append(f"muted until {clock(wanted.muted)}")
    if wanted.hours is not None:
        first, last = (f"{minute // 60:02}:{minute % 60:02}" for minute in wanted.hours)
        zone = f" ({wanted.zone})" if wanted.zone else ""
        resting = rest(wanted._replace(muted=None), now)
        until = f"; now, until {clock(resting.until)}" if resting else ""
        lines.append(f"quiet from {first} to {last}{zone}, every day{until}")
    if wanted.digest:
        lines.append(f"small messages come together, every {long(wanted.digest)}")
    return lines or ["not muted"]
