"""A carrier that is killed, wherever that is: nothing is lost, and nothing is shown twice unsaid."""

import json
import subprocess
import sys

import pytest

from tests.process import ROOT, environment

OURS = {
    "inbox-claimed", "inbox-written", "inbox-handed",
    "outbox-read", "outbox-claimed", "outbox-sent", "outbox-moved",
}  # fmt: skip


@pytest.mark.promise("mailbox-once")
@pytest.mark.promise("mailbox-seen")
def test_a_carrier_that_is_killed_at_any_step_is_followed_by_one_that_goes_on(scratch: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.killed_carrier", scratch],
        cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["step"] for one in rounds} >= OURS
    for one in rounds:
        assert one["alice"] == ["four", "one", "two 0", "two 1"], one
        assert one["states"] == {"read": "seen", "unread": "acked", "new": "offered"}, one
        assert one["processed"] == ["1.json", "2.json", "4.json"], one
        assert one["rejected"] == ["2.3.json", "3.json"], one
        assert one["taking"] == one["outbox"] == [], one
        assert one["receipts"] == ["1.json", "3.json", "bad.json"], one
        assert one["inbox"].count("new") == 1, one
        assert len(one["repeats"]) <= 1, "only what was in hand just then may have been shown"
        assert "unread" not in one["repeats"], one
    assert rounds[-1]["step"] == ""
    assert rounds[-1]["repeats"] == []
