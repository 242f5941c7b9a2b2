"""Lines that come together: windows, counts and bounds."""

from postroom.daemon.burst import Burst, Letter


def test_the_first_line_begins_a_window_and_the_others_go_with_it():
    burst = Burst(2)
    assert burst.due_in(0) is None
    burst.add("one", 10)
    burst.add("two", 11)
    burst.add("one", 11.5)
    assert burst.due_in(11.5) == 0.5
    assert burst.due_in(13) == 0
    assert burst.take(12) == Letter([(2, "one"), (1, "two")], 0, 3)
    assert burst.due_in(12) is None


def test_windows_grow_while_lines_keep_coming_and_shrink_when_it_was_quiet():
    burst, now, sizes = Burst(2), 0.0, list[float]()
    for _ in range(6):
        burst.add("again", now)
        size = burst.due_in(now)
        assert size is not None
        sizes.append(size)
        now += size
        burst.take(now)
    assert sizes == [2, 4, 8, 16, 30, 30]
    burst.add("after a while", now + 31)
    assert burst.due_in(now + 31) == 2


def test_a_letter_has_at_most_100_lines_and_8_kilobytes_and_the_rest_is_counted():
    burst = Burst(2)
    for n in range(10_000):
        burst.add(f"line {n}", 0)
    letter = burst.take(2)
    assert (len(letter.lines), letter.more, letter.total) == (100, 9_900, 10_000)
    for n in range(20):
        burst.add(f"{n} {'ö' * 1000}", 3)
    letter = burst.take(9)
    assert (len(letter.lines), letter.total) == (3, 20)
    assert sum(len(line.encode()) for _, line in letter.lines) < 8_000


def test_what_was_not_looked_at_is_counted_too():
    burst = Burst(2)
    burst.miss(70, 0)
    burst.lag(1)
    assert burst.due_in(0) == 2
    assert burst.take(2) == Letter([], 0, 0, 70, 1)
