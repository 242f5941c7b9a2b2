"""Letters that other programs write straight into an inbox, the usual way of older tools.

The file is the delivery. The room stores what it says, from whom it says, unverified, and offers it at once:
it lies where its reader looks. Then the file gets the name that the room's own letters have, unless somebody
reads it just then (`tenure.py`); nothing is added, and what it says stays as it was written. What its reader
has moved to `processed` before the room saw it is stored as seen. What is no letter goes to `inbox/rejected`,
with a file beside it that says why.

The key of such a message is its reader and the id that its writer gave it: the same letter arrives once, and
who is killed in between is followed by one that finds it again.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple, cast

from postroom.bridges.files import dialect, naming, note
from postroom.bridges.files.box import HOLDER, ROUTE, Box, step
from postroom.bridges.files.dialect import Read
from postroom.bridges.files.letter import (
    ABOUT,
    SUFFIX,
    inbox_name,
    items,
    key,
    names,
    numbered,
    raw_key,
    refusal,
)
from postroom.bridges.files.shelf import Folder, Kept, Picked
from postroom.bridges.files.wording import drafted
from postroom.clock import iso
from postroom.errors import BridgeError, InvalidBody, InvalidLetter, KeyConflict, PostroomError, StoreError
from postroom.model import ids
from postroom.model.address import Kind, parse
from postroom.model.ladder import Evidence, State
from postroom.model.message import Agent, Json, Mail, Message, Session
from postroom.room import directory
from postroom.room.draft import Draft
from postroom.room.offer import claim
from postroom.room.send import compose
from postroom.room.session import context
from postroom.room.settle import see
from postroom.room.unit import Unit
from postroom.store.contract import ReadTx, WriteTx
from postroom.text import encode, storable

_BATCH = 100  # letters in one transaction
_QUIET = 2.0  # seconds for which what is not a letter must not have changed: somebody may still be writing it
_LATER = 5.0  # seconds after which one is tried again that something stood in the way of
_TIDY = 5.0  # seconds after which what the agent has acknowledged is put away
_KIND = "arrivals"  # since when what is put away as read is looked at, as it is noted beside the room
_EARLIER = 5_000_000_000  # nanoseconds by which that is earlier: other clocks are behind
_ROOMS = ("verified", "mayBeRepeat")  # what only the room says of a letter


class _Found(NamedTuple):
    """A letter that was read."""

    name: str
    folder: Folder
    picked: Picked
    read: Read
    is_plain: bool  # whether it may have the name of one of the room's


class _Unseen(Exception):
    """Says that a message came into the room after its files were looked for."""


class Arrivals:
    """Takes in the letters that others write into one mailbox."""

    def __init__(self, box: Box, check: Callable[[ReadTx | WriteTx], None]) -> None:
        """`check` raises where this is not the inbox of the room's session any more."""
        self._box, self._room, self._shelf = box, box.room, box.shelf
        self._check = check
        self._known: dict[str, int] = {}  # by the names of files that lie there: the numbers of messages
        self._restless: dict[str, tuple[str, float]] = {}  # what is no letter yet: its stamp, and since when
        self._later: dict[str, float] = {}  # what is tried again, and when
        self._done: dict[str, float] = {}  # what is acknowledged and still there, and since when
        self._gone = set[str]()  # what was put away before we saw it, and is not stored yet
        self._has_looked_back = False
        self.why = ""  # why something waits there, for people

    def names(self, message: Message) -> tuple[str, ...]:
        """Give all names under which it may lie there; a writer may have renamed it since."""
        found = names(message)
        if len(found) == 1:
            return found
        return *found, *(name for name, seq in self._known.items() if seq == message.seq)

    def take_in(self, here: set[str], session: Session, *, is_told: bool = True) -> float | None:
        """Take in some of what is new among these files; in how many seconds there may be more to do.
        `is_told`: something has come into the inbox, or gone.
        """
        if not is_told and not here and not self._known and not self._gone and self._has_looked_back:
            return None
        now = time.monotonic()
        gone = [(Folder.READ, name) for name in self._put_away() if name not in here]
        for name in [*self._known, *self._restless, *self._later, *self._done]:
            if name not in here:
                self._forget(name)
        new = sorted(name for name in here if name not in self._known and self._later.get(name, now) <= now)
        if not new and not gone:
            return self._finish(now)
        found = [each for name in new[:_BATCH] if (each := self._found(Folder.INBOX, name))]
        found += [each for folder, name in gone if (each := self._found(folder, name))]
        try:
            if found:
                self._store(found, session)
            self._gone -= {name for _, name in gone}  # not before: what was noticed is not told again
        finally:
            for each in found:
                each.picked.close()
        return 0.0 if len(new) > _BATCH else self._finish(now)

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._restless.pop(name, None)
        self._later.pop(name, None)
        self._done.pop(name, None)

    def _put_away(self) -> list[str]:
        """Give what came and was put away before we looked; first, what was while nobody carried."""
        self._gone |= self._noticed()
        self._gone -= self._known.keys()
        return sorted(name for name in self._gone if numbered(name) is None)

    def _noticed(self) -> set[str]:
        visitors = self._shelf.visitors()
        if visitors is not None and self._has_looked_back:
            return visitors
        found = self._look_back()
        self._has_looked_back = True
        return (visitors or set()) | set(found)

    def _look_back(self) -> list[str]:
        """Give what was put away since the mailbox is served: what lay there before is not mail of ours."""
        since = note.get(self._room.home, _KIND, self._box.id).get("since")
        found = self._shelf.read_since(since) if isinstance(since, int) else []
        if not self._has_looked_back:
            with suppress(OSError):
                note.put(self._room.home, _KIND, self._box.id, {"since": time.time_ns() - _EARLIER})
        return found

    # one file

    def _found(self, folder: Folder, name: str) -> _Found | None:
        limit = self._room.settings.mailbox_file_bytes
        picked: Picked | None = None
        try:
            if folder is Folder.INBOX:
                picked = self._shelf.pick(name, limit)
            else:
                picked = Kept(self._shelf.read(folder, name, limit))
            read, is_plain = _letter(picked.sheet.data, name, self._box.agent)
            return _Found(name, folder, picked, read, is_plain)
        except InvalidLetter as exc:
            if folder is Folder.INBOX and not self._is_restless(name):
                self._refuse(name, exc)
        except FileNotFoundError:
            pass  # its reader was quicker, or its writer has called it otherwise
        except BridgeError as exc:
            self._put_off(name, str(exc))
        if picked is not None:
            picked.close()
        return None

    def _put_off(self, name: str, why: str) -> None:
        self._later[name], self.why = time.monotonic() + _LATER, why

    def _is_restless(self, name: str) -> bool:
        """Tell whether a file may yet become a letter: it has changed a moment ago, or is being written."""
        stamp, now = self._shelf.stamp(Folder.INBOX, name), time.monotonic()
        known, since = self._restless.get(name, ("", 0.0))
        if known != stamp or (now - since >= _QUIET and self._shelf.is_being_written(name)):
            self._restless[name] = stamp, now
            return True
        if now - since < _QUIET:
            return True
        del self._restless[name]
        return False

    def _refuse(self, name: str, why: PostroomError) -> None:
        """Set it aside; what says why is there first, and no name is used twice."""
        plain = name
        if not self._shelf.has(Folder.INBOX, name):
            return
        if self._shelf.has(Folder.REFUSED, plain):
            plain = f"{name.removesuffix(SUFFIX)[:150]}.{time.time_ns()}{SUFFIX}"
        reason = f"{plain[:200]}.why"
        try:
            said = refusal("", storable(plain), why, self._room.now())
            self._shelf.write(Folder.REFUSED, reason, said, lasting=False)
            step("raw-refused")
            self._shelf.move(Folder.INBOX, name, Folder.REFUSED, plain)
        except FileNotFoundError:  # its reader was quicker
            self._shelf.remove(Folder.REFUSED, reason)
        except (BridgeError, InvalidLetter, OSError) as exc:
            self._put_off(name, str(exc))

    # into the room

    def _store(self, found: list[_Found], session: Session) -> None:
        """Store all of them in one transaction, and then give each its new name."""
        while True:
            with suppress(_Unseen):
                stored, refused = self._stored(found, session, self._copies(found))
                break
        step("raw-stored")
        for each, message in stored:
            if each.folder is Folder.INBOX:
                self._name(each, message)
        for each, why in refused:
            if each.folder is Folder.INBOX:
                self._refuse(each.name, why)

    def _stored(
        self, found: list[_Found], session: Session, copies: dict[int, set[str]]
    ) -> tuple[list[tuple[_Found, Message]], list[tuple[_Found, PostroomError]]]:
        """Store them; return the messages, and what is refused. No call to the shelf: it may be slow."""
        refused: list[tuple[_Found, PostroomError]] = []
        stored: list[tuple[_Found, Message]] = []
        with Unit(self._room, prompt=False) as tx:
            self._check(tx)
            was = set(tx.stirred)
            for each in found:
                try:
                    message = self._one(tx, each, session, copies)
                except (StoreError, OSError, MemoryError):
                    raise
                except PostroomError as exc:
                    refused.append((each, exc))
                else:
                    stored.append((each, message))
                    copies.setdefault(message.seq, set()).add(each.name)
            tx.stirred -= {self._box.id} - was  # it lies where its reader looks
        return stored, refused

    def _copies(self, found: list[_Found]) -> dict[int, set[str]]:
        """Find the files of the messages that these letters may repeat, by the numbers of the messages."""
        look, copies = self._room.store.look(), dict[int, set[str]]()
        for each in found:
            try:
                known, address = self._sender(look, each.read.letter.sender)
            except StoreError:
                raise
            except PostroomError:
                continue  # it is refused, or takes nothing
            keys = self._keys(each, known, address)[1]
            for message in [look.message_by_key(known.id, one) for one in keys] if known else ():
                if message is not None and message.seq not in copies:
                    copies[message.seq] = {
                        one
                        for one in self.names(message)
                        if any(self._shelf.has(folder, one) for folder in (Folder.INBOX, Folder.READ))
                    }
        return copies

    def _name(self, each: _Found, message: Message) -> None:
        usual = inbox_name(message)
        if each.is_plain and each.picked.rename(usual):
            step("raw-renamed")
        else:
            self._known[each.name] = message.seq

    def _one(self, tx: WriteTx, each: _Found, session: Session, copies: dict[int, set[str]]) -> Message:
        """Store a letter, or find its message; raise `KeyConflict` where it is there already."""
        owner, message = self._box.agent, None
        known, address = self._sender(tx, each.read.letter.sender)
        about, keys = self._keys(each, known, address)
        for its_key in keys:
            message = tx.message_by_key(known.id, its_key) if known else None
            if message is None:
                message = self._post(tx, each, known or address, its_key, about)
                break
            if _digest(message) in (about["sha256"], None):
                self._check_only(tx, each, message, copies)
                break
        assert message is not None
        if (mail := tx.mail(message.seq, owner.id)) is not None:
            self._offer(tx, mail, session, is_read=each.folder is Folder.READ)
        return message

    def _keys(self, each: _Found, known: Agent | None, address: str) -> tuple[Json, tuple[str, str]]:
        """Say what the room notes of a letter, and the keys under which it may be there."""
        owner = self._box.agent
        about = self._about(each, known.address if known else self._as_known(address), owner)
        wanted = raw_key(owner.id, each.read.letter.id)
        return about, (wanted, f"{wanted}:{about['sha256']}")

    def _check_only(self, tx: WriteTx, each: _Found, message: Message, copies: dict[int, set[str]]) -> None:
        """Refuse the same letter in another file, unless that is what became of the first."""
        if message.seq not in copies:
            raise _Unseen
        if copies[message.seq] - {each.name}:
            raise _twice(message)
        every, mail = self.names(message), tx.mail(message.seq, self._box.id)
        is_open = mail is not None and mail.delivery.state in (State.STORED, State.OFFERED)
        if not is_open and each.name not in every:
            raise _twice(message)

    def _offer(self, tx: WriteTx, mail: Mail, session: Session, *, is_read: bool) -> None:
        if mail.delivery.state is State.STORED:
            mail = claim(
                tx, mail, route=ROUTE, context=context(session), handed=True, lease=0.0,
                claimer=session.process or HOLDER,
            )  # fmt: skip
        if is_read and mail.delivery.state is State.OFFERED:
            see(tx, mail, evidence=Evidence.AGENT)

    def _sender(self, tx: ReadTx | WriteTx, word: str) -> tuple[Agent | None, str]:
        """Find the agent that it says it is from, if any, and its address. That is believed as little
        as any other name that nothing proves.
        """
        if "/" in word:
            with suppress(PostroomError):
                known = directory.find(tx, directory.personal(word), self._box.project)
                if known is not None:
                    return known, known.address
        address = naming.address(word, {}) if word else ""
        if not address:
            raise InvalidLetter(
                f"{word!r} cannot be an agent's name"[:200] if word else "the letter has no `from`",
                field="from", hint='Write the name of an agent: "from": "NAME".',
            )  # fmt: skip
        return directory.find(tx, parse(address), self._box.project), address

    def _as_known(self, address: str) -> str:
        """Give the address that an agent of that name will have."""
        return address if parse(address).kind is Kind.HUMAN else f"{self._box.project}/{address}"

    def _about(self, each: _Found, sender: str, owner: Agent) -> Json:
        letter, read = each.read.letter, each.read
        content = [sender, owner.id, letter.id, letter.type, letter.subject, letter.body, letter.payload]
        digest = sha256(encode(content).encode(errors="backslashreplace")).hexdigest()[:32]
        about: Json = {"file": storable(each.name), "id": letter.id, "sha256": digest}
        if read.at is not None:
            about["timestamp"] = iso(read.at)
        if read.to and read.to != (owner.name,):
            about["to"] = list(read.to)
        for field, value in (("thread", letter.thread), ("replyTo", letter.reply_to)):
            if value:
                about[field] = value
        return about

    def _post(self, tx: WriteTx, each: _Found, by: Agent | str, its_key: str, about: Json) -> Message:
        """Store it. Its writer gets an address only here, when it is known to be a letter."""
        owner, project = self._box.agent, by.project if isinstance(by, Agent) else self._box.project
        to = owner.name if project == owner.project else owner.address
        wanted = self._drafted(each.read, to, its_key, about)
        author = (
            by if isinstance(by, Agent) else directory.join(tx, by, directory.Scope(self._box.project), {})
        )
        answered = self._answered(tx, author, owner, each.read.letter.reply_to)
        if answered is not None:
            correlation = answered.correlation or answered.id
            wanted = wanted._replace(reply_to=answered.id, correlation=correlation)
        lane = directory.lane(author, [owner], owner.project, to)
        message = compose(tx, lane, wanted)
        tx.post(message, lane.ids)
        return message

    def _drafted(self, read: Read, to: str, its_key: str, about: Json) -> Draft:
        settings, home = self._room.settings, self._room.home
        try:
            return drafted(read, to, settings, home, key=its_key, about=dict(about), under=ABOUT)
        except InvalidBody:
            if read.letter.body:
                raise
            said = read._replace(letter=read.letter._replace(body=f"({read.letter.type or 'note'})"))
            return drafted(said, to, settings, home, key=its_key, about=dict(about), under=ABOUT)

    def _answered(self, tx: WriteTx, author: Agent, owner: Agent, ref: str | None) -> Message | None:
        """Find what it answers, of what both have a part in. It acknowledges nothing: no sender is proven."""
        if not ref:
            return None
        found = (
            (tx.message(ref) if ids.is_uuid(ref) or ids.is_handle(ref) else None)
            or tx.message_by_key(owner.id, key(ref))
            or tx.message_by_key(owner.id, raw_key(author.id, ref))
            or tx.message_by_key(author.id, raw_key(owner.id, ref))
        )
        if found is None:
            return None
        both = (author.id, owner.id)
        return found if all(one == found.sender_id or tx.mail(found.seq, one) for one in both) else None

    # what became of it

    def _finish(self, now: float) -> float | None:
        """Put away what the agent has acknowledged, and left; in how many seconds to look again."""
        look, before, self._done = self._room.store.look(), self._done, {}
        for name, seq in list(self._known.items()):
            mail = look.mail(seq, self._box.id)
            if mail is None or mail.delivery.state in (State.STORED, State.OFFERED):
                continue
            since = before.get(name, now)
            if now - since < _TIDY:
                self._done[name] = since
                continue
            with suppress(FileNotFoundError, FileExistsError, BridgeError):
                self._shelf.move(Folder.INBOX, name, Folder.READ, name)
        if not self._later:
            self.why = ""
        due = [since + _QUIET for _, since in self._restless.values()]
        due += [*self._later.values(), *(since + _TIDY for since in self._done.values())]
        return max(0.0, min(due) - time.monotonic()) if due else None


