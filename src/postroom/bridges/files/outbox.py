"""An agent's outbox: what lies in it goes into the room once, and what cannot is set aside, with the reason.

A letter is read, and then moved to where its writer does not look, so that nothing else can take its place
unread. It stays there until the room has it. So at each moment a file is in the outbox, being taken in,
processed, or rejected; and a process that is killed is followed by one that goes on with what was being taken
in. The writer's own id is the key by which the room knows a letter that it has already.
"""

import json
import os
import threading
import time
from collections import deque
from contextlib import nullcontext, suppress
from hashlib import sha256
from typing import NamedTuple, cast

from postroom.bridges.files import note
from postroom.bridges.files.box import Box, step
from postroom.bridges.files.clerk import Clerk
from postroom.bridges.files.letter import SUFFIX, Flaw, Letter, items, letters
from postroom.bridges.files.receipts import Receipts
from postroom.bridges.files.shelf import Folder
from postroom.errors import (
    BridgeError,
    InvalidLetter,
    MailboxFull,
    PostroomError,
    RateLimited,
    StoreError,
)
from postroom.model.message import Json, Sent
from postroom.room.bounce import notify
from postroom.room.policy import bucket
from postroom.room.rate import MINUTE
from postroom.room.unit import Unit
from postroom.text import storable

_BATCH = 50  # files at a time
_TOGETHER = 25  # letters that are stored in one transaction: others wait for its end
_QUIET = 2.0  # seconds for which what is no letter must not have changed: somebody may still be writing it
_LATER = 5.0  # seconds after which one is tried again that something stood in the way of
_LONGEST = 200  # bytes of a name to which something may be added
_KIND = "asides"  # what was set aside and not told of yet, as it is noted beside the room
_RECALLED = 100  # of them
_NAMED = 5  # of several that were set aside
_RATE = "sender_rate"  # the rule by which the room counts; how much it is for a mailbox, `Box` says


