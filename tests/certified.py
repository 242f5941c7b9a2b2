"""Certificates of this machine, from an authority of our own."""

import datetime
import ipaddress
import os
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)
_NAMES: list[Any] = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]


class Authority:
    """Who trusts the file `path` trusts what it issues."""

    def __init__(self, directory: os.PathLike[str] | str) -> None:
        self._directory = os.fspath(directory)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of our own")])
        made = self._signed(self._name, self._key.public_key(), _DAY, x509.BasicConstraints(True, None))
        self.path = self._written("authority.pem", made.public_bytes(serialization.Encoding.PEM))

    def issue(self, lasts: datetime.timedelta = _DAY) -> str:
        """The path of one that names this machine itself, with its key in the same file."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        made = self._signed(name, key.public_key(), lasts, x509.SubjectAlternativeName(_NAMES))
        encoding, none = serialization.Encoding.PEM, serialization.NoEncryption()
        secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, none)
        return self._written(f"{made.serial_number}.pem", secret + made.public_bytes(encoding))

    def _signed(self, name: x509.Name, key: Any, lasts: datetime.timedelta, what: Any) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        matters = isinstance(what, x509.BasicConstraints)
        return (
            x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key)
            .serial_number(x509.random_serial_number()).not_valid_before(now - 2 * _DAY)
            .not_valid_after(now + lasts).add_extension(what, critical=matters)
            .sign(self._key, hashes.SHA256())
        )  # fmt: skip

    def _written(self, name: str, content: bytes) -> str:
        path = os.path.join(self._directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path
