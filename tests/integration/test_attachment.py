"""Attachments: what goes in comes out, under its name or one that does no harm."""

import asyncio
import os
import stat

import pytest

from postroom.errors import (
    InvalidAttachment,
    KeyConflict,
    Refused,
    StoreCorrupt,
    UnknownAttachment,
)
from postroom.model.conversation import Attachment
from postroom.room import content
from postroom.room.aio import AsyncRoom
from postroom.room.local import LocalRoom
from tests.attached import MakeFile, files, sha, some

pytestmark = pytest.mark.timeout(60)


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


# out


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
