"""The named statements of `sql/*.sql`. SQL exists only there: code names it, never writes it."""

import os
from typing import LiteralString, cast

_HERE = os.path.join(os.path.dirname(__file__), "sql")


class Statements(dict[str, LiteralString]):
    """Statements by name. Each is put together when it is first asked for: few commands need many."""

    def __init__(self, *aggregates: str) -> None:
        super().__init__()
        self._raw: dict[str, str] = {}
        self._fragments: dict[str, str] = {}
        for aggregate in aggregates:
            with open(os.path.join(_HERE, aggregate + ".sql"), encoding="utf-8") as file:
                head, *blocks = file.read().split("-- name: ")
            for fragment in head.split("-- fragment: ")[1:]:
                name, _, text = fragment.partition("\n")
                self._fragments["{" + name + "}"] = text.strip()
            for block in blocks:
                name, _, text = block.partition("\n")
                self._raw[name] = text

    def __missing__(self, name: str) -> LiteralString:
        text = self._raw[name].strip()
        if "{" in text:
            for fragment, columns in self._fragments.items():
                text = text.replace(fragment, columns)
        self[name] = cast("LiteralString", text)
        return self[name]

    def names(self) -> list[str]:
        return list(self._raw)
