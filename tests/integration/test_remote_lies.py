"""A room elsewhere that lies: it gets no file of this machine, and what it says wrongly is told as that."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import errors
from postroom.protocol import record
from postroom.room import carriage, timely
from postroom.room.local import LocalRoom
from tests.lying import Liar, lying

CONTENT = b"what was sent"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def liar() -> Iterator[Liar]:
    with lying() as found:
        yield found


def _named(sha256: Any) -> dict[str, Any]:
    one = {"n": 1, "name": "a.txt", "media_type": "text/plain", "size": len(CONTENT), "sha256": sha256}
    return {"attachments": [one]}


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize("way", ["{}", "../{name}", "a/../../{name}", "..", "", "A" * 64, "é" * 64, 7, None])
def test_a_server_cannot_choose_where_an_attachment_is_written(liar: Liar, tmp_path: Any, way: Any):
    planted = tmp_path / "planted"
    name = way.format(planted, name="planted") if isinstance(way, str) else way
    liar.says = {"/attachments": _named(name), "/attachments/1": CONTENT}
    with liar.room() as room, pytest.raises(errors.PostroomError):
        room.attachments("x")
    assert not planted.exists()


@pytest.mark.promise("remote-trust")
def test_a_file_of_this_machine_is_never_shown_as_an_attachment(liar: Liar, tmp_path: Any):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    liar.says = {"/attachments": _named(str(secret)), "/attachments/1": CONTENT}
    with liar.room() as room, pytest.raises(errors.PostroomError):
        room.attachments("x")
    assert secret.read_text() == "mine"


@pytest.mark.promise("remote-trust")
def test_an_attachment_is_what_its_digest_says_or_is_refused(liar: Liar):
    liar.says = {"/attachments": _named(DIGEST), "/attachments/1": b"something else"}
    with liar.room() as room:
        with pytest.raises(errors.InvalidAttachment, match="not what was sent"):
            room.attachments("x")
        liar.says["/attachments/1"] = CONTENT
        [found] = room.attachments("x")
        with open(found.path, "rb") as file:
            assert file.read() == CONTENT


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize("is_link", [False, True])
def test_what_was_changed_under_an_attachments_name_is_fetched_again(
    liar: Liar, tmp_path: Any, is_link: bool
):
    liar.says = {"/attachments": _named(DIGEST), "/attachments/1": CONTENT}
    with liar.room() as room:
        [found] = room.attachments("x")
        os.unlink(found.path)
        other = tmp_path / "other"
        other.write_text("mine")
        if is_link:
            os.symlink(other, found.path)
        else:
            os.link(other, found.path)
        [again] = room.attachments("x")
        with open(again.path, "rb") as file:
            assert file.read() == CONTENT
    assert other.read_text() == "mine"


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize("way", ["{}", "../{name}", 7, None])
def test_a_server_cannot_choose_where_a_large_body_is_written(
    liar: Liar, room: LocalRoom, tmp_path: Any, way: Any
):
    room.send("builder", "x" * 5000)
    [mail] = room.peek("builder")
    planted = tmp_path / "planted"
    name = way.format(planted, name="planted") if isinstance(way, str) else way
    liar.says = {"/inbox": {"messages": [{**record.mail(mail), "id": name}]}}
    with liar.room() as elsewhere, pytest.raises(errors.PostroomError):
        elsewhere.frame(elsewhere.peek(), here="p")
    assert not planted.with_suffix(".txt").exists()


NO_ANSWERS = [
    b"[]", b"null", b"{}", b'{"messages":5}', b'{"messages":null}', b'{"messages":[1]}',
    b'{"messages":[{"id":1}]}', b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"", b"<html>",
    b'{"messages":[' + b"9" * 5_000 + b"]}", b'{"error":5}', b'{"self":1}',
    b'{"error":"store_busy","message":{"a":1},"hint":[1],"self":7}',
    b'{"mail":{"id":1},"events":[7],"recipients":[1],"attachments":[{}],"held":[{}],"bundle":{"mails":1}}',
    b'{"events":[],"attachments":[7],"held":[7],"bundle":7,"mail":7,"groups":{"a":[7]}}',
]  # fmt: skip
ASKED = {
    "peek": lambda room: room.peek(),
    "take": lambda room: room.take(),
    "take_bundle": lambda room: room.take_bundle(),
    "may_write": lambda room: room.may_write("a", "b"),
    "events": lambda room: list(room.events()),
    "attachments": lambda room: room.attachments("x"),
    "held": lambda room: room.held(),
    "groups": lambda room: room.groups(),
    "leave": lambda room: room.leave(),
    "listen": lambda room: next(room.listen(timeout=1)),
}


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("status", [200, 302, 418, 500])
def test_what_is_no_answer_of_a_room_is_told_as_that(liar: Liar, asked: str, status: int):
    liar.status = status
    with liar.room() as room:
        for said in NO_ANSWERS:
            liar.otherwise = said
            with pytest.raises(errors.PostroomError) as caught:
                ASKED[asked](room)
            assert str(caught.value)
            assert caught.value.hint


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize(
    "said",
    [b'data: {"id":1}\n\n', b"event: mail\ndata: no\n\n", b"event: mail\ndata: {}\n\n", b"event: mail\n\n",
     b"event: mail\ndata: \xff\n\n", b"event: mail\ndata: " + b"[" * 100_000 + b"\n\n", b"\xff\n\n"],
)  # fmt: skip
@pytest.mark.parametrize("first", [b"", b"id: a\n\n"])
def test_a_stream_that_is_none_of_a_room_is_told_as_that(liar: Liar, first: bytes, said: bytes):
    liar.says = {"/inbox/listen": first + said}
    with liar.room() as room, pytest.raises(errors.PostroomError) as caught:
        next(room.listen(timeout=30))
    assert caught.value.hint


def _dripping(liar: Liar, began: bytes, drop: bytes) -> Any:
    def write(file: Any) -> None:
        file.write(began)
        while not liar.ended.wait(0.01):
            file.write(drop)

    return write


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize(
    ("began", "drop"),
    [(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", b" "), (b"HTTP/1.1 200 OK\r\n", b"x"),
     (b"", b"HTTP/1.1 100 Continue\r\n\r\n")],
)  # fmt: skip
def test_an_answer_that_comes_by_drops_is_waited_for_only_so_long(
    liar: Liar, began: bytes, drop: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(carriage, "_PATIENCE", 0.2)
    liar.otherwise = _dripping(liar, began, drop)
    with liar.room() as room, pytest.raises(errors.Unreachable):
        room.peek()


@pytest.mark.promise("remote-trust")
def test_a_stream_that_comes_by_drops_is_waited_for_only_so_long(liar: Liar):
    liar.says["/inbox/listen"] = _dripping(liar, b"HTTP/1.1 200 OK\r\n\r\nid: a\n\nevent: mail\ndata: ", b" ")
    with liar.room() as room:
        assert list(room.listen(timeout=0.2)) == []


def _endless(head: bytes) -> Any:
    def write(file: Any) -> None:
        file.write(head)
        while True:
            file.write(b" " * 4096)

    return write


@pytest.mark.promise("remote-trust")
@pytest.mark.parametrize("head", [b"\r\n", b"Content-Length: 999999999999\r\n\r\n"])
def test_an_answer_without_an_end_is_not_read_to_its_end(
    liar: Liar, head: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(timely, "LARGEST", 1 << 20)
    liar.otherwise = _endless(b"HTTP/1.1 200 OK\r\n" + head)
    with liar.room() as room, pytest.raises(errors.Unreachable, match="more than 1 MB"):
        room.peek()


@pytest.mark.promise("remote-trust")
def test_an_answer_that_was_cut_off_is_none(liar: Liar):
    liar.otherwise = lambda file: file.write(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"messages":[]}')
    with liar.room() as room, pytest.raises(errors.Unreachable):
        room.peek()
