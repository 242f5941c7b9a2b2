"""A depot over SFTP, by the library that fsspec uses for it.

Directly, because four things count here that fsspec leaves open: the server must be known (as `ssh` knows
it, by `~/.ssh/known_hosts`), each answer has a time in which it must come, links are not followed, and a name
that is no UTF-8 does not break a listing.
"""

import errno
import importlib
import os
import re
import shlex
import socket
import stat
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from postroom.bridges.files import draft
from postroom.bridges.files.depot import SECONDS, About
from postroom.errors import BridgeError, MailboxUnreachable

paramiko: Any = importlib.import_module("paramiko")  # of which types tell less than half
_commands: Any = importlib.import_module("paramiko.sftp")

_T = TypeVar("_T")
_DIRECTORY = 0o700
_DRAFT = re.compile(r"\.[0-9a-f]{16}\..{1,64}", re.DOTALL)
_ABANDONED = 3600.0  # seconds; who writes gives up when one answer takes `SECONDS`, and each is a few KB
_TIMES = ("timeout", "banner_timeout", "auth_timeout", "channel_timeout")

_SAID: tuple[tuple[Any, str], ...] = (
    (socket.gaierror, "no machine of that name is known"),
    (TimeoutError, f"it does not answer within {SECONDS:g} s"),
    ((ConnectionRefusedError, paramiko.ssh_exception.NoValidConnectionsError), "nothing listens there"),
    (paramiko.BadHostKeyException, "its key is another than the one in ~/.ssh/known_hosts"),
    ((EOFError, ConnectionResetError, BrokenPipeError), "it ended the connection"),
)


class Sftp:
    """See `Depot`. A connection that is lost is made anew. Keys are those that `ssh` would try."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._host = place.hostname or ""
        self._port = place.port or 22
        self._user = unquote(place.username) if place.username else None
        self._base = unquote(place.path).rstrip("/")
        self._client: Any = None
        self._ftp: Any = None

    def names(self, folder: str) -> list[str]:
        def look(ftp: Any) -> list[str]:
            self._check(ftp, folder)
            if not stat.S_ISDIR(ftp.lstat(self._path(folder)).st_mode):
                raise FileNotFoundError(errno.ENOTDIR, "it is no directory any more", folder)
            return _names(ftp, self._path(folder))

        return self._call(look)

    def about(self, path: str) -> About:
        def ask(ftp: Any) -> About:
            self._check(ftp, path)
            found = ftp.lstat(self._path(path))
            stamp = f"{found.st_size}.{found.st_mtime}.{found.st_mode}"
            return About(found.st_size or 0, stamp, stat.S_ISREG(found.st_mode))

        return self._call(ask)

    def read(self, path: str, limit: int) -> bytes:
        def read(ftp: Any) -> bytes:
            self._check(ftp, path)
            if not stat.S_ISREG(ftp.lstat(self._path(path)).st_mode):  # to open a pipe would not end
                raise FileNotFoundError(errno.ENOENT, "it is not a regular file", path)
            with ftp.open(self._path(path), "rb") as file:
                return file.read(limit)

        return self._call(read)

    def write(self, path: str, data: bytes) -> None:
        self._put(path, data, lambda ftp, old, new: ftp.posix_rename(old, new))

    def create(self, path: str, data: bytes) -> bool:
        try:
            self._put(path, data, self._rename)
        except FileExistsError:
            return False
        return True

    def _rename(self, ftp: Any, old: bytes, new: bytes) -> None:
        """Over none that is there: OpenSSH makes a link for it, and of two that do so one fails."""
        try:
            ftp.rename(old, new)
        except FileNotFoundError:
            raise
        except OSError:
            try:
                ftp.lstat(new)
            except FileNotFoundError:
                pass
            else:
                raise FileExistsError(errno.EEXIST, "there is another", os.fsdecode(new)) from None
            raise

    def _put(self, path: str, data: bytes, settle: Callable[[Any, bytes, bytes], None]) -> None:
        def put(ftp: Any) -> None:
            folder, _, name = path.rpartition("/")
            temporary = self._path(f"{folder}/{_draft(name)}")
            self._check(ftp, path)
            try:
                with ftp.open(temporary, "wbx") as file:
                    file.write(data)
                    file.flush()
                    _sync(ftp, file.handle)
                settle(ftp, temporary, self._path(path))
            except OSError:
                _forget(ftp, temporary)
                raise

        self._call(put)

    def move(self, old: str, new: str) -> str:
        def move(ftp: Any) -> None:
            self._check(ftp, old)
            self._check(ftp, new)
            self._rename(ftp, self._path(old), self._path(new))

        self._call(move)
        return ""  # another of its length that came in the same second has the same one

    def remove(self, path: str) -> None:
        def remove(ftp: Any) -> None:
            try:
                self._check(ftp, path)
                ftp.remove(self._path(path))
            except FileNotFoundError:
                pass

        self._call(remove)

    def make(self, folder: str) -> None:
        def make(ftp: Any) -> None:
            self._check(ftp, folder)
            steps = self._path(folder).split(b"/")
            for count in range(2, len(steps) + 1):
                path = b"/".join(steps[:count])
                try:
                    ftp.lstat(path)
                except FileNotFoundError:
                    ftp.mkdir(path, _DIRECTORY)

        self._call(make)

    def drop(self, folder: str) -> None:
        def drop(ftp: Any) -> None:
            try:
                self._check(ftp, folder)
                if not _names(ftp, self._path(folder)):
                    ftp.rmdir(self._path(folder))
            except FileNotFoundError:
                pass

        self._call(drop)

    def sweep(self, folder: str) -> None:
        def sweep(ftp: Any) -> None:
            self._check(ftp, f"{folder}/")
            try:
                found = [name for name in _names(ftp, self._path(folder)) if _is_draft(name)]
                now = self._now(ftp, folder) if found else 0.0
                for name in found:
                    _discard(ftp, self._path(f"{folder}/{name}"), now)
            except OSError as exc:
                if type(exc) not in (OSError, PermissionError, FileNotFoundError):
                    raise  # those are what the server answers: it has no such folder, or forbids it

        self._call(sweep)

    def _now(self, ftp: Any, folder: str) -> float:
        """By the clock that files in a folder are stamped by, which may be no clock of ours."""
        path = self._path(f"{folder}/{_draft('now')}")
        try:
            with ftp.open(path, "wbx") as file:
                file.write(b"now")
                return file.stat().st_mtime or 0.0
        finally:
            _forget(ftp, path)

    def close(self) -> None:
        client, self._client, self._ftp = self._client, None, None
        if client is not None:
            client.close()

    def _connect(self) -> Any:
        self._client = client = paramiko.SSHClient()
        client.load_system_host_keys()
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        client.connect(self._host, self._port, self._user, **dict.fromkeys(_TIMES, SECONDS))
        self._ftp = client.open_sftp()
        self._ftp.get_channel().settimeout(SECONDS)
        return self._ftp

    def _path(self, path: str) -> bytes:
        return os.fsencode(f"{self._base}/{path}" if path else self._base)

    def _check(self, ftp: Any, path: str) -> None:
        """No folder above a path, below the tree, may be a link: it would lead to what is somebody else's."""
        steps = path.split("/")[:-1]
        for count in range(1, len(steps) + 1):
            folder = "/".join(steps[:count])
            try:
                found = ftp.lstat(self._path(folder))
            except FileNotFoundError:
                return
            if not stat.S_ISDIR(found.st_mode):
                raise BridgeError(f"{folder} at {self._host} is no directory", hint="Has it become a link?")

    def _call(self, do: Callable[[Any], _T]) -> _T:
        """Do something over the connection there is; if that is found to be lost, over a new one."""
        if self._ftp is not None:
            try:
                return self._try(do)
            except MailboxUnreachable:
                if self._ftp is not None:
                    raise
        return self._try(do)

    def _try(self, do: Callable[[Any], _T]) -> _T:
        """What the server itself has answered leaves the connection as it is; whatever else fails ends it."""
        try:
            return do(self._ftp or self._connect())
        except (FileNotFoundError, FileExistsError):
            raise
        except PermissionError as exc:
            raise MailboxUnreachable(f"{self._host} forbids it: {exc.strerror or exc}") from exc
        except (paramiko.SSHException, EOFError, OSError) as exc:
            self.close()
            where = f"{self._host}, port {self._port},"
            raise MailboxUnreachable(
                f"{where} cannot be reached over SFTP: {self._why(exc)}", advice=self._advice
            ) from exc

    def _why(self, exc: Exception) -> str:
        """In words for people: what the library says is of sockets and protocols."""
        if isinstance(exc, paramiko.AuthenticationException):
            return f"it does not let {self._user or 'you'} in with the keys of ~/.ssh"
        if isinstance(exc, paramiko.SSHException) and "known_hosts" in str(exc):
            return "it is not in ~/.ssh/known_hosts"
        said = getattr(exc, "strerror", None) or str(exc) or "it ended the connection"
        return next((words for kinds, words in _SAID if isinstance(exc, kinds)), said)

    @property
    def _advice(self) -> str:
        """The same by hand, which also asks whether a key is believed."""
        to = shlex.quote(f"{self._user}@{self._host}" if self._user else self._host)
        return f"Try it: sftp -P {self._port} {to}."


