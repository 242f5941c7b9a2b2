"""Servers of files on loopback, real ones: an S3 server, and OpenSSH's sshd for SFTP."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple

import pytest

from tests.machine import lacks
from tests.process import free_port, until

BUCKET = "postroom"


class Site(NamedTuple):
    """A tree of mailboxes on such a server, and what others do there, past us."""

    url: str
    put: Callable[[str, bytes], None]
    get: Callable[[str], bytes]
    names: Callable[[str], list[str]]  # all files below a folder


class S3:
    """An S3 server with one bucket. What lies there outlives `stop`, until the test ends."""

    def __init__(self) -> None:
        self.port = 0
        self._server = None
        self.start()
        self._client().create_bucket(Bucket=BUCKET)

    def start(self) -> None:
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()
        self.port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None

    def url(self, path: str) -> str:
        return f"s3://{BUCKET}/{path}"

    def reach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process, and those it starts, find the server, and who they are there."""
        found = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        for name, value in found.items():
            monkeypatch.setenv(name, value)

    def site(self, path: str) -> Site:
        client, base = self._client(), path.strip("/").replace("/", "-")

        def put(at: str, data: bytes) -> None:
            client.put_object(Bucket=BUCKET, Key=f"{base}/{at}", Body=data)

        def get(at: str) -> bytes:
            return client.get_object(Bucket=BUCKET, Key=f"{base}/{at}")["Body"].read()

        def names(folder: str) -> list[str]:
            found = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{base}/{folder}/").get("Contents", ())
            return [os.path.basename(one["Key"]) for one in found]

        return Site(self.url(base), put, get, names)

    def fill(self, path: str, names: Iterable[str]) -> None:
        """Put many objects there, at once."""
        base = path.removeprefix(f"s3://{BUCKET}/")
        for name in names:
            _objects().put_object(BUCKET, f"{base}/{name}", b"{}")

    def _client(self):
        import boto3

        return boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{self.port}", region_name="us-east-1",
            aws_access_key_id="testing", aws_secret_access_key="testing",
        )  # fmt: skip

    def __enter__(self) -> "S3":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.stop()
        _objects().reset()


def _objects():
    """What the server keeps in the memory of this process."""
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]


class Sshd:
    """An SSH server that lets the current user in by a key of its own. Its homes are scratch directories."""

    def __init__(self, base: str) -> None:
        program = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if program is None:
            lacks("sshd")
        assert program is not None
        self._program, self._base = program, base
        self.home = os.path.join(base, "home")
        self._keys = os.path.join(self.home, ".ssh")
        os.makedirs(self._keys, 0o700)
        for path in (os.path.join(self._keys, "id_ed25519"), os.path.join(base, "host")):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
        shutil.copy(os.path.join(self._keys, "id_ed25519.pub"), os.path.join(base, "authorized"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._configure()
        self.start()

    def _configure(self) -> None:
        lines = [
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self._base}/host",
            f"AuthorizedKeysFile {self._base}/authorized", f"PidFile {self._base}/pid", "StrictModes no",
            "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password", "Subsystem sftp internal-sftp",
        ]  # fmt: skip
        with open(os.path.join(self._base, "config"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(os.path.join(self._base, "host.pub"), encoding="utf-8") as file:
            kind, key = file.read().split()[:2]
        with open(os.path.join(self._keys, "known_hosts"), "w", encoding="utf-8") as file:
            file.write(f"[127.0.0.1]:{self.port} {kind} {key}\n")

    def start(self) -> None:
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", 0o755, exist_ok=True)  # what sshd of root insists on
        self._process = subprocess.Popen(
            [self._program, "-D", "-E", f"{self._base}/log", "-f", f"{self._base}/config"],
            start_new_session=True,
        )
        until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as client:
            return client.recv(4) == b"SSH-"
        return False

    def stop(self) -> None:
        """End it, and what it has started for those who are connected.

        It is held first: who comes between its end and theirs would stay connected to one that it left.
        """
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            until(lambda: self._state == "T")
            self.cut()
            self._process.kill()
            self._process.wait(30)
            self._process = None

    @property
    def _state(self) -> str:
        assert self._process is not None
        with open(f"/proc/{self._process.pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]

    def cut(self) -> None:
        """End the connections there are, and let new ones come."""
        assert self._process is not None
        for pid in _children(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def url(self, path: str) -> str:
        from getpass import getuser

        return f"sftp://{getuser()}@127.0.0.1:{self.port}{path}"

    def reach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process, and those it starts, find the keys."""
        monkeypatch.setenv("HOME", self.home)
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)

    def site(self, path: str) -> Site:
        os.makedirs(path, exist_ok=True)

        def put(at: str, data: bytes) -> None:
            os.makedirs(os.path.dirname(os.path.join(path, at)), exist_ok=True)
            with open(os.path.join(path, at), "wb") as file:
                file.write(data)

        def get(at: str) -> bytes:
            with open(os.path.join(path, at), "rb") as file:
                return file.read()

        def names(folder: str) -> list[str]:
            return [name for _, _, names in os.walk(os.path.join(path, folder)) for name in names]

        return Site(self.url(path), put, get, names)

    def log(self) -> str:
        with open(f"{self._base}/log", encoding="utf-8") as file:
            return file.read()

    def __enter__(self) -> "Sshd":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.stop()


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(one) for one in file.read().split()]
