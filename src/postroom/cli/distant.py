"""A room elsewhere as commands use one: what its API does is done, what needs its files is refused."""

from typing import TYPE_CHECKING, Any, cast

from postroom.clock import wall
from postroom.errors import NotHere, UnknownMessage
from postroom.protocol import unwire
from postroom.room.remote import RemoteRoom

if TYPE_CHECKING:
    from typing import NoReturn

    from postroom.model.message import Agent, AgentStatus, Delivery, Event, Json, Mail, Message
    from postroom.room.glance import Glance
    from postroom.room.identity import Witness


_CHANGES = frozenset(("send", "reply", "forward", "decide", "ack", "nack", "withdraw"))


class _Scope:
    """Who calls is known at the other end."""

    witness: "Witness | None" = None
    newcomer = twin = ""


class _Look:
    """What commands look up beside what they do."""

    def __init__(self, room: "Distant") -> None:
        self._room = room
        self._ids: dict[int, str] = {}  # of messages, by their numbers

    def agent(self, party: str) -> "Agent | None":
        return next((one.agent for one in self._room.everybody() if one.agent.id == party), None)

    def message(self, ref: str) -> "Message | None":
        try:
            found = self._room.message(ref)
        except UnknownMessage:
            return None
        self._ids[found.seq] = found.id
        return found

    def deliveries(self, seq: int) -> "list[Delivery]":
        """Those of a message that was looked up before."""
        return self._room.receipts(self._ids[seq]).deliveries

    def had_session(self, party: str) -> bool:
        """Nobody here knows; it only words how somebody is reached."""
        return False

    def events_before(self, cursor: str, limit: int, party: str | None) -> "list[Event]":
        """Newest first."""
        who = self.agent(party) if party else None
        found = self._room.call(
            "events", before=cursor or "end", limit=limit, agent=who.address if who else None
        )
        return [unwire.event(one) for one in reversed(found["events"])]

    def cursor(self, event: "Event") -> str:
        return str(event.seq)

    def last_cursor(self) -> str:
        [*_, last] = self._room.call("events", before="end", limit=1)["events"] or [{"cursor": ""}]
        return last["cursor"]

    def __getattr__(self, name: str) -> "NoReturn":
        raise not_here(self._room)


class _Store:
    readonly = False

    def __init__(self, room: "Distant") -> None:
        self._room = room
        self._look = _Look(room)

    def look(self) -> _Look:
        return self._look

    def __getattr__(self, name: str) -> "NoReturn":
        raise not_here(self._room)


class Distant(RemoteRoom):
    """With what else `LocalRoom` offers to commands."""

    is_indexed = True

    def __init__(self, url: str, *, token: str, agent: str | None, project: str | None) -> None:
        super().__init__(url, token=token, agent=agent, project=project)
        self._token, self._where = token, project
        self._rows: list[Json] | None = None
        self.scope, self.store = _Scope(), _Store(self)
        self.committed: list[tuple[str, str]] | None = None  # operations and messages; None: not noted

    def call(self, operation: str, /, *, patience: float = 0.0, **args: Any) -> Any:
        found: Any = super().call(operation, patience=patience, **args)
        if self.committed is not None and operation in _CHANGES:
            document = cast("Json", found)
            self.committed.append((operation, str(document.get("id") or document.get("message") or "")))
        return found

    @property
    def home(self) -> str:
        """Nothing of it is on this machine."""
        raise not_here(self)

    @property
    def url(self) -> str:
        return self._carriage.url

    def claim(self, name: str) -> None:
        """Who a caller says it is: proven by its token, or believed at a Unix socket."""
        RemoteRoom.__init__(self, self._carriage.url, token=self._token, agent=name, project=self._where)

    def project(self) -> str:
        return self.call("me")["project"]

    def who(self, agent: str | None = None) -> "Agent":
        return self.known(self._me(agent))

    def known(self, name: str) -> "Agent":
        return unwire.agent(self.call("agent", address=name))

    def everybody(self) -> "list[AgentStatus]":
        """Asked for once by a command."""
        return [unwire.status(one) for one in self._everyone()]

    def seen(self, party: str) -> "tuple[AgentStatus | None, Glance | None]":
        """Somebody, and what its bridge saw of it last."""
        row = next((one for one in self._everyone() if one["id"] == party), None)
        return (unwire.status(row), _glance(row["bridge"])) if row else (None, None)

    def _everyone(self) -> "list[Json]":
        rows = self._rows
        if rows is None:
            self._rows = rows = self.call("agents", everyone=True)["agents"]
        return rows

    def now(self) -> int:
        return wall()

    def take(
        self,
        agent: str | None = None,
        *,
        id: str | None = None,
        timeout: float | None = 0.0,
        route: str = "",
        handed: bool = True,
    ) -> "Mail | None":
        return super().take(agent, id=id, timeout=timeout)

    def search(self, query: str, *, limit: int = 50, say: Any = None, **options: Any) -> Any:
        return super().search(query, limit=limit, **options)

    def dead(self) -> "list[Mail]":
        return [unwire.mail(one) for one in self.call("dead")["dead"]]

    def uncertain(self) -> "list[Mail]":
        return [unwire.mail(one) for one in self.call("dead")["uncertain"]]

    def retry(self, ref: str, *, recipient: str | None = None) -> "list[Mail]":
        self.call("retry", ref=ref, to=recipient)
        message, deliveries = unwire.posted(self.call("message", ref=ref))
        from postroom.model.message import Mail

        return [Mail(message, one) for one in deliveries]

    def purge(self, ref: str) -> None:
        self.call("purge", ref=ref)

    def finish(self) -> None:
        """Nothing is left open here."""

    def __getattr__(self, name: str) -> "NoReturn":
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_here(self)


def _glance(d: "Json | None") -> "Glance | None":
    from postroom.room.glance import Glance

    if d is None:
        return None
    at = unwire.moment(d["at"]) or 0
    return Glance(d["doing"], d["because"], d["reason"] or "", at, "", d["instead"] or "")


def not_here(room: Distant) -> NotHere:
    """Something is wanted that only the room's own machine has."""
    return NotHere(f"that needs the files of the room, which are elsewhere: {room.url}", url=room.url)
