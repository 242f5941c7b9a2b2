"""What others wrote, made fit to be looked at: nothing in it may hide, reorder, or speak to the terminal."""

import re

_PICTURES = {code: chr(0x2400 + code) for code in (*range(9), *range(11, 32))} | {0x7F: "␡"}
# Marks that turn or hide what stands around them, and line ends that only some programs see.
_HIDDEN = re.compile(
    "[\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACK = re.compile(f"({_MARK}{{4}}){_MARK}+")  # letters that climb over the lines above
_BLANK = re.compile(r"[ \t\r\n]+")


def plain(text: str) -> str:
    """Control characters as their pictures, hidden ones by their numbers; lines stay lines."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n").expandtabs(4).translate(_PICTURES)
    return _STACK.sub(r"\1", _HIDDEN.sub(lambda found: f"‹{ord(found[0]):04X}›", text))


def gist(text: str, most: int = 220) -> str:
    """The beginning, on one line."""
    start = _BLANK.sub(" ", text[: most * 2]).strip()
    return plain(f"{start[:most]}…" if len(start) > most else start)


def many(number: int, noun: str, nouns: str = "") -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