class _Turn:
    """Of the threads that take in letters, one does at a time: each of many would have the room's lock for as
    long as the interpreter runs all the others. Who waits for a slow shelf keeps none of them.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.Lock()  # the thread that had it is not here


_turn = _Turn()


class _Aside(NamedTuple):
    """What was set aside."""

    file: str
    id: str
    why: PostroomError


class _File:
    """One that is being taken in, and what came of its letters."""

    def __init__(self, taking: str, letters: list[Letter | Flaw]) -> None:
        self.name = taking
        self.letters = letters
        self.sent: list[tuple[str, Sent]] = []  # by the writer's ids
        self.refused: list[tuple[int, Flaw]] = []
        self.left = len(letters)
        self.full = ""  # why something cannot be sent just now


class Outbox:
    """One mailbox's."""

    def __init__(self, box: Box, receipts: Receipts) -> None:
        self._box, self._room, self._shelf = box, box.room, box.shelf
        self._receipts = receipts
        self._clerk = Clerk(box)
        self._waits: deque[tuple[Folder, str]] = deque()  # what is still to be looked at, as of the last look
        self._must_look = True
        self._restless: dict[str, tuple[str, float]] = {}  # what is no letter yet: its stamp, and since when
        self._later: dict[str, tuple[float, str]] = {}  # what is tried again: when, and why
        self._resumes = 0.0  # when the next may be taken in
        self._aside: list[_Aside] = []
        self._since = 0  # when the first of them was set aside: tells their letter from any other
        self._has_recalled = False
        self.why = ""  # why something waits there, for people

    def changed(self) -> None:
        """Something has, or may have."""
        self._must_look = True

    def take_in(self) -> float | None:
        """Take in some of what is there; in how many seconds there may be more to do, if that is known."""
        if not self._has_recalled:
            self._recall()
        now = time.monotonic()
        if now < self._resumes:
            return self._resumes - now
        if not self._waits and (self._must_look or self._next_try() <= now):
            self._must_look = False
            self._waits.extend(self._list())
        try:
            with nullcontext() if self._shelf.is_slow else _turn.lock:
                self._take_some()
            self.why = next((why for _, why in self._later.values()), "")
        except RateLimited as exc:
            self.why = _too_many(self._room.settings.sender_rate) if exc.rule == _RATE else str(exc)
            self._resumes = time.monotonic() + exc.retry_after
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

    def _take_some(self) -> None:
        """The next files. Where something stands in the way of all, what is not done is found again."""
        files: list[_File] = []
        try:
            for _ in range(min(self._allowed(), len(self._waits))):
                file = self._claimed(*self._waits.popleft())
                if file is not None:
                    files.append(file)
            self._obey(files)
        except BaseException:
            self._waits.clear()  # what it stopped at may be where it is taken in by now
            self._must_look = True
            raise

    def _allowed(self) -> int:
        """How many may be taken in now. What has to wait waits where it was put: that is not touched."""
        most = self._room.settings.sender_rate
        if not most or not self._waits:
            return _BATCH
        rate, now = bucket(self._room, _RATE, self._box.id, most, MINUTE), self._room.now()
        if wait := rate.wait(now):
            raise RateLimited(_too_many(most), rule=_RATE, limit=most, retry_after=wait / 1000)
        return min(_BATCH, rate.left(now))

    def _claimed(self, folder: Folder, name: str) -> _File | None:
        """One file, out of its writer's hands. What another was quicker with is done; what is none, too."""
        if name in self._later and self._later[name][0] > time.monotonic():
            return None
        self._later.pop(name, None)
        try:
            try:
                if folder is Folder.TAKING:
                    return _File(name, self._read(folder, name)[0])
                return self._claim(name)
            except InvalidLetter as exc:
                self._reject(folder, name, "", exc)
        except FileNotFoundError:
            pass
        except BridgeError as exc:
            self._put_off(name, str(exc))
        return None

    def _put_off(self, name: str, why: str) -> None:
        """What cannot be moved just now keeps no other."""
        self._later[name] = time.monotonic() + _LATER, why

    def _read(self, folder: Folder, name: str) -> tuple[list[Letter | Flaw], str]:
        sheet = self._shelf.read(folder, name, self._room.settings.mailbox_file_bytes)
        return letters(sheet.data), sheet.stamp

    def _claim(self, name: str) -> _File | None:
        """Take a letter out of its writer's hands, if it is one."""
        try:
            found, stamp = self._read(Folder.OUTBOX, name)
        except InvalidLetter:
            if self._is_restless(name):
                return None
            raise
        self._restless.pop(name, None)
        step("outbox-read")
        taking = f"{time.time_ns()}.{_short(name)}"
        if self._shelf.move(Folder.OUTBOX, name, Folder.TAKING, taking) != stamp:
            self._waits.appendleft((Folder.TAKING, taking))  # it is, or may be, another one by now
            return None
        step("outbox-claimed")
        return _File(taking, found)

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

    def _obey(self, files: list[_File]) -> None:
        """Do what the letters ask for, and put each file where it belongs once the room has what it asked."""
        for empty in (file for file in files if not file.letters):
            self._finish(empty)
        every = [(file, n) for file in files for n in range(len(file.letters))]
        for at in range(0, len(every), _TOGETHER):
            some, late = every[at : at + _TOGETHER], None
            with Unit(self._room, prompt=False, parts=True):
                try:
                    for file, n in some:
                        self._obey_one(file, n)
                except RateLimited as exc:
                    late = exc
            step("outbox-sent")
            for file in dict.fromkeys(file for file, _ in some):
                if not file.left:
                    self._finish(file)
            if late is not None:
                raise late

    def _obey_one(self, file: _File, n: int) -> None:
        letter = file.letters[n]
        try:
            sent = self._clerk.obey(letter)
            if sent is not None and isinstance(letter, Letter) and letter.requires_ack:
                file.sent.append((letter.id, sent))
        except (StoreError, RateLimited, OSError, MemoryError):
            raise  # it is none of the letter's doing
        except MailboxFull as exc:
            file.full = str(exc)
        except PostroomError as exc:
            file.refused.append((n, Flaw(letter.id, exc)))
        except Exception as exc:  # whatever it is about it, it must not come first again for ever
            why = InvalidLetter(f"it cannot be sent as it is: {type(exc).__name__}: {exc}"[:300])
            file.refused.append((n, Flaw(letter.id, why)))
        file.left -= 1

    def _finish(self, file: _File) -> None:
        try:
            for id, sent in file.sent:
                self._receipts.follow(id, sent)
            if file.full:
                self._put_off(file.name, file.full)
            else:
                self._move(file)
        except FileNotFoundError:
            pass
        except BridgeError as exc:
            self._put_off(file.name, str(exc))

    def _move(self, file: _File) -> None:
        if file.refused and len(file.letters) == 1:
            [(_, flaw)] = file.refused
            self._reject(Folder.TAKING, file.name, flaw.id, flaw.why)
            return
        parts = self._keep_parts(file.name, file.refused) if file.refused else []
        self._remember(*parts)
        self._put_away(Folder.TAKING, file.name, Folder.TAKEN, _original(file.name))
        self._note(*parts)
        step("outbox-moved")

    # where files go

    def _reject(self, folder: Folder, name: str, id: str, why: PostroomError) -> None:
        """Set a file aside. Its receipt is there first; the letter about it comes when it has been moved."""
        plain = _original(name) if folder is Folder.TAKING else name
        if self._shelf.has(Folder.REJECTED, plain):
            plain = _another(plain)
        self._refuse(aside := _Aside(plain, id, why))
        self._remember(aside)
        put = self._put_away(folder, name, Folder.REJECTED, plain)
        if put != plain:
            self._refuse(aside := aside._replace(file=put))
        self._note(aside)
        step("outbox-rejected")

    def _remember(self, *aside: _Aside) -> None:
        """Who is killed before the letter about it is followed by one that writes it."""
        told = [each for each in aside if not each.why.facts.get("is_untold")]
        if not told:
            return
        self._since = self._since or time.time_ns()
        files = {storable(each.file): str(each.why) for each in (*self._aside[:_RECALLED], *told)}
        with suppress(OSError):
            note.put(self._room.home, _KIND, self._box.id, {"since": self._since, "files": files})

    def _recall(self) -> None:
        """What an earlier process has set aside, and did not come to tell of."""
        facts = note.get(self._room.home, _KIND, self._box.id)
        files = facts.get("files")
        if isinstance(files, dict):
            left = [one for one in cast("Json", files).items() if self._shelf.has(Folder.REJECTED, one[0])]
            self._aside = [_Aside(file, "", InvalidLetter(str(why))) for file, why in left]
            self._since = int(facts.get("since", 0))
        self._has_recalled = True
        self._tell()

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

    def _put_away(self, folder: Folder, name: str, target: Folder, plain: str) -> str:
        """Move it there; what it is called: another of that name stays."""
        try:
            self._shelf.move(folder, name, target, plain)
        except FileExistsError:
            plain = _another(plain)
            self._shelf.move(folder, name, target, plain)
        return plain

    def _refuse(self, aside: _Aside) -> None:
        self._receipts.refuse(storable(aside.id), storable(aside.file), aside.why)

    def _note(self, *aside: _Aside) -> None:
        """Those are to be told of. Who answers every letter would answer that one, too."""
        self._aside += [each for each in aside if not each.why.facts.get("is_untold")]

    def _tell(self) -> None:
        """One letter of the room to the agent, of all that was set aside just now."""
        if not self._aside:
            return
        aside, self._since = self._aside, self._since or time.time_ns()
        lines = [f"{storable(each.file)!r}: {each.why}"[:400] for each in aside[:_NAMED]]
        if len(aside) > _NAMED:
            lines.append(f"… and {len(aside) - _NAMED:,} more; see outbox/rejected and receipts")
        count = "A letter was" if len(aside) == 1 else f"{len(aside):,} letters were"
        about = sha256("\n".join([*lines, str(self._since)]).encode(errors="replace")).hexdigest()[:32]
        with self._room.write() as tx:
            notify(
                tx, self._box.agent, f"{count} set aside",
                f"{count} not sent, and set aside in outbox/rejected:\n" + "\n".join(lines),
                {"mailbox": {"rejected": [storable(each.file) for each in aside[:100]]}},
                key=f"mailbox:{self._box.id}:{about}",
            )  # fmt: skip
        self._aside, self._since = [], 0  # not before: what could not be written is written next time
        note.remove(self._room.home, _KIND, self._box.id)


def _too_many(most: int) -> str:
    return f"more than {most:,} letters a minute came (mailbox_rate)"


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
