"""What others call their agents, as addresses here.

Our names are lower-case letters, digits, `-` and `_`. What differs only in case is one name. Everything else
that would give two the same address is refused: whoever runs the import says which is which.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from shlex import quote

from postroom.errors import InvalidAddress, InvalidValue, NameTaken
from postroom.model.address import ROOM, Kind, parse

_LONGEST = 64


def renames(given: Iterable[str]) -> dict[str, str]:
    """`OLD=NEW`, as given on the command line."""
    found: dict[str, str] = {}
    for text in given:
        old, equals, new = text.rpartition("=")
        if not equals or not old or not _is_one(new):
            raise InvalidValue(
                f"--rename is OLD=NEW, not {text!r}", hint="For example: --rename 'Front End=frontend'"
            )
        found[old] = str(parse(new))
    return found


def address(word: str, renamed: Mapping[str, str]) -> str:
    """The address that comes nearest to a name; empty if none does."""
    if word in renamed:
        return renamed[word]
    if _is_one(word) and "/" not in word:  # a project is not for a name in a file to make
        return str(parse(word))
    letters = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9_]+", "-", letters).strip("-_")[:_LONGEST].rstrip("-_")
    return found if _is_one(found) else ""


def addresses(owners: Iterable[str], mentioned: Iterable[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """The address of each, but for those mentioned who can have none. No two owners are the same one."""
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    for word in owners:
        if not (new := address(word, renamed)):
            raise InvalidValue(
                f"{word!r} cannot be made an address",
                name=word,
                hint=f"Say what it is called here: --rename {quote(f'{word}=NAME')}",
            )
        if new in taken:
            raise _twice(taken[new], word, new)
        found[word], taken[new] = new, word
    for word in mentioned:
        new = address(word, renamed)
        if not new or word in found:
            continue
        other = taken.setdefault(new, word)
        if other.casefold() != word.casefold() and word not in renamed:
            raise _twice(other, word, new)
        found[word] = new
    return found


def changed(names: Mapping[str, str]) -> dict[str, str]:
    """Those that are called otherwise here."""
    return {word: new for word, new in names.items() if word != new}


def _twice(one: str, other: str, new: str) -> NameTaken:
    return NameTaken(
        f"{one!r} and {other!r} would both be {new}",
        name=new,
        hint=f"Call one of them otherwise: --rename {quote(f'{other}=NAME')}",
    )


def _is_one(word: str) -> bool:
    """Whether somebody can have that address: an agent or a person, and not the room itself."""
    try:
        found = parse(word)
    except InvalidAddress:
        return False
    return found.kind in (Kind.AGENT, Kind.HUMAN) and found.name != ROOM
