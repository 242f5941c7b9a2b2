"""Whether a pattern that somebody gave by hand is quick on every screen: tried in a process of its own.

A search cannot be broken off, and nothing else runs meanwhile: one that takes for ever would be the end of
all delivery. So lines are made from the pattern itself that nearly fit it, and as long as one can be.
"""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

LINE = 500  # characters of a line that are looked at
_SHORT, _LINES = 48, 24  # characters of a short one; lines that are made of either length
_HEIGHT = 40  # lines of a screen
_TIME = 0.15  # seconds in which patterns are tried
_LONGEST = 0.5  # seconds of CPU for all of it: who needs more is ended by the system
_PATIENCE = 20.0  # seconds for that, on a machine that has much else to do
_BRANCHING = frozenset("*+?{|")
_SEED = 5
_CHARACTERS = "x0 -_~\t\u00e9"  # one of each kind


@lru_cache(maxsize=64)
def too_slow(patterns: tuple[str, ...]) -> str | None:
    """The first of some patterns, each one that compiles, that takes too long."""
    wanted = [pattern for pattern in patterns if _BRANCHING & set(pattern)]
    if not wanted or not hasattr(signal, "setitimer"):
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", __file__], input=json.dumps(wanted).encode(), capture_output=True,
            timeout=_PATIENCE, check=False, cwd="/",
        )  # fmt: skip
    except subprocess.TimeoutExpired as exc:
        return _last(wanted, exc.stdout)
    except OSError:
        return None  # it cannot be tried here
    return _last(wanted, done.stdout) if done.returncode < 0 else None


def _last(patterns: Sequence[str], said: bytes | None) -> str:
    """The one that was tried last."""
    return patterns[max(0, len((said or b"").split()) - 1)]


def main() -> None:
    """Try the patterns of the standard input, a JSON list; say of each when it begins."""
    patterns: list[str] = json.load(sys.stdin)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _LONGEST)
    for n, pattern in enumerate(patterns):
        print(n, flush=True)  # noqa: T201 - that is what is read
        for height in (1, _HEIGHT):  # as a screen is read: by lines, and as a whole
            _try(pattern, height, _TIME / len(patterns) / 2)


def _try(pattern: str, height: int, seconds: float) -> None:
    until = time.process_time() + seconds
    for line in lines(pattern):
        re.search(pattern, "\n".join([line] * height), re.MULTILINE)
        if time.process_time() > until:
            return


def lines(pattern: str) -> Iterator[str]:
    """Lines that fit a pattern almost: short ones first, which are bad enough for the worst patterns."""
    from random import Random  # noqa: PLC0415 - only where patterns are tried

    draw = Random(_SEED)
    for longest in (_SHORT, LINE):
        for n in range(_LINES):
            near = _Near(draw, longest, is_full=n == 0).line(pattern)[:longest]
            yield from (f"{near[:-1]}!", f"{near[: len(near) // 2]}!", f"{near}\x01", near)


class _Near:
    """A text that fits a pattern, as far as its characters go. Its repeats are long while it is short."""

    def __init__(self, draw: "Random", longest: int, *, is_full: bool) -> None:
        self._draw, self._left, self._is_full = draw, longest, is_full

    def line(self, pattern: str) -> str:
        self._others = sorted(_CHARACTERS, key=pattern.__contains__)  # what it does not name comes first
        parse: Any = getattr(re, "_parser", None)  # of every Python since 3.11; without it, its own letters
        return self._all(parse.parse(pattern)) if parse else pattern * LINE

    def _all(self, nodes: Iterable[Any]) -> str:
        return "".join(self._one(str(kind), value) for kind, value in nodes)

    def _one(self, kind: str, value: Any) -> str:
        match kind:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                self._left -= 1
                return self._of(value if kind == "IN" else [(kind, value)])
            case "BRANCH":
                return self._all(value[1][0] if self._is_full else self._draw.choice(value[1]))
            case "SUBPATTERN" | "GROUPREF_EXISTS":
                return self._all(value[-1] if kind == "SUBPATTERN" else value[1])
            case "ATOMIC_GROUP":
                return self._all(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(*value)
            case _:
                return ""  # a place, or what looks around

    def _repeat(self, least: int, most: int, nodes: Any) -> str:
        wanted = most if self._is_full else self._draw.choice((least, least + 1, most, most))
        found: list[str] = []
        while len(found) < min(wanted, LINE) and (self._left > 0 or len(found) < least):
            found.append(self._all(nodes))
        return "".join(found)

    def _of(self, items: list[Any]) -> str:
        """A character of a class."""
        named = [value for kind, value in items if str(kind) == "LITERAL"]
        named += [value[0] for kind, value in items if str(kind) == "RANGE"]
        fitting = [char for char in (*map(chr, named), *self._others) if _fits(items, char)] or ["x"]
        return fitting[0] if self._is_full else self._draw.choice(fitting)


def _fits(items: list[Any], char: str) -> bool:
    is_in = any(_is(str(kind), value, char) for kind, value in items)
    return is_in != (bool(items) and str(items[0][0]) == "NEGATE")


def _is(kind: str, value: Any, char: str) -> bool:
    match kind:
        case "LITERAL":
            return ord(char) == value
        case "NOT_LITERAL":
            return ord(char) != value
        case "ANY":
            return True
        case "RANGE":
            return value[0] <= ord(char) <= value[1]
        case "CATEGORY":
            return bool(re.match(_CATEGORIES.get(str(value), "."), char))
        case _:
            return False


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip

if __name__ == "__main__":
    main()
