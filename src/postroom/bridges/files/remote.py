"""Mailboxes that lie elsewhere: in an object store (`s3://bucket/path`) or over SFTP (`sftp://user@host/path`).

Needs the extra `postroom[remote]`. How the store is reached and who we are there is found by the libraries in
their own ways (environment, `~/.aws`, `~/.ssh`); a password in the address is refused, because addresses are
kept. Nothing rings from there, so whoever serves such a shelf looks at it now and then. What has been dealt
with is not listed again: only the outbox, and the inbox, which has what is open.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

from postroom import extra
from postroom.bridges.files.depot import Depot
from postroom.bridges.files.elsewhere import Elsewhere
from postroom.bridges.files.hold import FOLDER
from postroom.bridges.files.patient import Patient
from postroom.bridges.files.shelf import MARK, USUAL, Folder, Kept, Picked, Sheet
from postroom.errors import BridgeError, InvalidLetter, InvalidValue, MailboxUnreachable

BASE, SIGN = ".postroom", ".postroom/served"
_TIDY = 1800.0  # seconds between two looks for what is half-written
_WRITTEN = (Folder.INBOX, FOLDER, Folder.OUTBOX, Folder.TAKING, Folder.REJECTED, Folder.RECEIPTS)
_SFTP = ("sftp", "ssh")
_OBJECTS = ("s3", "gs")
_NEEDS = {"gs": "gcsfs"}


def is_remote(place: str) -> bool:
    """Whether that is the address of a tree elsewhere, and no directory."""
    return "://" in place


def checked(url: str) -> str:
    """The address of a tree, without what follows it; `InvalidValue` if it is none that can be kept."""
    try:
        place = urlsplit(url)
        secret, host, _ = place.password, place.hostname, place.port
    except ValueError as exc:
        raise InvalidValue(f"{url!r} is no address: {exc}") from None
    if place.scheme not in (*_SFTP, *_OBJECTS):
        kinds = "s3://bucket/path, gs://bucket/path or sftp://user@host/path"
        raise InvalidValue(f"{url!r} is no address of a mailbox", hint=f"Give a directory, or {kinds}")
    if secret is not None:
        raise InvalidValue("an address must not have a password in it", hint=_SECRETS)
    if not host or (place.scheme in _SFTP and place.path in ("", "/")):
        raise InvalidValue(f"{url!r} names no place", hint="Name the directory, too.")
    return url.rstrip("/")


_SECRETS = "It would be kept. Use a key (~/.ssh), or what the store's own tools read."


def connect(url: str) -> Depot:
    """Where a tree lies. Nothing is asked of the store yet, where that can be helped."""
    url = checked(url)
    scheme = url.partition("://")[0]
    try:
        if scheme in _SFTP:
            from postroom.bridges.files.sftp import Sftp  # noqa: PLC0415 - an extra

            return Sftp(url)
        from postroom.bridges.files.objects import shared  # noqa: PLC0415 - an extra

        return shared(url)
    except ImportError as exc:
        hint = extra.library(_NEEDS[scheme]) if scheme in _NEEDS else extra.hint("remote")
        raise BridgeError(f"{scheme}:// needs a library: {exc}", hint=hint) from exc


def shelf(url: str, name: str) -> "RemoteShelf":
    """One mailbox, for who serves it for long: a store that is away is asked less and less often."""
    return RemoteShelf(url, name, Patient(connect(url)))


def members(url: str) -> list[str]:
    """The mailboxes of a tree: what lies in it."""
    with _connected(url) as depot:
        try:
            return sorted(name for name in depot.names("") if name[0] != ".")
        except FileNotFoundError:
            return []


def mark(url: str, data: bytes) -> None:
    """Note in a tree that a room serves it."""
    with _connected(url) as depot:
        depot.make(BASE)
        depot.sweep(BASE)
        depot.write(SIGN, data)


def unmark(url: str) -> None:
    with _connected(url) as depot:
        depot.remove(SIGN)
        depot.sweep(BASE)
        depot.drop(BASE)


def marked(url: str) -> bytes:
    """That note; empty where there is none."""
    with _connected(url) as depot:
        try:
            return depot.read(SIGN, 4096)
        except FileNotFoundError:
            return b""


@contextmanager
def _connected(url: str) -> Generator[Depot]:
    depot = connect(url)
    try:
        yield depot
    finally:
        depot.close()


class RemoteShelf:
    """See `Shelf`."""

    is_slow = is_blind = True

    def __init__(self, url: str, name: str, depot: Depot | None = None) -> None:
        self.place = f"{checked(url)}/{name}"
        self._name = name
        self._depot = depot or connect(url)
        self._tidies_at = 0.0  # on the monotonic clock

    def make(self) -> None:
        for folder in USUAL:
            self._depot.make(f"{self._name}/{folder.value}")

    def names(self, folder: Folder) -> list[str]:
        try:
            found = self._depot.names(f"{self._name}/{folder.value}")
        except FileNotFoundError:
            if folder is Folder.INBOX:  # which is told from one that is gone
                raise
            return []
        return sorted(name for name in found if not name.startswith("."))

    def has(self, folder: Folder, name: str) -> bool:
        try:
            self._depot.about(self._path(folder, name))
        except FileNotFoundError:
            return False
        return True

    def stamp(self, folder: Folder, name: str) -> str:
        return self._depot.about(self._path(folder, name)).stamp

    def read(self, folder: Folder, name: str, limit: int) -> Sheet:
        path = self._path(folder, name)
        about = self._depot.about(path)
        if not about.is_plain:
            raise InvalidLetter("it is not a regular file")
        if about.size > limit or len(data := self._depot.read(path, limit + 1)) > limit:
            raise InvalidLetter(f"it is larger than {limit:,} bytes")
        return Sheet(data, about.stamp)

    def pick(self, name: str, limit: int) -> Picked:
        """Its name stays: no such store renames at once, and who reads there cannot be noticed."""
        return Kept(self.read(Folder.INBOX, name, limit))

    def visitors(self) -> set[str]:
        """None: nothing tells."""
        return set()

    def read_since(self, moment: int) -> list[str]:
        """None: see `pack`."""
        return []

    def is_being_written(self, name: str) -> bool:
        return False

    def write(
        self, folder: Folder, name: str, data: bytes, *, lasting: bool = True, beside: str = ""
    ) -> None:
        if beside:
            self._depot.about(self._path(folder, beside))
        self._depot.write(self._path(folder, name), data)

    def identity(self) -> str:
        """Nothing: no such store numbers its folders, and its times are kept when they are copied."""
        return ""

    def prepare(self) -> None:
        """Nothing: what is made ahead there, others see."""

    def move(self, source: Folder, name: str, target: Folder, new_name: str) -> str:
        return self._depot.move(self._path(source, name), self._path(target, new_name))

    def remove(self, folder: Folder, name: str) -> None:
        self._depot.remove(self._path(folder, name))

    def pack(self, seconds: float) -> int:
        """None: all that was ever done with would be listed, and a clock that is not ours tell its age."""
        return 0

    def tidy(self) -> None:
        if (now := time.monotonic()) >= self._tidies_at:
            self._tidies_at = now + _TIDY
            self._sweep()

    def _sweep(self) -> None:
        for folder in _WRITTEN:
            try:
                self._depot.sweep(f"{self._name}/{folder}")
            except MailboxUnreachable:
                raise
            except BridgeError:
                pass  # it has become a link, say: whoever needs it tells

    def leave(self) -> None:
        self._sweep()
        self.remove(Folder.INBOX, MARK)
        Elsewhere(self._depot, self._depot, self._name).clear()
        self._depot.drop(f"{self._name}/{Folder.TAKING.value}")

    def fileno(self) -> int:
        return -1

    def changes(self) -> frozenset[Folder]:
        return frozenset()

    def close(self) -> None:
        self._depot.close()

    def _path(self, folder: Folder, name: str) -> str:
        if "/" in name or "\0" in name or name in ("", ".", ".."):
            raise InvalidLetter(f"{name!r} is no name of a file")
        return f"{self._name}/{folder.value}/{name}"
