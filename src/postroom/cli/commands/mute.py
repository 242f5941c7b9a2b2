"""`postroom mute`."""

from typing import TYPE_CHECKING, Any

from postroom.cli.output import count
from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.manners import Manners
    from postroom.room.options import Wishes

HELP = """\
Be left alone for a while: what comes is stored and held, its sender is told so, and you get it when the time
is over. Urgent mail, interrupts, gates and answers to your own questions come through. With --hours that is
so every day; with --digest small messages wait for each other and come together. --show changes nothing."""
EXAMPLES = """\
  postroom mute 2h
  postroom mute --until 18:00
  postroom mute --off
  postroom mute --hours 22:00-07:00 --zone Europe/Berlin --as human:ana
  postroom mute --digest 10m
  postroom mute --show"""

_WHY = {
    "muted": "you are muted",
    "quiet_hours": "quiet hours",
    "digest": "for a digest",
    "rate_limited": "many at once",
    "scheduled": "scheduled by their senders",
}


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("span", metavar="TIME", nargs="?", help="how long: 90s, 10m, 2h, 1d (until --off)")
    parser.add_argument("--until", metavar="TIME", help="the same by the clock: 18:00, or a date and time")
    parser.add_argument("--off", action="store_true", help="be muted no longer")
    parser.add_argument("--hours", metavar="FROM-TO", help="quiet hours of every day: 22:00-07:00; or: off")
    parser.add_argument("--zone", metavar="ZONE", help="by which clock: Europe/Berlin (this machine's)")
    parser.add_argument("--digest", metavar="TIME", help="small messages together, every 10m; or: off")
    parser.add_argument("--show", action="store_true", help="only say how it is")


def run(args: "argparse.Namespace", context: "Context") -> int:
    wishes: Wishes = {} if args.show else _wishes(args)
    room = context.room()
    wanted, held = room.manners(**wishes), room.held()
    if context.json:
        context.put_json(_document(wanted, held))
    else:
        context.put("".join(f"{line}\n" for line in (*_lines(wanted), *_held(held))))
    return 0


def _wishes(args: "argparse.Namespace") -> "Wishes":
    """What the arguments ask for; nothing at all: to be muted until further notice."""
    from postroom.cli.moment import moment, span

    wishes: Wishes = {}
    if sum((args.span is not None, args.until is not None, args.off)) > 1:
        raise UsageError("TIME, --until and --off exclude each other", hint="See: postroom help mute")
    if args.off:
        wishes["mute"] = False
    elif args.until is not None:
        wishes["mute"] = moment(args.until)
    elif args.span is not None:
        wishes["mute"] = span(args.span)
    if args.hours is not None:
        wishes["hours"] = None if args.hours == "off" else args.hours
    if args.zone is not None:
        wishes["zone"] = args.zone
    if args.digest is not None:
        wishes["digest"] = None if args.digest == "off" else span(args.digest)
    return wishes or {"mute": True}


def _lines(wanted: "Manners") -> list[str]:
    from postroom.cli.moment import clock, long
    from postroom.clock import wall

    lines: list[str] = []
    if wanted.muted == 0:
        lines.append("muted, until: postroom mute --off")
    elif wanted.muted is not None and wanted.muted > wall():
        lines.append(f"muted until {clock(wanted.muted)}")
    else:
        lines.append("not muted")
    if wanted.hours is not None:
        zone = f" ({wanted.zone})" if wanted.zone else ""
        lines.append(f"quiet from {_hours(wanted.hours)}{zone}, every day")
    if wanted.digest:
        lines.append(f"small messages come together, every {long(wanted.digest)}")
    return lines


def _hours(hours: tuple[int, int]) -> str:
    return "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in hours)


def _held(held: list[tuple[str, int, int | None]]) -> list[str]:
    return [line for line in (said(*one) for one in held) if line]


def said(reason: str, number: int, due: int | None) -> str:
    """A sentence about what is held for one reason."""
    from postroom.cli.moment import clock

    if reason == "taken":
        return ""
    until = f", the first until {clock(due)}" if due is not None else ""
    return f"{count(number, 'message')} held{until}: {_WHY.get(reason, reason)}"


def _document(wanted: "Manners", held: list[tuple[str, int, int | None]]) -> dict[str, Any]:
    from postroom.clock import iso

    return {
        "muted": wanted.muted is not None,
        "until": iso(wanted.muted) if wanted.muted else None,
        "hours": _hours(wanted.hours) if wanted.hours else None,
        "zone": wanted.zone or None,
        "digest_seconds": wanted.digest,
        "held": [{"reason": reason, "messages": number, "due_at": iso(due)} for reason, number, due in held],
    }