def _names(ftp: Any, path: bytes) -> list[str]:
    """What is in a directory, whatever bytes it is named by: paramiko's own listing insists on UTF-8."""
    handle, found = ftp._request(_commands.CMD_OPENDIR, path)[1].get_binary(), list[str]()
    try:
        while True:
            answer = ftp._request(_commands.CMD_READDIR, handle)[1]
            for _ in range(answer.get_int()):
                found.append(os.fsdecode(answer.get_string()))
                answer.get_string()  # the same as a line for people
                paramiko.SFTPAttributes._from_msg(answer)
    except EOFError:
        ftp._request(_commands.CMD_CLOSE, handle)
    return [name for name in found if name not in (".", "..")]


def _draft(name: str) -> str:
    return f".{os.urandom(8).hex()}.{name[:64]}"


def _is_draft(name: str) -> bool:
    """One of ours, or of a program that has the folder at hand (`draft.py`)."""
    return _DRAFT.fullmatch(name) is not None or draft.is_one(name)


def _discard(ftp: Any, path: bytes, now: float) -> None:
    """Remove a draft that nobody has written to for very long: whether its writer lives is not known here."""
    try:
        found = ftp.lstat(path)
        at = now if found.st_mtime is None else found.st_mtime  # a server need not tell
        if stat.S_ISREG(found.st_mode) and now - at > _ABANDONED:
            ftp.remove(path)
    except FileNotFoundError:
        pass  # it has taken its place


def _sync(ftp: Any, handle: bytes) -> None:
    try:
        ftp._request(_commands.CMD_EXTENDED, "fsync@openssh.com", handle)
    except OSError:
        pass  # a server that cannot


def _forget(ftp: Any, path: bytes) -> None:
    try:
        ftp.remove(path)
    except (paramiko.SSHException, EOFError, OSError):
        pass
