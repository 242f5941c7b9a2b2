"""`postroom types`."""

from typing import TYPE_CHECKING, Any

from postroom.errors import InvalidSchema, UsageError

if TYPE_CHECKING:
    import argparse

    from postroom.cli.context import Context
    from postroom.cli.distant import Distant
    from postroom.cli.parser import Parser

HELP = """\
The types of messages: who writes each to whom, what it means, and what its payload must hold. A payload that
does not fit is refused when it is sent. A type of your own is a table in config.toml,

  [types.deploy]
  meaning = "Deploy this version."
  direction = "release → operations"
  schema = "deploy.schema.json"  # beside config.toml; or the schema as a table
  example = { version = "1.2.0" }  # may be left out

or an entry point `deploy` in the group `postroom.types` of an installed package, which gives the same as a
dict, or a dataclass declared with postroom.payloads.payload_type. The config and the files it names are read
again when they change; packages, when a type is not known, and with --refresh."""
EXAMPLES = """\
  postroom types
  postroom types show dispatch
  postroom types show dispatch --json | jq .schema
  postroom types --refresh"""

_ACTIONS = ("list", "show")


def add_arguments(parser: "Parser") -> None:
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", default="list", choices=_ACTIONS)
    parser.add_argument("type", metavar="TYPE", nargs="?", help="the type to show")
    parser.add_argument("--refresh", action="store_true", help="look for your own types again")


def run(args: "argparse.Namespace", context: "Context") -> int:
    if (args.type is None) != (args.action == "list"):
        wrong = f"too many arguments: {args.type}" if args.type else "types show needs TYPE"
        raise UsageError(wrong, hint="See: postroom help types")
    distant = context.elsewhere
    found, problems = _elsewhere(args, distant) if distant else _here(args)
    if args.action == "show":
        return _show(args.type, found, context)
    return _list(found, problems, context, refreshed=args.refresh)


def _here(args: "argparse.Namespace") -> "tuple[list[dict[str, Any]], dict[str, str]]":
    from postroom.config import home
    from postroom.protocol import registration, registry

    where = home(args.home)
    yours = registration.refresh(where) if args.refresh else registration.registered(where)
    if args.action == "show" and not _is_alias(args.type):
        return [registry.find(args.type, where)], {}
    return registry.every(where), yours.problems


def _elsewhere(args: "argparse.Namespace", room: "Distant") -> "tuple[list[dict[str, Any]], dict[str, str]]":
    """As the daemon knows them: by its own config, and the packages of its machine."""
    from postroom.cli.distant import not_here
    from postroom.errors import UnknownType
    from postroom.near import meant, near

    if args.refresh:
        raise not_here(room)
    found = room.call("types")["types"]
    if args.action == "list" or _is_alias(args.type):
        return found, {}
    one = [each for each in found if each["name"] == args.type]
    if not one:
        guess = meant(near(args.type, [each["name"] for each in found]))
        raise UnknownType(f"there is no type {args.type!r}", hint=f"{guess} See: postroom types".lstrip())
    return one, {}


def _is_alias(name: str) -> bool:
    from postroom.protocol.builtin import ALIASES

    return name in ALIASES


def _list(
    found: "list[dict[str, Any]]", problems: dict[str, str], context: "Context", *, refreshed: bool
) -> int:
    from postroom.protocol.builtin import ALIASES

    if context.json:
        context.put_json({"types": found, "aliases": ALIASES, "problems": problems})
    else:
        context.put(_table(found, context))
        if not context.quiet:
            also = ";\n      ".join(f"{name} is {what}" for name, what in ALIASES.items())
            context.put(f"\nAlso: {also}.\n")
    for name, problem in problems.items():
        if refreshed:
            raise InvalidSchema(f"type {name!r} cannot be used: {problem}", type=name)
        context.note(f"Type {name!r} cannot be used: {problem}")
    return 0


