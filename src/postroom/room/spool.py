"""The spool: where a letter waits that a sandbox kept out of the room.

It is a file in the workspace, `.postroom/outbox/<id>.json`, which the next hook of the session takes in
(`hooks/intake.py`). Spooled is not stored: nobody has it yet, and nothing was checked against the room. Each
letter bears a mark that only who can read the room's own directory can make, so that what comes with a
cloned repository is nobody's letter.
"""

import contextlib
import os
from typing import Any

from postroom import config, host
from postroom.errors import StoreReadOnly
from postroom.text import encode

BASE, OUTBOX, REJECTED = ".postroom", "outbox", "rejected"
_BARRED = (1, 13, 30)  # EPERM, EACCES, EROFS
_TRIES = 3


def places(cwd: str) -> list[str]:
    """Where a letter may lie: the checkout around a directory, then all between, down to it."""
    root = config.worktree(cwd)[0]
    here, found = os.path.realpath(cwd), list[str]()
    while here != root:
        found.append(here)
        here = os.path.dirname(here)
    return [root, *reversed(found)]


def occupied(home: str, session: str, cwd: str) -> list[str]:
    """Those of a session's places in which there is an outbox: where it began, and around a directory."""
    every = dict.fromkeys([*appointed(home, [session]), *places(cwd)])
    return [place for place in every if os.path.lexists(os.path.join(place, BASE, OUTBOX))]


def appoint(home: str, names: tuple[str, ...], cwd: str) -> None:
    """Let a session's commands and its hooks agree on one outbox, wherever either of them runs.

    `names`: its id, and what its hooks call it in the shell. The directory in which it began is the one that
    a sandbox lets it write. The links lie where no sandbox can change them.
    """
    target = os.path.join(os.path.realpath(cwd), BASE, OUTBOX)
    for path in _links(home, names):
        if _target(path) != target:
            host.private_directory(os.path.dirname(path))
            temporary = f"{path}.{os.urandom(4).hex()}"
            os.symlink(target, temporary)
            os.replace(temporary, path)


def dismiss(home: str, names: tuple[str, ...]) -> None:
    """A session is over."""
    for path in _links(home, names):
        with contextlib.suppress(OSError):
            os.unlink(path)


def appointed(home: str, sessions: list[str]) -> list[str]:
    """The places that were appointed to some sessions, but for those that are gone."""
    targets = map(_target, _links(home, tuple(sessions)))
    found = [os.path.dirname(os.path.dirname(target)) for target in targets if target]
    return [place for place in found if os.path.isdir(place)]


def _links(home: str, names: tuple[str, ...]) -> list[str]:
    return [config.beside(home, OUTBOX, name.replace("/", "_")) for name in names if name]


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def count(place: str, folder: str = OUTBOX) -> int:
    """How many files lie in an outbox, or were put aside."""
    try:
        return sum(not name.startswith(".") for name in os.listdir(os.path.join(place, BASE, folder)))
    except OSError:
        return 0


def is_barred(home: str) -> bool:
    """Whether a rule of the system, and not a fault, keeps this process from writing in the room's home."""
    probe = os.path.join(home, f".probe.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as exc:
        return exc.errno in _BARRED
    os.unlink(probe)
    return False


def secret(home: str) -> bytes:
    """What marks are made with; empty before any session could take letters in."""
    for path in (_secret(home), _former_secret(home)):
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            pass
    return b""


def make_secret(home: str) -> None:
    """From now on there is a session that takes letters in."""
    path = _secret(home)
    if os.path.exists(path):
        return
    with contextlib.suppress(FileNotFoundError):
        os.rename(_former_secret(home), path)
        return
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(os.urandom(32))
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another was first
    os.unlink(temporary)


def mark(key: bytes, letter: dict[str, Any]) -> str:
    from hashlib import blake2b  # noqa: PLC0415 - rarely

    return blake2b(encode(letter).encode(), key=key, digest_size=20).hexdigest()


def put(home: str, cwd: str, letter: dict[str, Any]) -> str:
    """Leave a letter where a hook will find it; its path. `StoreReadOnly` where nothing would take it in."""
    key = secret(home)
    if not key:
        raise StoreReadOnly("no session has ever been here that could take it in", path=home)
    text = encode({"letter": letter, "mark": mark(key, letter)})
    for place in dict.fromkeys([*appointed(home, letter["sessions"]), *places(cwd)]):
        try:
            return _write(place, f"{letter['id']}.json", text)
        except OSError as exc:
            if exc.errno not in _BARRED:
                raise StoreReadOnly(f"{place} cannot be written: {exc.strerror}", path=place) from exc
    raise StoreReadOnly("the workspace cannot be written", path=home)


def _write(place: str, name: str, text: str) -> str:
    base = os.path.join(place, BASE)
    outbox = os.path.join(base, OUTBOX)
    if os.path.islink(base) or os.path.islink(outbox):
        raise PermissionError(_BARRED[0], "it leads elsewhere", base)
    for left in reversed(range(_TRIES)):
        host.private_directory(outbox)
        _ignore(base)
        temporary, path = os.path.join(outbox, f".{name}"), os.path.join(outbox, name)
        try:
            with open(temporary, "w", encoding="utf-8", opener=_private) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, path)
            return path
        except FileNotFoundError:  # a hook has emptied it, and taken it away
            if not left:
                raise
        except OSError:
            _clear(temporary, outbox)
            raise
    raise AssertionError("unreachable")


def _clear(temporary: str, outbox: str) -> None:
    """An outbox that is there makes hooks look into it."""
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    with contextlib.suppress(OSError):  # there are others in it
        os.rmdir(outbox)


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _ignore(base: str) -> None:
    """Version control shall not see any of it."""
    try:
        with open(os.path.join(base, ".gitignore"), "x", encoding="utf-8") as file:
            file.write("*\n")
    except FileExistsError:
        pass


def _secret(home: str) -> str:
    """Not in `run`, which may be wiped: letters that wait would be nobody's."""
    return os.path.join(home, "outbox.key")


def _former_secret(home: str) -> str:
    return os.path.join(home, "run", "outbox.key")
