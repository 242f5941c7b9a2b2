"""Files that appear whole or not at all.

What is not finished bears a dot and the name of its process (`.<name>.<random>.<process>`), and is litter
once that process is gone.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from postroom import host
from postroom.errors import of_file

P = ParamSpec("P")
T = TypeVar("T")


def tells_of_files(function: Callable[P, T]) -> Callable[P, T]:
    """Turn the system's errors about files into ours."""

    @functools.wraps(function)
    def telling(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except OSError as exc:
            facts = {"path": exc.filename, "cause": exc.strerror}
            raise of_file(exc, f"{exc.filename or 'the journals'}: {exc.strerror}", **facts) from exc

    return telling


def temporary(path: str) -> str:
    """Where to make what will be at `path`."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.urandom(3).hex()}.{host.identity()}")


def write_whole(path: str, content: Iterable[bytes], *, compressed: bool) -> None:
    """Make a complete, durable file at `path`, which must be a temporary one."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        if compressed:
            import gzip  # noqa: PLC0415 - seldom

            with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
                for text in content:
                    packed.write(text)
        else:
            file.writelines(content)
        file.flush()
        os.fsync(file.fileno())


def put(made: str, path: str) -> None:
    """Move a complete file into place, durably."""
    os.replace(made, path)
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    with contextlib.suppress(OSError):  # Windows cannot open a directory
        sync_file(path, os.O_RDONLY)


def sync_file(path: str, flags: int = os.O_RDWR) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def remove_database(path: str) -> None:
    """Remove a SQLite file that nobody has open, with what may lie beside it."""
    for name in (path, path + "-wal", path + "-shm"):
        remove(name)


def set_aside(path: str) -> None:
    """Give a file that must not be used here a name by which nothing will."""
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, f"{path}.aside")


def copy_file(path: str, to: str) -> None:
    import shutil  # noqa: PLC0415 - seldom

    with (
        open(path, "rb") as source,
        open(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target,
    ):
        shutil.copyfileobj(source, target)


def sweep_litter(directory: str, name: str = "") -> None:
    """Remove what processes that are gone did not finish; only of one file, if it is named."""
    for found in os.listdir(directory):
        process = found.removesuffix("-wal").removesuffix("-shm").split(".")[-4:]
        if found.startswith(f".{name}") and host.is_gone(".".join(process)):
            remove(os.path.join(directory, found))
