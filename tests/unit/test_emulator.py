"""A terminal without a window: it shows what tmux would, and is not disturbed by anything."""

import glob
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.bridges.process.emulator import Emulator
from postroom.bridges.process.key import sent
from postroom.bridges.terminal.screen import PLAIN, Line, parse
from postroom.errors import BridgeError
from postroom.runtimes.screen import Look
from tests.process import ROOT

SCREENS = sorted(glob.glob(os.path.join(ROOT, "tests", "data", "screens", "*", "*.ansi")))


def shown(*written: str, columns: int = 20, lines: int = 5) -> list[str]:
    return [line.text.rstrip() for line in fed(*written, columns=columns, lines=lines).screen().lines]


def fed(*written: str, columns: int = 20, lines: int = 5) -> Emulator:
    emulator = Emulator(columns, lines, lambda _: None)
    for piece in written:
        emulator.feed(piece.encode())
    return emulator


def answers(written: str) -> str:
    said: list[str] = []
    Emulator(20, 5, said.append).feed(written.encode())
    return "".join(said)


def trimmed(line: Line) -> Line:
    size = len(line.text.rstrip())
    return Line(line.text[:size], line.looks[:size])


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.partition("screens/")[2])
def test_a_screen_of_a_real_agent_looks_as_it_does_in_tmux(path: str):
    with open(path, encoding="utf-8") as file:
        captured = file.read().removesuffix("\n")
    emulator = fed(captured.replace("\n", "\r\n"), columns=140, lines=50)
    found = [trimmed(line) for line in emulator.screen().lines]
    wanted = [trimmed(line) for line in parse(captured).lines]
    assert found[: len(wanted)] == wanted


@pytest.mark.parametrize("path", SCREENS[::7], ids=lambda path: path.partition("screens/")[2])
def test_who_attaches_is_shown_the_same(path: str):
    with open(path, encoding="utf-8") as file:
        first = fed(file.read().removesuffix("\n").replace("\n", "\r\n"), columns=140, lines=50)
    second = Emulator(140, 50, lambda _: None)
    second.feed(first.painted())
    assert second.screen() == first.screen()
    assert second.facts == first.facts


@pytest.mark.parametrize(
    ("order", "look"),
    [
        ("2", Look(True, "", "", False)),
        ("2;22", PLAIN),
        ("31", Look(False, "31", "", False)),
        ("97;100", Look(False, "97", "100", False)),
        ("38;5;248", Look(False, "38;5;248", "", False)),
        ("38;2;1;20;255;2", Look(True, "38;2;1;20;255", "", False)),
        ("38:2::1:2:3", Look(False, "38;2;1;2;3", "", False)),
        ("38:5:9;48:2:1:2:3", Look(False, "38;5;9", "48;2;1;2;3", False)),
        ("58;5;3;2", Look(True, "", "", False)),
        ("4:3;2", Look(True, "", "", False)),
        ("7", Look(False, "", "", True)),
        ("7;27", PLAIN),
        ("31;0", PLAIN),
        ("31;", PLAIN),
        ("31;39", PLAIN),
        ("38;5", PLAIN),
    ],
)
def test_colours_are_spelt_as_tmux_spells_them(order: str, look: Look):
    [line] = fed(f"\x1b[{order}mx", lines=1).screen().lines
    assert line == Line("x", (look,))


def test_a_wide_character_is_one_and_goes_to_the_next_line_if_it_must():
    assert shown("日本", "x", columns=4, lines=2) == ["日本", "x"]
    assert shown("abc日", columns=4, lines=2) == ["abc", "日"]
    assert shown("日", "\rx", columns=4, lines=1) == ["x"]


def test_a_character_of_no_width_stays_with_the_one_before_it_and_ends_nothing():
    [line] = fed("a\u200bb\u0301c\ufe0fd", lines=1).screen().lines
    assert line.text == "a\u200bb\u0301c\ufe0fd"
    assert len(line.looks) == len(line.text)


def test_the_alternate_screen_leaves_the_other_as_it_was():
    assert shown("one\r\n", "\x1b[?1049h\x1b[2J\x1b[Htwo")[0] == "two"
    assert shown("one\r\n", "\x1b[?1049h\x1b[2J\x1b[Htwo", "\x1b[?1049lthree")[:2] == ["one", "three"]


def test_what_has_scrolled_away_is_kept_until_it_is_erased():
    emulator = fed(*(f"line {n}\r\n" for n in range(8)), lines=3)
    assert emulator.history(2) == ["line 4", "line 5"]
    assert emulator.history(0) == []
    emulator.feed(b"\x1b[3J")
    assert emulator.history(9) == []
    assert emulator.screen().lines[0].text == "line 6"


