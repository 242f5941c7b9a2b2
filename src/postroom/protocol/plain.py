"""Text for a model, without what it would read and a person would not see."""

import re

# Control characters, bidi controls, what has no width, tags, variation selectors, surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = re.compile("[\u200d\ufe0f]")  # in every other emoji: taken away, but nothing to speak of
_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|\x1b[()][0-9A-Za-z]"
)


def clean(text: str) -> str:
    """A text of several lines, with one sort of line end and nothing hidden."""
    return text if _is_plain(text) else _HIDDEN.sub("", _BREAK.sub("\n", _ANSI.sub("", text)))


def one_line(text: str, longest: int) -> str:
    """A text as one clean line, cut if it must be."""
    line = clean(text).replace("\n", " ").replace("\t", " ")
    return line if len(line) <= longest else line[: longest - 1] + "…"


def has_hidden(text: str) -> bool:
    """Whether something is hidden in it that is worth a word."""
    return not _is_plain(text) and _HIDDEN.search(_JOINERS.sub("", text)) is not None


def written_out(json: str) -> str:
    """JSON that means the same, with everything hidden written as `\\u` and digits."""
    return _BREAK.sub(_code, _HIDDEN.sub(_code, json))


def _code(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _is_plain(text: str) -> bool:
    """Most texts are, and that is seen at once."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()
