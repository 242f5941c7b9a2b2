"""What cannot be attached is refused with what it is, and leaves nothing."""

import os
from contextlib import suppress

import pytest

from postroom import label
from postroom.config import Settings
from postroom.errors import (
    InvalidAttachment,
    NoRoom,
    PostroomError,
    UnknownRecipient,
)
from postroom.room import blob
from postroom.room.local import LocalRoom
from tests.attached import MakeFile, files
from tests.conftest import OpenRoom
from tests.machine import other_user

pytestmark = pytest.mark.timeout(60)


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


def test_an_attachment_that_is_only_described_must_be_one(room: LocalRoom):
    sent = room.send("builder", "x", attachments=[("f" * 64, b"content")])
    [known] = room.attachments(sent.id)
    good = {"name": "a", "media_type": "text/plain", "size": known.size, "sha256": known.sha256}
    room.send("builder", "again", attachments=[good])
    for wrong in ({"media_type": {"a": 1}}, {"media_type": "a\x1bb"}, {"size": -3}, {"sha256": "f" * 64}):
        with pytest.raises(InvalidAttachment):
            room.send("builder", "wrong", attachments=[good | wrong])
