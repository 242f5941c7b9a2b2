"""A tree of mailboxes as mail of ours: each letter for each of its readers, where it lay on the ladder.

One letter may lie in several places: in its writer's outbox and in its reader's inbox. It is known by who
wrote it to whom, by its id, its time and its content together, for an id is unique only within a mailbox. So
it is taken in once, as far as the furthest of its places tells, however often the import is run.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from postroom.bridges.files import naming
from postroom.bridges.files.dialect import Read, names_everyone
from postroom.bridges.files.letter import ACK, NACK, Letter, reason
from postroom.bridges.files.wording import drafted
from postroom.clock import iso
from postroom.config import Settings
from postroom.errors import InvalidLetter, PostroomError
from postroom.imports.plan import LeftOut, Mail
from postroom.imports.tree import Box, Found, Tree
from postroom.model.message import Json
from postroom.room.draft import Draft
from postroom.room.guard import IMPORT
from postroom.room.imported import Piece, Ref, Rung
from postroom.text import encode, storable

_RUNGS = {
    Box.WAITING: Rung.WAITING, Box.UNSENT: Rung.WAITING, Box.DONE: Rung.SEEN, Box.CLAIMED: Rung.SEEN,
    Box.SENT: Rung.GONE,
}  # fmt: skip
_FURTHER = (Rung.GONE, Rung.WAITING, Rung.SEEN, Rung.ACKED, Rung.REFUSED)  # what tells more of a letter


class _Copy(NamedTuple):
    """One letter for one reader, in one of the places where it lies."""

    found: Found
    sender: str  # an address, as is the next
    to: str
    key: str
    rung: Rung

    @property
    def letter(self) -> Letter:
        return self.found.read.letter

    @property
    def ref(self) -> Ref:
        return Ref(self.sender, self.key)


def plan(tree: Tree, source: str, settings: Settings, home: str, renamed: Mapping[str, str]) -> Mail:
    """All that would be taken in. Nothing is asked of a room here."""
    left = list(tree.left)
    names = naming.addresses(tree.owners, _mentioned(tree), renamed)
    found = _furthest(copy for one in tree.found for copy in _copies(one, tree, names, left))
    mail, words = _parted(found)
    index = _Index(mail)
    said = _said(mail, words, index, left)
    pieces: list[Piece] = []
    for copy in sorted(mail, key=_order):
        try:
            wanted = _drafted(copy, source, settings, home)
        except PostroomError as exc:
            left.append(LeftOut(copy.found.where, str(exc)))
            continue
        rung, why = said.get(copy.ref, (copy.rung, ""))
        answered, begun = index.answered(copy), index.begun(copy)
        piece = Piece(copy.sender, copy.to, wanted, rung, why, answered and answered.ref, begun and begun.ref)
        pieces.append(piece._replace(is_claimed=copy.found.box is Box.CLAIMED))
    return Mail(
        source,
        [names[owner] for owner in tree.owners],
        _before_answers(pieces),
        naming.changed(names),
        left,
        dict(names),
    )


def _mentioned(tree: Tree) -> list[str]:
    """Everybody whom a letter names, besides those who have a mailbox."""
    names: dict[str, None] = {}
    for one in tree.found:
        words = (one.read.letter.sender, *one.read.to)
        names |= dict.fromkeys(word for word in words if word and not names_everyone(word))
    return list(names)


def _copies(one: Found, tree: Tree, names: Mapping[str, str], left: list[LeftOut]) -> Iterator[_Copy]:
    """The same letter for each of its readers; what is from nobody, or for nobody, is left out."""
    try:
        sender = _writer(one, names)
    except InvalidLetter as exc:
        left.append(LeftOut(one.where, str(exc)))
        return
    is_read = one.box not in (Box.UNSENT, Box.SENT)
    readers = {one.owner: [names[one.owner]]} if is_read else _readers(one, tree, names)
    left += [LeftOut(one.where, _nobody(word)) for word, meant in readers.items() if not meant]
    for to in dict.fromkeys(address for meant in readers.values() for address in meant):
        yield _Copy(one, sender, to, _key(sender, to, one.read), _RUNGS[one.box])


def _writer(one: Found, names: Mapping[str, str]) -> str:
    """Who has written a letter: who it says, and what lies in an outbox its owner."""
    owner, said = names[one.owner], one.read.letter.sender
    if one.box in (Box.UNSENT, Box.SENT):
        if said and names.get(said) != owner:
            raise InvalidLetter(f"it says that it is from {said!r}, and lies in {owner}'s outbox")
        return owner
    if said not in names:
        raise InvalidLetter(_nobody(said) if said else "the letter has no `from`")
    return names[said]


def _readers(one: Found, tree: Tree, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Whom each word means that a letter in an outbox names."""
    others = [names[owner] for owner in tree.owners if owner != one.owner]
    return {
        word: others if names_everyone(word) else [names[word]] if word in names else []
        for word in one.read.to or ("",)
    }


