"""Measure Postroom and its peers in one run, and save table, plot and JSON."""

import argparse
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from benchmarks import cases, facts, peers, plot, product, report, target
from benchmarks.bench import Bench
from benchmarks.result import Result

RESULTS = Path(__file__).parent / "results"
SCRATCH = RESULTS / "scratch"
"""Where a quick, partial or broken run writes, so that it never replaces the figures of a complete one."""

_RENEWED, _ADDED = "measured anew since then", "added since then"


def main() -> int:
    options = _options()
    product.lift_limits()
    signal.signal(signal.SIGTERM, _stop)
    work: Path = options.out or RESULTS
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".work-", dir=work, ignore_cleanup_errors=True) as folder:
        bench = Bench(options.quick, Path(folder), options.peer or tuple(peers.MODULES))
        known = facts.gather(work, options.quick)
        results = list(_run(bench, options.case or cases.NAMES))
    whole = not (options.quick or options.peer or bench.broken)
    complete = whole and (options.renew or not options.case)
    out: Path = options.out or (RESULTS if complete else SCRATCH)
    out.mkdir(exist_ok=True)
    known |= {f"left out: {name}": reason for name, reason in bench.skipped.items()}
    if options.renew and whole:
        results, known = _renewed(results, known)
    verdicts = target.judge({result.case: result for result in results})
    text = report.markdown(results, verdicts, known)
    (out / "performance.md").write_text(text, encoding="utf-8")
    report.save(out / "performance.json", results, verdicts, known)
    plot.draw(results, out / "performance.png")
    print(text)
    bench.say(f"saved performance.md, .json and .png in {out}")
    return 1 if bench.broken else 0


def _renewed(results: list[Result], known: dict[str, str]) -> tuple[list[Result], dict[str, str]]:
    """The last complete run with these cases in the place of its own, or beside them, and where they ran."""
    kept, facts = report.load(RESULTS / "performance.json")
    new, old = {result.case: result for result in results}, {result.case: result for result in kept}
    where = ", ".join((known["machine"], known["Python"], f"postroom {known['postroom']}"))
    load = known["load average at the start"]
    for case in new:
        added, renewed = f"{_ADDED}: {case}", f"{_RENEWED}: {case}"
        fact = renewed if case in old and added not in facts else added
        facts[fact] = f"{where}, load average {load}"
    found, order = old | new, {name: place for place, name in enumerate(cases.NAMES)}
    return sorted(found.values(), key=lambda result: order.get(result.case, len(order))), facts


def _run(bench: Bench, names: Sequence[str]) -> Iterator[Result]:
    """A case that breaks is reported and does not take the others with it."""
    for name in names:
        bench.say(name)
        try:
            yield cases.load(name)(bench)
        except Exception:
            traceback.print_exc()
            bench.broken.append(name)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, under 90 s; figures are rough")
    parser.add_argument("--case", action="append", choices=cases.NAMES, help="only this case (repeatable)")
    parser.add_argument(
        "--peer", action="append", choices=tuple(peers.MODULES), help="only this peer (repeatable)"
    )
    parser.add_argument(
        "--renew",
        action="store_true",
        help="with --case: in place of it in the last complete run, or added",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write; default benchmarks/results")
    return parser.parse_args()


def _stop(number: int, frame: FrameType | None) -> None:
    """Unwind, so that every server and worker is ended."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
