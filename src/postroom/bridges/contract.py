"""What a bridge is: the code that pushes into one running agent. `tests/contract/test_bridge.py` says what
that means.

A bridge stores nothing and decides nothing about mail. It is asked what the agent does, it is handed a text,
and it answers with what it can prove. Whoever hands over has claimed the mail before, and settles it after.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from postroom.model.ladder import Evidence
from postroom.model.message import Json

if TYPE_CHECKING:
    from postroom.room.local import LocalRoom


class Kind(StrEnum):
    """What a text is to the agent."""

    BODY = "body"  # mail, framed: there is no other door
    WAKE = "wake"  # a short line; its hooks will carry the mail
    COMMAND = "command"  # an operator's own words, as they are


class Text(NamedTuple):
    """What is to go in."""

    text: str
    kind: Kind = Kind.BODY
    while_busy: bool = False  # whether it may go in while the agent works, where its runtime takes that


class Result(StrEnum):
    """How a delivery ended."""

    REFUSED = "refused"  # not a byte was written; `reason` is what is in the way
    HANDED = "handed"  # all of it was written; `receive` tells when it is proven
    PROVEN = "proven"  # there is evidence that the agent took it
    UNCERTAIN = "uncertain"  # something was written, and what became of it cannot be known


class Delivered(NamedTuple):
    """What is true after a delivery, and on what that rests."""

    result: Result
    reason: str = ""  # of `postroom.model.ladder.Reason`, or `launch_blocked:<dialog>`
    evidence: Evidence | None = None
    words: str = ""  # what was seen, for people


class Assent(NamedTuple):
    """What whoever hands over must be asked on the way.

    `begun` is called once, before the first byte. After it, a delivery is refused only if the terminal or the
    pipe itself withheld all of it, to the last byte, or the agent's own server said that it took none of it;
    whatever else goes wrong is uncertain.
    """

    begun: Callable[[], None]
    holds: Callable[[], bool]  # whether it may go on: nobody else writes there, its hooks say it is idle


class Doing(StrEnum):
    """What an agent does, as far as a bridge can tell."""

    IDLE = "idle"
    PROCESSING = "processing"  # it works, and something moves
    STUCK = "stuck"  # it seems to work, and nothing has moved for long
    ASKING = "asking"  # a dialog takes the keys
    STARTING = "starting"
    UNKNOWN = "unknown"
    GONE = "gone"


class Observation(NamedTuple):
    """One look at an agent."""

    doing: Doing
    words: str  # on what that rests
    reason: str = ""  # why nothing may be typed now, as in `Delivered`; empty: something may
    dialog: str = ""  # the name of the one that is open
    at: int = 0  # when, in milliseconds since the epoch
    room: int = 0  # characters that a text may have to be put before it whole; 0: as many as one likes
    size: tuple[int, int] = (0, 0)  # columns and rows of its terminal
    still: float = 0.0  # seconds for which nothing has moved there, at least
    unsent: str = ""  # why something that it has written waits, where that is known


class Option(NamedTuple):
    """One answer that an agent takes."""

    id: str  # its own
    name: str  # in its own words
    kind: str  # `allow_once`, `allow_always`, `reject_once`, `reject_always`; empty: it does not say


class Question(NamedTuple):
    """What an agent asks a person, and waits for."""

    id: str  # used once in one run of the agent
    title: str  # one line
    details: str  # what exactly it wants to do, as far as it says
    options: tuple[Option, ...]


class Heard(NamedTuple):
    """Something that came out of an agent."""

    text: str = ""
    stream: str = "output"  # or `error`, or `event` with one line of JSON
    proves: Evidence | None = None  # that all that was handed over before has been taken
    doubts: str = ""  # why nobody can tell any more what became of it
    refused: str = ""  # why no model has answered it, and none will: its turn has ended by an error
    exit_code: int | None = None  # it has ended, with that; the negative number of a signal that ended it
    asks: Question | None = None
    asked: str = ""  # the id of a question that is over: answered here or there, or no longer of interest


class Interrupted(NamedTuple):
    """What is known after an interrupt."""

    proven: bool  # whether the turn was seen to end
    words: str  # what was done, and what was seen


class Capabilities(NamedTuple):
    """What a bridge can do."""

    screen: bool = False  # `observe` reads a screen, and people may type there, too
    output: bool = False  # `receive` hears what the agent prints
    busy: bool = False  # takes a text while the agent works
    proves: tuple[Evidence, ...] = ()  # what its evidence can be
    interrupts: bool = False
    owned: bool = False  # the agent is a child of ours, and ends with us
    console: bool = False  # it has no screen, but people may attach to what is said, and write a line
    mailbox: bool = False  # it is files that mail goes into and comes out of: carried, and not pushed


class Attachable(Protocol):
    """A terminal, or a conversation that looks like one, which people may attach to, from any thread."""

    def subscribe(self, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Give it what draws the screen, then all that is written there, until the result is called."""
        ...

    def type_by_person(self, data: bytes) -> None: ...

    def resize(self, columns: int, lines: int) -> None: ...


