"""A question of an agent's as people may be shown it: nothing hidden, and no longer than somebody reads."""

import hashlib
from collections import Counter
from collections.abc import Iterable

from postroom.bridges.contract import Option, Question
from postroom.protocol.plain import one_line, written_out

MOST = 8_000  # characters of what is asked
_LINE = 200
_WORDS = {
    "allow_once": "approve",
    "allow_always": "approve-always",
    "reject_once": "deny",
    "reject_always": "deny-always",
}


def inquiry(number: str, title: str, details: str, options: Iterable[Option]) -> Question:
    """What is hidden in what it wants to do is written out, and what is left out is said."""
    named = tuple(one._replace(name=_named(one)) for one in options)
    return Question(number, one_line(title, _LINE), _cut(written_out(details)), named)


def _named(option: Option) -> str:
    return one_line(option.name, _LINE) or one_line(option.id, _LINE)


def labels(options: Iterable[Option]) -> dict[str, Option]:
    """The options by what a person writes to choose one: our word for its kind, or else its own.

    Where two have the same word each has a number, so that nobody chooses between them without a look.
    """
    options = [*options]
    words = [_WORDS.get(one.kind) or one.name for one in options]
    times, found = Counter(words), dict[str, Option]()
    for option, word in zip(options, words, strict=True):
        label, n = word, 0
        while times[word] > 1 and (label in times or label in found):
            n += 1
            label = f"{word}-{n}"
        found[label] = option
    return found


def answers(options: Iterable[Option]) -> list[str]:
    """Each answer on a line: what a person writes, and what the agent calls it."""
    return [f"{label} = {option.name}" for label, option in labels(options).items()]


def _cut(text: str) -> str:
    """The hash of the whole makes what is shown, and so its digest, another where only the rest is."""
    missing = len(text) - MOST
    if missing <= 0:
        return text
    whole = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:MOST]}\n… and {missing:,} characters more, which are not shown (sha256 of all: {whole})"
