"""Loads the named statements of `sql/*.sql`. SQL exists only there: code names it, never writes it."""

import os
from typing import LiteralString, cast

_HERE = os.path.join(os.path.dirname(__file__), "sql")
_NAME, _FRAGMENT = "-- name: ", "-- fragment: "


def load(*aggregates: str) -> dict[str, LiteralString]:
    """All statements of the given files, by name, with their `{fragment}`s filled in."""
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    for aggregate in aggregates:
        with open(os.path.join(_HERE, aggregate + ".sql"), encoding="utf-8") as file:
            for line in file:
                if line.startswith((_NAME, _FRAGMENT)):
                    lines = blocks[line.removeprefix("-- ").strip()] = []
                elif not line.startswith("--"):
                    lines.append(line)
    fragments = {key[10:]: "".join(lines).strip() for key, lines in blocks.items() if key[0] == "f"}
    return cast(
        "dict[str, LiteralString]",
        {key[6:]: _fill("".join(lines).strip(), fragments) for key, lines in blocks.items() if key[0] == "n"},
    )


def _fill(statement: str, fragments: dict[str, str]) -> str:
    for name, text in fragments.items():
        statement = statement.replace("{" + name + "}", text)
    return statement
