"""A room elsewhere, over its daemon's API: the same methods as one in this process, and the same errors.

What it gives are the same rows; what is told to nobody over the network (nonces, claimers) is empty in them.
A claim lasts as long as a lease (15 seconds), since nobody there can see whether this program still lives.
"""

import base64
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from postroom.clock import wall
from postroom.errors import InvalidAttachment, TimedOut
from postroom.model.conversation import Attachment, Gate, Thread, Topic
from postroom.model.ladder import Priority
from postroom.model.message import Agent, AgentStatus, Delivery, Event, Mail, Message, Project, Receipts, Sent
from postroom.protocol import unwire
from postroom.protocol.operation import BY_NAME, LONGEST_WAIT
from postroom.room.carriage import Carriage
from postroom.room.fetched import Fetched

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.model.manners import Manners
    from postroom.model.query import Hit
    from postroom.model.tally import Stats
    from postroom.protocol.frame import Frame
    from postroom.room.bundle import Bundle
    from postroom.room.options import About, ReplyOptions, SearchOptions, SendOptions, Wishes

_CALLER = ("sender", "agent")  # who calls, in what an operation is told
_OF_ANYBODY = ("events", "messages", "search", "may_write")  # where they are somebody to look for
_POLL = 60.0  # seconds that one request waits, of a longer wait
_LARGE = 4096  # characters of a body that an agent is shown only the beginning of