def _nobody(word: str) -> str:
    return f"{word!r} cannot be an agent's name"


def _key(sender: str, to: str, read: Read) -> str:
    letter = read.letter
    content = [sender, to, letter.id, read.at, letter.type, letter.subject, letter.body, letter.payload]
    return IMPORT + hashlib.sha256(encode(content).encode(errors="backslashreplace")).hexdigest()


def _furthest(copies: Iterator[_Copy]) -> list[_Copy]:
    """Each letter once: the copy that tells most of what became of it."""
    found: dict[Ref, _Copy] = {}
    for copy in copies:
        known = found.setdefault(copy.ref, copy)
        if _FURTHER.index(copy.rung) > _FURTHER.index(known.rung):
            found[copy.ref] = copy
    return list(found.values())


def _parted(copies: list[_Copy]) -> tuple[list[_Copy], list[_Copy]]:
    """What is mail, and what tells of mail that it was taken or refused."""
    words = [copy for copy in copies if copy.letter.type in (ACK, NACK)]
    return [copy for copy in copies if copy.letter.type not in (ACK, NACK)], words


def _order(copy: _Copy) -> tuple[float, str]:
    at = copy.found.read.at
    return (float("inf") if at is None else at), copy.found.where


class _Index:
    """Letters by what others call them."""

    def __init__(self, mail: list[_Copy]) -> None:
        self._by_id: dict[str, list[_Copy]] = {}
        self._threads: dict[str, _Copy] = {}
        for copy in sorted(mail, key=_order):
            self._by_id.setdefault(copy.letter.id, []).append(copy)
            if copy.letter.thread:
                self._threads.setdefault(copy.letter.thread, copy)

    def answered(self, copy: _Copy) -> _Copy | None:
        """What a letter answers: of those with that id, one that its reader wrote to its writer, if any."""
        called = [each for each in self._by_id.get(copy.letter.reply_to or "", ()) if each.ref != copy.ref]
        between = [each for each in called if (each.sender, each.to) == (copy.to, copy.sender)]
        theirs = [each for each in called if each.found.owner == copy.found.owner]
        for several in (between, theirs, called if len(called) == 1 else []):
            if several:
                return several[0]
        return None

    def begun(self, copy: _Copy) -> _Copy | None:
        """The first letter of the conversation that a letter says it is in."""
        first = self._threads.get(copy.letter.thread or "")
        return first if first is not None and first.ref != copy.ref else None


def _said(
    mail: list[_Copy], words: list[_Copy], index: _Index, left: list[LeftOut]
) -> dict[Ref, tuple[Rung, str]]:
    """What readers have said of letters: by an answer, or by a word for just that."""
    found: dict[Ref, tuple[Rung, str]] = {}
    for copy in (*mail, *words):
        is_word = copy.letter.type in (ACK, NACK)
        answered = index.answered(copy)
        if answered is not None and answered.to == copy.sender:
            refuses = copy.letter.type == NACK
            why = storable(reason(copy.letter)) if refuses else ""
            found[answered.ref] = (Rung.REFUSED if refuses else Rung.ACKED, why)
        elif is_word:
            left.append(
                LeftOut(copy.found.where, f"it is about {copy.letter.reply_to!r}, which is not there")
            )
    return found


def _drafted(copy: _Copy, source: str, settings: Settings, home: str) -> Draft:
    """What the room is given: of its own type if its payload fits that, else a note that says the same."""
    letter, read = copy.letter, copy.found.read
    about: Json = {"source": source, "file": copy.found.where, "id": letter.id}
    if read.at is not None:
        about["timestamp"] = iso(read.at)
    if read.to and read.to != (copy.to,):
        about["to"] = list(read.to)
    return drafted(read, copy.to, settings, home, key=copy.key, about=about, under="imported")


def _before_answers(pieces: list[Piece]) -> list[Piece]:
    """The same, each after what it answers and after what began its conversation."""
    known = {piece.ref: piece for piece in pieces}
    done: dict[Ref, Piece] = {}
    for piece in pieces:
        way, above = [piece], {piece.ref}
        while way:
            needed = (ref for ref in (way[-1].answers, way[-1].thread) if ref in known)
            ahead = next((ref for ref in needed if ref not in done and ref not in above), None)
            if ahead is None:
                last = way.pop()
                done.setdefault(last.ref, last)
            else:
                above.add(ahead)
                way.append(known[ahead])
    return list(done.values())
