"""Time in milliseconds, and how it is written."""

import time
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from postroom.clock import iso, wall


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


def test_a_moment_that_has_not_come_is_written_as_nothing():
    assert iso(None) is None


def test_moments_sort_as_text_as_they_do_in_time():
    moments = [0, 1, 999, 1000, 1_800_000_000_000, 1_800_000_000_001]
    assert [iso(at) for at in moments] == sorted(str(iso(at)) for at in moments)
