"""An agent's outbox: what lies in it goes into the room once, and what cannot is set aside, with the reason.

A letter is read, and then moved to where its writer does not look, so that nothing else can take its place
unread. It stays there until the room has it. So at each moment a file is in the outbox, being taken in,
processed, or rejected; and a process that is killed is followed by one that goes on with what was being taken
in. The writer's own id is the key by which the room knows a letter that it has already.
"""

import json
import os
import time
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from postroom.bridges.files.box import Box, step
from postroom.bridges.files.letter import (
    ACK,
    NACK,
    SUFFIX,
    Flaw,
    Letter,
    is_same,
    items,
    key,
    letters,
    options,
    reason,
)
from postroom.bridges.files.receipts import Receipts
from postroom.bridges.files.shelf import Folder
from postroom.errors import (
    BridgeError,
    InvalidLetter,
    KeyConflict,
    MailboxFull,
    NotYourName,
    PostroomError,
    RateLimited,
    StoreError,
    UnknownMessage,
)
from postroom.model import ids
from postroom.model.address import ROOM
from postroom.model.message import Message, Sent
from postroom.room import directory
from postroom.room.bounce import notify
from postroom.room.policy import bucket
from postroom.room.rate import MINUTE
from postroom.text import storable

if TYPE_CHECKING:
    from postroom.room.options import SendOptions

_BATCH = 100  # files at a time
_QUIET = 2.0  # seconds for which what is no letter must not have changed: somebody may still be writing it
_LATER = 5.0  # seconds after which one is tried again that something stood in the way of
_LONGEST = 200  # bytes of a name to which something may be added
_NAMED = 5  # of several that were set aside


class _Aside(NamedTuple):
    """What was set aside."""

    file: str
    id: str
    why: PostroomError