class Bridge(Protocol):
    """A way into one running agent. Used by one thread at a time; every call has an end."""

    name: str  # also the route of what goes in

    def capabilities(self) -> Capabilities:
        """What its kind can do, and whether this very agent takes a text while it works."""
        ...

    def setup(self) -> None:
        """Prepare what mail needs on this way. What is missing, a `BridgeError` says: the agent runs on."""
        ...

    def observe(self) -> Observation:
        """What the agent does now. Never raises: what cannot be told is `unknown`."""
        ...

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        """Put a text before the agent and submit it, if it may be. Never raises after the first byte."""
        ...

    def attend(self, ring: Callable[[], None]) -> None:
        """Have `ring` called, from whatever thread, whenever `receive` may have something."""
        ...

    def receive(self) -> list[Heard]:
        """What came out of the agent since the last call, bounded; the rest comes with the next.

        Its end, once; but not where nobody can tell how it came.
        """
        ...

    def interrupt(self) -> Interrupted:
        """End the turn by the runtime's own keys or words."""
        ...

    def answer(self, question: str, option: str) -> bool:
        """Answer what it asked, by the id of an option; empty: nobody has, which is never a yes.

        Whether it was still asked: a question takes one answer, whoever is first. Where that did not get
        through, or nobody can tell, a `BridgeError` says why, and it is answered again.
        """
        ...

    def screen(self, lines: int = 0) -> str:
        """What is shown, as text; with `lines`, so many of those that have scrolled away, too."""
        ...

    def terminal(self) -> Attachable | None:
        """What people may attach to through us; None where there is nothing, or tmux shows it to them."""
        ...

    def close(self) -> None:
        """Let go of the agent: one of our own is ended, any other runs on."""
        ...


class Attendant(Protocol):
    """Who sees to one agent, step by step: an actor over its bridge, or a carrier of its own."""

    has_ended: bool
    exit_code: int | None

    def step(self) -> float | None:
        """Do what can be done now; in how many seconds to look again, if nothing rings."""
        ...

    def observe(self) -> Observation: ...

    def interrupt(self) -> Interrupted | None: ...

    def command(self, text: str, begun: Callable[[], None]) -> Delivered: ...


class Carrying(Attendant, Protocol):
    """One that a bridge brings along."""

    def fileno(self) -> int:
        """A descriptor that is readable when there is something to do; negative: there is none."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Carried(Bridge, Protocol):
    """A bridge whose mail is not pushed: somebody of its own carries it both ways."""

    def carrier(self, room: "LocalRoom", agent: str) -> Carrying: ...


@runtime_checkable
class Answering(Protocol):
    """A bridge whose way may fail while its agent runs on: there may be another way then."""

    def is_lost(self) -> bool:
        """Whether it is known already that nothing goes through. Costs nothing."""
        ...

    def canary(self) -> str:
        """Try the way, cheaply and without effect, and mend it if that can be done; why it does not work.

        Empty: it does, and what was handed over before is still known.
        """
        ...


class Context(NamedTuple):
    """What a model has before it when its next turn begins."""

    conversation: str  # its id
    epoch: str  # another one after each compaction: what was said before may be gone
    has_turned: bool  # whether a turn has ended in it


@runtime_checkable
class Informing(Protocol):
    """A bridge that can add to a conversation what begins no turn: its next one has it. Never mail, of which
    nobody could tell when it is seen.
    """

    def context(self) -> Context | None:
        """What may be added to now; None: nothing, or nobody can tell. Costs little while nothing moves."""
        ...

    def inform(self, text: str) -> str:
        """Add a text; in words, how it was taken. `BridgeError` where it was not, or nobody can tell."""
        ...


class Berth(NamedTuple):
    """Where an agent runs, so that a bridge to it can be opened again: what its session's row has of it."""

    agent: str  # its id
    address: str
    process: str  # as `postroom.host.identity` names it; empty: it has not been started
    pane: str = ""  # `%3@SOCKET,SERVER`
    runtime: str = ""  # one of ours, or a profile of the user's; empty: any program
    details: Json = {}  # noqa: RUF012 - read only


class Launch(NamedTuple):
    """An agent that is to be started."""

    agent: str
    address: str
    command: list[str]
    cwd: str
    env: dict[str, str]  # all of it
    runtime: str = ""
    details: Json = {}  # noqa: RUF012 - read only: what its bridge was told on the command line


class Way(Protocol):
    """A kind of bridge: a module here, or what an entry point of the group `postroom.bridges` names."""

    NAME: str
    ABOUT: str  # one line
    CAPABILITIES: Capabilities  # what its bridges can do; one may say otherwise of `busy`, and one beside a
    # terminal of somebody else's of `owned` and `output`
    BY_CALLER: bool  # agents are started by the command that asks for them, and not by the daemon

    def start(self, launch: Launch) -> Berth:
        """Start an agent; where it runs now."""
        ...

    def open(self, berth: Berth) -> Bridge:
        """A bridge to what runs there."""
        ...

    def end(self, berth: Berth) -> None:
        """Clear what is left of a run there, and what still runs. Where nothing is left, nothing is done."""
        ...