class RemoteRoom:
    """See `postroom.room.contract.Room` for what each method promises."""

    def __init__(
        self, url: str, *, token: str = "", agent: str | None = None, project: str | None = None
    ) -> None:
        self.agent = agent
        self._carriage = Carriage(url, token, agent)
        self._project = project
        self._files = Fetched()

    @property
    def home(self) -> str:
        """Where it is."""
        return self._carriage.url

    def call(self, operation: str, /, *, patience: float = 0.0, **args: Any) -> Any:
        """Any operation of the API, by its name; the document it answers with."""
        for name in _CALLER:
            if self.agent and operation not in _OF_ANYBODY and BY_NAME[operation].find(name):
                args[name] = args.get(name) or self.agent
        if self._project and args.get("project") is None and BY_NAME[operation].find("project"):
            args["project"] = self._project
        return self._carriage.call(operation, patience=patience, **args)

    # sending

    def send(
        self,
        to: str,
        body: str = "",
        *,
        sender: str | None = None,
        confirm: bool = False,
        **options: "Unpack[SendOptions]",
    ) -> Sent:
        said = _said(options)
        return unwire.sent(self.call("send", to=to, body=body, sender=sender, confirm=confirm, **said))

    def ask(
        self,
        to: str,
        body: str,
        *,
        sender: str | None = None,
        timeout: float | None = 30.0,
        **options: "Unpack[SendOptions]",
    ) -> Mail:
        """As everywhere; at most for an hour."""
        seconds = LONGEST_WAIT if timeout is None else min(timeout, LONGEST_WAIT)
        found = self.call(
            "ask", patience=seconds, to=to, body=body, sender=sender, timeout=max(0.0, seconds),
            **_said(options),
        )  # fmt: skip
        return unwire.mail(found)

    def wait_for_reply(self, ref: str, *, agent: str | None = None, timeout: float | None = None) -> Mail:
        until = None if timeout is None else time.monotonic() + timeout
        for left in _spans(timeout):
            try:
                return unwire.mail(
                    self.call("wait_for_reply", patience=left, ref=ref, agent=agent, timeout=left)
                )
            except TimedOut:
                if until is not None and time.monotonic() >= until:
                    raise
        raise AssertionError("the last stretch ends in a reply or an error")

    def until(self, ref: str, rung: str, *, timeout: float | None = None) -> list[Delivery]:
        found: list[Delivery] = []
        for left in _spans(timeout):
            said = self.call("until", patience=left, ref=ref, rung=rung, timeout=left)
            found = unwire.deliveries(said["deliveries"])
            if said["reached"]:
                break
        return found

    def withdraw(self, ref: str, *, sender: str | None = None) -> list[Delivery]:
        return unwire.deliveries(self.call("withdraw", ref=ref, sender=sender)["deliveries"])

    def forward(
        self,
        ref: str,
        to: str,
        note: str = "",
        *,
        sender: str | None = None,
        **options: "Unpack[SendOptions]",
    ) -> Sent:
        said = _said(options)
        return unwire.sent(self.call("forward", ref=ref, to=to, note=note, sender=sender, **said))

    def may_write(self, sender: str, to: str, type: str = "note") -> list[str]:
        return self.call("may_write", sender=sender, to=to, type=type)["recipients"]

    # receiving

    def peek(self, agent: str | None = None, *, limit: int = 50) -> list[Mail]:
        return _mails(self.call("peek", agent=agent, limit=limit))

    def wait(self, agent: str | None = None, *, timeout: float | None = None, limit: int = 50) -> list[Mail]:
        found: list[Mail] = []
        for left in _spans(timeout):
            found = _mails(self.call("wait", patience=left, agent=agent, limit=limit, timeout=left))
            if found:
                break
        return found

    def take(
        self, agent: str | None = None, *, id: str | None = None, timeout: float | None = 0.0
    ) -> Mail | None:
        for left in _spans(0.0 if id is not None else timeout):
            found = self.call("take", patience=left, agent=agent, id=id, timeout=left)["mail"]
            if found is not None:
                return unwire.mail(found)
        return None

    def settle(self, mail: Mail) -> Delivery:
        return unwire.delivery(self.call("settle", **_claim(mail)))

    def give_up(self, mail: Mail) -> None:
        """What was taken was not shown."""
        self.call("give_up", **_claim(mail))

    def take_bundle(
        self, agent: str | None = None, *, budget: int = 9_000, route: str = "api"
    ) -> "Bundle | None":
        """The text is made here: it names files, and those of the other machine are not to be read here."""
        from postroom.room.bundle import MOST, Bundle  # noqa: PLC0415 - only who shows mail to a model

        found = self.call("take_bundle", agent=agent, budget=budget)["bundle"]
        if found is None:
            return None
        taken = unwire.bundle(found)
        try:
            waiting = [mail.handle for mail in self.peek(agent, limit=MOST)]
            frame = self.frame(taken, budget=budget, waiting=waiting)
        except BaseException:
            self._give_up_all(taken)
            raise
        self._give_up_all(frame.left_out)
        return Bundle(frame.shown, frame)

    def _give_up_all(self, mails: Iterable[Mail]) -> None:
        for mail in mails:
            self.give_up(mail)

    def settle_all(self, mails: list[Mail], *, shown: Sequence[int] = ()) -> None:
        claims = [
            {"id": mail.id, "claim": mail.delivery.nonce or ""}
            | ({"shown": shown[n]} if n < len(shown) else {})
            for n, mail in enumerate(mails)
        ]
        if mails:
            self.call("settle_all", claims=claims, agent=_whose(mails[0]))

    def ack(self, what: Mail | str, *, agent: str | None = None) -> Delivery:
        return unwire.delivery(self.call("ack", ref=_ref(what), agent=agent or _of(what)))

    def nack(
        self,
        what: Mail | str,
        reason: str,
        *,
        agent: str | None = None,
        retry_after: float | None = None,
        attempts: int | None = None,
        backoff: float | None = None,
    ) -> Delivery:
        said = {"retry_after": retry_after, "attempts": attempts, "backoff": backoff}
        return unwire.delivery(
            self.call(
                "nack", ref=_ref(what), reason=reason, agent=agent or _of(what),
                **{name: value for name, value in said.items() if value is not None},
            )
        )  # fmt: skip

    def reply(
        self, what: Mail | str, body: str, *, agent: str | None = None, **options: "Unpack[ReplyOptions]"
    ) -> Sent:
        said = _said(options)
        return unwire.sent(self.call("reply", ref=_ref(what), body=body, agent=agent or _of(what), **said))

    def listen(self, agent: str | None = None, *, timeout: float | None = None) -> Iterator[Mail]:
        """As everywhere: the mailbox is held for as long as the connection stands."""
        from postroom.room.hearing import Hearing  # noqa: PLC0415 - only who listens

        who = agent or self.agent
        return Hearing(self._carriage, self._carriage.call, timeout, agent=who, project=self._project)

    def frame(
        self,
        mails: Iterable[Mail],
        *,
        budget: int = 9_000,
        waiting: Sequence[str] = (),
        here: str | None = None,
    ) -> "Frame":
        from postroom.protocol.frame import frame  # noqa: PLC0415 - only who shows mail to a model

        shown = [self._with_paths(mail) for mail in mails]
        paths = {mail.id: path for mail in shown if (path := self.spill(mail))}
        where = self.call("me")["project"] if here is None else here
        url = self._carriage.url
        return frame(
            shown, budget=budget, waiting=waiting, paths=paths, now=wall(), here=where,
            home="" if os.environ.get("POSTROOM_HOME", "").rstrip("/") == url else url,
        )  # fmt: skip

    def _with_paths(self, mail: Mail) -> Mail:
        if not mail.message.attachments:
            return mail
        files = [attachment._asdict() for attachment in self.attachments(mail.id)]
        return mail._replace(message=mail.message._replace(attachments=files))

    def held(self, agent: str | None = None) -> list[tuple[str, int, int | None]]:
        return [unwire.held(one) for one in self.call("held", agent=agent)["held"]]

    # looking

    def message(self, ref: str) -> Message:
        return unwire.message(self.call("message", ref=ref))

    def receipts(self, ref: str) -> Receipts:
        return unwire.receipts(self.call("receipts", ref=ref))

    def sent(self, agent: str | None = None, *, limit: int = 50) -> list[tuple[Message, list[Delivery]]]:
        return [unwire.posted(one) for one in self.call("sent", agent=agent, limit=limit)["messages"]]

    def thread(self, ref: str) -> list[Message]:
        return [unwire.message(one) for one in self.call("thread", ref=ref)["messages"]]

    def threads(self, agent: str | None = None, *, limit: int = 20) -> list[Thread]:
        return [unwire.thread(one) for one in self.call("threads", agent=agent, limit=limit)["threads"]]

    def attachments(self, ref: str) -> list[Attachment]:
        """Each is fetched into a file of this machine, which goes with this room."""
        found = map(unwire.attachment, self.call("attachments", ref=ref)["attachments"])
        return [one._replace(path=self._fetched(ref, n, one)) for n, one in found]

    def _fetched(self, ref: str, n: int, one: Attachment) -> str:
        return self._files.attachment(
            one.name, one.sha256, lambda: self.call("attachment", ref=ref, n=str(n))
        )

    def spill(self, mail: Mail) -> str | None:
        return self._files.body(mail.id, mail.body) if len(mail.body) > _LARGE else None

    def search(self, query: str, *, limit: int = 50, **options: "Unpack[SearchOptions]") -> "list[Hit]":
        said: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        said |= {name: str(said[name]) for name in ("since", "until") if name in said}  # as in a query
        if "party" in said:
            said["with"] = said.pop("party")
        found = self.call("search", q=query, limit=max(1, min(limit, 500)), **said)
        return [unwire.hit(one) for one in found["messages"]]

    def stats(self, *, since: int | None = None) -> "Stats":
        return unwire.stats(self.call("stats", since=None if since is None else str(since)))

    def events(
        self, *, follow: bool = False, agent: str | None = None, after: str | None = None
    ) -> Iterator[Event]:
        cursor = after or ""
        while True:
            page = self.call("events", after=cursor or "0", agent=agent, limit=500)
            yield from map(unwire.event, page["events"])
            if page["cursor"] == cursor or not page["events"]:
                break
            cursor = page["cursor"]
        if follow:
            from postroom.room.tidings import follow as followed  # noqa: PLC0415 - only who follows

            party = self._party(agent) if agent else None
            yield from followed(self._carriage, page["cursor"], party)

    def _party(self, agent: str) -> str:
        return unwire.agent(self.call("agent", address=agent)).id

    def agents(self, *, everyone: bool = False) -> list[AgentStatus]:
        return [unwire.status(one) for one in self._carriage.call("agents", everyone=everyone)["agents"]]

    def projects(self) -> list[Project]:
        return [unwire.project(one) for one in self.call("projects")["projects"]]

    # belonging

    def join(self, name: str, **about: "Unpack[About]") -> Agent:
        said: dict[str, Any] = {key: value for key, value in about.items() if value is not None}
        if "capabilities" in said:
            said["capabilities"] = list(said["capabilities"])
        return unwire.agent(self.call("join", name=name, **said))

    def leave(self, agent: str | None = None) -> Agent:
        return unwire.agent(self.call("leave", address=self._me(agent)))

    def rename(self, name: str, *, agent: str | None = None) -> Agent:
        return unwire.agent(self.call("rename", address=self._me(agent), name=name))

    def idle(self, agent: str | None = None) -> list[Message]:
        return [unwire.message(one) for one in self.call("idle", address=self._me(agent))["told"]]

    def manners(self, agent: str | None = None, **wishes: "Unpack[Wishes]") -> "Manners":
        said: dict[str, Any] = dict(wishes)
        if isinstance(said.get("mute"), datetime):
            said["mute"] = _moment(said["mute"])
        return unwire.manners(self.call("manners", address=self._me(agent), **said))

    def _me(self, agent: str | None) -> str:
        """Who calls, by its address: the server knows whose the token is."""
        found = agent or self.agent or self.call("me")["agent"]
        if not found:
            from postroom.errors import NoIdentity  # noqa: PLC0415 - rarely

            raise NoIdentity
        return found

    # decisions, groups and topics

    def gates(self) -> list[Gate]:
        return [unwire.gate(one) for one in self.call("gates")["gates"]]

    def gate(self, ref: str) -> Gate:
        return unwire.gate(self.call("gate", ref=ref))

    def decide(self, ref: str, option: str, *, note: str = "", agent: str | None = None) -> Sent:
        return unwire.sent(self.call("decide", ref=ref, option=option, note=note, agent=agent))

    def groups(self) -> dict[str, list[Agent]]:
        found = self.call("groups")["groups"]
        return {name: [unwire.agent(one) for one in some] for name, some in found.items()}

    def subscribe(self, topic: str, *, agent: str | None = None) -> bool:
        return self.call("subscribe", name=topic, agent=agent)["changed"]

    def unsubscribe(self, topic: str, *, agent: str | None = None) -> bool:
        return self.call("unsubscribe", name=topic, agent=agent)["changed"]

    def topics(self) -> list[Topic]:
        return [unwire.topic(one) for one in self.call("topics")["topics"]]

    def subscribers(self, topic: str) -> list[Agent]:
        return [unwire.agent(one) for one in self.call("subscribers", name=topic)["subscribers"]]

    def topic_history(self, topic: str, *, limit: int = 50) -> list[Message]:
        found = self.call("topic_history", name=topic, limit=limit)["messages"]
        return [unwire.message(one) for one in found]

    # ending

    def close(self) -> None:
        self._carriage.close()
        self._files.close()

    def __enter__(self) -> "RemoteRoom":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()


