"""What a command line says of a program in a terminal: which agent CLI it is, or how its screen is read."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Json

_OPTIONS = {"profile.prompt": "--pattern", "profile.submit": "--submit"}

_PLACEHOLDER = "RE"  # as hints have it
_HINTS = {
    "profile.prompt": "Look at it (postroom screen PANE), and say how the line begins in which one types, as "
    "a regular expression: --pattern 'ask> '",
    "profile.submit": "Name the key as tmux does: --submit Enter",
}


def add_arguments(parser: "Parser") -> None:
    parser.add_argument(
        "--runtime", metavar="RUNTIME", help="which agent CLI it is, where that cannot be told"
    )
    parser.add_argument("--profile", metavar="PROFILE", help="the profile of the config that fits its screen")
    parser.add_argument("--pattern", metavar="RE", help="a profile by hand: how the line begins one types in")
    parser.add_argument("--submit", metavar="KEY", help="the key that submits, as tmux names it (Enter)")


def check(args: "argparse.Namespace", context: "Context", command: str) -> None:
    """Raises what is wrong with these options, before anything is done."""
    from postroom.bridges.roster import profile
    from postroom.errors import UsageError

    hint = f"See: postroom help {command}"
    if len([way for way in (args.runtime, args.profile, args.pattern) if way]) > 1:
        raise UsageError("say one of --runtime, --profile and --pattern", hint=hint)
    if args.submit and not args.pattern:
        raise UsageError("--submit goes with --pattern", hint=hint)
    if args.pattern == _PLACEHOLDER:
        raise UsageError(f"{_PLACEHOLDER} stands for a pattern", hint=_HINTS["profile.prompt"])
    if args.pattern:
        _by_hand(args, hint)
    if args.runtime:
        _check_runtime(args.runtime)
    if args.profile:
        profile(context.room().declared.profiles, args.profile)


def _check_runtime(name: str) -> None:
    from postroom.errors import InvalidValue, UnknownRuntime
    from postroom.runtimes import load

    try:
        load(name)
    except UnknownRuntime as exc:
        raise InvalidValue(str(exc), hint=exc.hint) from None


def _by_hand(args: "argparse.Namespace", hint: str = "") -> "Json":
    """The table of a profile that stands on the command line."""
    from postroom.errors import InvalidValue
    from postroom.runtimes.screen import given

    table: Json = {"prompt": args.pattern, **({"submit": args.submit} if args.submit else {})}
    try:
        given(table)
    except InvalidValue as exc:
        where, _, what = str(exc).partition(" ")
        raise InvalidValue(f"{_OPTIONS.get(where, where)} {what}", hint=_HINTS.get(where, hint)) from None
    return table


def said(args: "argparse.Namespace", found: str, context: "Context") -> "tuple[str, Json]":
    """The runtime or the name of a profile, if one was said or is meant, and the profile's table.

    `found` is what the program itself tells. Raises `Refused` where nobody has agreed to a profile.
    """
    from postroom.bridges.roster import profile
    from postroom.cli.consent import confirm

    if args.pattern:
        return "", _by_hand(args)
    profiles = context.room().declared.profiles
    name = args.profile or args.runtime or found
    if not args.profile and name not in profiles:
        return args.runtime or "", {}
    table = profile(profiles, name)
    confirm({f"profiles.{name}": table}, args, context)
    return name, table
