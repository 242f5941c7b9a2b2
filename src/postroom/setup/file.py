"""Users' files: read whole, written in one step, and never against their will."""

import os
import stat
from collections.abc import Iterable

from postroom.errors import CannotEdit

_BOM = "\ufeff"
_LARGEST = 1 << 22


def read(path: str) -> bytes | None:
    """What is in it; None when there is no such file."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise CannotEdit(f"{path} cannot be read: {exc.strerror}", path=path) from exc
    if len(data) > _LARGEST:
        raise CannotEdit(f"{path} is too large to be a configuration", path=path)
    return data


def glance(path: str) -> str:
    """Its text; empty when it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""


def text(path: str, data: bytes | None) -> str:
    """What is in it as text, without the mark that some editors put first."""
    try:
        return (data or b"").decode().removeprefix(_BOM)
    except UnicodeDecodeError:
        raise CannotEdit(f"{path} is not UTF-8", path=path) from None


def encoded(content: str, like: bytes | None) -> bytes:
    """A text as bytes, with that mark if the file had it."""
    return (_BOM if (like or b"").startswith(_BOM.encode()) else "").encode() + content.encode()


def check(path: str) -> None:
    """Raises when it must not, or could not, be written. A symbolic link is followed, and stays one."""
    real = os.path.realpath(path)
    try:
        mode = os.stat(real).st_mode
    except OSError:
        above = os.path.dirname(real)
        while not os.path.exists(above):
            above = os.path.dirname(above)
        if not os.path.isdir(above) or not os.access(above, os.W_OK):
            raise CannotEdit(f"{path} cannot be made: {above} cannot be written", path=path) from None
        return
    if not stat.S_ISREG(mode):
        raise CannotEdit(f"{path} is not a file", path=path)
    writable = mode & 0o222 and os.access(real, os.W_OK) and os.access(os.path.dirname(real), os.W_OK)
    if not writable:
        raise CannotEdit(f"{path} is read-only", path=path)


def write(path: str, data: bytes) -> list[str]:
    """Put new content in its place: it is the old or the new, never a part, and its mode stays.

    Returns the directories that were made for it, the innermost first.
    """
    real = os.path.realpath(path)
    made = _make_directories(os.path.dirname(real))
    temporary = f"{real}.postroom-{os.getpid()}"
    try:
        with open(temporary, "xb") as file:
            if os.path.exists(real):
                _be_like(temporary, os.stat(real))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, real)
    except OSError as exc:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise CannotEdit(f"{path} cannot be written: {exc.strerror}", path=path) from exc
    return made


def _be_like(path: str, other: os.stat_result) -> None:
    """Give a file another's mode and, if that is not ours, its owner."""
    if (other.st_uid, other.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(path, other.st_uid, other.st_gid)
    os.chmod(path, stat.S_IMODE(other.st_mode))


def delete(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as exc:
        raise CannotEdit(f"{path} cannot be removed: {exc.strerror}", path=path) from exc


def remove_directories(directories: Iterable[str]) -> None:
    """Those of them in which nothing is."""
    for directory in sorted(directories, key=len, reverse=True):  # the inner ones first
        try:
            os.rmdir(directory)
        except OSError:
            pass


def _make_directories(directory: str) -> list[str]:
    missing: list[str] = []
    while not os.path.exists(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for each in reversed(missing):
        try:
            os.mkdir(each)
        except OSError as exc:
            raise CannotEdit(f"{each} cannot be made: {exc.strerror}", path=each) from exc
    return missing
