"""What a pane prints, in pieces: which lines it has."""

from postroom.daemon.sieve import LINE, Lines


def fed(*pieces: bytes) -> list[str]:
    lines = Lines()
    return [line for piece in pieces for line in lines.feed(piece)]


def test_a_line_counts_when_it_is_whole_however_it_was_cut():
    assert fed(b"on", b"e\r\ntw", b"o\n", b"thr") == ["one", "two"]
    assert fed("gr\u00fc\u00df\n".encode()[:3], "gr\u00fc\u00df\n".encode()[3:]) == ["gr\u00fc\u00df"]


def test_what_draws_is_taken_out_even_where_it_was_cut():
    assert fed(b"\x1b[3", b"1mred\x1b[0m \x1b]0;title\x07end\x07\n") == ["red end"]


def test_of_a_line_without_end_only_the_beginning_is_kept():
    lines = Lines()
    for _ in range(100):
        assert list(lines.feed(b"x" * 10_000)) == []
    [line] = lines.feed(b"\nnext")
    assert (len(line), line[:3]) == (LINE, "xxx")


def test_where_something_is_missing_nothing_is_put_together_across_it():
    lines = Lines()
    assert list(lines.feed(b"one\ntw")) == ["one"]
    lines.skip(b"o\nthr")
    assert list(lines.feed(b"still the middle")) == []
    assert list(lines.feed(b" of a line\nnext\n")) == ["next"]
    lines.skip(b"so many lines\n")
    assert list(lines.feed(b"after\n")) == ["after"]
