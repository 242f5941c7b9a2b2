"""`postroom --help`, `postroom help COMMAND`, `postroom --version`."""

import sys

from postroom.cli import catalog
from postroom.cli.output import Output, standard_output
from postroom.errors import InvalidValue, UsageError


def show(name: str | None, arguments: list[str]) -> int:
    """Answer a call without a command; wrong usage is an exit code of 2."""
    wanted = [argument for argument in arguments if not argument.startswith("-")]
    out = standard_output()
    if name == "help" and wanted:
        return _of_command(wanted[0], out)
    if "--version" in arguments or "-V" in arguments:
        from postroom import __version__

        out.write(f"postroom {__version__}\n")
        return 0
    if name == "help" or "--help" in arguments or "-h" in arguments:
        out.write(overview(out))
        return 0
    if arguments:
        raise UsageError(f"no command among {' '.join(arguments)!r}", hint="See: postroom --help")
    Output(sys.stderr).write(overview(Output(sys.stderr)))
    return 2


def _of_command(name: str, out: Output) -> int:
    if name == "settings":
        out.write(settings(out))
        return 0
    entry = catalog.find(name)
    if entry is None:
        raise unknown(name)
    out.write(catalog.build(name, catalog.load(entry)).format_help())
    return 0


def settings(out: Output) -> str:
    """Every setting: what it is here, what it does, and where to set it."""
    import textwrap

    from postroom import config
    from postroom.cli.parser import WIDTH

    home = config.default_home() if config.address() else config.home()
    lines = [f"Set in {config.config_path(home)},", "or in the environment, which wins.", ""]
    try:
        here = config.settings(home)
    except InvalidValue as problem:
        here = config.Settings()
        lines[2:] = [f"What is set now is wrong ({problem}), so these are the defaults.", ""]
    for key, value in here._asdict().items():
        now = f"{out.paint(key.ljust(21), 'bold')} {out.paint(str(value).ljust(8), 'cyan')}"
        lines.append(f"{now} {out.paint(config.environment_name(key), 'dim')}")
        lines += textwrap.wrap(config.HELP[key], WIDTH, initial_indent="    ", subsequent_indent="    ")
    alone = out.table(list(config.ENVIRONMENT.items()), ("bold",))
    return "\n".join([*lines, "", "Only in the environment:", "", alone])


def unknown(name: str) -> UsageError:
    """There is no such command; these are near."""
    from postroom.near import meant

    found = catalog.near_to(name)
    hint = "See: postroom help settings" if name == "settings" else meant(found) or "See: postroom --help"
    return UsageError(f"there is no command {name!r}", hint=hint, command=name, near=found)


def overview(out: Output) -> str:
    """All commands, grouped."""
    lines = [
        "Postroom: durable mail for AI coding agents, with receipts that never claim",
        "more than the evidence.",
        "",
        "usage: postroom COMMAND [ARGUMENTS]   (postroom help COMMAND says more)",
    ]
    group = ""
    for name, (_, its_group, what) in catalog.COMMANDS.items():
        if its_group != group:
            group = its_group
            lines += ["", out.paint(group, "bold")]
        lines.append(f"  {out.paint(name.ljust(11), 'cyan')} {what}")
    lines += [
        "",
        out.paint("Everywhere", "bold"),
        "  --as NAME   who is calling       --json   print JSON        --project PROJECT",
        "  --home DIR  where the room is    --quiet  print data alone",
        "",
        "Settings: postroom help settings.",
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 timed out,",
        "5 refused, 6 stored, but something after that failed.",
    ]
    return "\n".join(lines) + "\n"
