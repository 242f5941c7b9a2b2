"""`postroom gates`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser
    from postroom.model.conversation import Gate

HELP = """\
What waits for a decision, the most pressing first: who asks, who may decide,
between what, and how long. When its time is over, a gate is denied. With ID: one
gate, whatever has become of it."""
EXAMPLES = """\
  postroom send human:ana "May I deploy 1.4?" --type decision_gate --expires 2h
  postroom gates
  postroom gates 5f0c9a1e
  postroom decide 5f0c9a1e approve --note "after 18:00" --as human:ana"""


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a gate's id or its last 8 digits")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if args.id:
        return _show(context.room().gate(args.id), context)
    found = context.room().gates()
    if context.json:
        from postroom.protocol import wire

        context.put_json({"gates": [wire.gate(gate) for gate in found]})
    elif found:
        from postroom.cli.letter import gist
        from postroom.cli.moment import left

        rows = [
            (g.message.handle, g.message.sender, ", ".join(g.asked), " | ".join(g.options),
             left(g.message.expires_at), gist(g.message))
            for g in found
        ]  # fmt: skip
        head = ("ID", "FROM", "WHO DECIDES", "OPTIONS", "LEFT", "TEXT")
        context.put_table(rows, ("cyan", "bold", "", "", "yellow"), head)
    else:
        context.note(_unasked(context) or "Nothing waits for a decision.")
    return 0


def _unasked(context: "Context") -> str:
    """Who asks now, where no person has joined who could be asked."""
    from postroom.bridges.manifest import every
    from postroom.bridges.registry import capabilities
    from postroom.cli.kept import observed

    if context.elsewhere:
        return ""
    home = context.room().home
    kept = [one for one in every(home) if not capabilities(one.bridge).screen]
    seen = observed(home, [one.agent for one in kept])  # what was seen before may be decided by now
    asking = [one.address for one in kept if seen.get(one.agent, {}).get("doing") == "asking"]
    if not asking:
        return ""
    who, first = ", ".join(asking), asking[0]
    return f"{who}: asks, and nobody is here to decide: postroom join human:NAME, or postroom attach {first}"


def _show(gate: "Gate", context: "Context") -> int:
    if context.json:
        from postroom.protocol import wire

        context.put_json(wire.gate(gate))
        return 0
    from postroom.cli.letter import choice, whole
    from postroom.cli.output import one_line

    context.put(whole(gate.message, context, asks=False))
    context.put(f"Digest: {gate.digest}\n")
    if gate.withdrawn:
        context.put(f"Withdrawn: {one_line(gate.withdrawn)}.\n")
    elif gate.decision is not None:
        note = f" ({one_line(gate.decision.note)})" if gate.decision.note else ""
        context.put(f"Decided by {gate.decision.by}: {one_line(gate.decision.option)}{note}\n")
    elif gate.message.expires_at is not None and gate.message.expires_at <= context.room().now():
        context.put("Denied: nobody decided in time.\n")
    elif gate.is_open(context.room().now()):
        context.put(f"Who decides: {', '.join(gate.asked)}\nDecide: {choice(gate)}\n")
    else:
        context.put("It can no longer be decided.\n")
    return 0