def _table(found: list[dict[str, Any]], context: "Context") -> str:
    """A table for each group, all with the same columns."""
    rows = context.out.table(
        [(f"  {one['name']}", one["direction"], one["meaning"]) for one in found], ("cyan", "dim"), spare=(1,)
    ).splitlines()
    lines: list[str] = []
    group = ""
    for one, row in zip(found, rows, strict=True):
        if one["group"] != group and not context.quiet:
            lines += [""] * bool(group) + [context.out.paint(one["group"].capitalize(), "bold")]
            group = one["group"]
        lines.append(row)
    return "".join(f"{line}\n" for line in lines)


def _show(name: str, found: "list[dict[str, Any]]", context: "Context") -> int:
    from postroom.protocol.builtin import ALIASES

    if name in ALIASES:
        definition = {"name": name, "meaning": f"{ALIASES[name].capitalize()}.", "alias_of": "note"}
        text = f"{context.out.paint(name, 'bold')}\n{definition['meaning']}\n"
    else:
        [definition] = map(dict, found)
        definition["command"] = _command(definition)
        text = _described(definition, context)
    if context.json:
        context.put_json(definition)
    else:
        context.put(text)
    return 0


def _command(definition: dict[str, Any]) -> str | None:
    """What sends the example."""
    if definition["example"] is None:
        return None
    import json
    import shlex

    payload = shlex.quote(json.dumps(definition["example"], ensure_ascii=False))
    to = (
        "builder 'Please help.'" if definition["name"] == "escalation" else "builder"
    )  # else a word is the text
    return f"postroom send {to} --type {definition['name']} --payload {payload}"


def _described(definition: dict[str, Any], context: "Context") -> str:
    import json

    from postroom.cli.output import clean

    paint = context.out.paint
    about = clean(f"{definition['direction']}\n{definition['meaning']}\n")
    parts = [
        f"{paint(definition['name'], 'bold')}  {about}",
        f"{paint('Fields', 'bold')}\n{_fields(definition['schema'], context)}",
    ]
    if "aliases" in definition:
        rows = [(f"  {name}", f"is stored as {field}") for name, field in definition["aliases"].items()]
        parts.append(f"{paint('Other names', 'bold')}\n{context.out.table(rows, ('cyan', 'dim'))}")
    if "templates" in definition:
        rows = [
            (f"  {name}", f"needs {', '.join(one['required'])}", one["meaning"])
            for name, one in definition["templates"].items()
        ]
        parts.append(f"{paint('Templates', 'bold')}\n{context.out.table(rows, ('cyan', 'dim'))}")
    if definition["command"]:
        parts.append(f"{paint('Send an example', 'bold')}\n  {clean(definition['command'])}\n")
    schema = json.dumps(definition["schema"], indent=2, ensure_ascii=False)
    parts.append(f"{paint('Schema', 'bold')}\n{clean(schema)}\n")
    return "\n".join(parts)


def _fields(schema: dict[str, Any], context: "Context") -> str:
    required = schema.get("required", ())
    rows = [
        (f"  {name}", kinds(about), "required" if name in required else "", about.get("description", ""))
        for name, about in schema.get("properties", {}).items()
    ]
    free = schema.get("additionalProperties", True) is not False
    return context.out.table(rows, ("cyan", "dim", "bold")) + ("  and any others\n" if free else "")


def kinds(about: dict[str, Any]) -> str:
    """What a field's value may be, in a few words."""
    if "enum" in about:
        choices = [str(choice) for choice in about["enum"]]
        return " or ".join(choices) if len(choices) <= 4 else f"one of {len(choices)}"
    if "format" in about:
        return "date and time"
    wanted = about.get("type", "any")
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    inner = about.get("items", {}).get("type", "value")
    return " or ".join(f"list of {_plural(inner)}" if name == "array" else str(name) for name in names)


def _plural(inner: str | list[str]) -> str:
    return " or ".join(f"{name}s" for name in ([inner] if isinstance(inner, str) else inner))
