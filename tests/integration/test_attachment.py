"""Attachments: what goes in comes out, what is refused leaves nothing, and what nobody names goes."""

import asyncio
import hashlib
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress

import pytest

from postroom import label
from postroom.config import Settings
from postroom.errors import (
    InvalidAttachment,
    KeyConflict,
    NoRoom,
    PostroomError,
    Refused,
    StoreCorrupt,
    UnknownAttachment,
    UnknownRecipient,
)
from postroom.model.conversation import Attachment
from postroom.room import blob, content, journal, keep, replay
from postroom.room.aio import AsyncRoom
from postroom.room.backup import backup, restore
from postroom.room.digest import digest
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.conftest import OpenRoom
from tests.machine import other_user
from tests.room_activity import Steps, occurrences, reopened

pytestmark = pytest.mark.timeout(60)

MakeFile = Callable[..., str]


@pytest.fixture
def make(tmp_path: os.PathLike[str]) -> MakeFile:
    def maker(name: str, text: bytes = b"some content") -> str:
        path = os.path.join(tmp_path, name)
        with open(path, "wb") as file:
            file.write(text)
        return path

    return maker


def files(home: str) -> list[str]:
    """Every file under `blobs`, by the hash its path says."""
    found = []
    for where, _, names in os.walk(os.path.join(home, "blobs")):
        found += [os.path.basename(where) + name if name[0] != "." else name for name in names]
    return sorted(found)


def sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


# in and out


@pytest.mark.promise("attachments")
def test_what_was_attached_comes_out_as_it_was(room: LocalRoom, make: MakeFile) -> None:
    image = b"\x89PNG\r\n" + os.urandom(3_000_000)
    room.send("builder", "see", attachments=[make("plot.png", image), b"just bytes", ("fit.py", b"x = 1\n")])
    mail = room.take("builder")
    assert mail is not None
    found = room.attachments(mail.id)
    assert [(a.name, a.media_type, a.size) for a in found] == [
        ("plot.png", "image/png", len(image)),
        ("attachment-2", "text/plain", 10),
        ("fit.py", "text/x-python", 6),
    ]
    assert [content.read(a) for a in found] == [image, b"just bytes", b"x = 1\n"]
    assert mail.message.attachments is not None
    assert [a["sha256"] for a in mail.message.attachments] == [sha(content.read(a)) for a in found]


