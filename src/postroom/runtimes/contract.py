"""What Postroom must know of an agent CLI, as data and pure functions.

A runtime runs our hook at its events. At some of them the hook may show mail to the model (*offer points*);
each of those names the later events that prove that the model got it, because they imply that it was asked
again.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from postroom.model.message import Json

if TYPE_CHECKING:
    from postroom.runtimes.process import Call, Daemon, Sleeper
    from postroom.runtimes.tool import ToolFact

NUDGE = "Postroom: there is mail for you."  # what a wake types: never mail itself


class Kind(StrEnum):
    """What an event of a runtime is to us."""

    START = "start"  # of a session, or of what follows a compaction, a resumption, a clearing
    PROMPT = "prompt"  # somebody has typed something, or a wake has
    TOOL = "tool"  # a tool, or all tools of one answer, have ended
    MODEL = "model"  # the model has answered
    STOP = "stop"  # the turn ends, unless it is made to go on
    FAILURE = "failure"  # the turn has ended because no model answered: nothing can be said
    WAKE = "wake"  # what the runtime watches for us has changed
    PERMISSION = "permission"  # a person is asked whether something may be done
    CHILD = "child"  # a subagent begins
    CHILD_STOP = "child_stop"  # a subagent ends
    COMPACT = "compact"  # the conversation is about to be made shorter, and nothing can be said
    LEND = "lend"  # the conversation waits for a subagent that cannot be told from it
    END = "end"  # of the session


# What a quiet marker must not keep from being noted.
_ALWAYS = (Kind.START, Kind.FAILURE, Kind.COMPACT, Kind.CHILD, Kind.CHILD_STOP, Kind.LEND, Kind.END)
# What says nothing of what the agent does.
_NO_SIGN = (Kind.WAKE, Kind.COMPACT, Kind.END)


def hook_route(event: str) -> str:
    """The route of mail that a hook shows at an event."""
    return f"hook:{event}"


class Point(NamedTuple):
    """An event at which a runtime runs our hook."""

    event: str  # as the runtime calls it
    kind: Kind
    proven_by: tuple[str, ...] = ()  # the events that prove what was offered here; none: nothing is
    matcher: str = ""  # which of these events, as the runtime selects them
    timeout: float = 10.0  # seconds
    recorded: bool = True  # whether a transcript that can be searched has what was said here

    @property
    def is_always(self) -> bool:
        """Whether Python runs even when nothing is due."""
        return self.kind in _ALWAYS

    @property
    def is_sign(self) -> bool:
        """Whether the event says something of what the agent does."""
        return self.kind not in _NO_SIGN

    @property
    def route(self) -> str:
        """How what is offered here came."""
        return hook_route(self.event)

    @property
    def is_prompt(self) -> bool:
        """Whether a person may have said something."""
        return self.kind is Kind.PROMPT

    @property
    def is_question(self) -> bool:
        """Whether something is to be allowed: a runtime may take a hook that fails then for a no."""
        return self.kind is Kind.PERMISSION


class Failure(NamedTuple):
    """A turn that ended because a request of its model was refused, or brought no answer."""

    words: str = ""  # what the runtime tells people of it, maybe with the time when requests are taken again


class Beat(NamedTuple):
    """What a runtime tells at an event, in our words."""

    session: str  # its own id of the session
    child: str = ""  # its own id of the subagent, in one
    child_type: str = ""
    cwd: str = ""
    transcript: str = ""  # the file in which it keeps the conversation
    source: str = ""  # why a session starts; "startup": it is a new one
    prompt: str = ""  # what a person typed
    proves: bool = True  # whether this one implies what its name as a rule does
    heard: bool = True  # whether this one passes on what is said at it, as its name as a rule does
    rests: bool = False  # whether this start may come where no turn follows: at an idle prompt
    failure: Failure | None = None  # why the turn has ended, where no model answered
    lends: bool | None = None  # whether a subagent without an id of its own begins here, or ends


def text(stdin: Json, *keys: str) -> str:
    """The first of these that a runtime told as text."""
    for key in keys:
        if isinstance(value := stdin.get(key), str) and value:
            return value
    return ""


class Marks(NamedTuple):
    """How the lines of a runtime's transcript are told apart: by what they have in them.

    Only an answer that a model made is evidence, so a line is parsed before it counts as one.
    """

    reply: str = ""  # the model's own words; empty where a transcript proves nothing
    acts: tuple[str, ...] = ()  # what else it answers, where that has lines of its own
    result: str = ""  # comes between what was said after a tool, and the next answer; empty: only an answer
    turn: tuple[str, ...] = ()  # what begins a turn, then whatever ends one
    amid: tuple[str, ...] = ()  # of the model's own words, or of what came of them: that the turn goes on
    interruption: str = ""  # that a person has stopped the turn, where no event tells it
    noise: tuple[str, ...] = ()  # what has our text in it and does not mean that the model got it
    queue: str = ""  # that a wake was taken, and waits for the turn to end; it always comes before the text
    whole: tuple[str, ...] = ()  # the keys under which one line has all messages, and replaces those before
    back: str = ""  # the key of a line that names a message: that one, and all after it, are taken back
    made: Callable[[Json], bool] | None = (
        None  # whether a model made a line that has `reply` or one of `acts`
    )
    failure: str = ""  # in each line that may tell that a turn ended without an answer
    failed: Callable[[Json], Failure | None] | None = None  # what such a line tells; None: nothing of that
    prompt: str = ""  # in each prompt, where one that is stopped before an answer is taken back unnoted
    parent: str = (
        ""  # the key by which a line names the one before it, where prompts that were taken back stay
    )
    retries: bool = False  # whether the turn may go on after such a line


class Words(NamedTuple):
    """What a hook has to say."""

    text: str  # for the model
    watch: str = ""  # a path that the runtime shall watch


class Said(NamedTuple):
    """What a hook hands to its runtime."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


