"""Time in milliseconds, and how it is written."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.clock import iso, left, wall


def test_the_wall_clock_is_in_whole_milliseconds_since_the_epoch():
    before, now, after = time.time(), wall(), time.time()
    assert isinstance(now, int)
    assert int(before * 1000) <= now <= int(after * 1000) + 1


@given(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_a_moment_is_written_so_that_it_can_be_read_back(at: int):
    text = iso(at)
    assert text is not None
    assert text.endswith("Z")
    read = datetime.fromisoformat(text)
    assert read.tzinfo == UTC
    assert round(read.timestamp() * 1000) == at


def test_a_moment_after_all_that_can_be_read_is_written_as_the_last_of_them():
    assert iso(253_402_351_199_000) == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0 s"), (0.9, "0 s"), (119, "119 s"), (120, "2 min"), (5399, "89 min"), (5400, "1 h 30 min"),
        (7199, "1 h 59 min"), (7200, "2 h"), (86_400, "24 h"), (129_599, "35 h 59 min"),
        (129_600, "1 d 12 h"), (172_800, "2 d"),
    ],
)  # fmt: skip
def test_what_is_left_is_never_told_as_more_than_it_is(seconds: float, told: str):
    assert left(int(seconds * 1000)) == told


def test_a_moment_that_has_not_come_is_written_as_nothing():
    assert iso(None) is None


def test_moments_sort_as_text_as_they_do_in_time():
    moments = [0, 1, 999, 1000, 1_800_000_000_000, 1_800_000_000_001]
    assert [iso(at) for at in moments] == sorted(str(iso(at)) for at in moments)
