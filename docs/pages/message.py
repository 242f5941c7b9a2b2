"""The types of messages, and the bus they travel on."""

from typing import Any

import postroom
from pages.form import NOTE, as_json
from postroom import payloads
from postroom.cli.commands.types import kinds
from postroom.model.payload import about
from postroom.protocol import asyncapi, builtin, declaration, keyword

TYPES = "../../src/postroom/protocol/types"  # one file a type, for the program itself


def definitions() -> list[dict[str, Any]]:
    """Every built-in type as its class declares it, in the order of the groups."""
    classes = [getattr(payloads, name) for name in payloads.__all__]
    found = [declaration.definition(one) for one in classes if isinstance(one, type) and about(one)]
    return sorted(found, key=lambda one: (builtin.GROUPS.index(one["group"]), one["name"]))


def types() -> str:
    """Every built-in type: direction, meaning, fields, an example."""
    page = [
        "# Types of messages\n\n",
        NOTE,
        "`postroom types` lists them, `postroom types show dispatch` prints one with its schema, and "
        "[asyncapi.json](asyncapi.json) describes the whole bus. A payload that does not fit its type is "
        "refused when it is sent, with the field named, and nothing is stored. To read one: "
        "`mail.payload_as(postroom.payloads.Dispatch)`. How to add your own: "
        "[types of your own](../howto/own-types.md).\n\n"
        "Keys may be written in camelCase (`taskId`), and a null stands for a field that is not there; what "
        "is stored has our spelling. A field that is not listed is refused, except where it says *and any "
        "others*: what is your own goes into `metadata`.\n\n",
        "".join(f"- `{name}`: {what}\n" for name, what in builtin.ALIASES.items()),
        "\nSchemas are written in this part of JSON Schema: "
        + ", ".join(f"`{keyword}`" for keyword in keyword.RULES)
        + " (of `format` only `date-time`); and, to tell and not to check, "
        + ", ".join(f"`{keyword}`" for keyword in keyword.TELLING)
        + ". A type with any other keyword is refused when it is registered. `pattern` is not held because a "
        "regular expression can take exponential time on what a stranger wrote.\n",
    ]
    group = ""
    for one in definitions():
        if one["group"] != group:
            group = one["group"]
            page.append(f"\n## {group.capitalize()}\n")
        page.append(_type(one))
    return "".join(page)


def _type(one: dict[str, Any]) -> str:
    required = one["schema"].get("required", ())
    rows = [
        f"| `{name}` | {kinds(field)} | {'yes' if name in required else ''} "
        f"| {field.get('description', '')} |\n"
        for name, field in one["schema"]["properties"].items()
    ]
    table = "| field | kind | required | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)
    free = "and any others\n\n" if one["schema"]["additionalProperties"] else ""
    forms = "".join(
        f"- `{name}`: {form['meaning']} It needs {', '.join(f'`{field}`' for field in form['required'])}.\n"
        for name, form in one.get("templates", {}).items()
    )
    return (
        f"\n### `{one['name']}`\n\n{one['direction']}. {one['meaning']} (`payloads.{one['class']}`)\n\n"
        + (f"{table}\n" if rows else "")
        + free
        + (f"Templates:\n\n{forms}\n" if forms else "")
        + f"```json\n{as_json(one['example'])}```\n\n"
        + f"<details><summary>JSON Schema</summary>\n\n```json\n{as_json(one['schema'])}```\n\n</details>\n"
    )


def bus() -> str:
    """The AsyncAPI document."""
    return as_json(asyncapi.document(postroom.__version__, definitions()))