def _mails(found: dict[str, Any]) -> list[Mail]:
    return [unwire.mail(one) for one in found["messages"]]


def _ref(what: Mail | str) -> str:
    return what.id if isinstance(what, Mail) else what


def _of(what: Mail | str) -> str | None:
    return _whose(what) if isinstance(what, Mail) else None


def _whose(mail: Mail) -> str:
    """Whose mailbox it was in, as it is called from anywhere."""
    who, project = mail.delivery.recipient, mail.message.project
    is_bare = "/" not in who and not who.startswith("human:")
    return f"{project}/{who}" if is_bare and project else who


def _claim(mail: Mail) -> dict[str, Any]:
    return {"id": mail.id, "claim": mail.delivery.nonce or "", "agent": _whose(mail)}


def _spans(timeout: float | None) -> Iterator[float]:
    """A wait in stretches that one request may take; the last ends when time is up."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _POLL if until is None else min(_POLL, max(0.0, until - time.monotonic()))
        yield left
        if until is not None and time.monotonic() >= until:
            return


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a message, as JSON has them."""
    said = {name: value for name, value in options.items() if value is not None}
    for name in ("after", "expires"):
        if isinstance(said.get(name), datetime):
            said[name] = _moment(said[name])
    if isinstance(said.get("priority"), Priority):
        said["priority"] = said["priority"].name.lower()
    if "cls" in said:
        said["class"] = said.pop("cls")
    if said.get("attachments"):
        said["attachments"] = [_enclosed(n, one) for n, one in enumerate(said["attachments"], 1)]
    return said


def _moment(at: datetime) -> str:
    return (at if at.tzinfo else at.astimezone()).isoformat()


def _enclosed(n: int, source: Any) -> dict[str, str]:
    """A file with its content: a path would mean one of the other machine."""
    match source:
        case (str(name), bytes(content)):
            pass
        case bytes():
            name, content = f"attachment-{n}", source
        case str() | os.PathLike():
            path = os.fsdecode(cast("str", source))
            name = os.path.basename(path)
            try:
                with open(path, "rb") as file:
                    content = file.read()
            except OSError as exc:
                raise InvalidAttachment(f"{path} cannot be read: {exc.strerror}", name=name) from None
        case _:
            kind = type(source).__name__
            raise InvalidAttachment(f"an attachment is a path, bytes, or (name, bytes), not {kind}")
    return {"name": name, "content": base64.b64encode(content).decode()}
