"""Receipts: small files that tell the writer of a letter what became of it, written anew as it climbs."""

import time
from typing import Any

from postroom.bridges.files.box import Box
from postroom.bridges.files.letter import (
    items,
    key,
    own_id,
    receipt,
    receipt_name,
    refusal,
    rejected_name,
)
from postroom.bridges.files.shelf import Folder
from postroom.errors import BridgeError, InvalidLetter, PostroomError
from postroom.model.ladder import ended
from postroom.model.message import Delivery, Message, Sent

_SHARE = 10  # of the time at most one in so many goes into looking
_SOONEST = 0.002  # seconds
_LARGEST = 1 << 16  # bytes of a receipt
_LATER = 5.0  # seconds after which those that could not be written are tried again
_MOST = 5_000  # of them, the newest
_PAGE = 500  # of what was sent earlier are looked at in a step


class Receipts:
    """Those of one mailbox."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._open: dict[str, tuple[Message, str]] = {}  # by the writer's id; what its receipt says
        self._unwritten: dict[str, bytes] = {}  # by their names
        self._resumes = 0.0  # when those are tried again, on the monotonic clock
        self._next = 0.0  # when to look, on the monotonic clock
        self._has_looked_back = False
        self._back = 0  # how far, as the number of a message; 0: nowhere yet

    def follow(self, id: str, sent: Sent) -> None:
        """Tell from now on what becomes of a letter."""
        deliveries = self._deliveries(sent.message) if sent.duplicate else sent.deliveries
        self._write(id, sent.message, deliveries, sent.note)

    def refuse(self, id: str, file: str, why: PostroomError) -> None:
        """A letter was set aside. Where its id cannot be told, or is that of another, its file names it."""
        is_own = bool(id) and not self._is_anothers(id)
        name = receipt_name(id) if is_own else rejected_name(file)
        if is_own:
            self._spare(name, file)
        self._put(name, refusal(id, file, why, self._box.room.now()))

    def _is_anothers(self, id: str) -> bool:
        """Whether a letter of that id was accepted before."""
        return self._box.room.store.look().message_by_key(self._box.id, key(id)) is not None

    def _spare(self, name: str, file: str) -> None:
        """Another file that was set aside under the same id keeps its receipt, by the name of that file."""
        try:
            data = self._unwritten.get(name) or self._box.shelf.read(Folder.RECEIPTS, name, _LARGEST).data
            said: Any = items(data)[0]
            earlier = str(said["file"])
        except (FileNotFoundError, BridgeError, InvalidLetter, IndexError, KeyError, TypeError):
            return  # there is none, or none of ours
        if earlier != file:
            self._put(rejected_name(earlier), data)

    def update(self) -> float | None:
        """Write what has changed; in how many seconds to look again, if that is known."""
        pauses = [self._update(), self._try_again()]
        return min((pause for pause in pauses if pause is not None), default=None)

    def _try_again(self) -> float | None:
        if self._unwritten and time.monotonic() >= self._resumes:
            unwritten, self._unwritten = self._unwritten, {}
            for name, data in unwritten.items():
                self._put(name, data)
        return max(0.0, self._resumes - time.monotonic()) if self._unwritten else None

    def _update(self) -> float | None:
        if not self._has_looked_back:
            self._look_back()
            return 0.0
        if not self._open:
            return None
        began = time.monotonic()
        if began < self._next:
            return self._next - began
        for id, (message, said) in list(self._open.items()):
            deliveries = self._deliveries(message)
            if _said(deliveries) != said:
                self._write(id, message, deliveries)
        spent = time.monotonic() - began
        self._next = began + max(_SOONEST, spent * _SHARE)
        return None

    def _look_back(self) -> None:
        """A page of what was sent, newest first: some was open when an earlier process of ours ended."""
        page = self._box.room.sent(limit=_PAGE, before=self._back or None)
        for message, _ in page:
            id = own_id(message)
            if id is not None and message.requires_ack and not _is_final(self._deliveries(message)):
                self._open.setdefault(id, (message, ""))
        self._has_looked_back = len(page) < _PAGE
        if page:
            self._back = page[-1][0].seq

    def _deliveries(self, message: Message) -> list[Delivery]:
        return self._box.room.store.look().deliveries(message.seq)

    def _write(self, id: str, message: Message, deliveries: list[Delivery], note: str = "") -> None:
        self._open[id] = message, _said(deliveries)
        if _is_final(deliveries):
            del self._open[id]
        self._put(receipt_name(id), receipt(id, message, deliveries, self._box.room.now(), note))

    def _put(self, name: str, data: bytes) -> None:
        """One that cannot be written, because the disk is full, say, keeps nothing else: it comes later."""
        self._unwritten.pop(name, None)
        try:
            self._box.shelf.write(Folder.RECEIPTS, name, data, lasting=False)
        except (BridgeError, FileNotFoundError):
            self._unwritten[name] = data
            if len(self._unwritten) > _MOST:
                del self._unwritten[next(iter(self._unwritten))]
            self._resumes = time.monotonic() + _LATER


def _said(deliveries: list[Delivery]) -> str:
    return " ".join(f"{each.recipient_id}={each.state.value}:{each.reason}" for each in deliveries)


def _is_final(deliveries: list[Delivery]) -> bool:
    return all(ended(each.state) for each in deliveries)
