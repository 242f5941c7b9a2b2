"""A carrier that is killed, wherever that is: nothing is lost, and nothing is shown twice unsaid."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.process import BOUND, ROOT, environment

OURS = {
    "inbox-claimed", "inbox-written", "inbox-handed",
    "outbox-read", "outbox-claimed", "outbox-sent", "outbox-moved", "outbox-rejected",
    "raw-stored", "raw-refused",
}  # fmt: skip


MOST = 110  # steps that a carrier may come to on that day; it lives on past the last one


@pytest.mark.promise("mailbox-once")
@pytest.mark.promise("mailbox-seen")
@pytest.mark.promise("mailbox-arrivals")
@pytest.mark.parametrize("last", range(1, MOST + 1))
def test_a_carrier_that_is_killed_at_any_step_is_followed_by_one_that_goes_on(
    scratch: str, last: int
) -> None:
    done = day(scratch, last)
    assert done["killed"] == (len(done["steps"]) == last)
    check(done)
    assert len(done["repeats"]) <= 1, "only what was in hand just then may have been shown"
    assert "unread" not in done["repeats"]


def test_a_carrier_that_is_not_killed_comes_to_those_steps_and_repeats_nothing(scratch: str) -> None:
    done = day(scratch, MOST + 1)
    assert len(done["steps"]) <= MOST, "else not every step is tried"
    assert set(done["steps"]) >= OURS
    check(done)
    assert done["repeats"] == []


def day(scratch: str, last: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.killed_carrier", scratch, str(last)],
        cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=BOUND, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check(done: dict[str, Any]) -> None:
    assert done["alice"] == ["four", "one", "two 0", "two 1"]
    assert done["states"] == {"read": "seen", "unread": "acked", "new": "offered"}
    assert done["processed"] == ["1.json", "2.json", "4.json"]
    assert done["rejected"] == ["2.3.json", "3.json"]
    assert done["taking"] == done["outbox"] == []
    assert done["receipts"] == ["1.json", "3.json", "bad.json"]
    assert done["inbox"].count("new") == 1
    assert done["inbox"].count("raw") == 1
    assert done["raw"] == {"raw": "offered", "raw, read": "seen"}
    assert done["refused"] == ["17-c.json"]
