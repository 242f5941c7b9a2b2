"""How much a composer can show at once: what it cannot is not typed, as nobody could see that it is there.

Where it folds what is long, a text fits that is shown whole, or certainly folded: blanks can see to that.
"""

import unicodedata

from postroom.runtimes.screen import Fold, Most, Profile

_OTHERS = 6  # rows of a screen that are no composer's
_LEAST = 300  # characters: a frame that is worth to be typed


def fits(text: str, profile: Profile, width: int, height: int) -> bool:
    """Whether a composer in a terminal of that size shows all of a text, or a marker that stands for it."""
    return profile.folds.folds(text) or rows(text, width - profile.composer.aside) <= _most(profile, height)


def fitted(text: str, profile: Profile, width: int, height: int) -> str:
    """A text that fits, if it can be made to: by empty lines below its first one, or by blanks behind it.

    Some do not count empty lines at the end. In a frame of mail, those below its head are nobody's words.
    """
    lines, chars = profile.folds
    head, several, rest = text.partition("\n")
    if fits(text, profile, width, height):
        return text
    if lines is not None and several:
        return head + "\n" * (lines - rest.count("\n") - 1) + rest
    return text if chars is None else text.ljust(chars)


def room(profile: Profile, width: int, height: int) -> int:
    """How many characters of usual lines it shows at once; 0: it folds what is long."""
    return 0 if profile.folds != Fold() else max(_LEAST, _most(profile, height) * width // 3)


def _most(profile: Profile, height: int) -> int:
    """Rows that a text may take: one that fills a composer may go on where nobody sees it."""
    most = profile.composer.most
    shown = most.lines(height) - 1 if most != Most() else height
    return max(1, min(height - _OTHERS, shown))


def rows(text: str, width: int) -> int:
    """The lines that a text takes where each is wrapped between words, or inside those that are too wide."""
    return sum(_rows(line, max(2, width)) for line in text.split("\n"))


def _rows(line: str, width: int) -> int:
    count, used = 1, 0
    for word in line.split(" "):
        size = sum(map(_cells, word))
        if used and used + size > width:
            count, used = count + 1, 0
        count += max(0, used + size - 1) // width
        used = (used + size - 1) % width + 2 if size else used + 1
    return count


def _cells(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
