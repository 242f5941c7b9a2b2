"""Writes the generated pages of docs/reference/ from the code. `make fix` runs it; a test compares.

python docs/generate.py
"""

import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # also where it is loaded, and not run

from pages.command import commands, error_codes, settings
from pages.compatibility import compatibility
from pages.event import events
from pages.form import HERE, definition
from pages.http import api, http
from pages.interface import python
from pages.letter import letters
from pages.mcp import mcp
from pages.message import TYPES, bus, definitions, types
from pages.ready import READY, ready
from pages.runtime import LISTED, listed, runtimes

from postroom.bridges.files.schema import SCHEMAS

PAGES: dict[str, Callable[[], str]] = {
    LISTED: listed,
    READY: ready,
    **{f"{TYPES}/{one['name']}.json": definition(one) for one in definitions()},
    "types.md": types,
    "asyncapi.json": bus,
    "openapi.json": api,
    "http.md": http,
    "commands.md": commands,
    "python.md": python,
    "settings.md": settings,
    "errors.md": error_codes,
    "events.md": events,
    "letters.md": letters,
    "mcp.md": mcp,
    **{f"{name}.json": definition(schema) for name, schema in SCHEMAS.items()},
    "compatibility.md": compatibility,
    "../explanation/runtimes.md": runtimes,
}


def main() -> None:
    for name, page in PAGES.items():
        text = page()  # which may begin with what is in the file now
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