@pytest.mark.promise("private")
def test_an_attachment_is_for_its_owners_eyes_only(room: LocalRoom, home: str) -> None:
    previous = os.umask(0)
    try:
        [found] = room.attachments(room.send("builder", "see", attachments=[b"secret"]).id)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(os.stat(found.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(found.path)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(os.path.join(home, "blobs")).st_mode) == 0o700


def test_the_same_content_is_kept_once_under_whatever_name(
    room: LocalRoom, home: str, make: MakeFile
) -> None:
    room.send("builder", "one", attachments=[make("a.txt", b"same"), make("b.txt", b"same")])
    room.send("planner", "two", attachments=[b"same"], sender="builder")
    assert files(home) == [sha(b"same")]


def test_an_attachment_alone_is_a_message(room: LocalRoom) -> None:
    sent = room.send("builder", "", attachments=[b"x"])
    assert sent.message.body == ""
    assert room.send("builder", "no list", attachments=[]).message.attachments is None
    assert room.send("builder", "none", attachments=None).message.attachments is None


def test_answers_and_questions_may_have_attachments_too(room: LocalRoom) -> None:
    asked = room.send("builder", "send me the log")
    answer = room.reply(asked.id, "here", agent="builder", attachments=[("build.log", b"ok\n")])
    assert [a.name for a in room.attachments(answer.id)] == ["build.log"]
    assert room.receipts(asked.id).deliveries[0].state == "acked"


def test_an_attachment_is_sent_on_without_its_file(room: LocalRoom, home: str) -> None:
    first = room.send("builder", "see", attachments=[("a.txt", b"content")])
    again = room.send("planner", "fyi", sender="builder", attachments=first.message.attachments)
    assert again.message.attachments == first.message.attachments
    assert files(home) == [sha(b"content")]
    absent = {"name": "a", "media_type": "text/plain", "size": 1, "sha256": "0" * 64}
    with pytest.raises(InvalidAttachment, match="no message has"):
        room.send("builder", "x", attachments=[absent])
    for wrong in ({**absent, "sha256": "../../etc/passwd"}, {**absent, "name": "../x"}, {}):
        with pytest.raises(InvalidAttachment):
            room.send("builder", "x", attachments=[wrong])


def test_a_key_stands_for_the_attachments_too(room: LocalRoom, home: str) -> None:
    first = room.send("builder", "see", key="k", attachments=[("a.txt", b"one")])
    again = room.send("builder", "see", key="k", attachments=[("a.txt", b"one")])
    assert (again.id, again.duplicate) == (first.id, True)
    with pytest.raises(KeyConflict):
        room.send("builder", "see", key="k", attachments=[("a.txt", b"two")])
    assert files(home) == [sha(b"one")]


def test_a_link_to_a_file_is_that_file_under_the_name_of_the_link(room: LocalRoom, make: MakeFile) -> None:
    target = make("target.txt", b"text")
    os.symlink(target, target + ".link.txt")
    [found] = room.attachments(room.send("builder", "see", attachments=[target + ".link.txt"]).id)
    assert (found.name, content.read(found)) == ("target.txt.link.txt", b"text")


# bad input


def refusal(room: LocalRoom, *sources: object) -> InvalidAttachment:
    """Refused in a sentence, and nothing is stored, neither a message nor a file."""
    before = room.store.look().last_cursor(), files(room.home)
    with pytest.raises(InvalidAttachment) as caught:
        room.send("builder", "see", attachments=[b"a good one", *sources])  # type: ignore[list-item]
    assert caught.value.hint
    assert (room.store.look().last_cursor(), files(room.home)) == before
    return caught.value


@pytest.mark.promise("bad-input")
def test_what_is_no_file_is_refused_and_says_what_it_is(room: LocalRoom, tmp_path: os.PathLike[str]) -> None:
    pipe, loop, dangling = (os.path.join(tmp_path, name) for name in ("pipe", "loop", "dangling"))
    os.mkfifo(pipe)
    os.symlink(loop, loop)
    os.symlink("/nowhere/at/all", dangling)
    assert "is a named pipe" in str(refusal(room, pipe))
    assert "is a device" in str(refusal(room, "/dev/null"))
    assert "is a directory" in str(refusal(room, str(tmp_path)))
    assert "lead in a circle" in str(refusal(room, loop))
    assert "No such file" in str(refusal(room, dangling))
    assert "No such file" in str(refusal(room, os.path.join(tmp_path, "absent")))
    assert "null" in str(refusal(room, "nul\0byte/name"))
    assert "is a directory" in str(refusal(room, f"{tmp_path}/"))
    assert "Standard input can only be the body" in refusal(room, "-").hint


def test_what_is_no_file_is_not_even_opened(
    room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a device may do something, and a pipe's other end would notice."""
    pipe, opened, real = os.path.join(tmp_path, "pipe"), list[object](), os.open
    os.mkfifo(pipe)

    def open_noting(path: str, *args: int) -> int:
        opened.append(path)
        return real(path, *args)

    monkeypatch.setattr(os, "open", open_noting)
    refusal(room, pipe)
    assert pipe not in opened


@pytest.mark.promise("bad-input")
def test_an_empty_file_and_one_too_large_are_refused(open_room: OpenRoom, make: MakeFile) -> None:
    room = open_room("planner", settings=Settings(max_attachment_bytes=100))
    room.join("planner")
    room.join("builder")
    assert "is empty" in str(refusal(room, make("empty", b"")))
    assert "is empty" in str(refusal(room, b""))
    assert "the limit is 100" in str(refusal(room, make("large", b"x" * 101)))
    assert "the limit is 100" in str(refusal(room, b"x" * 101))
    room.send("builder", "just so", attachments=[make("fits", b"x" * 100)])


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize(
    "name", ["a\nb", "a\x1b[31mb", "a\u202egpj.exe", "x" * 300, "ü" * 128, "", "..", "a/b", "a\\b", "\udcff"]
)
def test_a_name_that_is_none_is_refused(room: LocalRoom, name: str) -> None:
    problem = refusal(room, (name, b"content"))
    assert str(problem).isprintable()
    str(problem.as_json()).encode()


@pytest.mark.promise("bad-input")
def test_a_file_whose_name_does_not_show_is_refused(room: LocalRoom, make: MakeFile) -> None:
    assert "characters that do not show" in str(refusal(room, make("a\nb")))


@pytest.mark.parametrize(
    "wrong", [3, None, ["a"], (b"a", b"b"), ("a", "b"), ("a", b"b", b"c"), bytearray(b"x")]
)
def test_what_cannot_be_attached_at_all_is_refused(room: LocalRoom, wrong: object) -> None:
    refusal(room, wrong)


def test_a_path_alone_is_not_taken_for_a_list_of_paths(room: LocalRoom) -> None:
    with pytest.raises(InvalidAttachment, match="must be a list"):
        room.send("builder", "see", attachments="plot.png")
    refusal(room, *[b"x"] * 32)


@pytest.mark.promise("bad-input")
def test_a_file_that_may_not_be_read_is_refused(scratch: str) -> None:
    user, path = other_user(), os.path.join(scratch, "secret")
    with open(path, "w") as file:
        file.write("content")
    os.chmod(path, 0o600)
    own = os.path.join(scratch, "home")
    os.chown(scratch, user, -1)
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            os.seteuid(user)
            with suppress(PostroomError), LocalRoom(own, Settings(), agent="a", project="p") as room:
                room.join("a")
                try:
                    room.send("a", "x", attachments=[path])
                except InvalidAttachment as problem:
                    os.write(writing, str(problem).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading) as file:
        said = file.read()
    assert said.endswith("Permission denied"), said


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize("deed", ["grows", "shrinks", "is rewritten", "vanishes"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    room: LocalRoom, make: MakeFile, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    path = make("moving", b"x" * (2 * blob.CHUNK))
    os.utime(path, (1, 1))

    def meanwhile(step: str) -> None:
        if step != "attachment-reading" or not os.path.exists(path):
            return
        if deed == "grows":
            with open(path, "ab") as file:
                file.write(b"more")
        elif deed == "shrinks":
            os.truncate(path, blob.CHUNK)
        elif deed == "is rewritten":
            with open(path, "r+b") as file:
                file.write(b"y")
        else:
            os.unlink(path)

    monkeypatch.setattr(label, "here", meanwhile)
    assert "changed while it was read" in str(refusal(room, path))


@pytest.mark.promise("atomic")
def test_a_message_that_is_refused_leaves_no_file(room: LocalRoom, home: str) -> None:
    with pytest.raises(UnknownRecipient):
        room.send("nobody", "see", attachments=[b"content"])
    with pytest.raises(PostroomError):
        room.send("builder", "see", attachments=[b"content"], priority="odd")
    with pytest.raises(PostroomError):
        room.send("builder", "see", attachments=[b"content"], thread="00000000")
    assert files(home) == []


def test_where_there_is_no_room_none_is_begun(home: str, open_room: OpenRoom) -> None:
    with pytest.raises(NoRoom):
        open_room("planner", create=False).send("builder", "see", attachments=[b"content"])
    assert not os.path.exists(home)


# out


def some(room: LocalRoom, *sources: tuple[str, bytes]) -> list[Attachment]:
    return room.attachments(room.send("builder", "see", attachments=list(sources)).id)


def test_an_attachment_is_named_by_number_or_name(room: LocalRoom) -> None:
    sent = room.send("builder", "see", attachments=[("a", b"1"), ("2", b"2"), ("same", b"3"), ("same", b"4")])
    found = room.attachments(sent.id)

    def text(which: str) -> bytes:
        return content.read(content.pick(sent.message, found, which))

    assert [text("1"), text("a"), text("2"), text("4")] == [b"1", b"1", b"2", b"4"]
    for which in ("0", "5", "b", "-1", "²", ""):
        with pytest.raises(UnknownAttachment, match="no attachment"):
            text(which)
    with pytest.raises(UnknownAttachment, match="2 attachments named 'same'"):
        text("same")


def test_saving_overwrites_nothing_unless_told_to(room: LocalRoom, tmp_path: os.PathLike[str]) -> None:
    [found] = some(room, ("a.txt", b"new"))
    there, link = os.path.join(tmp_path, "there"), os.path.join(tmp_path, "link")
    with open(there, "wb") as file:
        file.write(b"precious")
    os.symlink(there, link)
    for path in (there, link):
        with pytest.raises(Refused, match="exists"):
            content.save(found, path)
    assert content.save(found, link, force=True) == link
    with open(there, "rb") as file:
        assert file.read() == b"precious", "a link is replaced, not followed"
    content.save(found, there, force=True)
    assert content.save(found, str(tmp_path)) == os.path.join(tmp_path, "a.txt")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "home", "link", "there"]
    for name in ("a.txt", "link", "there"):
        with open(os.path.join(tmp_path, name), "rb") as file:
            assert file.read() == b"new"


def test_all_are_saved_and_of_two_with_one_name_the_second_is_numbered(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    place = os.path.join(tmp_path, "out")
    os.mkdir(place)
    found = some(room, ("a.txt", b"1"), ("a.txt", b"2"), (".bashrc", b"3"), ("plain", b"4"), ("plain", b"5"))
    saved = content.save_all(found, place)
    names = [os.path.relpath(path, place) for path in saved]
    assert names == ["a.txt", "a-2.txt", "_bashrc", "plain", "plain-2"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [("../../x", "_._.._x"), ("a\nb", "a_b"), ("-rf", "_rf"), (".", "_"), ("", "_"), ("C:\\x", "C__x")],
)
def test_a_name_from_elsewhere_can_do_no_harm(name: str, safe: str) -> None:
    assert content.safe_name(Attachment(name, "text/plain", 1, "0" * 64, "")) == safe


def test_what_is_damaged_is_not_handed_out(room: LocalRoom, tmp_path: os.PathLike[str]) -> None:
    first, second = some(room, ("a.txt", b"content"), ("b.txt", b"other"))
    with open(first.path, "wb") as file:
        file.write(b"CONTENT")
    os.unlink(second.path)
    for found in (first, second):
        with pytest.raises(StoreCorrupt):
            content.save(found, os.path.join(tmp_path, "out"))
    assert not os.path.exists(os.path.join(tmp_path, "out"))


# what is kept, and how long


@pytest.mark.promise("attachments")
def test_verify_tells_of_each_attachment_that_is_not_as_it_was_sent(room: LocalRoom) -> None:
    gone, short, other = some(room, ("gone", b"1"), ("short", b"22"), ("other", b"333"))
    assert verify(room).problems == []
    os.unlink(gone.path)
    os.truncate(short.path, 1)
    with open(other.path, "wb") as file:
        file.write(b"444")
    found = verify(room).problems
    assert len(found) == 3
    assert re.search(r"'gone' of message \S+ is not there", found[0])
    assert "has 1 bytes instead of 2" in found[1]
    assert "is not what was sent" in found[2]
    assert len(verify(room, deep=False).problems) == 2, "a quick look does not read the files"
    some(room, ("gone", b"1"), ("short", b"22"))
    assert len(verify(room).problems) == 1, "what is sent again mends what was lost"


@pytest.mark.promise("attachments")
def test_a_file_goes_with_the_last_message_that_names_it(room: LocalRoom, home: str) -> None:
    first = room.send("builder", "one", attachments=[b"shared", b"only here"])
    second = room.send("builder", "two", attachments=[b"shared"])
    for sent in (first, second):
        room.ack(sent.id, agent="builder")
    assert keep.redact(room, first.id).elsewhere, "the shared one is still in the room"
    assert files(home) == [sha(b"shared")]
    room.store.clock = lambda clock=room.store.clock: clock() + 1000
    keep.prune(room, room.store.clock())
    assert files(home) == []
    assert os.listdir(os.path.join(home, "blobs")) == []
    assert verify(room).problems == []


@pytest.mark.promise("keep")
def test_redaction_leaves_no_trace_of_an_attachment(room: LocalRoom, home: str) -> None:
    secret = b"the secret of all secrets, in full"
    sent = room.send("builder", "see", attachments=[("secret-name-of-a-file.txt", secret)])
    journal.sync(room)
    assert occurrences(home, secret)
    assert occurrences(home, b"secret-name-of-a-file")
    done = keep.redact(room, sent.id)
    assert not done.elsewhere
    assert occurrences(home, secret) == []
    assert occurrences(home, b"secret-name-of-a-file") == []
    assert room.attachments(sent.id) == []
    assert verify(room).problems == []


def test_the_files_of_a_deleted_project_and_of_a_purged_message_go(room: LocalRoom, home: str) -> None:
    room.join("brief/one")
    room.send("brief/one", "x", sender="brief/one", attachments=[b"project"])
    dead = room.send("builder", "x", attachments=[b"dead"])
    kept = room.send("builder", "x", attachments=[b"kept"])
    room.delete_project("brief")
    assert files(home) == sorted([sha(b"dead"), sha(b"kept")])
    while not room.dead():
        room.take("builder", id=dead.id, handed=False)
        room.store.clock = lambda clock=room.store.clock: clock() + 60_000
        room.sweep()
    room.purge(dead.id)
    assert files(home) == [sha(b"kept")]
    assert [content.read(a) for a in room.attachments(kept.id)] == [b"kept"]


@pytest.mark.promise("attachments")
def test_a_backup_holds_the_attachments_and_restoring_it_brings_them_back(
    room: LocalRoom, home: str, open_room: OpenRoom, tmp_path: os.PathLike[str]
) -> None:
    copy, large = os.path.join(tmp_path, "copy.db"), os.urandom(blob.CHUNK * 2 + 5)
    old = room.send("builder", "one", attachments=[("a", large), ("b", b"shared")])
    backup(room, copy)
    later = room.send("builder", "two", attachments=[b"later", b"shared"])
    keep.redact(room, old.id)
    done = restore(room, copy)
    assert [content.read(a) for a in room.attachments(old.id)] == [large, b"shared"]
    assert files(home) == sorted([sha(large), sha(b"shared")])
    assert verify(room).problems == []
    restore(room, os.path.join(done.kept, "room.db"))
    assert [content.read(a) for a in room.attachments(later.id)] == [b"later", b"shared"]
    elsewhere = open_room("planner", home=f"{home}-2")
    restore(elsewhere, copy)
    assert [content.read(a) for a in elsewhere.attachments(old.id)] == [large, b"shared"]
    assert verify(elsewhere).problems == []


def test_a_backup_of_a_room_that_lost_a_file_holds_the_rest(
    room: LocalRoom, home: str, open_room: OpenRoom, tmp_path: os.PathLike[str]
) -> None:
    first, second = some(room, ("a", b"lost"), ("b", b"there"))
    os.unlink(first.path)
    copy = os.path.join(tmp_path, "copy.db")
    backup(room, copy)
    elsewhere = open_room("planner", home=f"{home}-2")
    restore(elsewhere, copy)
    assert files(f"{home}-2") == [second.sha256]


def test_a_backup_begins_anew_when_a_message_goes_with_its_file_meanwhile(
    room: LocalRoom,
    open_room: OpenRoom,
    home: str,
    tmp_path: os.PathLike[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = room.send("builder", "one", attachments=[b"kept"])
    gone = room.send("builder", "two", attachments=[b"gone"])
    other, copies = open_room("planner"), list[str]()

    def meanwhile(step: str) -> None:
        if step == "backup-copied":
            copies.append(step)
            if len(copies) == 1:
                keep.redact(other, gone.id)

    monkeypatch.setattr(label, "here", meanwhile)
    copy = os.path.join(tmp_path, "copy.db")
    backup(room, copy)
    assert len(copies) == 2
    elsewhere = open_room("planner", home=f"{home}-2")
    restore(elsewhere, copy)
    assert [content.read(a) for a in elsewhere.attachments(kept.id)] == [b"kept"]
    assert verify(elsewhere).problems == []


@pytest.mark.promise("replay")
def test_a_replay_brings_the_attachments_that_lie_beside_the_journals(room: LocalRoom, home: str) -> None:
    sent = room.send("builder", "one", attachments=[("a", b"content")])
    journal.sync(room)
    done = replay.replay(journal.directory(room), f"{home}-2")
    assert done.digest == digest(room.store.whole())
    with reopened(f"{home}-2") as again:
        assert [content.read(a) for a in again.attachments(sent.id)] == [b"content"]
        assert verify(again).problems == []


def test_a_room_lost_but_for_its_journals_and_files_is_rebuilt_in_its_place(
    room: LocalRoom, home: str
) -> None:
    sent = room.send("builder", "one", attachments=[("a", b"content")])
    journal.sync(room)
    room.close()
    for name in ("room.db", "room.db-wal", "room.db-shm"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(home, name))
    replay.replay(os.path.join(home, "events"), home)
    with reopened(home) as again:
        assert [content.read(a) for a in again.attachments(sent.id)] == [b"content"]
        assert verify(again).problems == []


# crashes and races


@pytest.mark.promise("crash")
def test_who_is_killed_while_attaching_loses_nothing_and_leaves_nothing_for_long(
    room: LocalRoom, home: str, make: MakeFile
) -> None:
    path = make("a.txt", b"content")
    earlier = room.send("builder", "earlier", attachments=[b"earlier"])
    room.close()
    places = Steps(home, "attach", path).killed_at_each()
    assert {place.partition(":")[0] for place in places} >= {"blob-staged", "blob-placed"}
    for place, copy in places.items():
        with reopened(copy) as again:
            assert verify(again).problems == [], place
            stored = [mail for mail in again.peek("builder") if mail.body == "attached"]
            for mail in stored:
                assert [content.read(a) for a in again.attachments(mail.id)] == [b"content", b"more"], place
            keep.prune(again, 0)
            wanted = {sha(b"earlier")} | ({sha(b"content"), sha(b"more")} if stored else set())
            assert set(files(copy)) == wanted, place
            assert [content.read(a) for a in again.attachments(earlier.id)] == [b"earlier"], place
            sent = again.send("builder", "again", attachments=[path])
            assert [content.read(a) for a in again.attachments(sent.id)] == [b"content"], place


@pytest.mark.promise("crash")
def test_a_redaction_killed_at_any_step_is_finished_by_the_next(room: LocalRoom, home: str) -> None:
    sent = room.send("builder", "x", attachments=[b"the secret, whole", b"and more of it"])
    room.close()
    for place, copy in Steps(home, "redact", sent.id).killed_at_each().items():
        with reopened(copy) as again:
            assert verify(again).problems == [], place
            keep.redact(again, sent.id)
            assert files(copy) == [], place


def test_a_sweep_takes_nothing_that_a_sender_is_about_to_name(
    room: LocalRoom, open_room: OpenRoom, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is there, and nobody names it, when the sender has taken it in: then another sweeps."""
    old = room.send("builder", "old", attachments=[b"content"])
    other, swept = open_room("planner"), list[int]()

    def meanwhile(step: str) -> None:
        if step == "blob-staged":
            keep.redact(other, old.id)
            swept.append(blob.sweep(other))

    monkeypatch.setattr(label, "here", meanwhile)
    sent = room.send("builder", "new", attachments=[b"content"])
    assert swept == [0]
    assert [content.read(a) for a in room.attachments(sent.id)] == [b"content"]
    assert files(home) == [sha(b"content")]


@pytest.mark.promise("durability")
def test_a_room_set_to_full_waits_for_the_disk_before_it_names_a_file(
    open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = open_room("planner", settings=Settings(durability="full"))
    room.join("planner")
    synced, real = list[int](), os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(stat.S_IFMT(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    room.send("planner", "see", attachments=[b"content"])
    named, whole = stat.S_IFDIR, stat.S_IFREG
    assert synced[:4] == [named, whole, named, named]  # `blobs`, the content, its name, its directory's name
    synced.clear()
    room.send("planner", "see", attachments=[b"content"])
    assert synced.count(named) == 0, "it is there already"


@pytest.mark.promise("crash")
def test_a_restore_killed_at_any_step_has_the_files_of_the_room_it_left(
    room: LocalRoom, home: str, tmp_path: os.PathLike[str]
) -> None:
    copy = os.path.join(tmp_path, "copy.db")
    old = room.send("builder", "old", attachments=[b"old"])
    backup(room, copy)
    keep.redact(room, old.id)
    room.send("builder", "new", attachments=[b"new"])
    room.close()
    for place, there in Steps(home, "restore", copy).killed_at_each().items():
        with reopened(there) as again:
            assert verify(again).problems == [], place
            found = [content.read(a) for mail in again.peek("builder") for a in again.attachments(mail.id)]
            assert found in ([b"new"], [b"old"]), place
            keep.prune(again, 0)
            assert files(there) == [sha(found[0])], place


async def _read_all(room: AsyncRoom, ref: str) -> list[bytes]:
    return [content.read(found) for found in await room.attachments(ref)]


def test_the_async_face_sends_and_finds_them_too(room: LocalRoom) -> None:
    async def play() -> None:
        async with AsyncRoom(room) as face:
            sent = await face.send("builder", "x" * 20_000, attachments=[b"content"])
            assert await _read_all(face, sent.id) == [b"content"]
            mail = await face.take("builder")
            assert mail is not None
            assert await face.spill(mail) is not None

    asyncio.run(play())


def test_an_attachment_that_is_only_described_must_be_one(room: LocalRoom):
    sent = room.send("builder", "x", attachments=[("f" * 64, b"content")])
    [known] = room.attachments(sent.id)
    good = {"name": "a", "media_type": "text/plain", "size": known.size, "sha256": known.sha256}
    room.send("builder", "again", attachments=[good])
    for wrong in ({"media_type": {"a": 1}}, {"media_type": "a\x1bb"}, {"size": -3}, {"sha256": "f" * 64}):
        with pytest.raises(InvalidAttachment):
            room.send("builder", "wrong", attachments=[good | wrong])
