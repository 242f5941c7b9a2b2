"""`postroom dead`."""

from typing import TYPE_CHECKING

from postroom.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.message import Mail

HELP = """\
Dead letters: what was offered again and again and never proven to have been seen. Their senders have been
told. `retry` puts one back into the queue, `purge` removes it for good. Listed with them is what is
uncertain: it was handed over once, and nobody can tell what became of it. It still waits, and is shown by
hooks and commands; `retry` lets it be handed over again, which only a person may say."""
EXAMPLES = """\
  postroom dead
  postroom dead show 5f0c9a1e
  postroom dead retry 5f0c9a1e --to builder
  postroom dead purge 5f0c9a1e --yes"""

_ACTIONS = ("list", "show", "retry", "purge")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="list", choices=_ACTIONS)
    parser.add_argument("id", metavar="ID", nargs="?", help="a message's id or its last 8 digits")
    parser.add_argument("--to", metavar="NAME", help="retry only for that recipient")
    parser.add_argument("--yes", action="store_true", help="really purge")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if (args.id is None) != (args.action == "list"):
        wrong = f"too many arguments: {args.id}" if args.id else f"dead {args.action} needs ID"
        raise UsageError(wrong, hint="See: postroom help dead")
    if args.action == "show":
        from postroom.cli.commands import receipts

        return receipts.run(args, context)
    if args.action == "retry":
        return _retry(args, context)
    if args.action == "purge":
        return _purge(args, context)
    return _list(context)


def _list(context: "Context") -> int:
    from postroom.room.dead import uncertain

    room = context.room()
    distant = context.elsewhere
    found, doubtful = room.dead(), distant.uncertain() if distant else uncertain(room)
    if context.json:
        from postroom.protocol import wire

        dead = [{**wire.mail(m), **_about(m)} for m in found]
        unsure = [{**wire.mail(m), **_about(m)} for m in doubtful]
        context.put_json({"dead": dead, "uncertain": unsure})
    elif found or doubtful:
        from postroom.cli.letter import gist
        from postroom.cli.moment import age

        rows = [
            (
                m.handle,
                m.sender,
                m.delivery.recipient,
                age(m.delivery.ended_at or m.delivery.offered_at or 0),
                m.delivery.reason or "",
                gist(m.message),
            )
            for m in (*found, *doubtful)
        ]
        head = ("ID", "FROM", "TO", "SINCE", "WHY", "TEXT")
        context.put_table(rows, ("cyan", "bold", "bold", "dim", "red"), head)
    else:
        context.note("No dead letters.")
    return 0


def _about(mail: "Mail") -> "dict[str, str | None]":
    return {"recipient": mail.delivery.recipient, "reason": mail.delivery.reason}


def _retry(args: "argparse.Namespace", context: "Context") -> int:
    found = context.room().retry(args.id, recipient=args.to)
    if context.json:
        from postroom.protocol import wire

        context.put_json({"id": found[0].id, "deliveries": [wire.delivery(m.delivery) for m in found]})
    elif not context.quiet:
        names = ", ".join(m.delivery.recipient for m in found)
        context.put(f"{context.out.paint(found[0].handle, 'cyan')}  waits again for {names}\n")
    return 0


def _purge(args: "argparse.Namespace", context: "Context") -> int:
    handle = context.room().receipts(args.id).message.handle
    if not args.yes:
        raise UsageError(
            f"purging {handle} removes it for good", hint=f"If so: postroom dead purge {handle} --yes"
        )
    context.room().purge(args.id)
    if context.json:
        context.put_json({"purged": args.id})
    elif not context.quiet:
        context.put(f"{context.out.paint(args.id, 'cyan')}  purged\n")
    return 0
