"""A depot in an object store, by fsspec: S3, and whatever else has whole objects under keys.

There is no rename: to move is to copy and then to remove. Who is killed in between leaves both, and whoever
reads knows a letter by its id. An object is written whole or not at all. No time of the store is looked at.
"""

import importlib
from typing import Any

from postroom.bridges.files.depot import SECONDS, Unreachable

fsspec: Any = importlib.import_module("fsspec")  # which has no types
_sync: Any = importlib.import_module("fsspec.asyn").sync

_VERSION = "?versionId="  # in a name, s3fs takes it for another object than the one that has it
_LONGEST = 6 * SECONDS  # for one call, with all that is tried again in it
_TRIES = 2

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
        try:
            found: list[str] = self._call("ls", self._path(folder), detail=False)
        except FileNotFoundError:
            return []
        start = self._path(folder) + "/"
        names = [path[len(start) :] for path in found if path.startswith(start)]
        return [name for name in names if name and "/" not in name and _VERSION not in name]

    def read(self, path: str, limit: int) -> bytes:
        try:
            return self._call("cat_file", self._path(path), start=0, end=limit)
        except Unreachable:
            if self._call("info", self._path(path))["size"]:
                raise
            return b""  # which has no first byte to be asked for

    def write(self, path: str, data: bytes) -> None:
        self._call("pipe_file", self._path(path), data)

    def create(self, path: str, data: bytes) -> bool:
        try:
            self._call("pipe_file", self._path(path), data, mode="create")
        except FileExistsError:
            return False
        return True

    def move(self, old: str, new: str) -> None:
        self._call("cp_file", self._path(old), self._path(new))
        self.remove(old)

    def remove(self, path: str) -> None:
        try:
            self._call("rm_file", self._path(path))
        except FileNotFoundError:
            pass

    def has(self, path: str) -> bool:
        try:
            return self._call("info", self._path(path))["type"] == "file"
        except FileNotFoundError:
            return False

    def make(self, folder: str) -> None:
        """There are no folders."""

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
            raise Unreachable(f"{self._url} forbids it: {exc}") from exc
        except Exception as exc:  # each store has errors of its own, with no base that they share
            raise Unreachable(f"{self._url} cannot be reached: {str(exc) or type(exc).__name__}") from exc
