"""A bridge into the inbox of a member of a team of Claude Code: off unless `claude_teams` is on.

The CLI takes what it reads out of its inbox before its model has answered, and says nothing of it: that it is
gone from there is all that can be known. It shows what comes so as unverified, and may stop doing so.
"""

from collections.abc import Callable

from postroom import config, host
from postroom.bridges.contract import (
    Assent,
    Attachable,
    Berth,
    Capabilities,
    Delivered,
    Doing,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Result,
    Text,
)
from postroom.bridges.team import roster
from postroom.bridges.team.inbox import Inbox
from postroom.clock import wall
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence, Reason

NAME = "claude-team"
ABOUT = "the inbox of a member of a team of Claude Code, which nothing documents (unverified)"
CAPABILITIES = Capabilities(busy=True, proves=(Evidence.INBOX,))
BY_CALLER = True

OFF = "mail into teams of Claude Code is off: nothing documents their inboxes"
HINT = 'If you want it all the same, write into the config: claude_teams = "on"'
_READING = 2  # members of a team whose lead reads its inbox


def is_on(home: str) -> bool:
    return config.settings(home).claude_teams == "on"


def start(launch: Launch) -> Berth:
    raise BridgeError(
        f"{launch.address} cannot be started so: the members of a team are started by Claude Code itself",
        hint="Have one that runs reached: postroom teams adopt",
    )


def open(berth: Berth) -> "Member":
    return Member(berth)


def end(berth: Berth) -> None:
    """Nothing of ours is left there."""


def _seen(words: str, reason: Reason | None = None, doing: Doing = Doing.UNKNOWN) -> Observation:
    return Observation(doing, words, reason.value if reason else "", at=wall())


class Member:
    """A way into one inbox."""

    name = NAME

    def __init__(self, berth: Berth) -> None:
        self._home, self._team = str(berth.details["home"]), str(berth.details["team"])
        self._process = berth.process
        self._inbox = Inbox(str(berth.details["inbox"]))
        self._open: set[str] = set()  # what was put there and has not been read

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def setup(self) -> None:
        if not is_on(self._home):
            raise BridgeError(OFF, hint=HINT)

    def observe(self) -> Observation:
        """What stands in the way, as far as files tell; what it does, none of them says."""
        if host.is_gone(self._process):
            return _seen("who leads its team has ended", Reason.OFFLINE, Doing.GONE)
        if not is_on(self._home):
            return _seen(OFF, Reason.PAUSED)
        if (team := roster.team(self._team)) is None:
            return _seen("its team is no more", Reason.OFFLINE, Doing.GONE)
        if len(team.members) < _READING:
            return _seen("it leads nobody, and reads its inbox only when it does", Reason.OFFLINE)
        return self._look()

    def _look(self) -> Observation:
        """The same, as its inbox tells."""
        try:
            waits = self._open.intersection(self._inbox.unread())
        except BridgeError as exc:
            return _seen(str(exc), Reason.UNKNOWN_SCREEN)
        if waits:
            return _seen("it has not read the last one yet", Reason.BUSY)
        return _seen("it runs, and does not say what it does")

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        seen = self.observe()
        if seen.reason and not (seen.reason == Reason.BUSY.value and text.while_busy):
            return Delivered(Result.REFUSED, seen.reason, words=seen.words)
        if not assent.holds():
            return Delivered(Result.REFUSED, Reason.TYPING.value, words="somebody else writes there")
        begun = False

        def begin() -> None:
            nonlocal begun
            assent.begun()
            begun = True

        try:
            self._open.add(self._inbox.put(text.text, begin))
        except (BridgeError, OSError) as exc:
            words = exc.strerror or "it cannot be written" if isinstance(exc, OSError) else str(exc)
            if begun:
                return Delivered(Result.UNCERTAIN, words=words)
            return Delivered(Result.REFUSED, Reason.BUSY.value, words=words)
        return Delivered(Result.HANDED, words="it is in its inbox (unverified)")

    def attend(self, ring: Callable[[], None]) -> None:
        """Whoever has handed something over looks now and then."""

    def receive(self) -> list[Heard]:
        if not self._open:
            return []
        if roster.team(self._team) is None:
            self._open.clear()
            return [Heard(doubts="its team was removed, with its inbox")]
        try:
            left = self._open.intersection(self._inbox.unread())
        except BridgeError:
            return []  # it is asked again
        self._open = left
        return [] if left else [Heard(proves=Evidence.INBOX)]

    def answer(self, question: str, option: str) -> bool:
        """It asks nothing here."""
        return False

    def interrupt(self) -> Interrupted:
        return Interrupted(False, "nothing was done: an inbox has no word for it")

    def screen(self, lines: int = 0) -> str:
        return ""

    def terminal(self) -> Attachable | None:
        return None

    def close(self) -> None:
        """What was put there stays."""
