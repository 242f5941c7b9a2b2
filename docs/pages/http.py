"""What the daemon serves."""

import textwrap

from pages.form import as_json
from postroom.protocol.operation import OPERATIONS, QUERY
from postroom.server.openapi import openapi


def api() -> str:
    """The OpenAPI document."""
    return as_json(openapi())


def http() -> str:
    """The operations, as people read them."""
    text = "# Over HTTP\n\n" + textwrap.dedent("""\
        What the daemon serves under `/api/v1`, at its port (`http_port`) and its Unix socket; [how to use
        it](../howto/server.md). This page and the [OpenAPI document](openapi.json) are made from one table.
        A status of 424 (`stored_but`) says that the change is stored and a later step failed: do not repeat
        the request. The error has the `id`, if a message was stored.

        | operation | request | scope | |
        | --- | --- | --- | --- |
        """)
    for one in OPERATIONS:
        said = [each.name for each in one.parameters if each.where == QUERY]
        query = f"?{'&'.join(f'{name}=' for name in said)}" if said else ""
        body = ", ".join(each.name for each in one.body)
        about = f"{one.about} Body: `{body}`." if body else one.about
        text += f"| `{one.name}` | `{one.method} {one.path}{query}` | {one.scope} | {about} |\n"
    return text