def test_what_scrolls_inside_margins_leaves_the_rest_alone():
    assert shown("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[S", lines=4) == ["a", "c", "", "d"]
    assert shown("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[T", lines=4) == ["a", "", "b", "d"]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("abc\r\x1b[4hX\x1b[4lY", "XYbc"),
        ("\x1b[?7labcdefg", "abcg"),
        ("\x1b[?7lab日", "ab日"),
        ("a\x1b[2b", "aaa"),
        ("\x1b[2b", ""),
        ("\u0301a", "a"),
        ("abcd\x1b[2G\x1b[1K", "  cd"),
        ("abcd\x1b[2G\x1b[2X", "a  d"),
        ("abcd\x1b[2G\x1b[K", "a"),
        ("abcd\x1b[9K\x1b[9J", "abcd"),
        ("abcd\x1b[2G\x1b[P", "acd"),
        ("ab\x1b[?1048hcd\x1b[?1048lX", "abXd"),
        ("abcd\x1bcX", "X"),
        ("a\tb\bc", "a  c"),
    ],
)
def test_orders_do_what_they_do_in_tmux(written: str, wanted: str):
    assert shown(written, columns=4, lines=1) == [wanted]


def test_a_cursor_that_was_saved_can_be_restored_again_and_again():
    assert shown("ab\x1b7cd\x1b8X\x1b8Y", lines=1) == ["abYd"]


@pytest.mark.parametrize(
    "order",
    [
        "\x1b[>4;2m", "\x1b[>1u", "\x1b[<u", "\x1b[=5;1u", "\x1b[?u", "\x1b[?2026h", "\x1b[?2026$p",
        "\x1b[>0q", "\x1bP+q544e\x1b\\", "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", "\x1b]0;title\x07",
        "\x1b]8;;http://x\x1b\\", "\x1b]11;?\x07", "\x1b]133;A\x07", "\x1b(B", "\x1b=", "\x1b[?12l",
        "\x1b[1 q", "\x1b[?6n", "\x1b[?3h", "\x1b[96h", "\x1b[1;2;3A\x1b[A\x1b[2B\x1b[B\x1b[3A",
    ],
)  # fmt: skip
def test_what_is_no_text_is_not_shown(order: str):
    for cut in range(len(order)):
        assert shown("ab", order[:cut], order[cut:], "\r", "cd") == ["cd", "", "", "", ""]


def test_what_programs_ask_their_terminal_is_answered():
    assert answers("\x1b[c") == "\x1b[?1;2c"
    assert answers("\x1b[>c") == "\x1b[>84;0;0c"
    assert answers("ab\r\nc\x1b[6n") == "\x1b[2;2R"
    assert answers("x" * 20 + "\x1b[6n") == "\x1b[1;20R"
    assert answers("\x1b[5n") == "\x1b[0n"
    assert answers("\x1b[18t") == "\x1b[8;5;20t"
    assert answers("\x1b[?2004h\x1b[?2004$p\x1b[?9999$p") == "\x1b[?2004;1$y\x1b[?9999;0$y"


def test_an_erased_line_has_a_background_and_nothing_else():
    [line] = fed("\x1b[2;31;44mabc\r\x1b[K", lines=1).screen().lines
    assert set(line.looks) == {Look(False, "", "44", False)}


PIECES = st.one_of(
    st.text(max_size=8),
    st.builds(
        lambda mark, numbers, final: f"\x1b[{mark}{';'.join(map(str, numbers))}{final}",
        st.sampled_from(["", "?", ">", "<", "="]),
        st.lists(st.integers(0, 10_000), max_size=4),
        st.characters(min_codepoint=0x40, max_codepoint=0x7E),
    ),
    st.sampled_from(
        ["\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bc", "\x1b[?1049h", "\x1b[?1049l", "\x1b]2;", "日"]
    ),
)


@given(st.lists(PIECES, max_size=30), st.integers(1, 12), st.integers(1, 6))
def test_nothing_that_a_program_writes_disturbs_it(pieces: list[str], columns: int, lines: int):
    emulator = fed(columns=columns, lines=lines)
    for n, piece in enumerate(pieces):
        emulator.feed(piece.encode(errors="replace"))
        if n % 7 == 6:
            emulator.resize(columns + n % 5, lines + n % 3)
        screen = emulator.screen()
        assert all(len(line.text) == len(line.looks) for line in screen.lines)
        emulator.painted()


@given(st.binary(max_size=200), st.integers(0, 200))
def test_bytes_mean_the_same_however_they_arrive(data: bytes, cut: int):
    one, two = fed(), fed()
    one.feed(data)
    two.feed(data[:cut])
    two.feed(data[cut:])
    assert one.screen() == two.screen()


@pytest.mark.parametrize(
    ("key", "data"),
    [
        ("Enter", b"\r"),
        ("Escape", b"\x1b"),
        ("C-c", b"\x03"),
        ("M-x", b"\x1bx"),
        ("Up", b"\x1b[A"),
        ("é", "é".encode()),
    ],
)
def test_a_key_sends_what_it_does_in_a_terminal(key: str, data: bytes):
    assert sent(key) == data


def test_arrows_are_sent_as_the_program_has_asked_for():
    assert sent("Up", has_cursor_keys=True) == b"\x1bOA"
    assert fed("\x1b[?1h").has_cursor_keys


@pytest.mark.parametrize("key", ["", "enter", "C-", "C-é", "\n", "two words"])
def test_what_is_no_key_is_refused(key: str):
    with pytest.raises(BridgeError):
        sent(key)