class Wake(StrEnum):
    """How an idle session is woken."""

    WATCH = "watch"  # the runtime, or our plugin in it, watches the ring file
    CALL = "call"  # whoever sends starts a waker, which calls the runtime
    NONE = ""  # not at all: its mail waits for its next event


class Runtime(NamedTuple):
    """One agent CLI."""

    name: str  # on our command line
    title: str  # as people know it
    points: tuple[Point, ...]
    read: Callable[[str, Json], Beat]  # an event's name, and what the runtime says at it
    say: Callable[[Point, Words], Said]
    key: str = "p$PPID"  # a shell word that names the session in our hook's environment
    session_env: str = ""  # the variable that names the session in the shells of its tools
    signs: tuple[str, ...] = ()  # other variables that only such shells have
    budget: int = 9_000  # characters that it passes on whole
    marks: Marks = Marks()
    tools: "Callable[[Json], list[ToolFact]] | None" = None  # in one line of its transcript
    transcript: str = ""  # where that is, below the user's home, if not every event names it; {}: the session
    wake: Wake = Wake.NONE
    wakes_with: str = ""  # an argument without which it does not watch
    call: "Callable[[Sleeper, str], Call | None] | None" = None  # with what to say; None: it cannot be
    meta: str = ""  # what names the conversation in its requests for our tools, where a process hosts several
    socket_env: str = ""  # the variable that names a socket of the session, at which it can be called
    programs: tuple[str, ...] = ()  # what its process may be called
    # The arguments with which one process has several conversations at a time; without them the next one
    # takes the place of the one before. None: that cannot be told so.
    crowds: tuple[str, ...] | None = None
    daemon: "Callable[[], Daemon] | None" = None
    server: str = ""  # the bridge to the server that has its conversations, beside its terminal
    milliseconds: bool = False  # whether its timeouts are
    remark: str = ""  # what a user must know of it, in one sentence

    def point(self, event: str) -> Point | None:
        for point in self.points:
            if point.event == event:
                return point
        return None
