"""`postroom stats`."""

from typing import TYPE_CHECKING, Any

from postroom.cli.letter import bare

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.tally import OfAgent, OfPair, Put, Saved, Spread, Stats

HELP = """\
Who writes to whom; how many messages are acknowledged and how soon; how soon requests are answered, and how
many wait for it; how many characters of messages were handed over to each agent, by type, sender and route,
and how many of frames it was spared because several messages came as one. A message to three counts three
times. Times are the median (p50) and what 95 of 100 do not exceed (p95, where there is space for it)."""
EXAMPLES = """\
  postroom stats
  postroom stats --since 7d --plot week.svg
  postroom stats --json | jq '.agents[] | {address, unanswered}'"""

_P95 = "p95"
_TIMES = ("ACK p50", _P95, "ASKED", "OPEN", "ANSWER p50", _P95)
_AGENTS = ("AGENT", "SENT", "GOT", "ACKED", *_TIMES, "CHARACTERS")
_PAIRS = ("FROM", "TO", "MESSAGES", "ACKED", *_TIMES)
_SAVED = ("INTO", "MESSAGES", "OFFERINGS", "CHARACTERS SAVED")
_PUT = ("INTO", "TYPE", "FROM", "ROUTE", "MESSAGES", "CHARACTERS")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("--since", metavar="WHEN", help="only what was sent since then: 7d (ago), or a date")
    parser.add_argument("--plot", metavar="PATH", help="also draw it, as SVG, into this file")
    parser.add_limit(20)


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.cli.moment import past

    stats = context.room().stats(since=past(args.since) if args.since else None)
    if args.plot:
        _plot(args.plot, stats, context)
    if context.json:
        context.put_json(_document(stats, args.limit))
    elif stats.messages:
        _print(stats, args.limit, context)
    else:
        context.note("Nothing was sent.")
    if args.plot:
        context.note(f"drawn: {args.plot}")
    return 0


def _plot(path: str, stats: "Stats", context: "Context") -> None:
    from postroom.cli.chart import draw
    from postroom.errors import UsageError

    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(draw(stats, context.project()))
    except OSError as exc:
        hint = "Give a file that can be written: --plot stats.svg"
        raise UsageError(f"cannot draw into {path}: {exc.strerror}", hint=hint, path=path) from exc


def _print(stats: "Stats", limit: int, context: "Context") -> None:
    here = context.project()
    tables = (
        ("", _AGENTS, 1, [_agent(one, here) for one in stats.agents]),
        ("Who writes to whom", _PAIRS, 2, [_pair(one, here) for one in stats.pairs]),
        ("What was handed over", _PUT, 4, [_put(one, here) for one in stats.put]),
        ("What digests saved", _SAVED, 1, [_saved(one, here) for one in stats.digests]),
    )
    for title, head, names, rows in tables:
        if not rows:
            continue
        if title:
            context.put("\n" + context.out.paint(title, "bold") + "\n")
        first, *rest = _aligned([head, *rows[:limit]], names)
        spare = [at for at, column in enumerate(head) if column == _P95]
        context.put_table(rest, ["bold"] * names, first, spare)
        if len(rows) > limit:
            context.note(f"and {len(rows) - limit:,} more: --limit {min(500, len(rows))}")


def _aligned(rows: "Sequence[Sequence[str]]", names: int) -> list[list[str]]:
    """After the names, which are text, numbers stand under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[cell if at < names else cell.rjust(widths[at]) for at, cell in enumerate(row)] for row in rows]


def _agent(one: "OfAgent", here: str) -> list[str]:
    counts = [f"{one.sent:,}", f"{one.received:,}", _share(one.acked, one.received)]
    return [bare(one.address, here), *counts, *_answers(one), f"{one.characters:,}"]


def _pair(one: "OfPair", here: str) -> list[str]:
    counts = [f"{one.messages:,}", _share(one.acked, one.messages)]
    return [bare(one.sender, here), bare(one.recipient, here), *counts, *_answers(one)]


def _answers(one: "OfAgent | OfPair") -> list[str]:
    return [*_spread(one.ack), f"{one.requests:,}", f"{one.unanswered:,}", *_spread(one.answer)]


def _put(one: "Put", here: str) -> list[str]:
    who, author = bare(one.recipient, here), bare(one.sender, here)
    return [who, one.type, author, one.route, f"{one.messages:,}", f"{one.characters:,}"]


def _saved(one: "Saved", here: str) -> list[str]:
    return [bare(one.recipient, here), f"{one.messages:,}", f"{one.offerings:,}", f"{one.characters:,}"]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else ""


def _spread(times: "Spread | None") -> tuple[str, str]:
    from postroom.cli.moment import long

    return ("", "") if times is None else (long(times.p50 / 1000), long(times.p95 / 1000))


def _document(stats: "Stats", limit: int) -> dict[str, Any]:
    from postroom.clock import iso

    return {
        "since": iso(stats.since),
        "messages": stats.messages,
        "agents": [_times(one) for one in stats.agents[:limit]],
        "pairs": [_times(one) for one in stats.pairs[:limit]],
        "put": [one._asdict() for one in stats.put[:limit]],
        "digests": [one._asdict() for one in stats.digests[:limit]],
        "all": {
            "agents": len(stats.agents),
            "pairs": len(stats.pairs),
            "put": len(stats.put),
            "digests": len(stats.digests),
        },
    }


def _times(one: "OfAgent | OfPair") -> dict[str, Any]:
    """Times in milliseconds, under names that say so."""
    document = one._asdict()
    for key in ("ack", "answer"):
        times: Spread | None = document.pop(key)
        document[f"{key}_ms"] = None if times is None else times._asdict()
    return document
