"""Tokens: secrets that prove who calls, for programs that no agent's session surrounds.

Each is one file beside the room, named by what is made of the secret, so that whoever reads the directory
cannot call with it. That is made in two steps: after the first it is a proof that somebody had the secret. A
letter may carry it (`spool.py`), because the directory does not tell it either, and nobody can call with it.
Whoever has a token is its agent: it comes before all other evidence, and must not contradict it, because
variables are inherited.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from postroom import config, host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from postroom.model.message import Agent
    from postroom.room.premises import Premises

VARIABLE = "POSTROOM_TOKEN"
_PREFIX = "pr_"


class Token(NamedTuple):
    """What is kept of a token."""

    agent: str  # its id
    issued_at: int
    digest: str
    scopes: tuple[str, ...] = ()  # how far it reaches over the network; none: as far as usual for whose it is


def issue(room: "Premises", agent: "Agent", scopes: "Sequence[str]" = ()) -> str:
    """A new token of an agent's or a person's. It is kept nowhere else."""
    secret = _PREFIX + os.urandom(24).hex()
    path = _path(room.home, _digest(proof(secret)))
    host.private_directory(os.path.dirname(path))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, " ".join((agent.id, str(room.now()), *sorted(set(scopes)))).encode() + b"\n")
    finally:
        os.close(file)
    return secret


def issued(home: str) -> list[Token]:
    """All tokens of a room, the oldest first."""
    try:
        names = os.listdir(_path(home))
    except FileNotFoundError:
        return []
    return sorted(filter(None, (kept(home, name) for name in names)), key=lambda token: token.issued_at)


def revoke(home: str, agent: "Agent") -> int:
    """From now on none of its tokens is worth anything; how many that were."""
    theirs = [token for token in issued(home) if token.agent == agent.id]
    for token in theirs:
        os.unlink(_path(home, token.digest))
    return len(theirs)


def proof(secret: str) -> str:
    """What shows that somebody had a token."""
    return _digest(secret)


def holder(home: str, proof: str) -> str:
    """Whose a token is, by its id; empty if it is nobody's."""
    found = kept(home, _digest(proof))
    return found.agent if found else ""


def held(home: str, proof: str) -> Token | None:
    """What is kept of a token; None if it is nobody's."""
    return kept(home, _digest(proof))


def kept(home: str, digest: str) -> Token | None:
    """The same, by the digest that it is kept under."""
    try:
        with open(_path(home, digest), encoding="ascii") as file:
            agent, issued_at, *scopes = file.read(200).split()
        return Token(agent, int(issued_at), digest, tuple(scopes))
    except (OSError, ValueError):
        return None


def _digest(text: str) -> str:
    import hashlib  # noqa: PLC0415 - only who has a token

    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _path(home: str, *names: str) -> str:
    return config.beside(home, "tokens", *names)
