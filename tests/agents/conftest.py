"""What tests on real agents may ask for: a rig for a CLI, if the machine can have one."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.agents.clis import CLIS
from tests.agents.desk import COUNTED, NOTED, Desk
from tests.agents.pin import PINS, cache, program
from tests.agents.rig import Rig

MakeRig = Callable[[str], Rig]
MakeDesk = Callable[[str], Desk]
_TRIED: set[str] = set()
_FAILED: set[str] = set()  # CLIs of which a test did not pass
_CACHE = cache()  # read before each test gets a home of its own


@pytest.fixture(autouse=True)
def _agents(_own_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is the developer's, whatever else is hidden from tests."""
    monkeypatch.setenv("POSTROOM_AGENTS", _CACHE)


@pytest.fixture
def make_rig() -> Iterator[MakeRig]:
    """Makes a rig for a CLI by name, and ends it after the test. Skips where the CLI is absent."""
    made: list[Rig] = []

    def maker(name: str) -> Rig:
        if program(name) is None:
            pytest.skip(f"NOT TESTED HERE: no {name} in {cache()}: make agents")
        made.append(Rig(CLIS[name]))
        _TRIED.add(name)
        return made[-1]

    yield maker
    for rig in made:
        rig.close()


@pytest.fixture
def make_desk(make_rig: MakeRig) -> Iterator[MakeDesk]:
    """Makes a rig for a CLI, wired to a room of its own."""
    made: list[Desk] = []

    def maker(name: str) -> Desk:
        made.append(Desk(make_rig(name)).set_up())
        return made[-1]

    yield maker
    for desk in made:
        desk.close()


@pytest.fixture
def make_bare_desk(make_rig: MakeRig) -> Iterator[MakeDesk]:
    """Makes a rig for a CLI beside a room of which its hooks know nothing."""
    made: list[Desk] = []

    def maker(name: str) -> Desk:
        made.append(Desk(make_rig(name)).move_in())
        return made[-1]

    yield maker
    for desk in made:
        desk.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--table", help="write what was shown to work into this file (JSON)")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _FAILED.update(name for name in CLIS if name in report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Renew what the table says of every point that was shown to work now.

    What an earlier run showed stays, unless that was another version, or a test of that CLI failed now.
    """
    path = session.config.getoption("--table")
    if not path or not _TRIED:
        return
    table: dict[str, Any] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
    for name in _TRIED:
        points = {point: latency for who, point, latency in NOTED if who == name}
        numbers = {what: found for who, what, found in COUNTED if who == name}
        known, version = table.get(name, {}), PINS[name].version
        stays = known.get("version") == version and name not in _FAILED
        old = known if stays else {}
        table[name] = {"version": version, "points": old.get("points", {}) | points}
        if counted := old.get("numbers", {}) | numbers:
            table[name]["numbers"] = counted
    with open(path, "w", encoding="utf-8") as file:
        json.dump(table, file, indent=2, sort_keys=True)
        file.write("\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name, what, numbers in COUNTED:
        found = ", ".join(f"{key} {value:.3g}" for key, value in numbers.items())
        terminalreporter.write_line(f"{name}, {what}: {found}")


def pytest_report_header() -> str:
    absent = [name for name in CLIS if program(name) is None]
    there = [name for name in CLIS if name not in absent]
    missing = f"; ABSENT, so not tested: {', '.join(absent)} (make agents)" if absent else ""
    return f"agents in {os.path.normpath(_CACHE)}: {', '.join(there) or 'none'}{missing}"


class _ByAgent(LoadScopeScheduling):
    """Cells of one CLI and mode run on one worker, one after another: they share its start."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.rpartition("-")[0] if nodeid.endswith("]") else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByAgent:
    return _ByAgent(config, log)
