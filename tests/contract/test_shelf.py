"""What a shelf is, wherever its folders lie: on this machine, in an S3 bucket, or behind an SSH server."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from postroom.bridges.files import remote
from postroom.bridges.files.depot import Depot
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.remote import RemoteShelf
from postroom.bridges.files.shelf import MARK, Folder, Shelf
from postroom.errors import InvalidLetter, InvalidValue
from tests.stores import S3, Sshd

KINDS = ("local", "s3", "sftp")


class Case(NamedTuple):
    """One kind of shelf, and how somebody else writes a file there."""

    kind: str
    open: Callable[[], Shelf]
    put: Callable[[str, bytes], None]
    all: Callable[[str], list[str]]  # what is in a folder, with what is hidden; nothing: it is gone
    reads: int = 20  # of a test that reads again and again


@pytest.fixture(params=KINDS)
def case(request: pytest.FixtureRequest, tmp_path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    tree = os.path.join(tmp_path, "tree")
    os.mkdir(tree)
    with ExitStack() as stack:

        def opened(shelf: Shelf) -> Shelf:
            stack.callback(shelf.close)
            return shelf

        if request.param == "local":
            yield Case("local", lambda: opened(LocalShelf(tree, "bob")), _writer(tree), _lister(tree), 5_000)
            return
        server: S3 | Sshd = request.getfixturevalue("s3" if request.param == "s3" else "sshd")
        server.reach(monkeypatch)
        site = server.site(tree)
        put = lambda at, data: site.put(f"bob/{at}", data)  # noqa: E731
        depot = remote.connect(site.url)
        stack.callback(depot.close)
        yield Case(request.param, lambda: opened(RemoteShelf(site.url, "bob")), put, _remote_lister(depot))


def _writer(tree: str) -> Callable[[str, bytes], None]:
    def put(at: str, data: bytes) -> None:
        path = os.path.join(tree, "bob", at)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    return put


def _lister(tree: str) -> Callable[[str], list[str]]:
    def names(folder: str) -> list[str]:
        path = os.path.join(tree, "bob", folder)
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    return names


def _remote_lister(depot: Depot) -> Callable[[str], list[str]]:
    def names(folder: str) -> list[str]:
        try:
            return sorted(name for name in depot.names(f"bob/{folder}") if name != ".keep")
        except FileNotFoundError:
            return []

    return names


@pytest.fixture
def shelf(case: Case) -> Shelf:
    shelf = case.open()
    shelf.make()
    return shelf


def test_what_others_write_is_listed_in_the_order_of_its_names_and_read(case: Case, shelf: Shelf):
    for name in ("b.json", "a.json", ".half"):
        case.put(f"outbox/{name}", name.encode())
    assert shelf.names(Folder.OUTBOX) == ["a.json", "b.json", "processed", "rejected"]
    assert shelf.read(Folder.OUTBOX, "b.json", 100).data == b"b.json"
    assert shelf.has(Folder.OUTBOX, "a.json")
    assert not shelf.has(Folder.OUTBOX, "c.json")


def test_every_folder_is_empty_when_it_was_made_and_making_it_again_changes_nothing(shelf: Shelf):
    shelf.write(Folder.INBOX, "a.json", b"{}")
    shelf.make()
    assert shelf.names(Folder.INBOX) == ["a.json", "processed"]
    for folder in (Folder.READ, Folder.TAKING, Folder.TAKEN, Folder.REJECTED, Folder.RECEIPTS):
        assert shelf.names(folder) == []


def test_an_inbox_that_was_never_made_is_not_there(case: Case):
    with pytest.raises(FileNotFoundError):
        case.open().names(Folder.INBOX)


def test_what_is_written_is_there_for_another_and_replaces_what_was(case: Case, shelf: Shelf):
    shelf.write(Folder.RECEIPTS, "a.json", b"one")
    shelf.write(Folder.RECEIPTS, "a.json", b"the other", lasting=False)
    assert case.open().read(Folder.RECEIPTS, "a.json", 100).data == b"the other"
    assert shelf.names(Folder.RECEIPTS) == ["a.json"]


def test_what_is_to_lie_beside_another_file_is_written_only_where_that_is(shelf: Shelf):
    with pytest.raises(FileNotFoundError):
        shelf.write(Folder.INBOX, "a.json", b"{}", beside=".mark")
    assert not shelf.has(Folder.INBOX, "a.json")
    shelf.write(Folder.INBOX, ".mark", b"")
    shelf.write(Folder.INBOX, "a.json", b"{}", beside=".mark")
    assert shelf.has(Folder.INBOX, "a.json")


def test_who_reads_while_others_write_finds_all_of_one_of_them(case: Case, shelf: Shelf):
    other, over = case.open(), threading.Event()
    shelf.write(Folder.RECEIPTS, "a.json", b"a" * 500)

    def write() -> None:
        while not over.is_set():
            for letter in (b"b", b"a"):
                other.write(Folder.RECEIPTS, "a.json", letter * 500, lasting=False)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = {shelf.read(Folder.RECEIPTS, "a.json", 1000).data for _ in range(case.reads)}
    finally:
        over.set()
        writer.join()
    assert found <= {b"a" * 500, b"b" * 500}


def test_a_file_is_moved_with_all_that_is_in_it_and_is_not_where_it_was(case: Case, shelf: Shelf):
    shelf.write(Folder.INBOX, "a.json", b"said")
    stamp = shelf.stamp(Folder.INBOX, "a.json")
    assert shelf.move(Folder.INBOX, "a.json", Folder.READ, "a.json") == (stamp if case.kind != "sftp" else "")
    assert not shelf.has(Folder.INBOX, "a.json")
    assert shelf.read(Folder.READ, "a.json", 100).data == b"said"


def test_nothing_is_moved_over_another(shelf: Shelf):
    shelf.write(Folder.INBOX, "a.json", b"new")
    shelf.write(Folder.READ, "a.json", b"old")
    with pytest.raises(FileExistsError):
        shelf.move(Folder.INBOX, "a.json", Folder.READ, "a.json")
    assert shelf.read(Folder.INBOX, "a.json", 100).data == b"new"
    assert shelf.read(Folder.READ, "a.json", 100).data == b"old"


def test_what_is_gone_is_said_to_be_gone_and_may_be_removed_again(shelf: Shelf):
    for ask in (
        lambda: shelf.read(Folder.OUTBOX, "a.json", 100),
        lambda: shelf.stamp(Folder.OUTBOX, "a.json"),
        lambda: shelf.move(Folder.OUTBOX, "a.json", Folder.TAKEN, "a.json"),
    ):
        with pytest.raises(FileNotFoundError):
            ask()
    shelf.write(Folder.OUTBOX, "a.json", b"{}")
    shelf.remove(Folder.OUTBOX, "a.json")
    shelf.remove(Folder.OUTBOX, "a.json")
    assert not shelf.has(Folder.OUTBOX, "a.json")


def test_a_file_that_is_too_large_is_no_letter_and_can_still_be_set_aside(case: Case, shelf: Shelf):
    case.put("outbox/huge.json", b"x" * 101)
    with pytest.raises(InvalidLetter, match="100"):
        shelf.read(Folder.OUTBOX, "huge.json", 100)
    assert shelf.read(Folder.OUTBOX, "huge.json", 101).data == b"x" * 101
    shelf.move(Folder.OUTBOX, "huge.json", Folder.REJECTED, "huge.json")
    assert shelf.names(Folder.REJECTED) == ["huge.json"]


def test_an_empty_file_is_empty(case: Case, shelf: Shelf):
    case.put("outbox/empty.json", b"")
    assert shelf.read(Folder.OUTBOX, "empty.json", 100).data == b""
    shelf.move(Folder.OUTBOX, "empty.json", Folder.REJECTED, "empty.json")
    assert shelf.read(Folder.REJECTED, "empty.json", 100).data == b""


def test_a_stamp_is_another_when_something_else_was_written(case: Case, shelf: Shelf):
    case.put("outbox/a.json", b"half")
    half = shelf.read(Folder.OUTBOX, "a.json", 100).stamp
    assert shelf.stamp(Folder.OUTBOX, "a.json") == half
    case.put("outbox/a.json", b"half and half")
    assert shelf.stamp(Folder.OUTBOX, "a.json") != half


@pytest.mark.parametrize("name", ["ünï.json", "a b.json", "a*[b]?.json", "%2e%2e.json", "-rf.json", "~.json"])
def test_a_name_is_a_name_whatever_it_looks_like(case: Case, shelf: Shelf, name: str):
    case.put(f"outbox/{name}", b"{}")
    case.put("outbox/other.json", b"other")
    assert name in shelf.names(Folder.OUTBOX)
    assert shelf.read(Folder.OUTBOX, name, 100).data == b"{}"
    shelf.move(Folder.OUTBOX, name, Folder.REJECTED, name)
    shelf.remove(Folder.REJECTED, name)
    assert shelf.names(Folder.REJECTED) == []
    assert shelf.read(Folder.OUTBOX, "other.json", 100).data == b"other"


@pytest.mark.parametrize("name", ["../a.json", "a/b.json", "..", ""])
def test_no_name_leads_out_of_its_folder(shelf: Shelf, name: str):
    with pytest.raises((InvalidLetter, InvalidValue)):
        shelf.write(Folder.INBOX, name, b"{}")
    assert shelf.names(Folder.INBOX) == ["processed"]


def test_two_shelves_of_one_mailbox_do_not_take_the_same_file(case: Case, shelf: Shelf):
    other = case.open()
    shelf.write(Folder.OUTBOX, "a.json", b"{}")
    shelf.move(Folder.OUTBOX, "a.json", Folder.TAKING, "1.a.json")
    with pytest.raises(FileNotFoundError):
        other.move(Folder.OUTBOX, "a.json", Folder.TAKING, "2.a.json")
    assert other.names(Folder.TAKING) == ["1.a.json"]


def test_what_has_no_descriptor_says_that_it_must_be_looked_at(case: Case, shelf: Shelf):
    assert shelf.is_blind == (shelf.fileno() < 0)
    assert shelf.is_blind == (case.kind != "local")
    assert shelf.is_slow == (case.kind != "local")


HOLD, SIGN = "1-0000000001-0a1b2c3d.json.0", ".0123456789abcdef"


def test_who_leaves_takes_along_what_was_only_for_carrying_and_no_mail(case: Case, shelf: Shelf):
    shelf.write(Folder.INBOX, MARK, b"boot")
    for at in (f"inbox/.held/{HOLD}", f"inbox/.held/{SIGN}", "inbox/a.json", "outbox/b.json"):
        case.put(at, b"{}")
    shelf.write(Folder.RECEIPTS, "c.json", b"{}")
    shelf.leave()
    assert case.all("inbox") == ["a.json", "processed"]
    assert case.all("outbox") == ["b.json", "processed", "rejected"]
    assert case.all("receipts") == ["c.json"]
    shelf.leave()
    shelf.make()
    shelf.move(Folder.OUTBOX, "b.json", Folder.TAKING, "1.b.json")
    assert shelf.names(Folder.TAKING) == ["1.b.json"]


def test_who_leaves_leaves_what_is_somebody_elses(case: Case, shelf: Shelf):
    case.put("inbox/.held/notes.txt", b"mine")
    case.put(f"inbox/.held/{HOLD}", b"")
    case.put("outbox/.taking/1.a.json", b"{}")
    shelf.leave()
    assert case.all("inbox/.held") == ["notes.txt"]
    assert case.all("outbox/.taking") == ["1.a.json"]


def test_a_mailbox_that_is_gone_can_be_left(case: Case):
    case.open().leave()
    assert case.all("") == []
