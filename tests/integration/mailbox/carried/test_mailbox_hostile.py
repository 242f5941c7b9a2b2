"""What somebody may put into a mailbox who means no good, or nothing in particular."""

import contextlib
import json
import os
import socket
import tempfile
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from postroom import Mailbox
from postroom.bridges.files import outbox
from postroom.bridges.files.letter import inbox_name, names
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder
from postroom.config import Settings
from postroom.errors import BridgeError, InvalidLetter, InvalidValue, PostroomError
from postroom.room.local import LocalRoom
from tests.postal import UNLIMITED, Postal

pytestmark = [pytest.mark.promise("mailbox-hostile"), pytest.mark.usefixtures("hurried")]
SECRET = "the secret of somebody else"


@pytest.fixture
def limits() -> Settings:
    return UNLIMITED._replace(mailbox_file_bytes=100_000)


@pytest.fixture
def elsewhere(tmp_path: os.PathLike[str]) -> str:
    path = os.path.join(tmp_path, "elsewhere")
    os.mkdir(path)
    with open(os.path.join(path, "secret.json"), "w", encoding="utf-8") as file:
        json.dump({"id": "1", "to": "alice", "payload": SECRET}, file)
    return path


def a_link(path: str, elsewhere: str) -> None:
    os.symlink(os.path.join(elsewhere, "secret.json"), path)


def a_hard_link(path: str, elsewhere: str) -> None:
    os.link(os.path.join(elsewhere, "secret.json"), path)


def a_pipe(path: str, _: str) -> None:
    os.mkfifo(path)


def a_directory(path: str, _: str) -> None:
    os.makedirs(os.path.join(path, "inner"))


def a_socket(path: str, _: str) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(os.path.dirname(path), os.O_RDONLY)
        one.bind(f"/proc/self/fd/{here}/{os.path.basename(path)}")
        os.close(here)


def a_huge_file(path: str, _: str) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def a_deep_one(path: str, _: str) -> None:
    with open(path, "wb") as file:
        file.write(b'{"id": "1", "to": "alice", "payload": ' + b"[" * 40_000 + b"]" * 40_000 + b"}")


KINDS = [a_link, a_hard_link, a_pipe, a_directory, a_socket, a_huge_file, a_deep_one]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_set_aside_and_keeps_no_other(
    kind: Callable[[str, str], None], room: LocalRoom, bob: Postal, elsewhere: str
) -> None:
    kind(bob.path("outbox", "x.json"), elsewhere)
    bob.put("y.json", {"id": "2", "to": "alice", "payload": "fine"})
    for _ in range(3):
        bob.carry()
    assert [mail.body for mail in room.peek("alice")] == ["fine"]
    assert os.listdir(bob.path("outbox", "rejected")) == ["x.json"]
    assert bob.receipt("x.rejected")["error"]["code"] == "invalid_letter"
    assert os.listdir(elsewhere) == ["secret.json"]


