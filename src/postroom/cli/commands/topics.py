"""`postroom topics`."""

from typing import TYPE_CHECKING

from postroom.cli.output import count
from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Agent

HELP = """\
Topics of this project. Who subscribes to one gets what is written to it from then on, whether it runs or not;
`show` prints what was said before. A topic begins when somebody subscribes to it."""
EXAMPLES = """\
  postroom topics
  postroom topics subscribe frontend --as builder
  postroom send topic:frontend "The build is green again."
  postroom topics show frontend
  postroom topics unsubscribe frontend --as builder"""

_HOW = {
    (True, True): "subscribes to",
    (True, False): "already subscribes to",
    (False, True): "no longer subscribes to",
    (False, False): "did not subscribe to",
}
_ACTIONS = ("list", "show", "subscribe", "unsubscribe")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="list", choices=_ACTIONS)
    parser.add_argument("topic", metavar="TOPIC", nargs="?", help="its name: frontend, or topic:frontend")
    parser.add_limit(20)


def run(args: "argparse.Namespace", context: "Context") -> int:
    if (args.topic is None) != (args.action == "list"):
        wrong = f"too many arguments: {args.topic}" if args.topic else f"topics {args.action} needs TOPIC"
        raise UsageError(wrong, hint="See: postroom help topics")
    match args.action:
        case "subscribe" | "unsubscribe":
            return _subscribe(args, context)
        case "show":
            return _show(args, context)
        case _:
            return _list(context)


def _list(context: "Context") -> int:
    found = context.room().topics()
    if context.json:
        from postroom.protocol import wire

        context.put_json({"topics": [wire.topic(topic) for topic in found]})
    elif found:
        from postroom.cli.moment import age

        rows = [
            (t.address, str(t.subscribers), str(t.messages), age(t.latest_at) if t.latest_at else "–")
            for t in found
        ]
        context.put_table(
            rows, ("bold", "cyan", "cyan", "dim"), ("TOPIC", "SUBSCRIBERS", "MESSAGES", "LATEST")
        )
    else:
        context.note("There is no topic yet. Begin one: postroom topics subscribe NAME")
    return 0


def _show(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room.topic import name

    room = context.room()
    found = room.topic_history(args.topic, limit=args.limit)
    subscribers = room.subscribers(args.topic)
    if context.json:
        from postroom.protocol import wire

        context.put_json({
            "topic": f"topic:{name(args.topic)}", "subscribers": [agent.address for agent in subscribers],
            "messages": [wire.message(message) for message in found],
        })  # fmt: skip
        return 0
    context.note(
        f"{count(len(subscribers), 'subscriber')}: {', '.join(map(_named, subscribers)) or 'nobody'}"
    )
    if found:
        from postroom.cli.letter import gist
        from postroom.cli.moment import age

        rows = [(m.handle, m.sender, m.type, age(m.created_at), gist(m)) for m in found]
        context.put_table(rows, ("cyan", "bold", "", "dim"), ("ID", "FROM", "TYPE", "AGE", "TEXT"))
    else:
        context.note("Nothing was written to it.")
    return 0


def _subscribe(args: "argparse.Namespace", context: "Context") -> int:
    from postroom.room.topic import name

    room, wanted = context.room(), name(args.topic)
    subscribed = args.action == "subscribe"
    changed = room.subscribe(wanted) if subscribed else room.unsubscribe(wanted)
    if context.json:
        context.put_json({"topic": f"topic:{wanted}", "subscribed": subscribed, "changed": changed})
    elif not context.quiet:
        who = room.who().name
        context.put(f"{who} {_HOW[subscribed, changed]} topic:{wanted}\n")
    return 0


def _named(agent: "Agent") -> str:
    return agent.called if agent.left_at is None else f"{agent.called} (has left, and gets nothing)"
