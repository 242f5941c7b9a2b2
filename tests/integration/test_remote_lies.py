"""A room elsewhere that lies: it gets no file of this machine, and what it says wrongly is told as that."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import errors
from postroom.protocol import record
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
