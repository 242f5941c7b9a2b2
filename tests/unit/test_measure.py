"""What fits into the composers of real agents, held against what they have shown."""

import pytest

from postroom.bridges.terminal.measure import fits, fitted, room, rows
from postroom.bridges.terminal.reading import CUT, holds
from postroom.runtimes.screen import of
from tests.unit.test_screen import PANES, PASTED, SCROLLED, cases, index, reading

LARGE, SMALL = (140, 50), (80, 24)


@pytest.mark.parametrize(("name", "case"), cases("pasted"))
def test_what_an_agent_has_shown_whole_or_folded_fits_and_what_has_scrolled_does_not(name: str, case: str):
    kind, (width, height) = case.removeprefix("pasted-"), index(name)["cases"][case]["size"]
    text, draft, profile = PASTED[kind.removesuffix("-80")], reading(name, case).draft or "", of(name)
    if fits(text, profile, width, height):
        assert holds(draft, text, profile)
    else:
        assert (name, kind) in SCROLLED
    if not profile.folds.folds(text) and draft and not draft.startswith((CUT, "[Past")):
        assert rows(text, width - profile.composer.aside) >= len(draft.split("\n"))


def words(count: int) -> str:
    """So many characters in one line."""
    return ("wwwwwwwww " * (count // 10 + 1))[: count - 1] + "."


# Of each: how many characters of one line, and lines of one character, are shown whole, and from how many on
# they are folded; in a terminal of 140 and 50, and of 80 and 24. In between they are not typed.
SEEN = {
    "claude": [(LARGE, 800, 801, 3, 4), (SMALL, 400, 801, 3, 4)],
    "codex": [(LARGE, 1000, 1001, 28, 1001), (SMALL, 700, 1001, 11, 1001)],
    "gemini": [(LARGE, 500, 501, 5, 6), (SMALL, 500, 501, 5, 6)],
    "qwen": [(LARGE, 1000, 1001, 9, 11), (SMALL, 500, 1001, 9, 11)],
    "copilot": [(LARGE, 2000, None, 10, 11), (SMALL, 500, None, 9, 11)],
    "opencode": [(LARGE, 150, 151, 2, 3), (SMALL, 150, 151, 2, 3)],
}


@pytest.mark.parametrize("name", SEEN)
def test_a_text_fits_if_it_is_shown_whole_or_certainly_folded(name: str):
    profile = of(name)
    for size, whole, folded, lines, many in SEEN[name]:
        assert fits(words(whole), profile, *size), (size, whole)
        assert fits("\n".join("x" * lines), profile, *size), (size, lines)
        assert folded is None or fits(words(folded), profile, *size)
        assert fits("\n".join("x" * many), profile, *size), (size, many)


@pytest.mark.parametrize(
    ("name", "size", "text"),
    [
        ("claude", SMALL, words(700)),  # all of them were seen to fill the composer
        ("claude", SMALL, words(800)),
        ("codex", SMALL, words(900)),
        ("codex", LARGE, "\n".join("x" * 30)),
        ("codex", SMALL, "\n".join("x" * 30)),
        ("qwen", LARGE, "\n".join("x" * 10)),
        ("qwen", SMALL, words(999)),
        ("copilot", LARGE, words(3000)),
        ("copilot", SMALL, "\n".join("x" * 10)),
        ("copilot", SMALL, "\n".join([words(300)] * 5)),
    ],
)
def test_what_was_seen_to_fill_a_composer_does_not_fit(name: str, size: tuple[int, int], text: str):
    assert not fits(text, of(name), *size)


@pytest.mark.parametrize("name", PANES)
def test_a_line_that_tells_of_mail_fits_everywhere(name: str):
    assert fits(words(150), of(name), *SMALL)


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
@pytest.mark.parametrize("name", SEEN)
def test_where_anything_is_folded_lines_of_any_length_can_be_made_to_fit(name: str, size: tuple[int, int]):
    for count in range(1, 2000, 7):
        for text in ("\n".join("x" * min(count, 40)), f"one\n{words(count)}\nend"):
            made = fitted(text, of(name), *size)
            assert fits(made, of(name), *size)
            assert [line for line in made.rstrip().split("\n") if line] == text.split("\n")
            assert made == text or not fits(text, of(name), *size)


def test_only_where_nothing_is_folded_a_frame_must_be_small():
    assert [room(of(name), *SMALL) for name in SEEN] == [0] * len(SEEN)
    assert room(of("aider"), *SMALL) == room(of("goose"), *SMALL) == 480


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1), ("x" * 10, 1), ("x" * 11, 2), ("x" * 21, 3), ("aaaa bbbbb", 1), ("aaaa bbbbbb", 2),
        ("aaaa bbbb cc dd", 2), ("a\n\nb", 3), ("日本語日本", 1), ("日本語日本語", 2),
    ],
)  # fmt: skip
def test_lines_are_wrapped_between_words(text: str, count: int):
    assert rows(text, 10) == count
