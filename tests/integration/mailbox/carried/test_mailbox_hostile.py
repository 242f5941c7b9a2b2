"""What somebody may put into a mailbox who means no good, or nothing in particular."""

import json
import os
import socket
import tempfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from postroom.bridges.files import outbox
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder
from postroom.config import Settings
from postroom.errors import BridgeError, InvalidLetter
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


ANY = some.one_of(
    some.binary(max_size=60),
    some.recursive(
        some.none()
        | some.booleans()
        | some.integers()
        | some.text(max_size=6)
        | some.floats(allow_nan=False),
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
    ).map(lambda value: json.dumps(value).encode()),
    some.fixed_dictionaries(
        {
            "id": some.text(min_size=1, max_size=5),
            "to": some.sampled_from(["alice", "bob", "@all", "nobody", ""]),
        },
        optional={
            "payload": some.text(max_size=5)
            | some.dictionaries(some.text(max_size=3), some.integers(), max_size=2),
            "type": some.sampled_from(["note", "status", "ack", "nack", "request", "handoff", "x"]),
            "replyTo": some.sampled_from(["1", "deadbeef", "01a1ec3f-d83b-7369-9bdb-d99517156075"]),
            "priority": some.sampled_from(["urgent", "medium", "7"]),
            "expiresAt": some.sampled_from(["2020-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00", "9"]),
        },
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(max_examples=60)
@given(some.dictionaries(some.text("abc\n %$äé", min_size=1, max_size=6), ANY, max_size=5))
def test_whatever_lies_in_an_outbox_is_sent_or_set_aside(files: dict[str, bytes]) -> None:
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=base) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "_QUIET", 0.0)
        room = LocalRoom(os.path.join(place, "home"), Settings(sender_rate=0), agent="alice", project="p")
        room.join("alice")
        bob = Postal(room, os.path.join(place, "tree"))
        for name, data in files.items():
            bob.write(f"{name}.json", data)
        for _ in range(3):
            bob.carry()
        done = [*os.listdir(bob.path("outbox", "processed")), *os.listdir(bob.path("outbox", "rejected"))]
        assert bob.names("outbox", ".taking") == []
        assert {name.partition(".")[0] for name in done} == set(files)
        assert set(os.listdir(bob.path("outbox"))) == {".taking", "processed", "rejected"}
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