def test_a_device_is_not_even_opened(bob: Postal) -> None:
    try:
        os.mknod(bob.path("outbox", "x.json"), 0o644 | 0o020000, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")
    for _ in range(3):
        bob.carry()
    assert os.listdir(bob.path("outbox", "rejected")) == ["x.json"]


NAMES = [
    b"..json",
    b"a\nb.json",
    b"\xff\xfe.json",
    b"-rf.json",
    b"$(id).json",
    b"x" * 250 + b".json",
    b" .json",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_file_does_any_harm(name: bytes, room: LocalRoom, bob: Postal) -> None:
    path = os.path.join(os.fsencode(bob.path("outbox")), name)
    with open(path, "wb") as file:
        file.write(b'{"id": "1", "to": "alice", "payload": "hi"}')
    for _ in range(3):
        bob.carry()
    if name.startswith(b"."):
        assert os.path.exists(path), "that is nobody's letter yet"
        return
    assert [mail.body for mail in room.peek("alice")] == ["hi"]
    with open(path, "wb") as file:
        file.write(b"{")
    for _ in range(3):
        bob.carry()
    assert len(os.listdir(bob.path("outbox", "rejected"))) == 1
    assert len(bob.inbox()) == 1, "the agent was told"


@pytest.mark.parametrize("id", ["../../../x", "/etc/x", "..", ".", "a/b", "x" * 200, "ä", "$(id)", "-rf"])
def test_no_id_does_any_harm(id: str, room: LocalRoom, bob: Postal) -> None:
    before = set(os.listdir(os.path.dirname(bob.tree)))
    bob.put("a.json", {"id": id, "to": "alice", "payload": "hi", "requiresAck": True})
    bob.put("b.json", {"id": id + "!", "to": "nobody", "payload": "hi"})
    bob.carry()
    assert [mail.body for mail in room.peek("alice")] == ["hi"]
    assert len(bob.names("receipts")) == 2
    assert set(os.listdir(os.path.dirname(bob.tree))) == before
    assert sorted(os.listdir(bob.place)) == ["inbox", "outbox", "receipts"]


@pytest.mark.parametrize("folder", ["inbox", "outbox", "receipts", "outbox/processed", "outbox/.taking"])
def test_a_folder_that_becomes_a_link_is_not_followed(
    folder: str, room: LocalRoom, bob: Postal, elsewhere: str
) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi", "requiresAck": True})
    room.send("bob", "hello")
    os.rename(bob.path(folder), bob.path("away"))
    os.symlink(elsewhere, bob.path(folder))
    for _ in range(3):
        bob.carry()
    assert os.listdir(elsewhere) == ["secret.json"]
    assert SECRET not in [mail.body for mail in room.peek("alice")]
    os.unlink(bob.path(folder))
    os.rename(bob.path("away"), bob.path(folder))
    bob.again()
    assert [mail.body for mail in room.peek("alice")] == ["hi"]
    assert "hello" in [one["body"] for one in bob.inbox()]


def test_the_mailbox_itself_may_become_a_link_and_is_not_followed(bob: Postal, elsewhere: str) -> None:
    os.rename(bob.place, bob.place + ".away")
    os.symlink(elsewhere, bob.place)
    with pytest.raises(BridgeError):
        bob.shelf.names(Folder.OUTBOX)
    bob.carry()
    assert os.listdir(elsewhere) == ["secret.json"]


def test_something_in_the_place_of_a_receipt_is_left_there(room: LocalRoom, bob: Postal) -> None:
    os.makedirs(bob.path("receipts", "1.json", "inner"))
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi", "requiresAck": True})
    bob.carry()
    assert [mail.body for mail in room.peek("alice")] == ["hi"]


def test_a_shelf_writes_no_name_that_leads_elsewhere(bob: Postal) -> None:
    for name in ("../x", "/tmp/x", "..", ""):
        with pytest.raises(InvalidLetter):
            bob.shelf.write(Folder.RECEIPTS, name, b"x")


def test_very_many_files_are_taken_in_by_and_by(room: LocalRoom, bob: Postal) -> None:
    for n in range(1_000):
        bob.write(f"{n:04}.json", b'{"id": "%d", "to": "alice", "type": "ack"}' % n)
    bob.carry()
    assert bob.names("outbox") == []
    assert len(bob.names("outbox", "rejected")) == 1_000
    assert len(bob.inbox()) <= 20, "it is told of them together"


OWN = ("", "bob", "p/bob")  # what may stand in `from`: whose it is, its place tells
IDS = some.sampled_from(["1", "2", "3"]) | some.text(min_size=1, max_size=5)  # some of them come twice
LETTERS = some.fixed_dictionaries(
    {"id": IDS, "to": some.sampled_from(["alice", "bob", "@all", "nobody", ""])},
    optional={
        "payload": some.text(max_size=5)
        | some.dictionaries(
            some.sampled_from(["text", "a"]) | some.text(max_size=3), some.integers(), max_size=2
        )
        | some.fixed_dictionaries({"text": some.text(max_size=5)}),
        "body": some.text(max_size=5),
        "subject": some.text(max_size=5),
        "type": some.sampled_from(["note", "status", "ack", "nack", "request", "handoff", "x"]),
        "replyTo": some.sampled_from(["1", "deadbeef", "01a1ec3f-d83b-7369-9bdb-d99517156075"]),
        "priority": some.sampled_from(["urgent", "medium", "7"]),
        "requiresAck": some.booleans(),
        "expiresAt": some.sampled_from(["2020-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00", "9"]),
        "from": some.sampled_from([*OWN, "alice", "other/bob", "human:ana"]) | some.text(max_size=5),
        "thread": some.sampled_from(["1", "deadbeef", "01a1ec3f-d83b-7369-9bdb-d99517156075"])
        | some.text(max_size=5),
        "metadata": some.dictionaries(some.text(max_size=3), some.integers() | some.text(), max_size=2),
        "timestamp": some.sampled_from(["2020-01-01T00:00:00Z", "9"]) | some.text(max_size=5),
    },
)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=6) | some.floats(allow_nan=False),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(
                ["id", "to", "from", "type", "payload", "text", "replyTo", "requiresAck", "body"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=8,
)
ANY = some.one_of(
    some.binary(max_size=60),
    *(
        each.map(lambda value: json.dumps(value).encode())
        for each in (JSON, LETTERS, some.lists(LETTERS | JSON))
    ),
)
CRASH = "it cannot be sent as it is"  # said of what no error of ours names: a fault of ours


def content(body: str | None, payload: Any) -> tuple[str, Any]:
    """What is said, wherever a letter has its text."""
    body, rest = body or "", payload if isinstance(payload, dict) else {}
    if isinstance(payload, str):
        return body or payload, {}
    if not body and isinstance(rest.get("text"), str):
        return rest["text"], {key: rest[key] for key in rest if key != "text"}
    return body, rest


def written(folder: str, but: Collection[str] = ()) -> Iterator[tuple[str, list[Any]]]:
    """Each file there, and what it has in it."""
    for name in set(os.listdir(folder)) - set(but):
        with open(os.path.join(folder, name), "rb") as file:
            found = json.loads(file.read())
        yield name.removesuffix(".json"), found if isinstance(found, list) else [found]


@settings(max_examples=120)
@given(some.dictionaries(some.text("abc\n %$äé", min_size=1, max_size=6), ANY, max_size=5))
def test_whatever_lies_in_an_outbox_is_sent_once_or_set_aside_with_a_reason(files: dict[str, bytes]) -> None:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=base) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "_QUIET", 0.0)
        room = LocalRoom(os.path.join(place, "home"), UNLIMITED, agent="alice", project="p")
        room.join("alice")
        bob = Postal(room, os.path.join(place, "tree"))
        for name, data in files.items():
            bob.write(f"{name}.json", data)
        for _ in range(3):
            bob.carry()
        aside = os.listdir(bob.path("outbox", "rejected"))
        done = [*os.listdir(bob.path("outbox", "processed")), *aside]
        assert bob.names("outbox", ".taking") == []
        assert {name.partition(".")[0] for name in done} == set(files)
        assert set(os.listdir(bob.path("outbox"))) == {".taking", "processed", "rejected"}
        check_sent(room, bob, aside)
        check_set_aside(bob, aside)
        bob.close()
        room.close()