def _letter(data: bytes, name: str, owner: Agent) -> tuple[Read, bool]:
    """Read a file, and tell whether it says nothing that only the room says."""
    several = items(data)
    if len(several) != 1:
        raise InvalidLetter(f"a file in an inbox holds one letter, not {len(several):,}")
    read = dialect.read(several[0], storable(name.removesuffix(SUFFIX)), owner.name)
    return read, not any(field in read.rest for field in _ROOMS)


def _digest(message: Message) -> str | None:
    """Give the digest that the room noted; None where the content was taken away."""
    if message.redacted is not None:
        return None
    about = (message.metadata or {}).get(ABOUT)
    return str(cast("Json", about).get("sha256", "")) if isinstance(about, dict) else ""


def _twice(message: Message) -> KeyConflict:
    return KeyConflict(
        f"this letter is here already: message {message.handle}", message_ref=message.id,
        hint="If it is another one, give it an id of its own.",
    )  # fmt: skip


def find(look: ReadTx, reader: str, ref: str) -> Message | None:
    """A letter in the inbox of an agent, by the id that its writer gave it: the latest of that id; or by the
    name of its file.
    """
    number = numbered(f"{ref}{SUFFIX}")
    mail = look.mail(number, reader) if number is not None else None
    if mail is not None:
        return mail.message
    found: list[Message] = []
    offset, page = 0, look.agents(500, 0)
    while page:
        every = (look.message_by_key(one.id, raw_key(reader, ref)) for one in page)
        found += [one for one in every if one is not None]
        offset += len(page)
        page = look.agents(500, offset)
    return max(found, key=lambda one: one.seq, default=None)


def forget(home: str, agent: str) -> None:
    """Its inbox is served no longer."""
    note.remove(home, _KIND, agent)
