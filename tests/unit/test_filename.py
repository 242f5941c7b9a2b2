"""Names as names of files: reversible, and apart on every file system."""

import os
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.room import filename, segment

TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=40) | st.from_regex(
    r"(?:[a-z0-9_.%~-]|\.(?:void1|1-2|jsonl?|gz)|con|aux|lpt1){1,8}", fullmatch=True
)
DEVICES = {"con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))}
HOSTILE = (
    "..", ".", "../../x", "/etc/passwd", "a/b", "a\\b", "C:x", "x\0y", "-rf", "_room", "_head", "con", "CON",
    "aux.explore", "a.", "a ", "a.1-2", "a.void1", "x.jsonl", "index.json", "%2e", "%", "~1", "a~1", "É", "é",
    "\ud800", "a\nb", "a:b",
    "a.1-2.void1.jsonl.gz", "~" + "0" * 20, ".%.", "com1.", "com¹",
)  # fmt: skip


@given(TEXTS)
@example("planner.1-2")
@example("con.jsonl.gz")
def test_a_name_comes_back_from_its_escaped_form(text: str) -> None:
    name = filename.escape(text)
    assert filename.is_escaped(name)
    if "~" not in name:
        assert filename.unescape(name) == text


@given(TEXTS, TEXTS)
def test_two_names_have_two_files_where_case_does_not_count(one: str, other: str) -> None:
    same = filename.escape(one).casefold() == filename.escape(other).casefold()
    assert same == (one == other)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_one_harmless_part_of_a_path(text: str) -> None:
    assert_harmless(filename.escape(text))


@given(TEXTS | st.text(min_size=60, max_size=3000))
def test_an_escaped_name_is_one_harmless_part_of_a_path(text: str) -> None:
    assert_harmless(filename.escape(text))
    assert_harmless(filename.numbered(filename.escape(text), 999_999))


def assert_harmless(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9_.%~-]+", name)
    assert name[0] not in "._-~"
    assert name[-1] not in ". "
    assert name.partition(".")[0] not in DEVICES
    assert len(name) <= 120
    assert filename.is_escaped(name)


@given(TEXTS, st.integers(1, 1 << 50), st.integers(1, 1 << 50))
def test_a_files_name_says_whose_it_is_and_what_it_covers(text: str, first: int, last: int) -> None:
    name = filename.escape(text)
    for ending, covered in ((".jsonl", (0, 0)), (f".{first}-{last}.jsonl.gz", (first, last))):
        found = segment.parsed("events", f"p/{name}{ending}")
        assert found is not None
        assert (found.stem, (found.first, found.last)) == (f"p/{name}", covered)
        assert found.path == os.path.join("events", "p", name + ending)


@given(st.text(max_size=30) | st.from_regex(r"[a-z0-9_.%~-]{1,12}", fullmatch=True))
def test_only_what_was_escaped_is_taken_for_a_name(name: str) -> None:
    if filename.is_escaped(name) and "~" not in name:
        assert filename.escape(filename.unescape(name)) == name
    else:
        with pytest.raises(ValueError, match="not an escaped name"):
            filename.unescape(name if "~" not in name else "/")


@pytest.mark.parametrize(
    "name", ["../x", "..", "", "A", "%2E", "%2f..", "a.", "con", "a~", "a~0", "%4", "a%7", "_a", ".a"]
)
def test_what_no_name_is_escaped_to_is_refused(name: str) -> None:
    assert not filename.is_escaped(name)


def test_long_names_that_begin_alike_are_apart() -> None:
    one, other = ("planner." * 40 + end for end in ("a", "b"))
    assert filename.escape(one) != filename.escape(other)
    assert len(filename.escape(one)) <= filename.LONGEST
