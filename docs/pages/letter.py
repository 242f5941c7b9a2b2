"""What is in the files of a mailbox."""

from typing import Any

from pages.form import NOTE
from postroom.bridges.files.schema import FOUND, LETTER, RECEIPT, SCHEMAS

RECEIPT_NAMES = """
It is `receipts/<id>.json`, if the id has at most 100 characters, all of them ASCII letters, digits, `_`,
`.` or `-`, does not begin with `.` or `-`, does not end in `.rejected`, and is not
`_<hash>` itself. For any other id it is
`receipts/_<hash>.json`: the first 32 hexadecimal digits of the SHA-256 of the id in UTF-8. What was set
aside without an id that can be read, or with that of another letter, has `receipts/<file>.rejected.json`;
`<file>` is its name without `.json`, or `_<hash>` of that where an id would be called so.
"""


def letters() -> str:
    """What is in the files of a mailbox."""
    return (
        "# Letters\n\n"
        + NOTE
        + "The files of a [file mailbox](../howto/files.md), as tables and as JSON Schema: "
        + ", ".join(f"[`{name}.json`]({name}.json)" for name in SCHEMAS)
        + ". A file holds one letter, or an array of them.\n"
        + "".join(_fields(schema) for schema in (LETTER, FOUND, RECEIPT))
        + RECEIPT_NAMES
        + "\n## For each recipient in a receipt\n\n"
        + _rows(RECEIPT["properties"]["recipients"]["items"])
    )


def _fields(schema: dict[str, Any]) -> str:
    return f"\n## {schema['title']}\n\n{_rows(schema)}"


def _rows(schema: dict[str, Any]) -> str:
    rows = [
        f"| `{name}` | {'yes' if name in schema['required'] else ''} | {_kinds(field)} |"
        f" {field.get('description', '').replace('|', ' ')} |\n"
        for name, field in schema["properties"].items()
    ]
    return "| field | always | is | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)


def _kinds(field: dict[str, Any]) -> str:
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(kinds)
