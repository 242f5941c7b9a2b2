"""What is searched for: words, "phrases", beginnings*, -exclusions and OR, as people type them.

Whatever is typed is read somehow or refused with a sentence; nothing of it is ever code to an index.
"""

import json
import re
from typing import Any, NamedTuple

from postroom.errors import InvalidQuery
from postroom.model.message import Delivery, Json, Message

LONGEST, MOST = 4096, 64  # characters of a query, and terms in it
SNIPPET = 160  # characters

_PART = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')
_WORD = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")
_BEFORE = 40  # of the first match in a snippet


class Term(NamedTuple):
    """Words that stand one after the other; the last may be only a beginning."""

    words: tuple[str, ...]
    is_beginning: bool


class Query(NamedTuple):
    """Every group must be found, by any of its terms, and none of what is excluded."""

    groups: list[list[Term]]
    excluded: list[Term]

    @property
    def terms(self) -> list[Term]:
        """What a hit may be found by."""
        return [term for group in self.groups for term in group]


class Filter(NamedTuple):
    """What else must hold of a message. People by their ids, times in milliseconds."""

    sender: str | None = None
    recipient: str | None = None
    address: str | None = None  # as it was written
    type: str | None = None
    thread: str | None = None
    since: int | None = None
    until: int | None = None
    state: str | None = None  # of any of its deliveries
    project: str | None = None
    party: str | None = None  # who wrote it, or got it


class Snippet(NamedTuple):
    """The place in a message where it was found, in one line."""

    field: str  # `subject`, `body` or `payload`
    text: str
    marks: list[tuple[int, int]]  # what was found, as stretches of `text`


class Hit(NamedTuple):
    """A message that was found, what became of it, and where the words stand in it."""

    message: Message
    deliveries: list[Delivery]
    snippet: Snippet


Span = tuple[str, int, int]  # a folded word, and where it stands


def parse(text: str) -> Query:
    """Read a query; raises `InvalidQuery` where there is nothing in it to find."""
    if len(text) > LONGEST:
        raise InvalidQuery(f"the query has {len(text):,} characters; at most {LONGEST:,} are read")
    query, is_alternative, is_excluded = Query([], []), False, False
    for minus, phrase, word in _PART.findall(text):
        if word in ("AND", "OR", "|", "NOT") and not minus:
            is_alternative, is_excluded = word in ("OR", "|"), word == "NOT"
            continue
        term = Term(tuple(_WORD.findall(phrase or word)), word.endswith("*"))
        if term.words:
            _add(query, term, is_excluded=bool(minus) or is_excluded, is_alternative=is_alternative)
            is_alternative = is_excluded = False
    if not query.groups:
        raise InvalidQuery("only exclusions" if query.excluded else "there is no word in the query")
    if len(query.terms) + len(query.excluded) > MOST:
        raise InvalidQuery(f"the query has more than {MOST} terms")
    return query


def _add(query: Query, term: Term, *, is_excluded: bool, is_alternative: bool) -> None:
    if is_excluded:
        query.excluded.append(term)
    elif is_alternative and query.groups:
        query.groups[-1].append(term)
    else:
        query.groups.append([term])


def payload_text(payload: Json | None) -> str:
    """All that a payload says, keys and values, without the marks of JSON."""
    return "" if payload is None else " ".join(_said(payload))


def _said(value: Any) -> list[str]:
    pending, found = [value], list[str]()
    while pending:  # not by recursion: a payload may be as deep as it likes
        one = pending.pop()
        if isinstance(one, dict):
            pending += [part for pair in reversed(one.items()) for part in reversed(pair)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        elif isinstance(one, list):
            pending += reversed(one)  # pyright: ignore[reportUnknownArgumentType]
        elif one is not None:
            found.append(one if isinstance(one, str) else json.dumps(one))
    return found


def fields(message: Message) -> dict[str, str]:
    """What of a message is searched."""
    return {
        "subject": message.subject,
        "body": message.body,
        "payload": payload_text(message.payload),
    }


def matches(query: Query, texts: dict[str, str]) -> bool:
    """Whether a message would be found, by looking at it: slower than an index, and much the same."""
    places = [spans(text) for text in texts.values()]

    def holds(term: Term) -> bool:
        return any(_found(term, place, 1) for place in places)

    return all(any(map(holds, group)) for group in query.groups) and not any(map(holds, query.excluded))


def snippet(query: Query, texts: dict[str, str]) -> Snippet:
    """The first place that shows why a message was found; its beginning where none can be pointed at."""
    for field, text in texts.items():
        place = spans(text)
        marks = sorted({mark for term in query.terms for mark in _found(term, place, 100)})
        if marks:
            return _cut(field, text, marks)
    field = next((name for name, text in texts.items() if text), "body")
    return _cut(field, texts[field], [])


def _cut(field: str, text: str, marks: list[tuple[int, int]]) -> Snippet:
    first = max(0, marks[0][0] - _BEFORE) if marks else 0
    while 0 < first < marks[0][0] and not text[first - 1].isspace():
        first += 1
    last = min(len(text), first + SNIPPET)
    head, tail = "…" if first else "", "…" if last < len(text) else ""
    shift = len(head) - first
    inside = [(start + shift, min(end, last) + shift) for start, end in _joined(marks) if start < last]
    line = text[first:last].translate({9: " ", 10: " ", 13: " "})
    return Snippet(field, head + line + tail, inside)


def _joined(marks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without overlaps."""
    joined: list[tuple[int, int]] = []
    for start, end in marks:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def spans(text: str) -> list[Span]:
    """The words of a text, folded, and where they stand."""
    return [(fold(word[0]), *word.span()) for word in _WORD.finditer(text)]


def fold(word: str) -> str:
    """Without case and accents."""
    if word.isascii():
        return word.lower()
    from unicodedata import combining, normalize  # noqa: PLC0415 - few words need it

    return "".join(c for c in normalize("NFD", word.lower()) if not combining(c))


def _found(term: Term, place: list[Span], most: int) -> list[tuple[int, int]]:
    """Where a term stands among the words of a text."""
    wanted, found = [fold(word) for word in term.words], list[tuple[int, int]]()
    first, size = wanted[0], len(wanted)
    for at, (word, start, _) in enumerate(place):
        if not (word == first or (size == 1 and term.is_beginning and word.startswith(first))):
            continue
        words = [one[0] for one in place[at : at + size]]
        whole = words == wanted
        begun = term.is_beginning and words[:-1] == wanted[:-1] and words[-1].startswith(wanted[-1])
        if len(words) == size and (whole or begun):
            found.append((start, place[at + size - 1][2]))
            if len(found) == most:
                break
    return found
