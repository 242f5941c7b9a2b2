"""A depot in an object store, by fsspec: S3, and whatever else has whole objects under keys.

There is no rename: to move is to copy and then to remove. Who is killed in between leaves both, and whoever
reads knows a letter by its id. An object is written whole or not at all. No time of the store is looked at.
"""

import errno
import importlib
import os
import threading
import weakref
from typing import Any

from postroom import label
from postroom.bridges.files.depot import SECONDS, About
from postroom.errors import MailboxUnreachable

fsspec: Any = importlib.import_module("fsspec")  # which has no types
_sync: Any = importlib.import_module("fsspec.asyn").sync

_VERSION = "?versionId="  # in a name, s3fs takes it for another object than the one that has it
_LONGEST = 6 * SECONDS  # for one call, with all that is tried again in it
_TRIES = 2
_KEEP = ".keep"
_SMALL = 8 << 20  # bytes

# What each store must be told so that it neither waits without end nor remembers listings.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "use_listings_cache": False,
        "config_kwargs": {
            "connect_timeout": SECONDS,
            "read_timeout": SECONDS,
            "retries": {"max_attempts": 1},
        },
    },
}


_known: "weakref.WeakValueDictionary[tuple[int, str], Objects]" = weakref.WeakValueDictionary()
_guard = threading.Lock()


def shared(url: str) -> "Objects":
    """The one that this process has for a tree, if any: making one takes long, and threads may share it."""
    key = (os.getpid(), url)
    with _guard:
        found = _known.get(key)
        if found is None:
            found = _known[key] = Objects(url)
        return found


class Objects:
    """See `Depot`."""

    def __init__(self, url: str) -> None:
        protocol = url.partition("://")[0]
        options = _OPTIONS.get(protocol, {})
        self._url = url
        self._system: Any = fsspec.filesystem(protocol, skip_instance_cache=True, **options)
        if hasattr(self._system, "retries"):
            self._system.retries = _TRIES
        self._base = str(self._system._strip_protocol(url)).rstrip("/")

    def names(self, folder: str) -> list[str]:
        start = self._path(folder) + "/"
        found: list[str] = self._call("ls", self._path(folder), detail=False)
        names = [path[len(start) :].rstrip("/") for path in found if path.startswith(start)]
        return [name for name in names if name and "/" not in name and _VERSION not in name]

    def about(self, path: str) -> About:
        found: dict[str, Any] = self._call("info", self._path(path))
        stamp = found.get("ETag") or found.get("etag") or found.get("generation") or found["size"]
        return About(found["size"], str(stamp), found["type"] == "file")

    def read(self, path: str, limit: int) -> bytes:
        if not self.about(path).size:
            return b""  # which has no first byte to ask for
        return self._call("cat_file", self._path(path), start=0, end=limit)

    def write(self, path: str, data: bytes) -> None:
        self._call("pipe_file", self._path(path), data)

    def create(self, path: str, data: bytes) -> bool:
        try:
            self._call("pipe_file", self._path(path), data, mode="create")
        except FileExistsError:
            return False
        return True

    def move(self, old: str, new: str) -> str:
        """What is small goes through here, because only what is written can be told to replace nothing.

        An object that its writer replaces in this very moment is gone with the one before: nothing in such a
        store can prevent that. So its writers give each object a name of its own.
        """
        about = self.about(old)
        if about.size > _SMALL:
            self._copy(old, new, about)
        elif not self.create(new, data := self.read(old, _SMALL)) and self.read(new, _SMALL + 1) != data:
            raise FileExistsError(errno.EEXIST, "there is another", new)
        if label.armed:
            label.here("copied")
        stamp = self.about(old).stamp
        self.remove(old)
        return stamp

    def _copy(self, old: str, new: str, about: About) -> None:
        try:
            there = self.about(new)
        except FileNotFoundError:
            self._call("cp_file", self._path(old), self._path(new))
            return
        if there != about:
            raise FileExistsError(errno.EEXIST, "there is another", new)

    def remove(self, path: str) -> None:
        try:
            self._call("rm_file", self._path(path))
        except FileNotFoundError:
            pass

    def make(self, folder: str) -> None:
        """There are no folders; but an object in it tells an empty one from one that is gone."""
        self.create(f"{folder}/{_KEEP}", b"")

    def drop(self, folder: str) -> None:
        try:
            if self.names(folder) == [_KEEP]:
                self.remove(f"{folder}/{_KEEP}")
        except FileNotFoundError:
            pass

    def sweep(self, folder: str) -> None:
        """There is nothing: an object is written whole or not at all."""

    def close(self) -> None:
        """A connection is the library's own, and is used again."""

    def _path(self, path: str) -> str:
        return f"{self._base}/{path}" if path else self._base

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        system = self._system
        try:
            if system.async_impl:
                do = getattr(system, f"_{method}")
                return _sync(system.loop, do, *args, timeout=_LONGEST, **options)
            return getattr(system, method)(*args, **options)
        except (FileNotFoundError, FileExistsError):
            raise
        except PermissionError as exc:
            raise MailboxUnreachable(f"{self._url} forbids it: {exc}") from exc
        except Exception as exc:  # each store has errors of its own, with no base that they share
            raise MailboxUnreachable(
                f"{self._url} cannot be reached: {str(exc) or type(exc).__name__}"
            ) from exc
