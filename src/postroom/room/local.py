"""A room in this process: the store, the bell, and the use cases over them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, overload

from postroom import config
from postroom.errors import StoreError
from postroom.model.message import Agent, AgentStatus, Delivery, Event, Mail, Message, Project, Receipts, Sent
from postroom.room import directory
from postroom.room import send as sending
from postroom.room.identity import Witness
from postroom.room.premises import Premises

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.model.conversation import Attachment, Gate, Thread, Topic
    from postroom.model.manners import Manners
    from postroom.model.query import Hit
    from postroom.model.tally import Stats
    from postroom.protocol.frame import Frame
    from postroom.room.bundle import Bundle
    from postroom.room.options import About, ReplyOptions, SearchOptions, SendOptions, Wishes
    from postroom.room.remote import RemoteRoom


if TYPE_CHECKING:

    @overload
    def open_room(
        home: str | None = None,
        *,
        agent: str | None = None,
        project: str | None = None,
        durability: str | None = None,
        create: bool = True,
    ) -> "LocalRoom": ...

    @overload
    def open_room(
        home: str, *, token: str, agent: str | None = None, project: str | None = None
    ) -> "RemoteRoom": ...


def open_room(
    home: str | None = None,
    *,
    agent: str | None = None,
    project: str | None = None,
    durability: str | None = None,
    create: bool = True,
    token: str | None = None,
) -> "LocalRoom | RemoteRoom":
    """Open a room, making it if it is not there.

    `home` is its directory (default: `POSTROOM_HOME`, or the platform's place for data). `agent` is whom
    calls are made for unless they say otherwise (default: the agent whose session this program runs in, or
    `POSTROOM_AGENT`), `project` the project its names belong to (default: `POSTROOM_PROJECT`, or the
    repository around the current directory). `durability` is `normal` or `full`. With `create=False` a room
    that is not there is an error.

    Where `home` is an address (`https://host:7678`, or `unix:///path/of/http.sock`), it is the room that a
    daemon serves there, and `token` (default: `POSTROOM_TOKEN`) proves who calls: a `RemoteRoom`, with all
    the methods of `Room`.
    """
    if address := config.address(home):
        return _elsewhere(address, agent, project, token)
    where = config.home(home)
    settings, declared = config.load(where)
    if durability is not None:
        settings = settings._replace(durability=config.checked("durability", durability))
    room = LocalRoom(
        where, settings, agent=agent or os.environ.get("POSTROOM_AGENT"),
        project=project or os.environ.get("POSTROOM_PROJECT"), create=create, declared=declared,
        witness=None if agent else _witness(where),
    )  # fmt: skip
    if declared.agents:
        from postroom.room.declared import introduce_all  # noqa: PLC0415 - where there are any

        introduce_all(room)
    if create:
        from postroom.room import reserve  # noqa: PLC0415 - for who may make a room

        reserve.keep(room)
    return room


def open_as_usual(home: str | None, project: str | None) -> "LocalRoom":
    """A room that is there, whatever its config says: by the usual settings, and with nothing declared.

    For who looks at a room, or ends its daemon, where the config is refused.
    """
    where = config.home(home)
    return LocalRoom(
        where, config.Settings(), agent=os.environ.get("POSTROOM_AGENT"),
        project=project or os.environ.get("POSTROOM_PROJECT"), create=False, witness=_witness(where),
    )  # fmt: skip


def _elsewhere(address: str, agent: str | None, project: str | None, token: str | None) -> "RemoteRoom":
    from postroom.room.remote import RemoteRoom  # noqa: PLC0415 - only for a room elsewhere

    found = os.environ.get
    token = token or found("POSTROOM_TOKEN", "")
    return RemoteRoom(
        address, token=token,
        agent=agent or (None if token else found("POSTROOM_AGENT")),
        project=project or found("POSTROOM_PROJECT"),
    )  # fmt: skip


def _witness(home: str) -> Witness:
    environment = os.environ
    return Witness(
        environment.get("POSTROOM_AGENT", ""), token=environment.get("POSTROOM_TOKEN", ""), home=home
    )


class LocalRoom(Premises):
    """See `postroom.room.contract.Room` for what each method promises."""

    # sending

    send = sending.send  # as they are: every call on the way of a message is felt
    withdraw = sending.withdraw

    def until(self, ref: str, rung: str, *, timeout: float | None = None) -> list[Delivery]:
        from postroom.room.wait import until_rung  # noqa: PLC0415 - only who waits

        return until_rung(self, ref, rung, timeout)

    def ask(
        self,
        to: str,
        body: str,
        *,
        sender: str | None = None,
        timeout: float | None = 30.0,
        **options: "Unpack[SendOptions]",
    ) -> Mail:
        from postroom.room.ask import ask  # noqa: PLC0415 - only who waits

        return ask(self, to, body, sender=sender, timeout=timeout, **options)

    def wait_for_reply(self, ref: str, *, agent: str | None = None, timeout: float | None = None) -> Mail:
        from postroom.room.reply_wait import wait_for_reply  # noqa: PLC0415 - only who waits

        return wait_for_reply(self, ref, agent, timeout)

    # receiving

    def peek(self, agent: str | None = None, *, limit: int = 50) -> list[Mail]:
        from postroom.room import offer  # noqa: PLC0415 - each command loads what it does

        return offer.peek(self, agent, limit)

    def take(
        self,
        agent: str | None = None,
        *,
        id: str | None = None,
        timeout: float | None = 0.0,
        route: str = "api",
        handed: bool = True,
    ) -> Mail | None:
        from postroom.room import offer  # noqa: PLC0415 - each command loads what it does

        if id is not None or timeout == 0:
            return offer.offer(self, agent, ref=id, route=route, handed=handed)
        from postroom.room.wait import take  # noqa: PLC0415 - only who waits

        return take(self, agent, timeout, route=route, handed=handed)

    def take_bundle(
        self, agent: str | None = None, *, budget: int = 9_000, route: str = "api"
    ) -> "Bundle | None":
        from postroom.room.bundle import take_bundle  # noqa: PLC0415 - only who shows mail to a model

        return take_bundle(self, agent, budget=budget, route=route)

    def settle_all(self, mails: list[Mail], *, shown: Sequence[int] = ()) -> None:
        from postroom.room.settle import settle_all  # noqa: PLC0415 - each command loads what it does

        settle_all(self, mails, shown)

    def give_up(self, mail: Mail) -> None:
        from postroom.room import offer  # noqa: PLC0415 - each command loads what it does

        offer.give_up(self, mail)

    def settle(self, mail: Mail) -> Delivery:
        from postroom.room import settle  # noqa: PLC0415 - each command loads what it does

        return settle.settle(self, mail)

    def ack(self, what: Mail | str, *, agent: str | None = None) -> Delivery:
        from postroom.room.settle import ack  # noqa: PLC0415 - each command loads what it does

        return ack(self, what, agent)

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
        from postroom.room import settle  # noqa: PLC0415 - each command loads what it does

        if retry_after is None and attempts is None and backoff is None:
            return settle.nack(self, what, reason, agent)
        from postroom.room.deferral import retry  # noqa: PLC0415 - rarely

        return settle.nack(self, what, reason, agent, retry(retry_after, attempts, backoff))

    def reply(
        self, what: Mail | str, body: str, *, agent: str | None = None, **options: "Unpack[ReplyOptions]"
    ) -> Sent:
        from postroom.room import settle  # noqa: PLC0415 - each command loads what it does

        return settle.reply(self, what, body, agent, **options)

    def wait(self, agent: str | None = None, *, timeout: float | None = None, limit: int = 50) -> list[Mail]:
        from postroom.room.wait import wait  # noqa: PLC0415 - only who waits

        return wait(self, agent, timeout, limit)

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
        return frame(
            shown, budget=budget, waiting=waiting, paths=paths, now=self.now(),
            here=self.project() if here is None else here,
            home="" if config.is_usual(self.home) else self.home,
        )  # fmt: skip

    def _with_paths(self, mail: Mail) -> Mail:
        """Its attachments told with where they are."""
        if not mail.message.attachments:
            return mail
        files = [attachment._asdict() for attachment in self.attachments(mail.id)]
        return mail._replace(message=mail.message._replace(attachments=files))

    def listen(self, agent: str | None = None, *, timeout: float | None = None) -> Iterator[Mail]:
        from postroom.room.listen import Listening  # noqa: PLC0415 - only who listens

        return Listening(self, agent, timeout)

    # looking

    def message(self, ref: str) -> Message:
        return self.find_message(self.store.look(), ref)

    def receipts(self, ref: str) -> Receipts:
        from postroom.room.attempt import attempts, deferral  # noqa: PLC0415 - not on the mail path
        from postroom.room.presence import as_shown  # noqa: PLC0415

        self.sweep()
        self.rouse()
        with self.store.read() as tx:
            message = self.find_message(tx, ref)
            deliveries = [as_shown(self, tx, delivery) for delivery in tx.deliveries(message.seq)]
            told = [(d, tx.history(d.seq, d.recipient_id)) for d in deliveries]
            return Receipts(
                message,
                deliveries,
                [a for d, history in told for a in attempts(d, history)],
                [found for d, history in told if (found := deferral(d, history))],
            )

    def sent(
        self, agent: str | None = None, *, limit: int = 50, before: int | None = None
    ) -> list[tuple[Message, list[Delivery]]]:
        from postroom.room.history import index_sent  # noqa: PLC0415 - not on the mail path
        from postroom.room.presence import as_shown  # noqa: PLC0415

        self.sweep()
        self.rouse()
        index_sent(self)
        with self.store.read() as tx:
            sender = directory.caller(tx, agent or self.agent, self.scope)
            return [
                (message, [as_shown(self, tx, delivery) for delivery in tx.deliveries(message.seq)])
                for message in tx.sent(sender.id, before, limit)
            ]

    def thread(self, ref: str) -> list[Message]:
        from postroom.room.denial import is_unsaid  # noqa: PLC0415 - not on the mail path

        with self.store.read() as tx:
            thread, found = self.find_message(tx, ref).thread, list[Message]()
            while page := tx.thread(thread, found[-1].seq if found else 0):
                found += page
            return [message for message in found if not is_unsaid(tx, message)]

    def threads(self, agent: str | None = None, *, limit: int = 20) -> "list[Thread]":
        from postroom.room.conversation import threads  # noqa: PLC0415 - not on the mail path

        return threads(self, agent, limit)

    def forward(
        self,
        ref: str,
        to: str,
        note: str = "",
        *,
        sender: str | None = None,
        **options: "Unpack[SendOptions]",
    ) -> Sent:
        from postroom.room.conversation import forward  # noqa: PLC0415 - rarely

        return forward(self, ref, to, note, sender, **options)

    def attachments(self, ref: str) -> "list[Attachment]":
        from postroom.room.content import attachments  # noqa: PLC0415 - only who wants them

        return attachments(self, self.message(ref))

    def spill(self, mail: Mail) -> str | None:
        if len(mail.body) * 4 <= self.settings.spill_bytes:
            return None
        from postroom.room.spill import spill  # noqa: PLC0415 - only what is large

        try:
            return spill(self, mail.message)
        except StoreError:  # a file that cannot be written keeps nobody from reading
            return None

    def search(
        self,
        query: str,
        *,
        limit: int = 50,
        say: Callable[[int], None] | None = None,
        **options: "Unpack[SearchOptions]",
    ) -> list["Hit"]:
        from postroom.room.search import search  # noqa: PLC0415 - not on the mail path

        return search(self, query, limit, say, **options)

    @property
    def is_indexed(self) -> bool:
        """Whether a search has an index; without one it looks through every message."""
        return self.store.search().is_indexed

    def stats(self, *, since: int | None = None) -> "Stats":
        from postroom.room.stats import stats  # noqa: PLC0415 - not on the mail path

        return stats(self, since)

    def events(
        self, *, follow: bool = False, agent: str | None = None, after: str | None = None
    ) -> Iterator[Event]:
        from postroom.room.history import events  # noqa: PLC0415 - not on the mail path

        return events(self, follow=follow, agent=agent, after=after)

    def agents(self, *, everyone: bool = False) -> list[AgentStatus]:
        from postroom.room.presence import statuses  # noqa: PLC0415

        return statuses(self, everyone=everyone)

    def projects(self) -> list[Project]:
        return self.store.look().projects()

    # what failed

    def dead(self) -> list[Mail]:
        """What could not be delivered."""
        return self.store.look().dead()

    def retry(self, ref: str, *, recipient: str | None = None) -> list[Mail]:
        from postroom.room.dead import retry  # noqa: PLC0415 - a person's command

        return retry(self, ref, recipient)

    def purge(self, ref: str) -> None:
        from postroom.room.dead import purge  # noqa: PLC0415 - a person's command

        purge(self, ref)

    def delete_project(self, name: str) -> int:
        from postroom.room.dead import delete_project  # noqa: PLC0415 - a person's command

        return delete_project(self, name)

    # belonging

    def join(self, name: str, **about: "Unpack[About]") -> Agent:
        with self.write() as tx:
            return directory.join_as(tx, name, self.scope, about)

    def leave(self, agent: str | None = None) -> Agent:
        from postroom.room.presence import leave  # noqa: PLC0415

        return leave(self, agent)

    def idle(self, agent: str | None = None) -> list[Message]:
        from postroom.room.idle import gone_idle  # noqa: PLC0415 - at the end of a turn

        return gone_idle(self, agent)

    def rename(self, name: str, *, agent: str | None = None) -> Agent:
        from postroom.room.presence import rename  # noqa: PLC0415

        return rename(self, agent, name)

    # decisions

    def gates(self) -> "list[Gate]":
        from postroom.room.gate import gates  # noqa: PLC0415 - a person's command

        return gates(self)

    def gate(self, ref: str) -> "Gate":
        from postroom.room.gate import show  # noqa: PLC0415 - a person's command

        return show(self, ref)

    def decide(self, ref: str, option: str, *, note: str = "", agent: str | None = None) -> Sent:
        from postroom.room.gate import decide  # noqa: PLC0415 - a person's command

        return decide(self, ref, option, note, agent)

    # groups and topics

    def groups(self) -> dict[str, list[Agent]]:
        from postroom.room.group import groups  # noqa: PLC0415 - a person's command

        with self.store.read() as tx:
            return groups(tx, self.scope.find(tx))

    def subscribe(self, topic: str, *, agent: str | None = None) -> bool:
        from postroom.room.topic import subscribe  # noqa: PLC0415 - rarely

        return subscribe(self, topic, agent)

    def unsubscribe(self, topic: str, *, agent: str | None = None) -> bool:
        from postroom.room.topic import unsubscribe  # noqa: PLC0415 - rarely

        return unsubscribe(self, topic, agent)

    def topics(self) -> "list[Topic]":
        from postroom.room.topic import topics  # noqa: PLC0415 - a person's command

        return topics(self)

    def subscribers(self, topic: str) -> list[Agent]:
        from postroom.room.topic import subscribers_of  # noqa: PLC0415 - a person's command

        return subscribers_of(self, topic)

    def topic_history(self, topic: str, *, limit: int = 50) -> list[Message]:
        from postroom.room.topic import history  # noqa: PLC0415 - a person's command

        return history(self, topic, limit)

    # policy and manners

    def manners(self, agent: str | None = None, **wishes: "Unpack[Wishes]") -> "Manners":
        from postroom.room.manners import manners  # noqa: PLC0415 - rarely

        return manners(self, agent, wishes)

    def held(self, agent: str | None = None) -> list[tuple[str, int, int | None]]:
        look = self.store.look()
        return look.held_counts(directory.caller(look, agent or self.agent, self.scope).id)

    def may_write(self, sender: str, to: str, type: str = "note") -> list[str]:
        from postroom.room.policy import may_write  # noqa: PLC0415 - a person's question

        return may_write(self, sender, to, type)

    def __enter__(self) -> "LocalRoom":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()
