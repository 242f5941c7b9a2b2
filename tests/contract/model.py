"""A room in a page of plain Python: what Postroom must do, said again without a database."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field

PRIORITIES = ("urgent", "high", "normal", "low")
ROOM = "postroom"
LEASE = 15_000
MOST_UNPROVEN = 5
PAUSES = (0, 1, 5, 15, 60, 300, 900, 3600)  # seconds
LAST = 1 << 40  # where a letter stands of which only the room knows the number


class No(Exception):
    """A refusal; its text is the code of the error the room must raise."""


@dataclass
class Letter:
    """One message for one recipient."""

    name: str
    sender: str
    to: str
    priority: int
    body: str
    key: str | None
    not_before: int | None
    expires: int | None
    seq: int = 0
    state: str = "stored"
    held: bool = False
    fresh: bool = True
    labelled: bool = False
    attempts: int = 0
    unproven: int = 0
    counted: int = 0  # of those, what brings it nearer to being dead
    paused: bool = False  # after listeners that ended without a word
    claimer: str | None = None
    due: int | None = None
    shown: bool = False  # somebody may have read it
    about: str | None = None  # the letter that a bounce is about


@dataclass
class Lease:
    holder: str
    in_hand: str | None = None


@dataclass
class Model:
    """Letters by name, who listens where, and who is dead."""

    now: int
    letters: dict[str, Letter] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    order: tuple[str, ...] = ()  # of mailboxes, in which they are swept
    bounces: int = 0

    # sending

    def send(self, letter: Letter) -> Letter:
        """The letter that is there afterwards: this one, or the one the key was used for."""
        for earlier in self.letters.values():
            if letter.key and (earlier.sender, earlier.key) == (letter.sender, letter.key):
                if (earlier.to, earlier.body) != (letter.to, letter.body):
                    raise No("key_conflict")
                return earlier
        letter.held = letter.not_before is not None and letter.not_before > self.now
        letter.due = letter.not_before if letter.held else letter.expires
        self.letters[letter.name] = letter
        return letter

    # what the clock and deaths do

    def tick(self) -> None:
        """All whose time has come, as at the start of every transaction but a send."""
        while due := [one for one in self.letters.values() if one.due is not None and one.due <= self.now]:
            for letter in sorted(due, key=lambda one: (one.due, one.seq)):
                if letter.expires is not None and letter.expires <= self.now:
                    self.end(letter, "expired")
                elif letter.held:
                    letter.held, letter.due = False, letter.expires
                elif letter.state == "stored":
                    letter.paused, letter.due = False, letter.expires
                else:
                    self.give_back(letter)

    def end(self, letter: Letter, state: str) -> None:
        letter.state, letter.due, letter.held = state, None, False

    def give_back(self, letter: Letter, *, lost: bool = False, silent: bool = False) -> None:
        """`silent`: of a listener that ended without a word."""
        if letter.expires is not None and letter.expires <= self.now:
            self.end(letter, "expired")
        elif not lost and not silent and letter.counted + 1 >= MOST_UNPROVEN:
            self.end(letter, "dead")
            self.bounce(letter)
        else:
            letter.state, letter.due = "stored", letter.expires
            if lost:
                letter.shown = letter.labelled  # that it came to nothing is known
            else:
                if silent and letter.unproven:
                    again = self.now + 1000 * PAUSES[min(letter.unproven, len(PAUSES) - 1)]
                    letter.paused, letter.due = True, min(again, letter.expires or again)
                letter.labelled = True
                letter.unproven += 1
                letter.counted += not silent

    def bounce(self, letter: Letter) -> None:
        if letter.sender != ROOM:
            self.bounces += 1
            name, last = f"bounce {self.bounces}", LAST + self.bounces
            self.letters[name] = Letter(
                name, ROOM, letter.sender, 2, "", None, None, None, seq=last, about=letter.name
            )

    def reap(self, agent: str) -> None:
        for letter in sorted(self.offered(agent), key=lambda one: (one.claimer, one.seq)):
            if letter.claimer in self.dead:
                self.give_back(letter)

    def sweep(self, agents: Iterable[str]) -> None:
        stale = [agent for agent in agents if any(one.claimer in self.dead for one in self.offered(agent))]
        overdue = any(one.due is not None and one.due <= self.now for one in self.letters.values())
        if stale or overdue:
            self.tick()
            for agent in stale:
                self.reap(agent)

    # looking

    def offered(self, agent: str) -> list[Letter]:
        return [one for one in self.letters.values() if one.to == agent and one.state == "offered"]

    def ready(self, agent: str) -> list[Letter]:
        waiting = [
            one for one in self.letters.values() if one.to == agent and one.state == "stored" and not one.held
        ]
        return sorted(waiting, key=lambda one: (one.priority, one.fresh, one.seq))

    def peek(self, agent: str) -> list[Letter]:
        overdue = any(one.due is not None and one.due <= self.now for one in self.letters.values())
        if overdue or self.offered(agent):
            self.sweep([agent])
        return self.ready(agent)

    # taking

    def take(self, agent: str, me: str, *, name: str | None = None, handed: bool = True) -> Letter | None:
        """The letter that was claimed, or the one named as it stands; None when nothing waits."""
        self.tick()
        lease = self.leases.get(agent)
        if lease is not None:
            if lease.holder == me and name is None:
                raise No("mailbox_leased")
            self.clear_lease(agent, me)
        self.reap(agent)
        if name is None:
            waiting = self.ready(agent)
            letter = waiting[0] if waiting else None
            if letter is None:
                return None
        else:
            letter = self.letters[name]
            if letter.to != agent or letter.held:
                raise No("unknown_message")
            if letter.state == "withdrawn":
                raise No("illegal_move")
            if letter.state == "offered" and letter.claimer != me:
                raise No("stale_claim")
            if letter.state != "stored":
                return letter
        self.claim(letter, me)
        letter.due = None if handed else self.now + LEASE
        return letter

    def claim(self, letter: Letter, me: str) -> None:
        letter.state, letter.claimer, letter.fresh, letter.due = "offered", me, False, None
        letter.paused = False
        letter.attempts += 1

    def give_up(self, letter: Letter, attempt: int) -> None:
        self.tick()
        if letter.state == "offered" and letter.attempts == attempt:
            self.give_back(letter, lost=True)

    def settle(self, letter: Letter, attempt: int) -> None:
        self.tick()
        if letter.state not in ("offered", "seen", "acked") or letter.attempts != attempt:
            raise No("stale_claim")
        if letter.state != "offered":
            return
        letter.state, letter.due = "seen", None

    def ack(self, letter: Letter) -> None:
        self.tick()
        if letter.held:
            raise No("unknown_message")
        if letter.state not in ("stored", "offered", "seen", "acked"):
            raise No("illegal_move")
        self.end(letter, "acked")

    def nack(self, letter: Letter) -> None:
        self.tick()
        if letter.held:
            raise No("unknown_message")
        if letter.state == "bounced":
            return
        if letter.state not in ("stored", "offered", "seen"):
            raise No("illegal_move")
        self.end(letter, "bounced")
        self.bounce(letter)

    def reply(self, letter: Letter, name: str) -> Letter:
        self.tick()
        if letter.held:
            raise No("unknown_message")
        if letter.state in ("stored", "offered", "seen"):
            self.end(letter, "acked")
        return self.send(Letter(name, letter.to, letter.sender, 2, "answer", None, None, None))

    def withdraw(self, letter: Letter) -> None:
        self.tick()
        lease = self.leases.get(letter.to)
        in_hand = lease is not None and lease.in_hand == letter.name
        if letter.state not in ("stored", "offered") or in_hand:
            raise No("illegal_move")
        self.end(letter, "withdrawn")

    def retry(self, letter: Letter) -> None:
        self.tick()
        if letter.state != "dead":
            raise No("illegal_move")
        letter.state, letter.unproven, letter.due = "stored", 0, letter.expires
        letter.counted = 0

    # listening

    def clear_lease(self, agent: str, me: str) -> None:
        """Refuse while somebody else listens; clear up after one who died listening."""
        lease = self.leases.get(agent)
        if lease is None or lease.holder == me:
            return
        if lease.holder not in self.dead:
            raise No("mailbox_leased")
        if lease.in_hand is not None and (letter := self.letters[lease.in_hand]).state == "stored":
            self.claim(letter, lease.holder)
            self.give_back(letter, silent=True)
        del self.leases[agent]

    def listen(self, agent: str, me: str) -> None:
        self.tick()
        self.clear_lease(agent, me)
        self.reap(agent)
        if agent in self.leases:
            raise No("mailbox_leased")
        self.leases[agent] = Lease(me)

    def look(self, agent: str) -> Letter | None:
        """What the listener is shown next."""
        letter = self.pushable(agent)
        if letter is not None and letter.due is not None and letter.due <= self.now:
            self.sweep([agent])
            letter = self.pushable(agent)
        if letter is not None:
            self.leases[agent].in_hand = letter.name
        return letter

    def pushable(self, agent: str) -> Letter | None:
        waiting = self.ready(agent)
        if waiting and waiting[0].due is not None and waiting[0].due <= self.now:
            return waiting[0]
        return next((one for one in waiting if not one.paused), None)

    def next(self, agent: str, me: str) -> None:
        """What is in hand has been seen."""
        lease = self.leases[agent]
        if lease.in_hand is None:
            return
        letter = self.letters[lease.in_hand]
        lease.in_hand = None
        if letter.state == "stored":
            self.tick()
            if letter.state == "stored":
                self.claim(letter, me)
                letter.state = "seen"

    def close(self, agent: str) -> None:
        self.tick()
        lease = self.leases.pop(agent)
        if lease.in_hand is not None and (letter := self.letters[lease.in_hand]).state == "stored":
            if letter.labelled:
                self.claim(letter, lease.holder)
                self.give_back(letter, silent=True)
            letter.labelled, letter.fresh = True, False

    def copy(self) -> "Model":
        return deepcopy(self)
