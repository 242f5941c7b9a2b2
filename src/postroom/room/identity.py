"""Who is calling, by evidence: the agent's session around this process, not a name that anybody can give.

A session is known by the process that hosts it, which its hooks registered. The nearest registered process
above this one is the agent's own, and no other agent stands between. A variable alone proves nothing: shells,
terminals and nested agents inherit it. It only says which session, where one process hosts several.

A token (`token.py`) comes first. A pane has no place here: that a session was found in it proves nothing of
who else runs there, and a pane in which Postroom itself has started an agent has that agent's process.
"""

import os
from typing import TYPE_CHECKING

from postroom import host
from postroom.errors import NotYourName, UnknownToken
from postroom.model.address import Kind
from postroom.model.context import is_main, session_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.model.address import Address
    from postroom.model.message import Agent, Session
    from postroom.store.contract import ReadTx

TOKEN = "token"  # the environment has a secret that was given out for it
SESSION = "session"  # the environment names the session, and its process is above this one
PROCESS = "process"  # the process above this one hosts one session
HOOK = "hook"  # the session's own hook says so
MAILBOX = "mailbox"  # it lay in the agent's own file mailbox
PAGE = "page"  # a person in a browser that has logged in
TERMINAL = "terminal"  # a person at a terminal, and no agent around
UNVERIFIED = "unverified"

Origin = tuple[str, str | None, str | None]  # how a sender was verified, its session, its runtime
UNKNOWN: Origin = (UNVERIFIED, None, None)


class Evidence:
    """Whose session this process runs in, and how that is known."""

    __slots__ = ("_because", "agent", "process", "runtime", "session", "verified")

    def __init__(
        self, agent: str, session: str, runtime: str, verified: str, process: str, *, because: str = ""
    ) -> None:
        self.agent = agent  # its id
        self.session = session
        self.runtime = runtime
        self.verified = verified
        self.process = process
        self._because = because

    @property
    def because(self) -> str:
        """What speaks for it, in words."""
        if self._because:
            return self._because
        if not self.process:
            return "POSTROOM_TOKEN is its token"
        return f"process {self.process.partition('.')[0]} above this one hosts its session {self.session}"

    @classmethod
    def of(cls, session: "Session", verified: str) -> "Evidence":
        return cls(session.agent, session.id, session.runtime, verified, session.process)


class Witness:
    """What is known of who calls: found out once, when it is asked for first.

    Who has no name at all asks again, because a program may be older than the session it runs in.
    """

    __slots__ = ("_evidence", "_has_looked", "_home", "_token", "ignored", "inherited", "person")

    def __init__(
        self, inherited: str = "", evidence: Evidence | None = None, *, token: str = "", home: str = ""
    ) -> None:
        self.inherited = inherited  # a name from the environment, which evidence overrules
        self._token = token  # from there, too
        self._home = home  # of the room that gave it out
        self.ignored = ""  # whom evidence named instead
        self.person: Callable[[], str] = str  # who sits here, asked where no name and no evidence is; or ""
        self._evidence = evidence
        self._has_looked = evidence is not None

    def find(self, tx: "ReadTx") -> Evidence | None:
        if not self._has_looked:
            around = _look(tx) if tx.has_sessions() else None
            self._evidence = self._by_token(tx, around) if self._token else around
            self._has_looked = self._evidence is not None or bool(self.inherited)
        return self._evidence

    def _by_token(self, tx: "ReadTx", around: Evidence | None) -> Evidence:
        from postroom.room.token import proof  # noqa: PLC0415 - few have one

        return by_token(tx, self._home, proof(self._token), around)

    def origin(self, tx: "ReadTx", author: "Agent") -> Origin:
        """How an author is verified: by its own token or session, or that of the agent above it."""
        evident = self.find(tx)
        if evident is None:
            return (TERMINAL, None, None) if author.is_human and is_at_terminal() else UNKNOWN
        if evident.verified == UNVERIFIED or not is_of(author.id, evident.agent):
            return UNKNOWN
        return evident.verified, evident.session or None, evident.runtime or None


def of_newcomer(address: "Address") -> str:
    """How somebody is verified who has no address here yet."""
    return TERMINAL if address.kind is Kind.HUMAN and is_at_terminal() else UNVERIFIED