def check_sent(room: LocalRoom, bob: Postal, aside: list[str]) -> None:
    """What was processed, but for what of it was set aside, is in the room: each letter once, as it was."""
    wanted: dict[str, Any] = {}
    for name, letters in written(bob.path("outbox", "processed")):
        for n, one in enumerate(letters):
            if f"{name}.{n + 1}.json" not in aside and one.get("type") not in ("ack", "nack"):
                assert (one.get("from") or "") in OWN, "it speaks for somebody else"
                said = (
                    one.get("subject") or "",
                    content(one.get("body"), one.get("payload")),
                    one.get("metadata") or {},
                )
                assert wanted.setdefault(str(one["id"]), said) == said, "two letters of one id"
    sent = [message for message, _ in room.sent("bob", limit=500)]
    found = {
        message.key: (message.subject, content(message.body, message.payload), message.metadata or {})
        for message in sent
    }
    assert found == {f"file:{id}": said for id, said in wanted.items()}
    assert len(sent) == len(found)
    read = {mail.message.id for mail in room.peek("alice", limit=500)}
    assert read == {message.id for message in sent if message.to in ("alice", "@all", "p/alice")}


def check_set_aside(bob: Postal, aside: list[str]) -> None:
    """What was not has a receipt with a reason, and that is none of our faults. Where its id was accepted
    after that, the receipt of the id says so instead.
    """
    receipts = [bob.read("receipts", name) for name in bob.names("receipts")]
    why = {one["file"]: one["error"] for one in receipts if not one["accepted"]}
    accepted = {one["id"] for one in receipts if one["accepted"]}
    unsaid = {f"{name}.json": letters for name, letters in written(bob.path("outbox", "rejected"), set(why))}
    assert {name for name, [one] in unsaid.items() if str(one["id"]) not in accepted} == set()
    assert set(why) | set(unsaid) == set(aside)
    assert all(error["code"] and error["message"] for error in why.values())
    assert not [error for error in why.values() if CRASH in error["message"]]
    told = [one["body"] for one in bob.inbox() if "set aside" in one.get("body", "")]
    assert bool(told) == bool(aside)


NAMES = some.text("abc\n %$äé", min_size=1, max_size=6)
NUMBERED = some.sampled_from(["0-0000000001-deadbeef", "2-0000000001-deadbeef", "3-9999999999-0a1b2c3d"])
HOLDS = some.tuples(
    some.sampled_from(["a.json", *(f"real {n}" for n in range(3))])
    | NUMBERED.map(lambda name: f"{name}.json"),
    some.sampled_from(["0", "1", "03", "\u0663", "-1", "999999999999", "9" * 200]),
).map(".".join)
RECEIPTS = some.fixed_dictionaries(
    {
        "accepted": some.booleans() | JSON,
        "recipients": some.lists(
            JSON | some.fixed_dictionaries({"to": JSON, "state": some.sampled_from(["seen", "dead", "x"])}),
            max_size=2,
        )
        | JSON,
    },
    optional={"error": JSON | some.fixed_dictionaries({"message": JSON, "code": JSON}), "file": JSON},
).map(lambda value: json.dumps(value).encode())
KINDS = some.sampled_from([b"", None, "a link"])  # in place of what is in a file: a directory, a link
AGENTS_SIDE = some.fixed_dictionaries({
    "inbox": some.dictionaries((NAMES | NUMBERED).map(lambda name: f"{name}.json"), ANY | KINDS, max_size=4),
    "inbox/.held": some.dictionaries(HOLDS | NAMES | some.just(".0123456789abcdef"), ANY | KINDS, max_size=4),
    "receipts": some.dictionaries(
        some.sampled_from(["1.json", "1.json.gz", "2.json"]), ANY | RECEIPTS | KINDS, max_size=3
    ),
})  # fmt: skip