class Outbox:
    """One mailbox's."""

    def __init__(self, box: Box, receipts: Receipts) -> None:
        self._box, self._room, self._shelf = box, box.room, box.shelf
        self._receipts = receipts
        self._waits: deque[tuple[Folder, str]] = deque()  # what is still to be looked at, as of the last look
        self._must_look = True
        self._restless: dict[str, tuple[str, float]] = {}  # what is no letter yet: its stamp, and since when
        self._later: dict[str, tuple[float, str]] = {}  # what is tried again: when, and why
        self._resumes = 0.0  # when the next may be taken in
        self._aside: list[_Aside] = []
        self.why = ""  # why something waits there, for people

    def changed(self) -> None:
        """Something has, or may have."""
        self._must_look = True

    def take_in(self) -> float | None:
        """Take in some of what is there; in how many seconds there may be more to do, if that is known."""
        now = time.monotonic()
        if now < self._resumes:
            return self._resumes - now
        if not self._waits and (self._must_look or self._next_try() <= now):
            self._must_look = False
            self._waits.extend(self._list())
        try:
            for _ in range(min(_BATCH, len(self._waits))):
                self._take(*self._waits[0])
                self._waits.popleft()
            self.why = next((why for _, why in self._later.values()), "")
        except RateLimited as exc:
            self.why = str(exc).replace("(sender_rate)", "(mailbox_rate)")  # which is the one for mailboxes
            self._resumes = time.monotonic() + float(exc.facts.get("retry_after") or 1.0)
            self._waits.clear()  # what it stopped at may be where it is taken in by now
            self._must_look = True
        finally:
            self._tell()
        if self._resumes > now:
            return self._resumes - now
        if self._waits or self._must_look:
            return 0.0
        return max(0.0, self._next_try() - time.monotonic()) if self._restless or self._later else None

    def _next_try(self) -> float:
        moments = [since + _QUIET for _, since in self._restless.values()]
        return min([*moments, *(until for until, _ in self._later.values())], default=float("inf"))

    def _list(self) -> list[tuple[Folder, str]]:
        """First what was being taken in when somebody was killed."""
        names = [name for name in self._names(Folder.OUTBOX) if name.endswith(SUFFIX)]
        taking = self._names(Folder.TAKING)
        self._restless = {name: self._restless[name] for name in names if name in self._restless}
        self._later = {name: self._later[name] for name in (*taking, *names) if name in self._later}
        return [*((Folder.TAKING, name) for name in taking), *((Folder.OUTBOX, name) for name in names)]

    def _names(self, folder: Folder) -> list[str]:
        try:
            return self._shelf.names(folder)
        except FileNotFoundError:
            return []

    def _take(self, folder: Folder, name: str) -> None:
        """One file. What another was quicker with is done; what cannot be moved just now keeps no other."""
        if name in self._later and self._later[name][0] > time.monotonic():
            return
        self._later.pop(name, None)
        self._check_rate()
        try:
            self._take_or_reject(folder, name)
        except FileNotFoundError:
            pass
        except BridgeError as exc:
            self._put_off(name, str(exc))

    def _take_or_reject(self, folder: Folder, name: str) -> None:
        try:
            if folder is Folder.TAKING:
                self._finish(name, self._read(folder, name)[0])
            else:
                self._claim(name)
        except InvalidLetter as exc:
            self._reject(folder, name, "", exc)

    def _put_off(self, name: str, why: str) -> None:
        self._later[name] = time.monotonic() + _LATER, why

    def _check_rate(self) -> None:
        """Before anything is touched: so what has to wait waits where it was put."""
        most = self._room.settings.sender_rate
        if not most:
            return
        wait = bucket(self._room, "sender_rate", self._box.id, most, MINUTE).wait(self._room.now())
        if wait:
            raise RateLimited(
                f"more than {most:,} letters a minute came (mailbox_rate)", retry_after=wait / 1000
            )

    def _read(self, folder: Folder, name: str) -> tuple[list[Letter | Flaw], str]:
        sheet = self._shelf.read(folder, name, self._room.settings.mailbox_file_bytes)
        return letters(sheet.data), sheet.stamp

    def _claim(self, name: str) -> None:
        """Take a letter out of its writer's hands, if it is one."""
        try:
            found, stamp = self._read(Folder.OUTBOX, name)
        except InvalidLetter:
            if self._is_restless(name):
                return
            raise
        self._restless.pop(name, None)
        step("outbox-read")
        taking = f"{time.time_ns()}.{_short(name)}"
        if self._shelf.move(Folder.OUTBOX, name, Folder.TAKING, taking) != stamp:
            self._waits.append((Folder.TAKING, taking))  # it is another one by now
            return
        step("outbox-claimed")
        self._finish(taking, found)

    def _is_restless(self, name: str) -> bool:
        """Whether what is no letter may become one: it has changed a moment ago."""
        stamp, now = self._shelf.stamp(Folder.OUTBOX, name), time.monotonic()
        known, since = self._restless.get(name, ("", 0.0))
        if known != stamp:
            self._restless[name] = stamp, now
            return True
        if now - since < _QUIET:
            return True
        del self._restless[name]
        return False

    def _finish(self, taking: str, found: list[Letter | Flaw]) -> None:
        """Do what the letters of one file ask for, each for itself, and put the file where it belongs."""
        refused, full = list[tuple[int, Flaw]](), ""
        for n, each in enumerate(found):
            try:
                self._obey(each)
            except (StoreError, RateLimited, OSError, MemoryError):
                raise  # it is none of the letter's doing
            except MailboxFull as exc:
                full = str(exc)
            except PostroomError as exc:
                refused.append((n, Flaw(each.id, exc)))
            except Exception as exc:  # whatever it is about it, it must not come first again for ever
                why = InvalidLetter(f"it cannot be sent as it is: {type(exc).__name__}: {exc}"[:300])
                refused.append((n, Flaw(each.id, why)))
        step("outbox-sent")
        if full:
            self._put_off(taking, full)
            return
        if refused and len(found) == 1:
            self._reject(Folder.TAKING, taking, refused[0][1].id, refused[0][1].why)
            return
        parts = self._keep_parts(taking, refused) if refused else []
        self._put_away(Folder.TAKING, taking, Folder.TAKEN)
        self._note(*parts)
        step("outbox-moved")

    # what a letter asks for

    def _obey(self, letter: Letter | Flaw) -> None:
        if isinstance(letter, Flaw):
            raise letter.why
        self._check_sender(letter)
        if letter.type == ACK:
            self._room.ack(self._named(letter.reply_to or "").id)
        elif letter.type == NACK:
            self._room.nack(self._named(letter.reply_to or "").id, reason(letter))
        else:
            self._send(letter)

    def _check_sender(self, letter: Letter) -> None:
        """The name of its folder is its own, too: whoever was renamed may not know it."""
        agent, folder = self._box.agent, self._shelf.place.rpartition("/")[2]
        if letter.sender and letter.sender.lower() not in (agent.name, agent.address, folder):
            raise NotYourName(
                f"it says that it is from {letter.sender!r}, and lay in the mailbox of {agent.called}"[:300],
                hint=f'Write "from": "{agent.called}", or leave it out.',
            )

    def _send(self, letter: Letter) -> None:
        answered = self._named(letter.reply_to) if letter.reply_to else None
        if answered is not None and answered.sender_id == ROOM and not letter.to:
            self._room.ack(answered.id)
            raise UnknownMessage("the room itself takes no answers", hint="", is_untold=True)
        if answered is not None and self._is_answer(letter, answered):
            sent = self._room.reply(answered.id, letter.body, **options(letter, "response"))
        else:
            wanted: SendOptions = {**options(letter)}
            if answered is not None:
                wanted["reply_to"] = answered.id
            if letter.thread:
                wanted["thread"] = self._named(letter.thread).id
            sent = self._sent(letter, wanted)
        self._check_same(letter, sent)
        if letter.requires_ack:
            self._receipts.follow(letter.id, sent)

    def _sent(self, letter: Letter, wanted: "SendOptions") -> Sent:
        try:
            return self._room.send(letter.to, letter.body, **wanted)
        except KeyConflict as exc:
            raise _used(letter.id, str(exc.facts["message_ref"])) from None

    def _check_same(self, letter: Letter, sent: Sent) -> None:
        if sent.duplicate and not is_same(letter, sent.message):
            raise _used(letter.id, sent.message.id)

    def _is_answer(self, letter: Letter, answered: Message) -> bool:
        """Whether it goes back to who wrote what it answers."""
        look = self._room.store.look()
        if look.mail(answered.seq, self._box.id) is None:
            return False
        if not letter.to:
            return True
        found = directory.find(look, directory.personal(letter.to), self._room.scope.find(look))
        return found is not None and found.id == answered.sender_id

    def _named(self, ref: str) -> Message:
        """A message by the room's id or handle, or by the id that this mailbox gave it."""
        look = self._room.store.look()
        found = (
            (look.message(ref) if ids.is_uuid(ref) else None)
            or look.message_by_key(self._box.id, key(ref))
            or (look.message(ref) if ids.is_handle(ref) else None)
        )
        if found is None:
            raise UnknownMessage(
                f"there is no message {ref!r}", message_ref=ref, hint="Write the id of a letter."
            )
        return found

    # where files go

    def _reject(self, folder: Folder, name: str, id: str, why: PostroomError) -> None:
        """Set a file aside. Its receipt is there first; the letter about it comes when it has been moved."""
        aside = _Aside(_original(name) if folder is Folder.TAKING else name, id, why)
        self._refuse(aside)
        self._put_away(folder, name, Folder.REJECTED)
        self._note(aside)

    def _keep_parts(self, taking: str, refused: list[tuple[int, Flaw]]) -> list[_Aside]:
        """Some of several in a file are set aside, each in a file of its own."""
        name = _original(taking)
        found = items(self._shelf.read(Folder.TAKING, taking, self._room.settings.mailbox_file_bytes).data)
        parts: list[_Aside] = []
        for n, flaw in refused:
            part = f"{_short(name).removesuffix(SUFFIX)}.{n + 1}{SUFFIX}"
            part = self._keep_part(part, json.dumps(found[n]).encode())
            parts.append(_Aside(part, flaw.id, flaw.why))
            self._refuse(parts[-1])
        return parts

    def _keep_part(self, name: str, data: bytes) -> str:
        """What it is called there: another of that name stays; what was kept before is not kept twice."""
        try:
            if self._shelf.read(Folder.REJECTED, name, len(data)).data == data:
                return name
            name = _another(name)
        except FileNotFoundError:
            pass
        except InvalidLetter:
            name = _another(name)
        self._shelf.write(Folder.REJECTED, name, data, lasting=False)
        return name

    def _put_away(self, folder: Folder, name: str, target: Folder) -> None:
        plain = _original(name) if folder is Folder.TAKING else name
        try:
            self._shelf.move(folder, name, target, plain)
        except FileExistsError:
            self._shelf.move(folder, name, target, _another(plain))

    def _refuse(self, aside: _Aside) -> None:
        self._receipts.refuse(storable(aside.id), storable(aside.file), aside.why)

    def _note(self, *aside: _Aside) -> None:
        """Those are to be told of. Who answers every letter would answer that one, too."""
        self._aside += [each for each in aside if not each.why.facts.get("is_untold")]

    def _tell(self) -> None:
        """One letter of the room to the agent, of all that was set aside just now."""
        if not self._aside:
            return
        aside, self._aside = self._aside, []
        lines = [f"{storable(each.file)!r}: {each.why}"[:400] for each in aside[:_NAMED]]
        if len(aside) > _NAMED:
            lines.append(f"… and {len(aside) - _NAMED:,} more; see outbox/rejected and receipts")
        count = "A letter was" if len(aside) == 1 else f"{len(aside):,} letters were"
        about = sha256("\n".join([*lines, str(time.time_ns())]).encode(errors="replace")).hexdigest()[:32]
        with self._room.write() as tx:
            notify(
                tx, self._box.agent, f"{count} set aside",
                f"{count} not sent, and set aside in outbox/rejected:\n" + "\n".join(lines),
                {"mailbox": {"rejected": [storable(each.file) for each in aside[:100]]}},
                key=f"mailbox:{self._box.id}:{about}",
            )  # fmt: skip


def _original(taking: str) -> str:
    """What its writer called a file that is being taken in."""
    name = taking.partition(".")[2]
    return name if name.endswith(SUFFIX) and name[0] != "." else taking


def _another(name: str) -> str:
    """A name that is free, for what would be called so."""
    return f"{_short(name).removesuffix(SUFFIX)}.{time.time_ns()}{SUFFIX}"


def _short(name: str) -> str:
    """A name to which something can be added."""
    raw = os.fsencode(name)
    return name if len(raw) <= _LONGEST else sha256(raw).hexdigest()[:32] + SUFFIX


def _used(id: str, ref: str) -> KeyConflict:
    return KeyConflict(
        f"another letter had the id {id!r}", hint="Give each letter an id of its own.", message_ref=ref
    )
