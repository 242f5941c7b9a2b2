"""An agent without hooks is told its address by its own server: once in each context, and without a turn."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import host
from postroom.bridges import registry
from postroom.bridges.contract import Bridge, Context, Doing, Informing, Launch
from postroom.bridges.manifest import Manifest
from postroom.daemon import introduction
from postroom.daemon.actor import Actor
from postroom.errors import BridgeError
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.setup import standing
from tests.bridged import Record
from tests.process import ROOT, environment, eventually, until
from tests.yard import Yard

BOTH = {"codex": "app-server", "opencode": "serve"}


class Own:
    """An agent whose server is our child, and an actor that brings its mail."""

    def __init__(self, room: LocalRoom, name: str, place: str) -> None:
        self.room, self._name = room, name
        self.record = Record(os.path.join(place, "record"))
        self._injected = Record(f"{self.record.path}.injected")
        self.agent = room.join("builder")
        command = [sys.executable, "-m", "tests.serving", name, self.record.path, BOTH[name]]
        env = environment(PYTHONPATH=ROOT)
        self._launch = Launch(self.agent.id, self.agent.address, command, place, env, name)
        self._bridge: Bridge | None = None
        self.begin()

    def begin(self) -> None:
        """Start it, with the conversation that it had before, if it had one."""
        way = registry.load(self._name)
        berth = way.start(self._launch)
        self._launch = self._launch._replace(details=berth.details)
        earlier, self._bridge = self._bridge, way.open(berth)
        if earlier:
            earlier.close()
        self.actor = self.attend()

    def attend(self) -> Actor:
        assert self._bridge is not None
        process = self._bridge.process  # type: ignore[attr-defined]  # of a child
        manifest = Manifest(
            self.agent.id, self.agent.address, self._name, process, runtime=self._name, command=["x"]
        )
        return Actor(self.room, manifest, self._bridge)

    def end(self) -> None:
        """Killed without a word."""
        process = self.actor.session.process
        os.kill(host.pid_of(process), 9)
        bridge = self._bridge
        until(lambda: host.is_gone(process) and bridge is not None and bridge.observe().doing is Doing.GONE)

    def mail(self, text: str) -> None:
        """It is sent, taken and proven."""
        ref = self.room.send("builder", text).id

        def seen() -> bool:
            self.actor.step()
            return self.room.receipts(ref).deliveries[0].state is State.SEEN

        until(seen)

    def told(self) -> list[str]:
        return self._injected.texts()

    def noted(self) -> list[Any]:
        """What the log has of it."""
        pushed = [event.payload for event in self.room.events() if event.type == "agent.pushed"]
        return [one for one in pushed if one["what"] == "introduction"]

    def close(self) -> None:
        if self._bridge:
            self._bridge.close()


@pytest.fixture(params=BOTH)
def own(request: pytest.FixtureRequest, room: LocalRoom, tmp_path: os.PathLike[str]) -> Iterator[Own]:
    own = Own(room, request.param, os.fspath(tmp_path))
    yield own
    own.close()


def test_an_agent_is_told_its_address_and_how_to_write_before_anybody_writes_to_it(own: Own):
    own.actor.step()
    [text] = own.told()
    assert "Your address in Postroom is builder (project p)" in text
    assert "postroom send NAME" in text
    assert own.record.texts() == [], "it has begun a turn"
    [noted] = own.noted()
    assert (noted["route"], noted["result"]) == (own.actor.session.details["bridge"], "handed")
    assert "added" in noted["words"]


def test_it_is_told_once_whoever_brings_its_mail_and_however_often_it_is_started(own: Own):
    own.actor.step()
    own.mail("first")
    own.actor = own.attend()
    own.actor.step()
    own.end()
    own.begin()
    own.mail("second")
    assert len(own.told()) == len(own.noted()) == 1
    assert ["first" in text for text in own.record.texts()] == [True, False]


def test_after_a_compaction_it_is_told_again_with_its_next_mail_and_once(own: Own):
    own.actor.step()
    own.mail("[[compact]]")
    own.mail("second")
    own.mail("third")
    assert len(own.told()) == 2


def test_one_that_has_another_name_now_is_told_so(own: Own):
    own.actor.step()
    own.room.rename("mason", agent="builder")
    ref = own.room.send("mason", "hello").id
    until(lambda: own.actor.step() or own.room.receipts(ref).deliveries[0].state is State.SEEN)
    assert ["address in Postroom is mason" in text for text in own.told()] == [False, True]


def test_where_its_hooks_are_set_up_they_may_tell_it_in_its_first_turn(
    own: Own, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(standing, "is_left", lambda *_: True)
    own.actor.step()
    own.mail("first")
    assert own.told() == []
    own.mail("second")
    assert len(own.told()) == 1, "its hooks have said nothing in a whole turn"


class Scripted:
    """A bridge with a conversation."""

    name = "codex"

    def __init__(self) -> None:
        self.now: Context | None = Context("t1", "", False)
        self.tries: list[str] = []
        self.why = ""

    def context(self) -> Context | None:
        return self.now

    def inform(self, text: str) -> str:
        self.tries.append(text)
        if self.why:
            raise BridgeError(self.why)
        return "taken"


class Told:
    """One step after the other."""

    def __init__(self, room: LocalRoom, name: str = "builder") -> None:
        self.room, self.bridge = room, Scripted()
        assert isinstance(self.bridge, Informing)
        self.agent = room.join(name)
        self.began()

    def began(self) -> None:
        bridge: Any = self.bridge
        self._introduction = introduction.Introduction(self.room, bridge, "codex")

    def step(self) -> int:
        """How often it was tried so far."""
        session: Any = type("Session", (), {"details": {}})
        note = self._introduction.step(self.agent, session)
        if note:
            note()
        return len(self.bridge.tries)


def test_a_server_that_refuses_is_asked_once_in_a_context_and_mail_goes_on(room: LocalRoom):
    told = Told(room)
    told.bridge.why = "unknown method"
    assert [told.step(), told.step()] == [1, 1]
    told.bridge.now = Context("t1", "", True)
    assert told.step() == 1, "a turn has ended since, which is no other context"
    told.bridge.now = Context("t1", "compacted", True)
    assert told.step() == 2
    assert not any(event.type == "agent.pushed" for event in room.events())


def test_a_compaction_that_is_out_of_sight_is_none_that_is_new(room: LocalRoom):
    told = Told(room)
    told.step()
    told.bridge.now = Context("t1", "compacted", True)
    assert told.step() == 2
    told.bridge.now = Context("t1", "", True)
    assert told.step() == 2
    told.began()
    assert told.step() == 2


def test_each_conversation_is_told_and_the_earlier_one_not_again(room: LocalRoom):
    told = Told(room)
    told.step()
    told.bridge.now = Context("t2", "", False)
    assert told.step() == 2
    told.bridge.now = Context("t1", "", True)
    assert told.step() == 2


def notes(room: LocalRoom) -> list[str]:
    return room.store.look().followers("introduced.")


def test_what_was_told_is_forgotten_when_nobody_will_ask_for_it_again(room: LocalRoom):
    gone, told = Told(room, "gone"), Told(room)
    gone.step()
    assert any(gone.agent.id in note for note in notes(room))
    room.leave("gone")
    for epoch in ("", "first", "second", "third"):
        told.bridge.now = Context("t1", epoch, True)
        told.step()
    assert not any(gone.agent.id in note for note in notes(room))
    assert sorted(note.rpartition(".")[2] for note in notes(room)) == ["", "third"]
    before = len(told.bridge.tries)
    told.began()
    assert told.step() == before, "it is known in the context in which it is"


def test_of_many_conversations_only_so_many_are_remembered(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(introduction, "_MOST", 4)
    told = Told(room)
    for number in range(6):
        told.bridge.now = Context(f"t{number}", "", True)
        told.step()
    assert sorted(note.rsplit(".", 2)[1] for note in notes(room)) == ["t1", "t2", "t3", "t4", "t5"]


def test_nothing_is_said_while_nobody_can_tell_what_it_does(room: LocalRoom):
    told = Told(room)
    told.bridge.now = None
    assert told.step() == 0


def test_one_that_is_spawned_in_another_room_than_usual_finds_that_room(
    home: str, tmp_path: os.PathLike[str]
):
    """Its commands would go to the other one, else."""
    with Yard(home) as yard:
        yard.line.ok("join", "planner")
        out = os.path.join(os.fspath(tmp_path), "out")
        words = ("--", "sh", "-c", f'printf %s "$POSTROOM_HOME" >{out}; cat')
        yard.ok(
            "--home", home, "spawn", "worker", "--bridge", "lines", *words,
            env={"POSTROOM_HOME": os.path.join(os.fspath(tmp_path), "other")},
        )  # fmt: skip
        eventually(lambda: os.path.exists(out) and os.path.getsize(out))
        with open(out, encoding="utf-8") as file:
            assert file.read() == home
