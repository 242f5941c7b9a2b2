"""`postroom.Mailbox`: mail for a program that shares only a directory with the others, or a bucket."""

import contextlib
import itertools
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from postroom import config, label
from postroom.bridges.files import counter, dialect, letter, served
from postroom.bridges.files.hold import Holds
from postroom.bridges.files.letter import Letter
from postroom.bridges.files.shelf import Folder, Shelf
from postroom.clock import iso, wall
from postroom.errors import (
    BridgeError,
    InvalidLetter,
    InvalidValue,
    MailboxUnreachable,
    Refused,
    StaleClaim,
    StoreError,
)
from postroom.model.ids import uuid7
from postroom.model.ladder import Reason, State, ended, reached
from postroom.model.message import Json

_LARGEST = 64 << 20  # bytes of what the room has written
_SOON, _BLIND = 0.25, 5.0  # seconds between two looks where nothing tells of changes, at first and at last
_T = TypeVar("_T")


class Mailbox:
    """One agent's mailbox in a tree of mailboxes that programs share.

    `data_dir` is the tree: a directory, `s3://bucket/path` or `sftp://user@host/path`; `session` is the
    agent's name in it. Any number of programs and threads may use one mailbox at once: each letter goes to
    one of them. `ack_rung` is what `wait_for_ack` waits for, in place of the setting of that name.

    What was received counts as *seen* when the thread that received it asks for the next letters, when it
    is acknowledged, refused or answered, and when the mailbox is closed. If the program dies before that, or
    leaves the `with` block by an error, it is received again by whoever asks next, with `may_be_repeat`.
    """

    def __init__(
        self, data_dir: str | os.PathLike[str], session: str, *, ack_rung: str | None = None
    ) -> None:
        wanted = ack_rung and config.checked("ack_rung", ack_rung)
        self._counter = served.find(os.fspath(data_dir), session)
        self._rung = State(wanted or self._counter.settings.ack_rung)
        self._pid = os.getpid()
        self._guard = threading.RLock()  # over what is in hand, and the number below
        self._hand: dict[str, tuple[int, str]] = {}  # by file: the thread that has it, and its id
        self._holds = Holds(self._counter.place())
        self._flawed: dict[str, str] = {}  # files that are no letters, by name: what each was then
        self._untold: dict[str, str] = {}  # and what is wrong with those that nobody was told of
        self._number = 0  # of the last letter, so that their names sort as they were sent
        self._thread = threading.local()  # which has a number: the system's own are given out again
        self._numbers = itertools.count()
        self._shelves: list[Shelf] = []  # that nobody uses just now
        self._closed = False

    # sending

    def send(
        self,
        to: str,
        content: str | Json,
        *,
        type: str = "note",
        priority: str = "normal",
        requires_ack: bool = True,
        reply_to: str | None = None,
        subject: str = "",
        id: str | None = None,
    ) -> str:
        """Leave a letter for somebody, and give its id: text, or the payload of its type.

        It is on its way when this returns, and survives the end of this program; `wait_for_ack` tells how far
        it got. Sent again with the same `id`, it arrives once. Without `requires_ack` nobody is told what
        became of it, unless it was not accepted.
        """
        said: Json = {"to": to, "type": type, "priority": priority, "requiresAck": requires_ack}
        more = {"replyTo": reply_to, "subject": subject}
        return self._post(said | {key: value for key, value in more.items() if value}, content, id)

    def reply(self, id: str, content: str | Json) -> str:
        """Answer a letter that was received, which acknowledges it; the id of the answer."""
        return self._answer(id, {"replyTo": id, "requiresAck": True}, content)

    def ack(self, id: str) -> None:
        """Acknowledge a letter that was received."""
        self._answer(id, {"type": letter.ACK, "replyTo": id})

    def nack(self, id: str, reason: str) -> None:
        """Refuse a letter that was received: its sender is told why."""
        self._answer(id, {"type": letter.NACK, "replyTo": id, "payload": {"reason": reason}})

    def _answer(self, id: str, said: Json, content: str | Json | None = None) -> str:
        answer = self._post(said, content)
        with self._shelf() as shelf:
            self._settle(shelf, [name for name, (_, of) in self._in_hand() if of == id])
        return answer

    def _post(self, said: Json, content: str | Json | None, id: str | None = None) -> str:
        if isinstance(content, str):
            said |= (
                {"payload": {"text": content}} if said.get("type") in (None, "note") else {"body": content}
            )
        elif content is not None:
            said["payload"] = content
        said |= {"id": id or uuid7(), "timestamp": iso(wall())}  # whose it is, its place tells
        letter.read(said)  # what cannot be a letter is refused at once
        with self._shelf() as shelf:
            self._write(shelf, json.dumps(said, ensure_ascii=False).encode())
        if label.armed:
            label.here("letter-written")
        self._carry()
        return said["id"]

    def _write(self, shelf: Shelf, data: bytes) -> None:
        try:
            shelf.write(Folder.OUTBOX, self._file(), data)
        except FileNotFoundError:
            _make(shelf)  # it was taken away
            shelf.write(Folder.OUTBOX, self._file(), data)

    def _carry(self) -> None:
        """What is in the way of that now will not be later: the letter is written."""
        try:
            self._counter.carry()
        except (StoreError, BridgeError):
            pass

    def _file(self) -> str:
        with self._guard:
            self._number = max(time.time_ns(), self._number + 1)
            return f"{self._number:020d}-{os.urandom(4).hex()}{letter.SUFFIX}"

    # receiving

    def receive(self, timeout: float | None = 0.0, limit: int = 50) -> list[Letter]:
        """The next letters, the urgent ones first, or none if none came in so many seconds (None: wait).

        What this thread received before counts as seen from now on. A file that is no letter stays where it
        is, and once, when no letter waits, `InvalidLetter` tells of it. Where the mailbox lies elsewhere and
        cannot be reached all that time, that is raised.
        """
        if limit < 1:
            raise InvalidValue(f"a limit of {limit} is no limit", hint="Ask for 1 letter or more.")
        me = self._me()
        before = [name for name, (thread, _) in self._in_hand() if thread == me]

        def look(shelf: Shelf) -> list[Letter]:
            self._settle(shelf, before)
            return self._take(shelf, limit)

        return self._until(look, timeout) or []

    def _take(self, shelf: Shelf, limit: int) -> list[Letter]:
        """What is no letter keeps no other from being read, and is told of, once, when it is all there is."""
        here = [name for name in self._names(shelf) if name.endswith(letter.SUFFIX)]
        names = self._sound(shelf, here)
        while names:
            with self._guard:
                taken = self._holds.take(names, limit, here)
            if not taken:
                break
            names = names[names.index(taken[-1][0]) + 1 :]
            try:
                found = self._opened(shelf, taken)
            except BaseException:
                self._put_back(name for name, _ in taken)  # nobody gets any of them
                raise
            if found:
                return found
        with self._guard:
            flaw = self._untold.pop(next(iter(self._untold), ""), "")
        if flaw:
            raise InvalidLetter(flaw, hint="Look at it, and take it away.")
        return []

    def _sound(self, shelf: Shelf, names: list[str]) -> list[str]:
        """All but those that are known to be no letters, and are as they were."""
        with self._guard:
            known = dict(self._flawed)
        for name, stamp in known.items():
            if name not in names or _stamp(shelf, name) != stamp:
                with self._guard:
                    self._flawed.pop(name, None)
                    self._untold.pop(name, None)
        with self._guard:
            return [name for name in names if name not in self._flawed]

    def _opened(self, shelf: Shelf, taken: list[tuple[str, bool]]) -> list[Letter]:
        found = list[Letter]()
        for n, (name, again) in enumerate(taken):
            try:
                found += self._open(shelf, name, again)
            except BridgeError:
                if not found:
                    raise
                self._put_back(name for name, _ in taken[n:])
                break
        return found

    def _set_aside(self, shelf: Shelf, name: str, stamp: str, why: InvalidLetter) -> None:
        """What another program has put there, and may still be writing, is for the room to refuse."""
        with self._guard:
            self._flawed[name] = stamp
            if letter.numbered(name) is not None:
                self._untold[name] = f"{name} in {shelf.place}/inbox is not a letter: {why}"
        self._put_back([name])

    def _put_back(self, names: Iterable[str]) -> None:
        """What was taken, and is not given to anybody."""
        with self._guard, contextlib.suppress(BridgeError):
            for name in names:
                self._hand.pop(name, None)
                self._holds.put_back(name)

    def _names(self, shelf: Shelf) -> list[str]:
        try:
            return shelf.names(Folder.INBOX)
        except FileNotFoundError:
            _make(shelf)  # it was taken away
            return []

    def _open(self, shelf: Shelf, name: str, again: bool) -> list[Letter]:
        """A letter, which is in hand from now on; or none: it is not a letter, or another was quicker, and is
        done with it.
        """
        stamp = ""
        try:
            if again and shelf.has(Folder.READ, name):  # who moved it was killed before the old one was gone
                shelf.remove(Folder.INBOX, name)
            sheet = shelf.read(Folder.INBOX, name, _LARGEST)
            stamp = sheet.stamp
            found = dialect.found(sheet.data, name, shelf.place.rpartition("/")[2])
        except FileNotFoundError:
            self._let_go(name)
            return []
        except InvalidLetter as exc:
            self._set_aside(shelf, name, stamp or _stamp(shelf, name), exc)
            return []
        with self._guard:
            self._hand[name] = (self._me(), found.id)
        return [found._replace(may_be_repeat=again or found.may_be_repeat)]

    def _me(self) -> int:
        if not hasattr(self._thread, "number"):
            self._thread.number = next(self._numbers)
        return self._thread.number

    def _in_hand(self) -> list[tuple[str, tuple[int, str]]]:
        self._check()
        with self._guard:
            return list(self._hand.items())

    def _settle(self, shelf: Shelf, names: list[str]) -> None:
        """These have been seen. What could not be put away stays in the list."""
        if not names:
            return
        while names:
            self._put_away(shelf, names[-1])
            names.pop()
        self._carry()

    def _put_away(self, shelf: Shelf, name: str) -> None:
        try:
            shelf.move(Folder.INBOX, name, Folder.READ, name)
        except FileExistsError:
            shelf.remove(Folder.INBOX, name)
        except FileNotFoundError:
            pass  # the room has put it away, because it was acknowledged
        if label.armed:
            label.here("letter-moved")
        self._let_go(name)

    def _let_go(self, name: str) -> None:
        with self._guard:
            self._hand.pop(name, None)
            self._holds.done(name)

    # what became of what was sent

    def wait_for_ack(self, id: str, timeout: float | None = 60) -> bool:
        """Whether all for whom a letter is have it, as far as `ack_rung` says, within so many seconds.

        `Refused` if that cannot be any more: it was not accepted, or was refused, or has expired.
        """
        return bool(self._until(lambda shelf: self._has_arrived(shelf, id), timeout))

    def _has_arrived(self, shelf: Shelf, id: str) -> bool:
        try:
            said: Any = letter.items(_receipt(shelf, letter.receipt_name(id)))[0]
            if not said["accepted"]:
                error: Json = said["error"]
                hint = error.get("hint") or f"See {said['file']} in outbox/rejected."
                raise Refused(f"it was not accepted: {error['message']}", hint=hint, reason=error["code"])
            rungs = [one for one in said["recipients"] if one.get("reason") != Reason.TAKEN.value]
            return self._is_enough({one["to"]: one for one in rungs})
        except FileNotFoundError:
            return False
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, EOFError, zlib.error):
            hint = f"Look at it: {shelf.place}/{Folder.RECEIPTS}/{letter.receipt_name(id)}"
            raise InvalidLetter(f"the receipt of {id} is none", hint=hint) from None

    def _is_enough(self, rungs: dict[str, Json]) -> bool:
        for to, one in rungs.items():
            state = State(one["state"])
            if ended(state) and not reached(state, self._rung):
                why = f": {one['reason']}" if one.get("reason") else ""
                raise Refused(f"{state} for {to}{why}")
        return bool(rungs) and all(reached(State(one["state"]), self._rung) for one in rungs.values())

    # waiting

    def _until(self, look: Callable[[Shelf], _T], timeout: float | None) -> _T | None:
        """What a look finds, as soon as that is something; None when the time is over."""
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        pause = _SOON
        with self._shelf() as shelf:
            while True:
                offline = None
                self._check()
                try:
                    shelf.fileno()  # from here on it notices
                    shelf.changes()
                    self._counter.carry()
                    if found := look(shelf):
                        return found
                except MailboxUnreachable as exc:
                    offline = exc
                left = deadline - time.monotonic()
                if left <= 0 and offline is not None:
                    raise offline
                if left <= 0:
                    return None
                self._sleep(shelf, min(left, self._counter.pause(), pause if shelf.is_blind else left))
                pause = min(_BLIND, pause * 1.5)

    def _sleep(self, shelf: Shelf, seconds: float) -> None:
        counter.wait([one for one in (shelf.fileno(), *self._counter.descriptors()) if one >= 0], seconds)

    # its life

    def _check(self) -> None:
        if self._closed:
            raise StaleClaim("this mailbox is closed", hint="Open another: Mailbox(data_dir, session)")
        if self._pid != os.getpid():
            raise StaleClaim(
                "this mailbox belongs to the process that this one was forked from",
                hint="Open a Mailbox here.",
            )

    @contextmanager
    def _shelf(self) -> Generator[Shelf]:
        """One that no other thread uses meanwhile."""
        self._check()
        with self._guard:
            shelf = self._shelves.pop() if self._shelves else None
        shelf = shelf or self._counter.shelf()
        try:
            yield shelf
        finally:
            with self._guard:
                self._shelves.append(shelf)
            if self._closed:
                self._clear()

    def close(self) -> None:
        """What is in hand has been seen."""
        if self._closed:
            return
        try:
            with self._shelf() as shelf:
                self._settle(shelf, [name for name, _ in self._in_hand()])
        finally:
            self._end()

    def _end(self) -> None:
        self._closed = True
        try:
            with self._guard:
                self._holds.close()
        finally:
            self._clear()
            self._counter.close()

    def _clear(self) -> None:
        with self._guard:
            while self._shelves:
                self._shelves.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        if exc is None:
            self.close()
        elif not self._closed:
            self._end()


def _stamp(shelf: Shelf, name: str) -> str:
    try:
        return shelf.stamp(Folder.INBOX, name)
    except FileNotFoundError:
        return ""


def _make(shelf: Shelf) -> None:
    try:
        shelf.make()
    except FileNotFoundError as exc:
        hint = "Has the tree been removed? Make it again, and open another Mailbox."
        raise BridgeError(f"{shelf.place} is gone, and cannot be made", hint=hint) from exc


def _receipt(shelf: Shelf, name: str) -> bytes:
    """Old ones are packed."""
    try:
        return shelf.read(Folder.RECEIPTS, name, _LARGEST).data
    except FileNotFoundError:
        packed = shelf.read(Folder.RECEIPTS, f"{name}.gz", _LARGEST).data
        return zlib.decompressobj(wbits=31).decompress(packed, _LARGEST)
