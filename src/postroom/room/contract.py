"""What a room can do, wherever it lives. `LocalRoom` opens the store itself, `RemoteRoom` speaks HTTP.

Every method that acts for somebody takes `agent` (or `sender`): an address, by default the one the room
was opened for. Every method that takes a message takes its id or its 8-character handle.
"""

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from postroom.model.conversation import Attachment, Gate, Thread, Topic
from postroom.model.message import Agent, AgentStatus, Delivery, Event, Mail, Message, Project, Receipts, Sent

if TYPE_CHECKING:
    from typing import Unpack

    from postroom.model.manners import Manners
    from postroom.model.query import Hit
    from postroom.model.tally import Stats
    from postroom.protocol.frame import Frame
    from postroom.room.bundle import Bundle
    from postroom.room.options import About, ReplyOptions, SearchOptions, SendOptions, Wishes


class Room(Protocol):
    """One message space: durable mail, and receipts that never claim more than the evidence."""

    agent: str | None

    def send(
        self,
        to: str,
        body: str = "",
        *,
        sender: str | None = None,
        confirm: bool = False,
        **options: "Unpack[SendOptions]",
    ) -> Sent:
        """Store a message; durable, to the level the room is set to, when this returns.

        `to` is an agent (`builder`), a person (`human:ana`), a group (`@builders`, `@builders:live`, `@all`,
        `@up`), one of a group (`one:@reviewers`) or a topic (`topic:frontend`): whoever that means now, never
        the sender. It may be empty for an `escalation`, which goes up. To more than `max_recipients` it wants
        `confirm=True`.
        A payload that does not fit its type is refused, and nothing is stored.

        Options: `type`, `payload`, `subject`, `priority`, `thread`, `reply_to`, `correlation`,
        `requires_ack`, `after` and `expires` (seconds from now, or a `datetime`), `key` (sending again with
        the same key gives the first message back), `metadata`, `cls` (`turn`, `tool` or `interrupt`),
        `format` (`plain` or `markdown`), `attachments` (a list of paths, bytes, or names with bytes).
        """
        ...

    def peek(self, agent: str | None = None, *, limit: int = 50) -> list[Mail]:
        """What waits, in the order it will be offered. Looking marks nothing."""
        ...

    def take(
        self, agent: str | None = None, *, id: str | None = None, timeout: float | None = 0.0
    ) -> Mail | None:
        """Claim the next message (or that one) for this process alone: it is *offered*.

        Waits up to `timeout` seconds for one (None: for ever). If this process ends before it
        settles, the message is offered again, labelled `shown_before`.
        """
        ...

    def settle(self, mail: Mail) -> Delivery:
        """What was taken has been *seen*. A claim that lapsed in the meantime is refused (`StaleClaim`)."""
        ...

    def take_bundle(
        self, agent: str | None = None, *, budget: int = 9_000, route: str = "api"
    ) -> "Bundle | None":
        """Claim as many of the next messages as one frame holds, as one offering; None when nothing waits.

        Write out `bundle.frame.text`, then `settle_all(bundle.mails, shown=bundle.frame.lengths)`. If this
        process ends before that, they are all offered again.
        """
        ...

    def settle_all(self, mails: list[Mail], *, shown: Sequence[int] = ()) -> None:
        """All that was taken together has been *seen*; raises `StaleClaim` for claims that lapsed.

        `shown` says how many characters of each were put before the agent (`bundle.frame.lengths`).
        """
        ...

    def ack(self, what: Mail | str, *, agent: str | None = None) -> Delivery:
        """The agent's own word that it has it."""
        ...

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
        """Refuse it: *bounced*, and the sender gets one bounce with the reason.

        With `retry_after` (seconds) it is *stored* again and comes back then; each further pause is `backoff`
        (2) times as long. `attempts` (3) counts how often it is refused in all: with the last refusal it is
        *dead*, and the sender gets the bounce.
        """
        ...

    def reply(
        self, what: Mail | str, body: str, *, agent: str | None = None, **options: "Unpack[ReplyOptions]"
    ) -> Sent:
        """Answer in the same thread, to the sender, and acknowledge, in one step."""
        ...

    def ask(
        self,
        to: str,
        body: str,
        *,
        sender: str | None = None,
        timeout: float | None = 30.0,
        **options: "Unpack[SendOptions]",
    ) -> Mail:
        """Send a request and wait for its answer; raises `TimedOut`, or `Refused` if it bounced.

        Only who was asked can answer. `NoAnswer` when nobody will any more. Who does not wait, and sends with
        `type="request"`, is told by a letter of the room instead (`payload.unanswered`).
        """
        ...

    def wait(self, agent: str | None = None, *, timeout: float | None = None, limit: int = 50) -> list[Mail]:
        """Sleep, at no CPU, until there is mail, and peek at it; empty when time is up."""
        ...

    def wait_for_reply(self, ref: str, *, agent: str | None = None, timeout: float | None = None) -> Mail:
        """Wait for the reply to a message that you sent earlier, and peek at it: nothing is marked.

        `ref` is the message's id, or the correlation that it was sent with. A reply that came before is given
        at once, also one that was seen. Raises `TimedOut`, `Refused` and `NoAnswer` as `ask` does.
        """
        ...

    def frame(
        self,
        mails: Iterable[Mail],
        *,
        budget: int = 9_000,
        waiting: Sequence[str] = (),
        here: str | None = None,
    ) -> "Frame":
        """One text for a model, with as many of these messages as `budget` characters hold; marks nothing.

        No body can forge or close it. `shown` has the messages that are in its `text`, `left_out` the others,
        which the text names; it also names the handles in `waiting`. Agents of another project than `here`
        (default: the caller's) are named with theirs.
        """
        ...

    def listen(self, agent: str | None = None, *, timeout: float | None = None) -> Iterator[Mail]:
        """Hold the mailbox and yield its mail. Each is *seen* when the next is asked for.

        Nobody else can take from the mailbox meanwhile. Ends after `timeout` seconds without mail.
        """
        ...

    def until(self, ref: str, rung: str, *, timeout: float | None = None) -> list[Delivery]:
        """Wait until every delivery of a message reached a rung or ended; the deliveries either way."""
        ...

    def message(self, ref: str) -> Message:
        """One message, by its id or its handle. Looking marks nothing."""
        ...

    def receipts(self, ref: str) -> Receipts:
        """How far a message got, with every attempt and its evidence."""
        ...

    def withdraw(self, ref: str, *, sender: str | None = None) -> list[Delivery]:
        """Take back what nobody has seen yet."""
        ...

    def sent(self, agent: str | None = None, *, limit: int = 50) -> list[tuple[Message, list[Delivery]]]:
        """What became of what was sent, newest first."""
        ...

    def thread(self, ref: str) -> list[Message]:
        """A whole conversation, oldest first."""
        ...

    def attachments(self, ref: str) -> list[Attachment]:
        """What came with a message, each with the path of a file that holds it: to be read, never written."""
        ...

    def spill(self, mail: Mail) -> str | None:
        """The path of a file with a body too large to be put before an agent; None for one that is not."""
        ...

    def search(self, query: str, *, limit: int = 50, **options: "Unpack[SearchOptions]") -> list["Hit"]:
        """Messages whose subject, body or payload say something, newest first, with the place where they do.

        A query is words, `"a phrase"`, `begin*`, `-without`, `this OR that`. Options: `sender`, `to`, `type`,
        `thread`, `since` and `until` (milliseconds since the epoch), `state`, and `before`, the `seq` of the
        last one of the page before. A hit has `message`, `deliveries` and `snippet`.
        """
        ...

    def stats(self, *, since: int | None = None) -> "Stats":
        """Who writes to whom, how soon it is acknowledged and answered, what waits for an answer.

        And how many characters were put into each agent, by type, sender and route. Of all that was sent, or
        of what was sent since a moment (milliseconds since the epoch).
        """
        ...

    def events(
        self, *, follow: bool = False, agent: str | None = None, after: str | None = None
    ) -> Iterator[Event]:
        """Every change, in order, after a cursor; with `follow`, for ever."""
        ...

    def agents(self, *, everyone: bool = False) -> list[AgentStatus]:
        """Who is here, what waits for each, and whether anything of it is listening."""
        ...

    def projects(self) -> list[Project]:
        """The scopes of names: as a rule one for each repository."""
        ...

    def join(self, name: str, **about: "Unpack[About]") -> Agent:
        """Give an agent (or `human:name`) an address; `role`, `capabilities`, `description`, `supervisor`."""
        ...

    def leave(self, agent: str | None = None) -> Agent:
        """Mark it as gone for good. Its address and its mail stay; who waits for its answer is told."""
        ...

    def idle(self, agent: str | None = None) -> list[Message]:
        """It has nothing more to do for now: say so at the end of a turn.

        Whoever asked something that it has seen, and neither answered nor acknowledged, is told, once; it may
        still answer. The requests whose askers were told now.
        """
        ...

    def rename(self, name: str, *, agent: str | None = None) -> Agent:
        """Give an agent another name. Its id, its mail and its threads stay."""
        ...

    def threads(self, agent: str | None = None, *, limit: int = 20) -> list[Thread]:
        """The conversations somebody has a part in, the latest first, with what is unread in each."""
        ...

    def forward(
        self,
        ref: str,
        to: str,
        note: str = "",
        *,
        sender: str | None = None,
        **options: "Unpack[SendOptions]",
    ) -> Sent:
        """Pass a message on, quoted, in a thread of its own."""
        ...

    def gates(self) -> list[Gate]:
        """What waits for a decision now, the most pressing first."""
        ...

    def gate(self, ref: str) -> Gate:
        """One gate, whatever has become of it."""
        ...

    def decide(self, ref: str, option: str, *, note: str = "", agent: str | None = None) -> Sent:
        """Answer a gate, once: its asker gets the answer, and it is over for whoever else was asked.

        `NotAsked` if it was not sent to you, `AlreadyDecided` if another was faster or its time is over.
        """
        ...

    def groups(self) -> dict[str, list[Agent]]:
        """Everyone with a role or a capability, by the name of the group (`@builder` without the `@`)."""
        ...

    def subscribe(self, topic: str, *, agent: str | None = None) -> bool:
        """Follow a topic from now on, running or not; False if that was so already."""
        ...

    def unsubscribe(self, topic: str, *, agent: str | None = None) -> bool:
        """Follow a topic no longer; False if that was so already. What was delivered stays."""
        ...

    def manners(self, agent: str | None = None, **wishes: "Unpack[Wishes]") -> "Manners":
        """How somebody wants to be left alone, and from now on, if wishes are given.

        `mute` (seconds, a datetime, True or False), `hours` (`22:00-07:00`) with `zone`, `digest` (seconds).
        What comes meanwhile is held and says so; urgent mail, interrupts, gates and answers come through.
        """
        ...

    def may_write(self, sender: str, to: str, type: str = "note") -> list[str]:
        """Whom somebody would reach with such a message; raises `RouteClosed` where a route forbids it.

        Nothing is sent.
        """
        ...

    def held(self, agent: str | None = None) -> list[tuple[str, int, int | None]]:
        """What is held for somebody's own sake: for each reason how much, and when the first of it is due."""
        ...

    def topics(self) -> list[Topic]:
        """Every topic of the project that somebody follows or has written to."""
        ...

    def subscribers(self, topic: str) -> list[Agent]:
        """Who follows a topic."""
        ...

    def topic_history(self, topic: str, *, limit: int = 50) -> list[Message]:
        """The latest that was written to a topic, oldest first."""
        ...

    def close(self) -> None:
        """Give back what this thread holds of the room; `with` does it by itself."""
        ...

    def __enter__(self) -> "Room": ...

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None, /
    ) -> None: ...
