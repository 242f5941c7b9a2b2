"""Letters that other programs write straight into an inbox, the usual way of older tools."""

import json
import os
import sqlite3
import threading
import uuid
from contextlib import closing
from typing import Any

import pytest

from postroom import Mailbox
from postroom.bridges.files import arrivals, inbox
from postroom.bridges.files.carrier import Carrier
from postroom.bridges.files.letter import numbered
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder
from postroom.model.message import Mail
from postroom.room.local import LocalRoom
from tests.postal import Postal
from tests.process import BOUND, until


def letter(**said: Any) -> dict[str, Any]:
    """As those tools write it."""
    document = {
        "id": str(uuid.uuid4()), "from": "planner", "to": "bob", "timestamp": "2026-03-02T10:00:00Z",
        "type": "note", "priority": "normal", "payload": {"text": "hello"}, "requiresAck": False,
    }  # fmt: skip
    return document | {key.rstrip("_"): value for key, value in said.items()}


def drop(place: str, said: Any, name: str = "") -> str:
    """By a temporary file and a rename."""
    name = name or f"1772445600000-{uuid.uuid4()}.json"
    temporary = os.path.join(place, "inbox", f".{name}.tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(said if isinstance(said, str) else json.dumps(said))
    os.rename(temporary, os.path.join(place, "inbox", name))
    return name


def mails(room: LocalRoom, bob: Postal) -> list[Mail]:
    look = room.store.look()
    agents = [one.id for one in look.agents()]
    found = [message for agent in agents for message in look.sent(agent)]
    mail = (look.mail(message.seq, bob.id) for message in sorted(found, key=lambda one: one.seq))
    return [one for one in mail if one is not None]


def states(room: LocalRoom, bob: Postal) -> list[tuple[str, str]]:
    return [(one.body, one.delivery.state.value) for one in mails(room, bob)]


@pytest.mark.promise("mailbox-arrivals")
def test_what_is_written_straight_into_an_inbox_is_the_delivery(room: LocalRoom, bob: Postal) -> None:
    said = letter(payload={"text": "straight"})
    drop(bob.place, said)
    bob.carry()
    [mail] = mails(room, bob)
    assert (mail.sender, mail.body, mail.message.verified) == ("planner", "straight", "unverified")
    assert (mail.delivery.state.value, mail.delivery.route) == ("offered", "files")
    [name] = bob.names("inbox")
    assert numbered(name) == mail.message.seq
    assert bob.read("inbox", name) == said, "it is the same file"
    bob.put_away(name)
    bob.carry()
    assert (bob.state(mail.id), bob.delivery(mail.id).evidence) == ("seen", "agent")


@pytest.mark.promise("mailbox-arrivals")
def test_what_its_reader_moved_first_is_stored_as_seen(room: LocalRoom, bob: Postal) -> None:
    name = drop(bob.place, letter())
    bob.put_away(name)
    bob.carry()
    assert states(room, bob) == [("hello", "seen")]
    bob.again()
    assert states(room, bob) == [("hello", "seen")]


def test_what_was_put_away_while_nobody_carried_is_seen_and_what_was_before_is_not_mail(
    room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "_EARLIER", 0)
    shelf = LocalShelf(os.fspath(tmp_path), "bob")
    shelf.make()
    name = drop(shelf.place, letter(payload={"text": "history"}))
    os.rename(os.path.join(shelf.place, "inbox", name), os.path.join(shelf.place, "inbox", "processed", name))
    bob = Postal(room, os.fspath(tmp_path))
    bob.close()
    bob.put_away(drop(bob.place, letter(payload={"text": "meanwhile"})))
    drop(bob.place, letter(payload={"text": "waits"}))
    bob.again()
    assert sorted(states(room, bob)) == [("meanwhile", "seen"), ("waits", "offered")]
    bob.close()


def test_the_room_writes_no_second_file_for_it(room: LocalRoom, bob: Postal) -> None:
    for n in range(5):
        drop(bob.place, letter(payload={"text": str(n)}))
    bob.carry()
    bob.again()
    bob.carry()
    assert len(bob.names("inbox")) == len(states(room, bob)) == 5


@pytest.mark.promise("mailbox-arrivals")
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('{"id": 1, "from"', "no JSON"),
        ("[]", "one letter"),
        ("7", "object"),
        (letter(from_=""), "has no `from`"),
        (letter(from_="postroom"), "cannot be an agent's name"),
        (letter(payload={"text": "x" * 2_000_000}), "limit"),
    ],
)
def test_only_what_is_no_letter_is_refused_and_a_file_beside_it_says_why(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, said: Any, why: str
) -> None:
    monkeypatch.setattr(arrivals, "_QUIET", 0.0)
    name = drop(bob.place, said)
    drop(bob.place, letter(payload={"text": "sound"}))
    bob.carry()
    bob.carry()
    assert why in bob.read("inbox", "rejected", f"{name}.why")["error"]["message"]
    assert bob.names("inbox", "rejected") == [name]
    assert states(room, bob) == [("sound", "offered")]
    assert len(bob.names("inbox")) == 1
    assert room.store.look().agent_named("p", "postroom") is None


