"""What a listener has in hand, noted outside the store so that taking stays a read.

Three words per mailbox: the lease's fence, the seq of what is in hand, and whether somebody has contested it.
They survive the listener's death, not a power cut; without them, everything that waits is labelled instead.
The listener writes into memory that is the file: a call to the kernel would cost as much as reading the mail.

Who takes a message out of the mailbox past the listener (withdraws it, acknowledges it elsewhere, takes it by
its id, redacts it), or puts one in front of what waits, must not be told that it was in time while the
listener shows what was next before. So each says what it is about to do, and only then looks what the other
does: the listener notes that it is `REACHING` before it looks whether it was contested; the other, under the
write lock, contests and then looks at the note. One of them sees the other. A listener that was contested
asks again under the write lock; what it had read ahead, or was enclosed with a ring, counts no more.
"""

import mmap
import os
import struct
from _thread import allocate_lock

from postroom import host
from postroom.errors import StoreReadOnly, of_file

NOTHING, REACHING = 0, (1 << 64) - 1
_WORD, _WORDS = struct.Struct("=Q"), struct.Struct("=QQQ")
_FENCE, _SEQ, _CONTESTED = range(3)
_UNCONTESTED, _IS_CONTESTED, _ENDED = range(3)


class Hand:
    """The note of one mailbox."""

    _note: memoryview

    def __init__(self, path: str) -> None:
        self._path = path
        self._barrier = allocate_lock()

    # the listener's side

    def open(self) -> None:
        try:
            host.private_directory(os.path.dirname(self._path))
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if os.fstat(descriptor).st_size < _WORDS.size:
                    os.write(descriptor, bytes(_WORDS.size))
                self._note = memoryview(mmap.mmap(descriptor, _WORDS.size)).cast("Q")
            finally:
                os.close(descriptor)
        except OSError as exc:
            raise of_file(exc, f"cannot note what is in hand: {exc}", path=self._path) from exc
        except ValueError as exc:
            raise StoreReadOnly(f"cannot note what is in hand: {exc}", path=self._path) from exc

    def begin(self, fence: int) -> None:
        """Nothing is in hand yet under this fence.

        The first message is asked for under the write lock: somebody may have contested since.
        """
        self._note[_SEQ] = NOTHING
        self._note[_FENCE] = fence
        self._note[_CONTESTED] = _IS_CONTESTED

    def reach(self) -> None:
        """Note that whatever comes next is about to be shown. It is not before `hold` says what that is:
        so of one that dies in between nothing has to be labelled.
        """
        self._note[_SEQ] = REACHING
        # Atomic, so that no processor asks `is_contested` before the note is written; not blocking, since an
        # interrupt may come between the two calls.
        if self._barrier.acquire(blocking=False):
            self._barrier.release()

    def hold(self, seq: int) -> None:
        """Note what is about to be shown: a message, or `NOTHING`."""
        self._note[_SEQ] = seq

    def is_contested(self) -> bool:
        return self._note[_CONTESTED] != _UNCONTESTED

    def clear(self) -> bool:
        """Nobody contests it any more: under the write lock that is certain. False if the lease has ended."""
        if self._note[_CONTESTED] == _ENDED:
            return False
        self._note[_CONTESTED] = _UNCONTESTED
        return True

    def close(self) -> None:
        if hasattr(self, "_note"):
            del self._note

    # the others' side

    def contest(self, fence: int, *, ended: bool = False) -> int | None:
        """Under the write lock, before the next message becomes another: what is in hand, as with `read`."""
        descriptor = os.open(self._path, os.O_RDWR)
        try:
            os.lseek(descriptor, _WORD.size * _CONTESTED, os.SEEK_SET)
            os.write(descriptor, _WORD.pack(_ENDED if ended else _IS_CONTESTED))
        finally:
            os.close(descriptor)
        return self.read(fence)

    def read(self, fence: int) -> int | None:
        """What is in hand under a fence, or None when that is not known."""
        try:
            with open(self._path, "rb") as file:
                noted, seq, _ = _WORDS.unpack(file.read())
        except (OSError, struct.error):
            return None
        return seq if noted == fence else None
