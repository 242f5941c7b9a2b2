"""What goes with a message: files (or bytes) taken in before the lock, and enclosed with the commit."""

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from postroom import label
from postroom.errors import InvalidAttachment
from postroom.protocol import media
from postroom.room import blob
from postroom.room.unit import stored_but

if TYPE_CHECKING:
    from postroom.model.message import Json, Sent
    from postroom.room.local import LocalRoom
    from postroom.room.options import Attachable, ReplyOptions

MOST = 32  # in one message
_LONGEST_NAME = 255  # bytes
_KINDS = (
    (stat.S_ISDIR, "is a directory"), (stat.S_ISFIFO, "is a named pipe"), (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"), (stat.S_ISBLK, "is a device"),
)  # fmt: skip
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class Parcel:
    """The attachments of one message that is about to be sent."""

    __slots__ = ("_home", "_known", "_lasting", "_limit", "_room", "_staged", "attachments")

    def __init__(self, room: "LocalRoom") -> None:
        self._room = room
        self._home = room.home
        self._limit = room.settings.max_attachment_bytes
        self._lasting = room.store.durability == "full"
        self._staged: list[blob.Staged] = []
        self._known: list[Json] = []  # what another message has brought
        self.attachments: list[Json] = []

    def add(self, source: "Attachable") -> None:
        """Take one in; raises `InvalidAttachment` for what cannot be."""
        if isinstance(source, Mapping):
            self._known.append(_described(source))
            self.attachments.append(self._known[-1])
            return
        name, content = self._opened(source)
        _check_name(name)
        staged = blob.stage(self._home, content, lasting=self._lasting)
        self._staged.append(staged)
        if not staged.size:
            raise InvalidAttachment(f"{name} is empty", name=name)
        self.attachments.append(
            {
                "name": name,
                "media_type": media.guess(name, staged.head),
                "size": staged.size,
                "sha256": staged.sha256,
            }
        )

    def _opened(self, source: Any) -> tuple[str, Iterator[bytes]]:
        """A name, and the content piece by piece."""
        match source:
            case (str(name), bytes(content)):
                return name, self._pieces(name, content)
            case bytes():
                name = f"attachment-{len(self.attachments) + 1}"
                return name, self._pieces(name, source)
            case str() | os.PathLike():
                path = os.fsdecode(cast("str", source))
                return os.path.basename(path.rstrip(os.sep)), self._read(path)
            case _:
                kind = type(source).__name__
                raise InvalidAttachment(f"an attachment is a path, bytes, or (name, bytes), not {kind}")

    def _pieces(self, name: str, content: bytes) -> Iterator[bytes]:
        self._check_size(name, len(content))
        yield content

    def _read(self, path: str) -> Iterator[bytes]:
        """A file that stays as it is while it is read."""
        descriptor = _open(path)
        try:
            before = os.fstat(descriptor)
            _check_kind(path, before)
            self._check_size(path, before.st_size)
            total = 0
            while total <= before.st_size and (chunk := _piece(descriptor, path)):
                label.here("attachment-reading")
                total += len(chunk)
                yield chunk
            if total != before.st_size or _stamp(os.fstat(descriptor)) != _stamp(before):
                raise InvalidAttachment(
                    f"{path} changed while it was read", path=path,
                    hint="Nothing was sent. Attach it when nobody writes to it, or attach a copy.",
                )  # fmt: skip
        finally:
            os.close(descriptor)

    def _check_size(self, name: str, size: int) -> None:
        if size > self._limit:
            raise InvalidAttachment(
                f"{name} has {size:,} bytes; the limit is {self._limit:,}",
                name=name, limit=self._limit,
                hint="Nothing was sent. Send its path, or raise max_attachment_bytes.",
            )  # fmt: skip

    def enclose(self) -> "list[Json]":
        """Let all take their places. Call with the write lock held, just before the message is stored."""
        for known in self._known:
            if not self._room.store.whole().is_attached(known["sha256"]):
                raise InvalidAttachment(f"no message has {known['name']!r} any more", **known)
        for staged in self._staged:
            blob.place(self._home, staged, lasting=self._lasting)
        return self.attachments

    def close(self) -> None:
        blob.drop(self._staged)


@contextmanager
def packed(room: "LocalRoom", options: "ReplyOptions") -> Generator[None]:
    """Within, the attachments among the options are a parcel; afterwards nothing unfinished is left of it."""
    sources = cast("Sequence[Attachable]", options.pop("attachments", None) or ())
    if not isinstance(sources, (list, tuple)):
        raise InvalidAttachment("attachments must be a list", hint="Write: attachments=[…]")
    if len(sources) > MOST:
        raise InvalidAttachment(f"{len(sources)} attachments; at most {MOST} go with a message", limit=MOST,
                                hint="Nothing was sent. Pack them into an archive.")  # fmt: skip
    room.store.look()  # where there is no room, none is begun
    parcel = Parcel(room)
    try:
        for source in sources:
            parcel.add(source)
        if parcel.attachments:
            options["attachments"] = parcel
        yield
    except BaseException:
        with suppress(OSError):  # the first failure is the one to report; the next sweep removes the file
            parcel.close()
        raise
    parcel.close()


def sent_with(room: "LocalRoom", options: "ReplyOptions", act: "Callable[[], Sent]") -> "Sent":
    """Send with the attachments among the options; `StoredBut` where only what comes after that fails."""
    sent: Sent | None = None
    try:
        with packed(room, options):
            sent = act()
    except OSError as exc:
        if sent is None:
            raise
        raise stored_but(sent.message, exc) from exc
    assert sent is not None, "it was sent, or raised"
    return sent


def _described(attachment: "Mapping[str, Any]") -> "Json":
    """An attachment of another message, to be sent on; whether it is there is seen under the lock."""
    known = {key: attachment.get(key) for key in ("name", "media_type", "size", "sha256")}
    _check_name(str(known["name"]))
    sha256 = str(known["sha256"])
    kind, size = known["media_type"], known["size"]
    sound = isinstance(kind, str) and kind.isprintable() and isinstance(size, int) and size > 0
    if len(sha256) != 64 or set(sha256) - set("0123456789abcdef") or not sound:
        raise InvalidAttachment(f"{known['name']!r} is no attachment of a message")
    return known


def _check_name(name: str) -> None:
    """A name is one line, shows all that is in it, and is no path."""
    hint = "Nothing was sent. Give the file another name."
    if not name.isprintable():
        raise InvalidAttachment(
            f"the name {name!r} has characters that do not show", name=repr(name), hint=hint
        )
    if name in ("", ".", "..") or "/" in name or "\\" in name:
        raise InvalidAttachment(f"{name!r} is no name for a file", name=name, hint=hint)
    if len(name.encode()) > _LONGEST_NAME:
        what = f"the name {name[:24]!r}… is longer than {_LONGEST_NAME} bytes"
        raise InvalidAttachment(what, name=name, hint=hint)


def _open(path: str) -> int:
    """A descriptor. Looked at first: opening a pipe or a device would wait, or do something."""
    try:
        _check_kind(path, os.stat(path))
        return os.open(path, _FLAGS)
    except (OSError, ValueError) as exc:
        raise _unreadable(path, exc) from exc


def _piece(descriptor: int, path: str) -> bytes:
    try:
        return os.read(descriptor, blob.CHUNK)
    except OSError as exc:
        raise _unreadable(path, exc) from exc


def _unreadable(path: str, exc: OSError | ValueError) -> InvalidAttachment:
    if path == "-":
        hint = "Nothing was sent. Standard input can only be the body; attach a file."
        return InvalidAttachment("- is no file to attach", path=path, hint=hint)
    why = (exc.strerror or str(exc)) if isinstance(exc, OSError) else str(exc)
    if isinstance(exc, OSError) and exc.errno == errno.ELOOP:
        why = "its symbolic links lead in a circle"
    hint = "Check the path. Nothing was sent."
    return InvalidAttachment(f"{path!r} cannot be attached: {why}", path=path, hint=hint)


def _check_kind(path: str, about: os.stat_result) -> None:
    if stat.S_ISREG(about.st_mode):
        return
    kind = next((what for is_such, what in _KINDS if is_such(about.st_mode)), "is no file")
    raise InvalidAttachment(f"{path} {kind}: only files can be attached", path=path)


def _stamp(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns
