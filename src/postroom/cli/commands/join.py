"""`postroom join`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.room.options import About

HELP = """\
Give an agent or a person an address. It exists from then on, whether or not anything of it runs.
Joining again brings what is known of it up to date."""
EXAMPLES = """\
  postroom join builder --role builder --capability python --capability sql
  postroom join reviewer --description "Ask before you merge." --supervisor ana
  postroom join human:ana"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("name", metavar="NAME", help="builder, project/builder or human:ana")
    parser.add_argument("--role", metavar="ROLE", help="what it does; groups are made of roles")
    parser.add_argument(
        "--capability", metavar="WORD", action="append", help="what it can do; may be repeated"
    )
    parser.add_argument("--description", metavar="TEXT", help="when to write to it")
    parser.add_argument("--supervisor", metavar="NAME", help="who it reports to")


def run(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.errors import InvalidAddress, InvalidName

    about: About = {}
    for name in ("role", "description", "supervisor"):
        if getattr(args, name) is not None:
            about[name] = getattr(args, name)
    if args.capability:
        about["capabilities"] = args.capability
    try:
        agent = context.room(create=True).join(args.name, **about)
    except InvalidAddress as problem:
        if problem.hint == InvalidAddress.hint and problem.facts.get("address") == args.name:
            problem.hint = InvalidName.hint
        raise
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.agent(agent))
    elif not context.quiet:
        context.put(f"{context.out.paint(agent.address, 'bold')} is here\n")
    if context.elsewhere is None:
        from postroom.room import reserve

        reserve.keep(context.room())
    return 0
