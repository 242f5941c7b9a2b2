"""A carrier: carries between a room and one mailbox, both ways, whoever has the thread.

In the daemon a keeper steps it, where others have an actor; a program that serves its own tree steps it
itself. Several may carry for one mailbox at once: each letter goes in, and comes out, once. There is nobody
to look at, and nothing to type: so it knows neither pens nor screens.
"""

import time
from collections.abc import Callable

from postroom import host
from postroom.bridges.contract import Delivered, Doing, Heard, Interrupted, Observation, Result
from postroom.bridges.files.box import Box
from postroom.bridges.files.inbox import Inbox, Moved
from postroom.bridges.files.outbox import Outbox
from postroom.bridges.files.receipts import Receipts
from postroom.bridges.files.shelf import Folder, Shelf
from postroom.clock import wall
from postroom.errors import BridgeError, MailboxGone
from postroom.model.ladder import Reason
from postroom.room import glance
from postroom.room.glance import Glance
from postroom.room.local import LocalRoom

BLIND = 5.0  # seconds between two looks where changes are not told of
_SLOW = 60.0  # seconds between two looks where they are: a hint may have been missed


class Carrier:
    """`step` is all that it does; whoever has the thread calls it, and waits as it says, or for `fileno`."""

    def __init__(
        self,
        room: LocalRoom,
        agent: str,
        shelf: Shelf,
        heard: Callable[[], list[Heard]] = list,
        *,
        own_tree: str = "",
    ) -> None:
        """`agent`: the id of the one whose mailbox the shelf is; `heard`: what its program says, if any;
        `own_tree`: the tree that the room is in, if it is in one.
        """
        self._heard = heard
        self._box = Box(room, agent, shelf, own_tree)
        self._inbox = Inbox(self._box)
        self._receipts = Receipts(self._box)
        self._outbox = Outbox(self._box, self._receipts)
        self._looks_at = 0.0  # on the monotonic clock
        self._is_entered = False
        self._may_be_gone = False  # its inbox: if not, nothing was told of it
        self._trouble = ""  # why the mailbox cannot be used
        self._said: Observation | None = None
        self.has_ended = False
        self.exit_code: int | None = None

    def fileno(self) -> int:
        """A descriptor that is readable when there is something to do; negative: there is none."""
        return self._box.shelf.fileno()

    def step(self) -> float | None:
        """Do what can be done now; in how many seconds to look again, at the latest."""
        self._hear()
        try:
            pause = self._carry()
            self._trouble = self._inbox.why
        except Moved:
            self._is_entered, pause = False, 0.0
        except MailboxGone:
            self._is_entered, pause = False, BLIND
            self._inbox.leave()
            self._trouble = "its inbox is not there"
        except BridgeError as exc:
            self._trouble, pause = str(exc), BLIND
        self._say()
        return max(0.0, min(pause, self._looks_at - time.monotonic()))

    def _hear(self) -> None:
        for heard in self._heard():
            if heard.text:
                with self._box.room.write() as tx:
                    payload = {"stream": heard.stream, "text": heard.text}
                    tx.append("agent.output", self._box.id, payload=payload, role="agent")
            if heard.exit_code is not None:
                self.has_ended, self.exit_code = True, heard.exit_code

    def _notice(self) -> None:
        """What has changed on the shelf; now and then, whatever it may be."""
        shelf, now = self._box.shelf, time.monotonic()
        changes = shelf.changes()
        self._may_be_gone = shelf.is_blind or Folder.INBOX in changes
        if Folder.OUTBOX in changes:
            self._outbox.changed()
        if now >= self._looks_at:
            self._looks_at = now + _SLOW
            self._outbox.changed()
            shelf.tidy()
            if (age := self._box.room.settings.mailbox_gzip_seconds) > 0:
                shelf.pack(age)
        if shelf.is_blind:  # it may have become so just now
            self._looks_at = min(self._looks_at, now + BLIND)

    def _carry(self) -> float:
        if self._is_entered:
            more = self._inbox.put()  # before all else: somebody waits for it
            self._notice()
            if self._may_be_gone and not self._inbox.is_there():
                raise MailboxGone
        else:
            self._notice()
            self._inbox.enter()
            self._is_entered = True
            self._inbox.settle()  # what lies in it from before
            more = self._inbox.put()
        self._inbox.check_context()
        pauses = [self._outbox.take_in(), self._settle(), self._receipts.update()]
        if more:
            return 0.0
        self._box.shelf.prepare()
        return min((pause for pause in pauses if pause is not None), default=_SLOW)

    def _settle(self) -> float | None:
        return self._inbox.settle(is_told=self._may_be_gone)

    def close(self) -> None:
        self._box.shelf.close()

    # what others ask for

    def observe(self) -> Observation:
        """How the mailbox is; whoever asks finds a note of it, too."""
        seen = self._observed()
        self._said = seen
        note = Glance(
            seen.doing.value, seen.words, seen.reason, wall(), host.identity(), unsent=seen.unsent
        )  # fmt: skip
        glance.put(self._box.room.home, self._box.id, note)
        return seen._replace(at=note.at)

    def _observed(self) -> Observation:
        if self._trouble:
            return Observation(Doing.GONE, self._trouble, Reason.OFFLINE.value)
        if self._outbox.why:
            words = f"letters wait in its outbox: {self._outbox.why}"
            return Observation(Doing.UNKNOWN, words, unsent=self._outbox.why)
        return Observation(Doing.UNKNOWN, "its mailbox is there, and does not say what it does")

    def _say(self) -> None:
        """Leave a note where something is in the way, or no longer is."""
        if self._observed() != self._said:
            self.observe()

    def command(self, text: str, begun: Callable[[], None]) -> Delivered:
        return Delivered(Result.REFUSED, words="a mailbox takes letters, and no commands")

    def interrupt(self) -> Interrupted | None:
        """None: nobody can, by files."""
        return None