@pytest.mark.promise("mailbox-hostile")
@pytest.mark.parametrize("kind", ["link", "fifo", "directory", "two names"])
def test_what_is_no_plain_file_is_never_followed(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(arrivals, "_QUIET", 0.0)
    path, other = bob.path("inbox", "1-a.json"), os.path.join(bob.tree, "other.json")
    with open(other, "w", encoding="utf-8") as file:
        json.dump(letter(), file)
    {
        "link": lambda: os.symlink(other, path), "fifo": lambda: os.mkfifo(path),
        "directory": lambda: os.mkdir(path), "two names": lambda: os.link(other, path),
    }[kind]()  # fmt: skip
    bob.carry()
    bob.carry()
    assert mails(room, bob) == []
    assert bob.names("inbox") == []
    assert os.path.lexists(bob.path("inbox", "rejected", "1-a.json.why"))


@pytest.mark.promise("mailbox-hostile")
@pytest.mark.parametrize("sender", ["alice", "human:ana", "bob"])
def test_a_name_that_nothing_proves_gains_nothing(room: LocalRoom, bob: Postal, sender: str) -> None:
    asked = room.send("bob", "asked", requires_ack=True)
    bob.carry()
    said = letter(from_=sender, type="ack", replyTo=asked.id, verified="session", mayBeRepeat=True)
    name = drop(bob.place, said)
    drop(bob.place, letter(from_=sender, type="decision_gate", payload={"question": "?", "options": ["a"]}))
    bob.carry()
    assert bob.state(asked.id) == "offered"
    _, first, second = mails(room, bob)
    assert {first.message.verified, second.message.verified} == {"unverified"}
    assert {first.type, second.type} == {"note"}
    assert name in bob.names("inbox"), "what says it was verified does not get the name of the room's own"


def test_the_same_letter_arrives_once_and_another_with_its_id_arrives_too(
    room: LocalRoom, bob: Postal
) -> None:
    drop(bob.place, letter(id="7"))
    bob.carry()
    repeat = drop(bob.place, letter(id="7", timestamp="2026-03-03T10:00:00Z"))
    drop(bob.place, letter(id="7", payload={"text": "another"}))
    drop(bob.place, letter(id="7", from_="tester"))
    bob.carry()
    assert sorted(states(room, bob)) == [("another", "offered"), ("hello", "offered"), ("hello", "offered")]
    assert len(bob.names("inbox")) == 3
    assert "here already" in bob.read("inbox", "rejected", f"{repeat}.why")["error"]["message"]


def test_to_names_another_and_it_is_for_whose_inbox_it_lies_in(room: LocalRoom, bob: Postal) -> None:
    drop(bob.place, letter(to="carol"))
    bob.carry()
    [mail] = mails(room, bob)
    assert (mail.delivery.recipient_id, (mail.message.metadata or {})["mailbox"]["to"]) == (bob.id, ["carol"])


def test_a_slow_writer_is_waited_for(room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_QUIET", 0.0)
    text = json.dumps(letter())
    with open(bob.path("inbox", "1-slow.json"), "w", encoding="utf-8") as file:
        file.write(text[:40])
        file.flush()
        for _ in range(5):
            bob.carrier.step()
        assert bob.names("inbox") == ["1-slow.json"]
        file.write(text[40:])
    bob.carry()
    assert states(room, bob) == [("hello", "offered")]


def test_who_reads_before_the_letter_is_renamed_finds_it_by_the_name_that_it_knows(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read and closed; still open; and read between the commit and the renaming."""
    closed, opened, late = (
        drop(bob.place, letter(payload={"text": n}), f"{n}-x.json") for n in ("11", "12", "13")
    )
    bob.shelf.visitors()
    bob.read("inbox", closed)

    def between(name: str) -> None:
        if name == "raw-stored":
            bob.read("inbox", late)

    monkeypatch.setattr(arrivals, "step", between)
    with open(bob.path("inbox", opened), encoding="utf-8"):
        bob.carry()
    assert bob.names("inbox") == [closed, opened, late]
    assert [state for _, state in states(room, bob)] == ["offered"] * 3
    bob.put_away()
    bob.carry()
    assert [state for _, state in states(room, bob)] == ["seen"] * 3
    assert bob.names("inbox") == []


def test_an_answer_names_it_by_its_writers_id(room: LocalRoom, bob: Postal) -> None:
    room.join("planner")
    drop(bob.place, letter(id="q-1", type="request", requiresAck=True))
    bob.carry()
    [asked] = mails(room, bob)
    bob.put("a.json", {"id": "1", "replyTo": "q-1", "payload": {"text": "yes"}})
    bob.carry()
    [answer] = room.peek("planner")
    assert (answer.body, answer.message.reply_to, bob.state(asked.id)) == ("yes", asked.id, "acked")


def test_an_answer_that_is_written_straight_into_an_inbox_is_in_the_thread(
    room: LocalRoom, bob: Postal
) -> None:
    bob.put("q.json", {"id": "q-2", "to": "alice", "payload": {"text": "which?"}})
    bob.carry()
    [asked] = room.peek("alice")
    drop(bob.place, letter(from_="alice", replyTo="q-2", type="response"))
    bob.carry()
    [mail] = mails(room, bob)
    assert (mail.message.reply_to, mail.thread) == (asked.id, asked.thread)
    assert room.store.look().deliveries(asked.message.seq)[0].state.value == "stored", "it proves nothing"


@pytest.mark.parametrize("is_carried", [False, True])
def test_a_program_receives_it_once_before_or_after_it_is_renamed(
    room: LocalRoom, bob: Postal, is_carried: bool
) -> None:
    with Mailbox(bob.tree, "bob") as program, Mailbox(bob.tree, "bob") as other:
        drop(bob.place, letter(payload={"text": "one"}))
        if is_carried:
            bob.carry()
        [found] = program.receive()
        assert (found.text, found.sender, found.verified) == ("one", "planner", "unverified")
        bob.carry()
        assert other.receive() == []
        assert program.receive() == []
        bob.carry()
        assert states(room, bob) == [("one", "seen")]


def test_a_mailbox_that_is_removed_has_them_in_the_room(room: LocalRoom, bob: Postal) -> None:
    from postroom.bridges.files.withdrawal import withdraw

    with open(bob.path("inbox", drop(bob.place, letter(verified="x"))), encoding="utf-8"):
        bob.carry()
    drop(bob.place, letter(payload={"text": "two"}))
    bob.carry()
    assert withdraw(room, room.known("bob"), bob.shelf) == 2
    assert bob.names("inbox") == []
    assert sorted(states(room, bob)) == [("hello", "stored"), ("two", "stored")]


def test_two_carriers_take_it_in_once(room: LocalRoom, bob: Postal) -> None:
    other = Carrier(room, bob.id, LocalShelf(bob.tree, "bob"))
    for n in range(20):
        drop(bob.place, letter(payload={"text": str(n)}))
        (bob.carrier if n % 2 else other).step()
    bob.carry()
    while other.step() == 0.0:
        pass
    assert sorted(states(room, bob)) == sorted((str(n), "offered") for n in range(20))
    assert len(bob.names("inbox")) == 20
    assert not os.path.isdir(bob.path("inbox", "rejected")) or os.listdir(bob.path("inbox", "rejected")) == []
    other.close()


class Reader(threading.Thread):
    """An old program: lists, reads, and moves away what it has read."""

    def __init__(self, place: str) -> None:
        super().__init__(daemon=True)
        self.place, self.read, self.ends = place, list[str](), threading.Event()

    def run(self) -> None:
        while not self.ends.is_set() or any(one.endswith(".json") for one in os.listdir(self._path())):
            for name in sorted(os.listdir(self._path())):
                if name.endswith(".json"):
                    self._take(name)

    def _path(self, *more: str) -> str:
        return os.path.join(self.place, "inbox", *more)

    def _take(self, name: str) -> None:
        try:
            with open(self._path(name), encoding="utf-8") as file:
                said = json.load(file)
        except FileNotFoundError:
            return
        self.read.append(said["id"])  # it works on it from here on
        os.rename(self._path(name), self._path("processed", name))


@pytest.mark.promise("mailbox-arrivals")
@pytest.mark.parametrize("is_read", [False, True])
def test_twenty_writers_of_a_hundred_letters_are_in_the_room_once_each(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    monkeypatch.setattr(inbox, "_SURE", 0.0)
    sent = [[str(uuid.uuid4()) for _ in range(100)] for _ in range(20)]

    def write(n: int) -> None:
        for id in sent[n]:
            drop(bob.place, letter(id=id, from_=f"writer-{n}", payload={"text": id}))

    writers = [threading.Thread(target=write, args=(n,)) for n in range(20)]
    reader = Reader(bob.place)
    for one in [*writers, *([reader] if is_read else [])]:
        one.start()
    until(lambda: bob.carry() is not None and not any(one.is_alive() for one in writers), BOUND * 2)
    reader.ends.set()
    if is_read:
        until(lambda: bob.carry() is not None and not reader.is_alive(), BOUND * 2)
    bob.carry()
    every = sorted(id for ids in sent for id in ids)
    assert sorted(one.body for one in mails_of(room, bob, 20)) == every
    assert {one.delivery.state.value for one in mails_of(room, bob, 20)} == {"seen" if is_read else "offered"}
    if is_read:
        assert sorted(reader.read) == every, "each once"
    else:
        assert sorted(one["id"] for one in bob.inbox()) == every


def mails_of(room: LocalRoom, bob: Postal, writers: int) -> list[Mail]:
    look = room.store.look()
    found = [m for n in range(writers) for m, _ in room.sent(f"writer-{n}", limit=500)]
    return [mail for one in found if (mail := look.mail(one.seq, bob.id)) is not None]


class Slow(LocalShelf):
    """A shelf that may be asked only while nobody holds the room's write lock."""

    home, asked = "", 0

    def has(self, folder: Folder, name: str) -> bool:
        if self.home:
            type(self).asked += 1
            with closing(sqlite3.connect(os.path.join(self.home, "room.db"), timeout=0)) as db:
                db.execute("BEGIN IMMEDIATE")  # raises while another holds it
        return super().has(folder, name)


@pytest.mark.promise("mailbox-arrivals")
def test_the_shelf_is_never_asked_while_the_room_is_locked(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = letter()
    drop(bob.place, said)
    bob.carry()
    bob.put_away()
    drop(bob.place, said, "again.json")
    bob.close()
    bob.shelf = Slow(bob.tree, "bob")
    bob.carrier = Carrier(room, bob.id, bob.shelf)
    monkeypatch.setattr(Slow, "home", room.home)
    bob.carry()
    assert Slow.asked
    assert states(room, bob) == [("hello", "seen")]
    assert bob.names("inbox", "rejected") == ["again.json"]


def test_a_message_that_another_stores_after_the_files_were_looked_for_is_no_second_one(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, looked = letter(), arrivals.Arrivals._copies
    drop(bob.place, said)
    bob.carry()
    bob.put_away()
    bob.carry()
    drop(bob.place, said, "again.json")
    times = list[int]()

    def first_nothing(self: arrivals.Arrivals, found: Any) -> dict[int, set[str]]:
        times.append(1)
        return looked(self, found) if len(times) > 1 else {}

    monkeypatch.setattr(arrivals.Arrivals, "_copies", first_nothing)
    bob.carry()
    assert len(times) == 2
    assert states(room, bob) == [("hello", "seen")]
    assert bob.names("inbox", "rejected") == ["again.json"]


@pytest.mark.promise("correlation")
@pytest.mark.parametrize("field", ["correlation", "correlationId", "correlation_id"])
def test_a_letter_keeps_the_correlation_that_it_was_given(room: LocalRoom, bob: Postal, field: str) -> None:
    drop(bob.place, letter(from_="alice", **{field: "c-11"}))
    bob.carry()
    [mail] = mails(room, bob)
    assert mail.correlation == "c-11"
    assert "rest" not in (mail.message.metadata or {})["mailbox"]
    bob.put("a.json", {"id": "1", "replyTo": mail.id, "payload": "half"})
    bob.carry()
    assert room.wait_for_reply("c-11", agent="alice", timeout=0).body == "half"


def test_an_answer_has_the_correlation_of_what_it_answers(room: LocalRoom, bob: Postal) -> None:
    room.join("planner")
    asked = room.send("bob", "how far?", type="request", sender="planner")
    drop(bob.place, letter(from_="alice", correlation={"no": "text"}))
    place = Postal(room, os.path.dirname(bob.place), "planner")
    try:
        drop(place.place, letter(from_="bob", to="planner", replyTo=asked.id, correlation="c-9"))
        place.carry()
        [mail] = room.peek("planner") or [room.wait_for_reply(asked.id, agent="planner", timeout=0)]
        assert (mail.correlation, (mail.message.metadata or {})["mailbox"]["correlation"]) == (
            asked.id,
            "c-9",
        )
    finally:
        place.close()
    bob.carry()
    [strange] = [one for one in mails(room, bob) if one.sender == "alice"]
    assert (strange.correlation, (strange.message.metadata or {})["mailbox"]["rest"]) == (
        None, {"correlation": {"no": "text"}},
    )  # fmt: skip
