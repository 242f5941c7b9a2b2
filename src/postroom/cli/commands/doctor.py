"""`postroom doctor`."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.room.local import LocalRoom
    from postroom.room.trial import Trial
    from postroom.setup.examine import Examined, Problem, Wired
    from postroom.setup.sandbox import Probed

HELP = """\
Whether mail reaches the agents on this machine: which agent CLIs are installed and set up, whether their
hooks are current and trusted, which sessions live, what becomes of mail that is sent from inside their
sandboxes (tried where the CLI has a command for it), what hooks and the daemon have had to complain about;
whether the daemon answers, and its page; which panes and mailboxes of agents are gone. --live proves
it: a message is sent to each live session, and must be seen on evidence; where none lives, the CLI is run
once with a short prompt, which asks your model and may cost a little, so that is done only where hooks can
run. Exits 1, and says what to do, when something that is set up does not work, or --live tried it in vain.

`doctor capture PANE` (or an agent's name) saves what a terminal shows, without your name and your home, as
screens are kept for tests, and says how it reads: with --state, what it really was."""
EXAMPLES = """\
  postroom doctor
  postroom doctor claude --live
  postroom doctor --fix          # after an upgrade, or when Python has moved
  postroom doctor --json
  postroom doctor capture %3 --state dialog --out screens"""

_SECONDS = 30.0
_INDENT = 12  # columns before what is told of a runtime


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "runtimes", metavar="RUNTIME", nargs="*", help="only this one, or these; or: capture PANE"
    )
    parser.add_argument("--live", action="store_true", help="prove it by a message")
    parser.add_argument("--timeout", metavar="TIME", help="how long a live session may take (30s)")
    parser.add_argument(
        "--fix", action="store_true", help="mend the program that hooks run, and take in stranded mail"
    )
    parser.add_argument("--state", metavar="STATE", help="of a capture: idle, busy, draft, dialog, unknown")
    parser.add_argument("--out", metavar="DIR", help="where a capture is saved (screens)")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.runtimes[:1] == ["capture"]:
        from postroom.cli.capture import run as capture

        return capture(args, context)
    from postroom.config import home
    from postroom.daemon.health import examine
    from postroom.errors import NoRoom
    from postroom.setup import letter
    from postroom.setup.examine import about_room, room_problems, runtimes
    from postroom.setup.sandbox import probe

    where = home(args.home)
    try:
        room = context.room(anyway=True)
        room.projects()
    except NoRoom:
        room = None
    if args.fix and room is not None:
        _fix(room, context)
    names = list(dict.fromkeys(args.runtimes))
    found = [each for each in runtimes(where, room, names) if names or each.concerns]
    tried = _try(found, room, args, context) if args.live else {}
    if tried:
        found = list(runtimes(where, room, [each.name for each in found]))
    reports = [_Report(each, probe(each), tried.get(each.name)) for each in found]
    letters = list(letter.problems(room)) if room is not None else []
    health = None if names or room is None else examine(where)
    about_all = [*_of_config(context), *room_problems(where, found), *(health.problems if health else ())]
    problems = [*about_all, *(each for one in reports for each in one.problems), *letters]
    is_ok = not problems and not any(one.has_failed for one in reports)
    about = about_room(where, names) | {"exists": room is not None}
    if context.json:
        context.put_json({
            "ok": is_ok, "room": about, "runtimes": list(map(_document, reports)),
            "problems": _problems(problems), **(health.facts if health else {}),
        })  # fmt: skip
    else:
        context.put("".join(_text(each, context) for each in reports))
        context.put("".join(f"{line}\n" for line in _lines(health.rows, context)) if health else "")
        context.put(_closing(about, found, [*about_all, *letters], context))
    return 0 if is_ok and (tried or not args.live) else 1


def _of_config(context: "Context") -> "Iterator[Problem]":
    """That it is refused, which refuses whatever would act by it."""
    from postroom.setup.examine import Problem

    if context.refused:
        advice = context.refused.hint or "Mend it."
        yield Problem(f"the config is refused: {context.refused}", advice=advice, blocks=True)


def _fix(room: "LocalRoom", context: "Context") -> None:
    """Mend what can be mended, and say what that was."""
    from postroom.cli.output import count
    from postroom.hooks import program
    from postroom.setup import letter

    was_current = program.is_current(room.home)
    program.install(room.home)
    taken = letter.mend(room)
    if not was_current:
        context.note(f"mended: the program that all hooks run, {program.path(room.home)}")
    if taken:
        context.note(f"taken in: {count(taken, 'letter')} that no session was left to")
    if was_current and not taken:
        context.note("There was nothing to mend.")


class _Report(NamedTuple):
    """All that is told of a runtime."""

    found: "Examined"
    inside: "Probed"
    tried: "Trial | str | None"  # now; a text: why that was not possible

    @property
    def problems(self) -> "list[Problem]":
        return [*self.found.problems, *([self.inside.problem] if self.inside.problem else [])]

    @property
    def has_failed(self) -> bool:
        """Whether it was to be proven, and was not. What cannot be tried has not failed."""
        if isinstance(self.tried, str):
            return self.found.can_be_tried
        return self.tried is not None and not self.tried.ok

    @property
    def canary(self) -> str | None:
        """What came of it, in words."""
        if self.tried is None or isinstance(self.tried, str):
            return self.tried and f"not tried: {self.tried}"
        return f"proven ({self.tried.evidence})" if self.tried.ok else f"failed: {self.tried.why}"


def _try(
    found: "list[Examined]", room: "LocalRoom | None", args: "argparse.Namespace", context: "Context"
) -> "dict[str, Trial | str]":
    """Let a canary sing in each."""
    from postroom.cli.moment import span
    from postroom.errors import NoRoom
    from postroom.setup.canary import sing
    from postroom.setup.plan import calling

    if room is None:
        raise NoRoom(hint="Make it by setting something up: postroom setup")
    timeout = span(args.timeout) if args.timeout else _SECONDS
    chosen = found if args.runtimes else [each for each in found if each.wired]
    if not chosen:
        context.note(f"Nothing is set up, so there is nothing to prove: {calling(room.home)} setup")
    return {each.name: sing(room, each, timeout, context.note) for each in chosen}


def _document(report: _Report) -> dict[str, Any]:
    found, inside = report.found, report.inside
    return {
        "runtime": found.name, "title": found.title, "path": found.path or None,
        "version": found.version or None,
        "set_up": [each._asdict() for each in found.wired], "trusted": found.trusted,
        "tools": [each._asdict() for each in found.tools],
        "sessions": [{"agent": address, "session": one.id} for address, one in found.sessions],
        "proven": _proven(found), "proven_by_mail": found.by_mail, "remark": found.target.runtime.remark,
        "instead": found.target.wiring.instead or None,
        "other_rooms": [each._asdict() for each in found.neighbours],
        "sandbox": {"verdict": inside.verdict, "words": inside.words} if inside.verdict else None,
        "problems": _problems(report.problems), "tried": report.canary,
    }  # fmt: skip


def _proven(found: "Examined") -> dict[str, Any] | None:
    """The last trial, as a program should take it: of another version it proves nothing."""
    if found.proven is None:
        return None
    facts = found.proven._asdict()
    return {**facts, "ok": found.is_proven, "was_ok": found.proven.ok, "now": found.version or None}


def _text(report: _Report, context: "Context") -> str:
    found, inside, paint = report.found, report.inside, context.out.paint
    lines = [f"{paint(found.title, 'bold')} {found.version}".rstrip()]
    rows = [("program", found.path or "not on your PATH"), ("set up", _set_up(found))]
    if tools := _tools(found):
        rows.append(("tools", tools))
    if found.wired:
        rows += _facts(found)
    if inside.words:
        rows.append(("sandbox", inside.words))
    if report.canary:
        rows.append(("canary", report.canary))
    lines += _lines(rows, context)
    lines += _told(report.problems, context)
    return "\n".join(lines) + "\n"


def _lines(rows: list[tuple[str, str]], context: "Context") -> list[str]:
    from postroom.cli.output import clean

    paint, fold = context.out.paint, context.out.fold
    return [f"  {paint(name.ljust(9), 'dim')} {fold(clean(value), _INDENT)}" for name, value in rows]


def _set_up(found: "Examined") -> str:
    if found.wired:
        return ", ".join(map(_wired, found.wired))
    if not found.target.wiring.has_hooks and found.target.wiring.has_tools:
        return "it has no hooks"
    instead, setting_up = found.target.wiring.instead, f"{found.target.call} setup {found.name}"
    if instead:
        return f"cannot be. {instead}"
    if found.neighbours:
        return f"no, but for another room, {found.neighbours[0].home}: {setting_up} --replace"
    return f"its tools only, not its hooks: {setting_up}" if found.tools else f"no: {setting_up}"


def _tools(found: "Examined") -> str:
    """Where it starts the MCP server, or how it would; empty: that is not known of it."""
    known = found.target.wiring
    if not known.has_tools:
        return ""
    if found.tools:
        told = [_WHERE[each.scope] + ("" if each.ours else ", added by hand") for each in found.tools]
        return ", ".join(told)
    return f"no: {found.target.call} setup {found.name}{' --mcp' if known.has_hooks else ''}"


_WHERE = {"user": "for you", "project": "for this project", "plugin": "as a plugin"}


def _wired(one: "Wired") -> str:
    where = _WHERE[one.scope]
    if one.scope == "plugin" and one.left:
        where += ", which is not installed yet"
    return where if one.current else f"{where}, not as it should be"


def _facts(found: "Examined") -> list[tuple[str, str]]:
    living = ", ".join(dict.fromkeys(address for address, _ in found.sessions))
    rows: list[tuple[str, str]] = []
    known, remark = found.target.wiring, found.target.runtime.remark
    if known.trust:
        not_here = "not here" if known.skips else f"not here. {known.trust}"  # a problem says the rest
        rows.append(("trusted", {True: "yes, here", False: not_here, None: "unknown"}[found.trusted]))
    rows.append(("sessions", living or "none lives"))
    if found.proven is not None or any(point.proven_by for point in found.target.runtime.points):
        rows.append(("proven", _last_trial(found)))
    if remark:
        rows.append(("remark", remark))
    return rows


def _last_trial(found: "Examined") -> str:
    seen, proving = found.proven, f"{found.target.call} doctor {found.name} --live"
    if seen is None and found.by_mail:
        return f"yes, by mail that {', '.join(found.by_mail)} has seen"
    if seen is None:
        return f"never tried: {proving}" if found.can_be_tried else "only a session that lives could prove it"
    if seen.version != found.version:
        was = "proven" if seen.ok else "failed"
        return f"{was} with {seen.version}, now {found.version or 'unknown'}: {proving}"
    found_out = f"yes, by {seen.evidence}" if seen.ok else f"no: {seen.why}"
    return f"{found_out} ({seen.version}, {seen.at[:16]}Z)"


def _told(problems: "list[Problem]", context: "Context") -> list[str]:
    paint = context.out.paint
    head, fold = paint("problem", "red", "bold"), context.out.fold
    lines: list[str] = []
    for each in problems:  # a command can be copied only if it is on one line
        helps = filter(None, [fold(each.advice, _INDENT), each.command])
        lines.append(f"\n{' ' * _INDENT}".join([f"  {head}   {fold(each.what, _INDENT)}", *helps]))
    return lines


def _problems(problems: "list[Problem]") -> list[dict[str, Any]]:
    return [{"what": each.what, "next": each.next, "blocks": each.blocks} for each in problems]


def _closing(about: dict[str, Any], found: "list[Examined]", own: "list[Problem]", context: "Context") -> str:
    from postroom.cli.output import clean
    from postroom.hooks import journal
    from postroom.setup.plan import calling

    lines: list[str] = []
    fold = context.out.fold
    if not found:
        from postroom.runtimes import NAMES

        known, run = ", ".join(NAMES), calling(about["home"])
        lines.append(fold(f"No agent CLI was found on your PATH. Known are {known}", 2))
        lines.append(
            fold(f"Any other program: {run} spawn NAME -- CMD, or by files: {run} mailbox add DIR", 2)
        )
    if not about["exists"]:
        lines.append(f"There is no room yet; setting something up makes it: {calling(about['home'])} setup")
    lines += _told(own, context)
    if about["log"]:
        lines.append(fold(f"Complaints of hooks in the last day, in {journal.path(about['home'])}:", 2))
        lines += [f"  {fold(clean(line), 4)}" for line in about["log"]]
    return "".join(f"{line}\n" for line in lines)
