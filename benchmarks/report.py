"""A run as Markdown, ready for docs/explanation/performance.md, and as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.result import Result
from benchmarks.target import Target, Verdict, amount

NONE = "–"


def markdown(results: Iterable[Result], verdicts: Sequence[Verdict], facts: Mapping[str, str]) -> str:
    parts = [_targets(verdicts), *map(_case, results), _facts(facts)]
    return "\n\n".join(parts) + "\n"


def save(
    path: Path, results: Iterable[Result], verdicts: Sequence[Verdict], facts: Mapping[str, str]
) -> None:
    document: dict[str, Any] = {
        "facts": facts,
        "targets": [
            {
                "what": target.text,
                "target": target.shown(),
                "measured": measured,
                "ok": target.verdict(measured),
            }
            for target, measured in verdicts
        ],
        "cases": [result.as_json() for result in results],
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> tuple[list[Result], dict[str, str]]:
    """What an earlier run has saved: its results and its facts."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return [Result.from_json(case) for case in kept["cases"]], kept["facts"]


def _targets(verdicts: Sequence[Verdict]) -> str:
    rows = [
        [target.text, target.shown(), _measured(target, measured), target.verdict(measured)]
        for target, measured in verdicts
    ]
    return _section("Target and measured", _table(["what", "target", "measured", "verdict"], rows))


def _measured(target: Target, measured: float | None) -> str:
    return NONE if measured is None else amount(measured, target.unit)


def _case(result: Result) -> str:
    headings = ["", *(column.heading for column in result.columns)]
    rows = [
        [row.label, *(_number(row.values.get(column.key), column.digits) for column in result.columns)]
        for row in result.rows
    ]
    return _section(result.title, _table(headings, rows), *result.notes)


def _facts(facts: Mapping[str, str]) -> str:
    return _section("Where it ran", "\n".join(f"- {name}: {value}" for name, value in facts.items()))


def _section(title: str, *paragraphs: str) -> str:
    return "\n\n".join([f"## {title}", *paragraphs])


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column is text, the others are figures."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (max(width, 2) - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(cells, widths) for cells in (headings, rule, *rows))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    figures = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return f"| {' | '.join([cells[0].ljust(widths[0]), *figures])} |"


def _number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:,.{digits}f}"
