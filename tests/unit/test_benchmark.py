"""What a benchmark that was run again leaves of the last complete run, and says of itself."""

from pathlib import Path

import pytest

from benchmarks import __main__ as benchmark
from benchmarks import cases, report
from benchmarks.result import Column, Result, Row

WHERE = {
    "machine": "2 CPUs",
    "Python": "CPython 3.13",
    "postroom": "0.2",
    "load average at the start": "0.1",
}
NOW = "2 CPUs, CPython 3.13, postroom 0.2, load average 0.1"


def result(case: str, value: float) -> Result:
    return Result(case, f"The {case}", (Column("p50", "p50 ms"),), (Row("a", "all of it", {"p50": value}),))


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The last complete run, of another machine, without `relay`."""
    path = tmp_path / "performance.json"
    report.save(path, [result("latency", 1.0), result("startup", 2.0)], [], {"machine": "8 CPUs"})
    monkeypatch.setattr(benchmark, "RESULTS", tmp_path)
    return path


def values(results: list[Result]) -> dict[str, float | None]:
    return {one.case: one.rows[0].values["p50"] for one in results}


def test_a_case_is_renewed_in_its_place_and_says_where(complete: Path):
    results, facts = benchmark._renewed([result("latency", 9.0)], WHERE)
    assert list(values(results).items()) == [("latency", 9.0), ("startup", 2.0)]
    assert facts == {"machine": "8 CPUs", "measured anew since then: latency": NOW}


def test_a_case_that_the_last_complete_run_lacks_is_added_in_its_order_and_says_so(complete: Path):
    results, facts = benchmark._renewed([result("relay", 3.0), result("fanout", 4.0)], WHERE)
    assert [one.case for one in results] == ["latency", "fanout", "startup", "relay"]
    assert [one.case for one in results] == [name for name in cases.NAMES if name in values(results)]
    assert facts == {
        "machine": "8 CPUs",
        "added since then: relay": NOW,
        "added since then: fanout": NOW,
    }
    report.save(complete, results, [], facts)
    again, facts = benchmark._renewed([result("relay", 5.0)], WHERE | {"load average at the start": "7.00"})
    assert values(again)["relay"] == 5.0
    told = [name for name in facts if name.endswith(": relay")]
    assert told == ["added since then: relay"], "the complete run never had it"
    assert facts[told[0]].endswith("load average 7.00")