def put(path: str, what: bytes | str | None) -> None:
    """A file, a directory (None), or a link to nothing."""
    if what is None:
        os.mkdir(path)
    elif isinstance(what, str):
        os.symlink(what, path)
    else:
        with open(path, "wb") as file:
            file.write(what)


@settings(max_examples=120)
@given(AGENTS_SIDE)
def test_whatever_lies_on_an_agents_side_its_mail_is_received_once_and_its_errors_are_ours(
    found: dict[str, dict[str, bytes | str | None]],
) -> None:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=base) as place:
        room = LocalRoom(os.path.join(place, "home"), UNLIMITED, agent="alice", project="p")
        room.join("alice")
        bob = Postal(room, os.path.join(place, "tree"))
        refs = [room.send("bob", f"letter {n}").id for n in range(3)]
        bob.carry()
        real = {f"real {n}": name for n, name in enumerate(bob.names("inbox"))}
        os.mkdir(bob.path("inbox", ".held"))
        for folder, files in found.items():
            for name, what in files.items():
                stem, _, number = name.rpartition(".")
                put(bob.path(folder, f"{real[stem]}.{number}" if stem in real else name), what)
        received = list[str]()
        box = Mailbox(bob.tree, "bob")
        for _ in range(3):
            with contextlib.suppress(PostroomError):
                received += [one.id for one in box.receive()]
        for id in ("1", "2", "deadbeef"):
            with contextlib.suppress(PostroomError):
                assert box.wait_for_ack(id, 0) in (True, False)
        with contextlib.suppress(PostroomError):
            box.close()
        bob.carry()
        assert sorted(one for one in received if one in refs) == sorted(refs)
        assert [bob.state(ref) for ref in refs] == ["seen"] * 3
        bob.close()
        room.close()


def test_a_shelf_reads_what_was_there_and_tells_when_it_is_another(tmp_path: os.PathLike[str]) -> None:
    shelf = LocalShelf(os.fspath(tmp_path), "bob")
    shelf.make()
    shelf.write(Folder.OUTBOX, "a.json", b"one")
    sheet = shelf.read(Folder.OUTBOX, "a.json", 3)
    shelf.write(Folder.OUTBOX, "a.json", b"two")
    assert sheet.data == b"one"
    assert sheet.stamp != shelf.stamp(Folder.OUTBOX, "a.json")
    with pytest.raises(InvalidLetter, match="limit is 2"):
        shelf.read(Folder.OUTBOX, "a.json", 2)
    shelf.close()


def test_no_caller_can_send_what_counts_as_written_into_an_inbox(room: LocalRoom, bob: Postal) -> None:
    with pytest.raises(InvalidValue, match="key must not begin with 'inbox:'"):
        room.send("bob", "x", key=f"inbox:{bob.id}:1", metadata={"mailbox": {"file": "../../x.json"}})
    asked = room.send("bob", "x")
    with pytest.raises(InvalidValue, match="key must not begin with 'inbox:'"):
        room.reply(asked.id, "x", key="inbox:")
    assert room.store.look().message_by_key(room.join("alice").id, f"inbox:{bob.id}:1") is None


@pytest.mark.parametrize("file", ["../../x.json", "..", ".hidden.json", "x", "a/b.json", "a\0.json"])
def test_a_file_name_in_a_message_is_never_a_path(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """As an earlier version could have stored it."""
    monkeypatch.setattr("postroom.room.draft.RAW", "\0")
    ref = room.send("bob", "x", key=f"inbox:{bob.id}:1", metadata={"mailbox": {"file": file}})
    assert names(room.message(ref.id)) == (inbox_name(room.message(ref.id)),)


def test_a_message_cannot_name_the_file_of_another_letter(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = room.send("bob", "the other")
    bob.carry()
    [file] = bob.names("inbox")
    monkeypatch.setattr("postroom.room.draft.RAW", "\0")
    room.send("bob", "x", key=f"inbox:{bob.id}:1", metadata={"mailbox": {"file": file}})
    bob.carry()
    [hostile] = [one for one in bob.names("inbox") if one != file]
    bob.put_away(hostile)
    bob.carry()
    assert bob.state(other.id) == "offered"
    assert bob.names("inbox") == [file]
