"""When an agent that has ended is started again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.bridges.process.restart import LONGEST, SHORTEST, STEADY, Policy, restart


def test_never_is_never():
    assert restart(Policy.NEVER, 1, 0.0) is None


@pytest.mark.promise("restart")
def test_a_program_that_ended_well_is_started_again_only_if_it_is_to_run_always():
    assert restart(Policy.ON_FAILURE, 0, 0.0) is None
    assert restart(Policy.ALWAYS, 0, 0.0) == (SHORTEST, 1)


def test_a_signal_is_a_failure():
    assert restart(Policy.ON_FAILURE, -9, 0.0) == (SHORTEST, 1)


def test_an_end_of_which_nobody_knows_how_it_came_is_no_failure():
    assert restart(Policy.ON_FAILURE, None, 0.0) is None
    assert restart(Policy.ALWAYS, None, 0.0) == (SHORTEST, 1)


def test_a_child_whose_end_nobody_saw_went_down_with_its_daemon_which_is_a_failure():
    assert restart(Policy.ON_FAILURE, None, 0.0, is_child=True) == (SHORTEST, 1)
    assert restart(Policy.ON_FAILURE, 0, 0.0, is_child=True) is None
    assert restart(Policy.NEVER, None, 0.0, is_child=True) is None


def test_each_try_in_a_row_waits_twice_as_long_up_to_a_minute():
    delays, tries = [], 0
    for _ in range(8):
        found = restart(Policy.ON_FAILURE, 1, 0.5, tries)
        assert found
        delays.append(found.delay)
        tries = found.tries
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


def test_what_has_lived_long_begins_anew():
    assert restart(Policy.ALWAYS, 1, STEADY, tries=7) == (SHORTEST, 1)


@given(st.sampled_from(Policy), st.none() | st.integers(-64, 255), st.floats(0, 1e6), st.integers(0, 10**6))
def test_no_wait_is_shorter_than_a_second_or_longer_than_a_minute(policy, code, lived, tries):
    found = restart(policy, code, lived, tries)
    assert found is None or SHORTEST <= found.delay <= LONGEST