def by_token(tx: "ReadTx", home: str, proof: str, around: Evidence | None) -> Evidence:
    """Who calls with a token, which must not contradict the session around the call."""
    from postroom.room.token import holder  # noqa: PLC0415 - few have one

    agent = tx.agent(holder(home, proof))
    if agent is None:
        raise UnknownToken
    if around is None or around.verified == UNVERIFIED:
        return Evidence(agent.id, "", "", TOKEN, "")
    if not is_of(agent.id, around.agent):
        raise _contradiction(agent, tx.agent(around.agent), around)
    return Evidence(agent.id, around.session, around.runtime, TOKEN, around.process)


def _contradiction(agent: "Agent", other: "Agent | None", around: Evidence) -> NotYourName:
    you = other.called if other else "another"
    return NotYourName(
        f"POSTROOM_TOKEN is a token of {agent.called}, but you are {you}: {around.because}",
        claimed=agent.address, evident=other.address if other else "", session=around.session,
        verified=around.verified, hint="Call without it: env -u POSTROOM_TOKEN postroom …",
    )  # fmt: skip


def is_of(party: str, agent: str) -> bool:
    """Whether somebody is that agent, or a child of it."""
    return party == agent or party.startswith(f"{agent}.")


def stated() -> list[str]:
    """The sessions that the environment names."""
    from postroom.runtimes import SESSION_ENV  # noqa: PLC0415 - who has no session asks for nothing of this

    named = ((runtime, os.environ.get(variable)) for runtime, variable in SESSION_ENV.items() if variable)
    return [session_id(runtime, value) for runtime, value in named if value]


def of_process(tx: "ReadTx", pid: int) -> "tuple[bool, Evidence | None]":
    """Whether a process of this machine runs in the session of an agent, and of which, if that is certain."""
    nearer: list[str] = []
    for process in (host.identity_of(pid), *host.lineage(pid)):
        if hosted := _conversations(tx, process):
            is_nested = _is_nested(nearer, hosted[0].details.get("runtime") or hosted[0].runtime)
            certain = len(hosted) == 1 and not is_nested
            return True, Evidence.of(hosted[0], PROCESS) if certain else None
        nearer.append(process)
    return False, None


def spokesman(tx: "ReadTx", evident: Evidence | None) -> str:
    """The session whose hooks may take in what this process leaves to them, as that session's word.

    None where the environment names one that the room does not know: it may be of an agent in between.
    """
    return evident.session if evident is not None and all(map(tx.session, stated())) else ""


def _look(tx: "ReadTx") -> Evidence | None:
    sessions, nearer = stated(), list[str]()
    for process in host.lineage():
        hosted = _conversations(tx, process)
        if not hosted:
            nearer.append(process)
            continue
        if _is_nested(nearer, hosted[0].details.get("runtime") or hosted[0].runtime):
            return None
        for session in hosted:
            if session.id in sessions:
                return Evidence.of(session, SESSION)
        return Evidence.of(hosted[0], PROCESS) if len(hosted) == 1 else None
    return _beyond(tx, sessions, nearer)


def _conversations(tx: "ReadTx", process: str) -> list["Session"]:
    """Those that a process hosts; what its tools have told of, or the terminal that it has from a bridge,
    counts only where there is none.
    """
    hosted = [session for session in tx.sessions_hosted(process) if is_main(session.id)]
    own = [session for session in hosted if "bridge" not in session.details]
    return [session for session in own if session.runtime != "mcp"] or own or hosted


def _is_nested(nearer: list[str], runtime: str) -> bool:
    """Whether another agent runs in between, whose hooks have told us nothing: it is not the outer one."""
    return any(program != runtime for program in _agents(nearer))


def _agents(processes: list[str]) -> list[str]:
    """Those of these processes that are called as an agent's CLI is, as most of theirs are."""
    from postroom.runtimes import NAMES  # noqa: PLC0415

    programs = [host.program(int(process.partition(".")[0])) for process in processes]
    return [program for program in programs if program in NAMES]


def _beyond(tx: "ReadTx", sessions: list[str], nearer: list[str]) -> Evidence | None:
    """A sandbox may hide the processes above. What the environment says then is a name, and no evidence."""
    found = [session for name in sessions if (session := tx.session(name)) and session.ended_at is None]
    if len({session.agent for session in found}) != 1 or not host.is_elsewhere(found[0].process):
        return None
    return None if _is_nested(nearer, found[0].runtime) else Evidence.of(found[0], UNVERIFIED)


def is_at_terminal() -> bool:
    """Whether this process has a terminal of its own, and nothing says that an agent runs it."""
    from postroom.runtimes import SIGNS  # noqa: PLC0415

    if stated() or any(os.environ.get(name) for name in SIGNS) or _agents(host.lineage()):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY))
    except OSError:
        return False
    return True
