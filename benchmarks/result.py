"""What a case found: one row a subject, and the rounds behind it, from which ratios are taken."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

Values = dict[str, float]


@dataclass(frozen=True)
class Column:
    key: str
    heading: str
    digits: int = 0


@dataclass(frozen=True)
class Row:
    name: str
    label: str
    values: Values


@dataclass(frozen=True)
class Result:
    case: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    rounds: Mapping[str, Sequence[Values]] = field(default_factory=dict[str, Sequence[Values]])
    notes: Sequence[str] = ()

    def value(self, name: str, key: str) -> float | None:
        return next((row.values.get(key) for row in self.rows if row.name == name), None)

    def ratio(self, name: str, other: str, key: str) -> float | None:
        """The median over rounds of name / other: what disturbs a round disturbs both."""
        pairs = zip(self.rounds.get(name, ()), self.rounds.get(other, ()), strict=False)
        ratios = [mine[key] / theirs[key] for mine, theirs in pairs if theirs.get(key)]
        return statistics.median(ratios) if ratios else None

    def pooled_ratio(self, name: str, other: str, key: str) -> float | None:
        mine, theirs = self.value(name, key), self.value(other, key)
        return mine / theirs if mine is not None and theirs else None

    def with_ratios(self, reference: str, key: str, *, only: str = "") -> "Result":
        """Every row with its `ratio` to the reference, where both were measured; or `only` that one."""
        rows = [self._with_ratio(row, reference, key) if only in ("", row.name) else row for row in self.rows]
        return replace(self, rows=rows)

    def _with_ratio(self, row: Row, reference: str, key: str) -> Row:
        ratio = self.ratio(row.name, reference, key)
        return row if ratio is None else replace(row, values={**row.values, "ratio": ratio})

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Result":
        columns = [Column(**column) for column in kept["columns"]]
        return cls(**{**kept, "columns": columns, "rows": [Row(**row) for row in kept["rows"]]})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def percentile(samples: Sequence[float], share: float) -> float:
    """Nearest rank: always a value that was measured."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(samples: Iterable[float], scale: float = 1.0, prefix: str = "") -> Values:
    """p50, p95 and p99 of the samples times `scale`."""
    scaled = [sample * scale for sample in samples]
    return {f"{prefix}p{int(share * 100)}": percentile(scaled, share) for share in (0.50, 0.95, 0.99)}
