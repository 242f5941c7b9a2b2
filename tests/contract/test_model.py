"""The room against a reference model, step by step: the same states, the same order, the same refusals."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from postroom import host
from postroom.bell.polling import PollingBell
from postroom.config import Settings
from postroom.errors import PostroomError
from postroom.model.message import Mail
from postroom.room.listen import Listening
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import Clock
from tests.contract.model import LAST, LEASE, PRIORITIES, ROOM, Letter, Model, No

AGENTS = ("planner", "builder")
PROCESSES: tuple[str, ...] = ("101.1.b.n", "102.1.b.n", "103.1.b.n")
EXAMPLES = int(os.environ.get("POSTROOM_TEST_EXAMPLES", "100"))
STEPS = int(os.environ.get("POSTROOM_TEST_STEPS", "50"))

agents, processes = st.sampled_from(AGENTS), st.sampled_from(range(len(PROCESSES)))


LETTERS = (
    "SELECT m.id, state, place IN (8, 12, 13), shown_before, attempts, unproven, due_at, claimer"
    " FROM delivery d JOIN message m ON m.seq = d.seq"
)
LEASES = "SELECT a.name, l.holder FROM lease l JOIN agent a ON a.id = l.agent WHERE l.holder IS NOT NULL"


class Wish(NamedTuple):
    """What somebody wants to send."""

    sender: str
    to: str
    body: str = "x"
    priority: str = "normal"
    after: float | None = None
    expires: float | None = None
    key: str | None = None


class RoomAgainstModel(RuleBasedStateMachine):
    """Three processes share two mailboxes. They die, their clocks jump, and nothing may differ."""

    def __init__(self) -> None:
        super().__init__()
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.directory = tempfile.mkdtemp(prefix="postroom-model-", dir=base)
        self.clock = Clock()
        self.me = PROCESSES[0]
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(host, "identity", lambda: self.me)
        self.patch.setattr(host, "is_gone", lambda process: process in self.model.dead)
        self.model = Model(self.clock.now)
        self.ids: dict[str, str] = {}  # of each letter
        self.claims: list[tuple[Mail, str, int]] = []  # what was taken, by which attempt
        self.client: sqlite3.Connection | None = None
        self.born: list[str] = [*PROCESSES]  # who the processes are now
        self.rooms = [self.enter() for _ in PROCESSES]
        self.listening: dict[str, Listening] = {}
        self.seen_seq = 0

    def enter(self) -> LocalRoom:
        room = LocalRoom(
            os.path.join(self.directory, "home"), Settings(sender_rate=0), project="p", clock=self.clock
        )
        room.bell = PollingBell()
        return room

    def teardown(self) -> None:
        problems = verify(self.rooms[0], deep=True).problems if self.seen_seq else []
        for listening in self.listening.values():
            self.drop(listening)
        for room in self.rooms:
            room.close()
        if self.client is not None:
            self.client.close()
        self.patch.undo()
        shutil.rmtree(self.directory)
        assert problems == []

    # doing the same on both sides

    def both(
        self, room: int, act: Callable[[LocalRoom], Any], same: Callable[[Model], Any]
    ) -> tuple[Any, Any]:
        """Do it in the room and in the model; either both refuse, with the same word, or neither does."""
        self.me = self.born[room]
        before = self.model.copy()
        refused = expected = found = wanted = None
        try:
            wanted = same(self.model)
        except No as exc:
            expected, self.model = str(exc), before  # what is refused leaves nothing
        try:
            found = act(self.rooms[room])
        except PostroomError as exc:
            refused = exc.code
        assert refused == expected
        return found, wanted

    def show(self, mail: Mail, letter: Letter) -> None:
        """Somebody is shown a letter: if it may have been shown before, it must say so."""
        assert mail.shown_before == letter.labelled
        assert mail.shown_before or not letter.shown
        letter.shown = True

    # rules

    @initialize()
    def furnish(self) -> None:
        for agent in AGENTS:
            self.rooms[0].join(agent)
        self.seen_seq = int(self.rooms[0].store.look().last_cursor())
        ids = {self.rooms[0].who(agent).id: agent for agent in AGENTS}
        self.model.order = tuple(ids[id] for id in sorted(ids))
        for _ in range(3):
            self.post(0, Wish("planner", "builder"))

    @rule(
        room=processes,
        wish=st.builds(
            Wish,
            sender=agents,
            to=agents,
            priority=st.sampled_from(PRIORITIES),
            after=st.sampled_from([None, 0.0, 5.0, 30.0]),
            expires=st.sampled_from([None, 10.0, 40.0]),
            key=st.sampled_from([None, None, "k1", "k2"]),
            body=st.sampled_from("xy"),
        ),
    )
    def send(self, room: int, wish: "Wish") -> None:
        if wish.expires is not None and wish.expires <= (wish.after or 0):
            wish = wish._replace(expires=None)
        self.post(room, wish)

    @rule(room=processes, to=agents)
    def send_plainly(self, room: int, to: str) -> None:
        self.post(room, Wish("planner", to))

    def post(self, room: int, wish: "Wish") -> None:
        name = f"letter {len(self.model.letters)}"
        after, expires = (
            None if seconds is None else self.clock.now + int(seconds * 1000)
            for seconds in (wish.after, wish.expires)
        )
        rank = PRIORITIES.index(wish.priority)
        wanted = Letter(name, wish.sender, wish.to, rank, wish.body, wish.key, after, expires)
        found, letter = self.both(
            room, lambda there: there.send(**wish._asdict()), lambda model: model.send(wanted)
        )
        if letter is None:
            return
        assert found.duplicate == (letter.name != name)
        if not found.duplicate:
            self.ids[name] = found.id
            letter.seq = found.message.seq
        assert found.id == self.ids[letter.name]

    # taking

    @rule(room=processes, agent=agents, handed=st.booleans())
    def take(self, room: int, agent: str, handed: bool) -> None:
        mail, letter = self.both(
            room,
            lambda there: there.take(agent, handed=handed),
            lambda model: model.take(agent, self.me, handed=handed),
        )
        assert (mail is None) == (letter is None)
        self.bounces_are_there_once()
        if mail is not None:
            assert mail.id == self.ids[letter.name]
            self.show(mail, letter)
            self.claims.append((mail, letter.name, letter.attempts))

    @rule(room=processes, handed=st.booleans(), astray=st.booleans(), data=st.data())
    def take_by_id(self, room: int, handed: bool, astray: bool, data: st.DataObject) -> None:
        name = self.any(data, lambda one: astray or one.state == "stored")
        if name is None or self.is_in_hand(name, room):
            return
        letter, agent = self.model.letters[name], self.model.letters[name].to
        before = letter.attempts
        if astray and agent == "builder":
            agent = "planner"
        mail, letter = self.both(
            room,
            lambda there: there.take(agent, id=self.ids[name], handed=handed),
            lambda model: model.take(agent, self.me, name=name, handed=handed),
        )
        if mail is not None and letter.attempts > before and letter.state == "offered":
            self.show(mail, letter)
            self.claims.append((mail, letter.name, letter.attempts))

    def any(self, data: st.DataObject, kind: Callable[[Letter], bool]) -> str | None:
        """One of the letters of a kind."""
        names = [one.name for one in self.model.letters.values() if kind(one)]
        return data.draw(st.sampled_from(names)) if names else None

    def is_in_hand(self, name: str, room: int) -> bool:
        """Whether the program itself already holds it: asking for it again by its id is its own affair."""
        return any(
            lease.in_hand == name and lease.holder == self.born[room] for lease in self.model.leases.values()
        )

    @precondition(lambda self: self.claims)
    @rule(room=processes, data=st.data(), give_up=st.booleans())
    def settle_or_give_up(self, room: int, data: st.DataObject, give_up: bool) -> None:
        mail, name, attempt = data.draw(st.sampled_from(self.claims[-6:]))
        if not give_up:
            self.both(
                room,
                lambda there: there.settle(mail),
                lambda model: model.settle(model.letters[name], attempt),
            )
        elif mail.delivery.handed_at is None:
            self.both(
                room,
                lambda there: there.give_up(mail),
                lambda model: model.give_up(model.letters[name], attempt),
            )

    @rule(room=processes, data=st.data(), verb=st.sampled_from(["ack", "nack", "reply", "withdraw"]))
    def finish(self, room: int, data: st.DataObject, verb: str) -> None:
        name = self.any(data, lambda one: one.sender != ROOM or verb in ("ack", "nack"))
        if name is None:
            return
        letter, id = self.model.letters[name], self.ids[name]
        if verb == "ack":
            self.both(room, lambda there: there.ack(id, agent=letter.to), lambda it: it.ack(it.letters[name]))
        elif verb == "nack":
            self.both(
                room,
                lambda there: there.nack(id, "no", agent=letter.to),
                lambda it: it.nack(it.letters[name]),
            )
        elif verb == "withdraw":
            self.both(
                room,
                lambda there: there.withdraw(id, sender=letter.sender),
                lambda it: it.withdraw(it.letters[name]),
            )
        else:
            answer = f"letter {len(self.model.letters)}"
            found, wanted = self.both(
                room,
                lambda there: there.reply(id, answer, agent=letter.to),
                lambda it: it.reply(it.letters[name], answer),
            )
            if wanted is not None:
                self.ids[answer], wanted.seq = found.id, found.message.seq

    @precondition(lambda self: any(one.state == "dead" for one in self.model.letters.values()))
    @rule(room=processes, data=st.data())
    def retry(self, room: int, data: st.DataObject) -> None:
        name = self.any(data, lambda one: one.state == "dead")
        assert name is not None
        self.both(
            room, lambda there: there.retry(self.ids[name]), lambda model: model.retry(model.letters[name])
        )

    @rule(room=processes, agent=agents, times=st.integers(1, 5))
    def take_and_lapse(self, room: int, agent: str, times: int) -> None:
        """What is claimed again and again and never handed over is dead in the end."""
        for _ in range(times):
            self.take(room, agent, False)
            self.time_passes(LEASE / 1000)
            self.bounces_are_there_once()

    # listening

    @rule(room=processes, agent=agents)
    def listen(self, room: int, agent: str) -> None:
        listening, _ = self.both(
            room,
            lambda there: Listening(there, agent, 0.0),
            lambda model: model.listen(agent, self.me),
        )
        if listening is not None:
            self.listening[agent] = listening
            self.listen_to(agent)

    @precondition(lambda self: self.listening)
    @rule(data=st.data())
    def listen_on(self, data: st.DataObject) -> None:
        self.listen_to(data.draw(st.sampled_from(sorted(self.listening))))

    def listen_to(self, agent: str) -> None:
        listening, room = self.listening[agent], self.born.index(self.model.leases[agent].holder)
        self.both(room, lambda there: listening.settle(), lambda model: model.next(agent, self.me))
        self.bounces_are_there_once()
        mail, letter = self.both(room, lambda there: listening.look(), lambda model: model.look(agent))
        assert (mail and mail.id) == (letter and self.ids[letter.name])
        if mail is not None:
            self.show(mail, letter)

    @precondition(lambda self: self.listening)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        agent = data.draw(st.sampled_from(sorted(self.listening)))
        listening, room = self.listening.pop(agent), self.born.index(self.model.leases[agent].holder)
        self.both(room, lambda there: listening.close(), lambda model: model.close(agent))

    # looking, time and death

    @rule(room=processes, agent=agents)
    def peek(self, room: int, agent: str) -> None:
        found, wanted = self.both(
            room, lambda there: there.peek(agent, limit=500), lambda model: model.peek(agent)
        )
        self.bounces_are_there_once()
        assert [mail.id for mail in found] == [self.ids[letter.name] for letter in wanted]

    @rule(room=processes)
    def sweep(self, room: int) -> None:
        self.both(room, lambda there: there.sweep(), lambda model: model.sweep(model.order))

    @rule(seconds=st.sampled_from([0.001, 4.999, 5.0, 10.0, 15.0, 40.0, -1.0, -60.0]))
    def time_passes(self, seconds: float) -> None:
        """Or is set back."""
        self.clock.advance(seconds)
        self.model.now = self.clock.now

    @rule(room=processes)
    def a_process_dies(self, room: int) -> None:
        """And another starts in its place."""
        self.model.dead.add(self.born[room])
        for agent, lease in self.model.leases.items():
            if lease.holder == self.born[room] and agent in self.listening:
                self.drop(self.listening.pop(agent))
        self.rooms[room].close()
        self.born[room] = f"{int(self.born[room].split('.')[0]) + 10}.1.b.n"
        self.rooms[room] = self.enter()

    def drop(self, listening: Listening) -> None:
        """As if its process had been killed: nothing is said to the store."""
        listening._closed = True
        listening._hand.close()
        listening.waiter.close()

    # what must hold after every step

    @invariant()
    def bounces_are_there_once(self) -> None:
        """The room's own letters: as many as the model has written, each about the same letter."""
        if not self.seen_seq:
            return
        found = []
        for event in self.rooms[0].store.look().events(str(self.seen_seq)):
            self.seen_seq = event.seq
            if event.message is not None and event.message.sender_id == ROOM:
                found.append(event.message)
        expected = [letter for letter in self.model.letters.values() if letter.seq > LAST]
        assert len(found) == len(expected)
        for message, letter in zip(found, expected, strict=True):
            assert message.payload is not None
            assert message.payload["bounce"]["message"] == self.ids[str(letter.about)]
            assert message.to == letter.to
            self.ids[letter.name], letter.seq = message.id, message.seq

    @invariant()
    def every_letter_stands_where_the_model_says(self) -> None:
        if not self.seen_seq:
            return
        found = {row[0]: row[1:] for row in self.look(LETTERS)}
        assert set(found) == set(self.ids.values()), "a letter is lost, or too many"
        for letter in self.model.letters.values():
            claimer = letter.claimer if letter.state == "offered" else found[self.ids[letter.name]][6]
            wanted = (
                letter.state, letter.held, letter.labelled, letter.attempts, letter.unproven, letter.due,
                claimer,
            )  # fmt: skip
            assert found[self.ids[letter.name]] == wanted, letter

    @invariant()
    def the_order_is_the_models(self) -> None:
        look = self.rooms[0].store.look()
        for agent in look.agents() if self.seen_seq else ():
            found = [mail.id for mail in look.ready(agent.id, 500)]
            assert found == [self.ids[letter.name] for letter in self.model.ready(agent.name)]

    @invariant()
    def leases_are_the_models(self) -> None:
        if self.seen_seq:
            found = dict(self.look(LEASES))
            assert found == {agent: lease.holder for agent, lease in self.model.leases.items()}

    def look(self, query: str) -> list[tuple[Any, ...]]:
        if self.client is None:
            self.client = sqlite3.connect(os.path.join(self.directory, "home", "room.db"))
        return self.client.execute(query).fetchall()


RoomAgainstModel.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize="POSTROOM_TEST_EXAMPLES" not in os.environ,
    deadline=None,
    phases=[Phase.generate, *([Phase.shrink] if "POSTROOM_TEST_SHRINK" in os.environ else [])],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)

TestTheRoomAgainstTheModel = pytest.mark.promise("model")(RoomAgainstModel.TestCase)


def test_the_model_knows_the_rooms_settings():
    assert Settings().lease_seconds * 1000 == LEASE
