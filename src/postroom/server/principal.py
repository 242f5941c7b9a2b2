"""Who calls, by what evidence, and how far that reaches.

A token or a logged-in page says it; at the Unix socket, the caller's own process: in an agent's session it is
that agent, and else a program of the same user, whose word for its name is taken, and marked as unverified.
"""

import hmac
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from postroom import host
from postroom.errors import LacksScope, NotLoggedIn, UnknownToken
from postroom.model.message import Agent
from postroom.protocol.operation import MAIL, OBSERVE, OPERATE, SCOPES
from postroom.room import token
from postroom.room.identity import PAGE, TOKEN, UNVERIFIED, Evidence, Witness, of_process
from postroom.server import login

if TYPE_CHECKING:
    from postroom.store.contract import ReadTx

ALL = frozenset(SCOPES)


class Credentials(NamedTuple):
    """What a request brings along."""

    bearer: str = ""
    cookie: str = ""
    pid: int = 0  # at the Unix socket, the process there
    uid: int = -1
    claimed: str = ""  # who a program at the Unix socket says it is
    is_near: bool = False  # from this machine, or through a tunnel to it

    @property
    def is_local(self) -> bool:
        return self.uid >= 0

    @property
    def key(self) -> str:
        """By which callers are told apart, before it is known who they are: short, whatever they bring."""
        secret = self.bearer or self.cookie
        return _key(secret) if secret else f"process {self.pid}" if self.is_local else "nobody"


class Principal(NamedTuple):
    """Who calls."""

    agent: Agent | None  # None: a program of the same user, which may call itself what it likes
    scopes: frozenset[str]
    verified: str
    evidence: Evidence | None
    name: str | None = None  # that it calls itself, where that is all there is
    key: str = ""
    token: str = ""  # the digest of that which proves it
    is_near: bool = False  # see `Credentials`
    brought: Credentials = Credentials()  # what that is known by, to ask it again

    def check(self, scope: str) -> None:
        if scope not in self.scopes:
            hint = f"Make one that does: postroom tokens issue human:NAME --scope {scope}"
            raise LacksScope(f"that takes the scope `{scope}`: {SCOPES[scope]}", scope=scope, hint=hint)

    def has(self, scope: str) -> bool:
        return scope in self.scopes

    @property
    def address(self) -> str | None:
        return self.agent.address if self.agent else self.name

    @property
    def project(self) -> str | None:
        """That bare names belong to, unless a request says otherwise."""
        return self.agent.project or None if self.agent else None

    @property
    def witness(self) -> Witness | None:
        return Witness(evidence=self.evidence) if self.evidence else None

    @property
    def claimer(self) -> str:
        """By which claims of one caller are told from those of another; they end with this process."""
        return f"{host.identity()}.{self.key}"


def identify(home: str, tx: "ReadTx", brought: Credentials) -> Principal:
    """Raises `NotLoggedIn` where nothing tells, and `UnknownToken` for what is none."""
    is_near = brought.is_near or brought.is_local
    return _identified(home, tx, brought)._replace(is_near=is_near, brought=brought)


def _identified(home: str, tx: "ReadTx", brought: Credentials) -> Principal:
    if brought.bearer:
        return _by_token(home, tx, brought)
    if brought.is_local and brought.uid == host.user():
        return _by_process(tx, brought)
    session = login.find(home, brought.cookie) if brought.cookie else None
    person = tx.agent(session.person) if session else None
    if person is None:
        raise NotLoggedIn
    evidence = Evidence(person.id, "", "", PAGE, "", because="this page was opened by them")
    return Principal(person, ALL, PAGE, evidence, key=_key(brought.cookie))


def _by_token(home: str, tx: "ReadTx", brought: Credentials) -> Principal:
    kept = token.held(home, token.proof(brought.bearer))
    agent = tx.agent(kept.agent) if kept else None
    if kept is None or agent is None:
        raise UnknownToken("that is no token of this room")
    evidence = Evidence(agent.id, "", "", TOKEN, "", because="the token is its own")
    key = _key(brought.bearer)
    return Principal(agent, scopes(agent, kept.scopes), TOKEN, evidence, key=key, token=kept.digest)


def _by_process(tx: "ReadTx", brought: Credentials) -> Principal:
    is_agents, evidence = of_process(tx, brought.pid) if tx.has_sessions() else (False, None)
    agent = tx.agent(evidence.agent) if evidence else None
    key = str(brought.pid)
    if agent is not None and evidence is not None:
        return Principal(agent, scopes(agent, ()), evidence.verified, evidence, key=key)
    found = {MAIL, OBSERVE} if is_agents or not _is_known(brought.pid) else ALL
    return Principal(None, frozenset(found), UNVERIFIED, None, brought.claimed or None, key)


def _is_known(pid: int) -> bool:
    """Whether a process can be seen, where the system tells of any: one that hides could be an agent's."""
    return not host.boot() or bool(host.program(pid))


def scopes(agent: Agent, given: Iterable[str]) -> frozenset[str]:
    """Those that were given, or the usual ones; nobody but a person operates."""
    wanted = frozenset(given) & ALL or (ALL if agent.is_human else frozenset((MAIL,)))
    return wanted if agent.is_human else wanted - {OPERATE}


def _key(secret: str) -> str:
    return hmac.new(b"caller", secret.encode(errors="surrogateescape"), "sha256").hexdigest()[:12]
