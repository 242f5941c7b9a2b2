"""Large bodies: whole in the store, and in a file for who must not be given all of it at once."""

import os
import stat

import pytest

from postroom import label
from postroom.config import Settings
from postroom.model.message import Mail
from postroom.room import keep, spill
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.conftest import OpenRoom

LARGE = "Ein großer Körper, Zeile für Zeile.\n" * 1000


def arrived(room: LocalRoom, body: str) -> Mail:
    room.send("builder", body)
    mail = room.take("builder")
    assert mail is not None
    return mail


def spilled(home: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(home, "run", "spill")))
    except FileNotFoundError:
        return []


@pytest.mark.promise("spill")
def test_a_large_body_is_in_a_file_under_the_id_of_its_message(room: LocalRoom, home: str) -> None:
    mail = arrived(room, LARGE)
    path = room.spill(mail)
    assert path is not None
    assert path == os.path.join(home, "run", "spill", f"{mail.id}.md")
    with open(path, encoding="utf-8") as file:
        assert file.read() == LARGE
    assert mail.body == LARGE
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_spilling_again_gives_the_same_file_and_one_that_was_cut_is_made_whole(room: LocalRoom) -> None:
    mail = arrived(room, LARGE)
    path = room.spill(mail)
    assert path is not None
    inode = os.stat(path).st_ino
    assert room.spill(mail) == path
    assert os.stat(path).st_ino == inode
    os.truncate(path, 10)
    assert room.spill(mail) == path
    with open(path, encoding="utf-8") as file:
        assert file.read() == LARGE


def test_a_body_is_large_by_its_bytes_and_by_the_setting(open_room: OpenRoom) -> None:
    room = open_room("planner", settings=Settings(spill_bytes=100))
    room.join("planner")
    room.join("builder")
    assert room.spill(arrived(room, "x" * 100)) is None
    assert room.spill(arrived(room, "x" * 101)) is not None
    assert room.spill(arrived(room, "ü" * 50)) is None
    assert room.spill(arrived(room, "ü" * 51)) is not None


@pytest.mark.promise("spill")
def test_the_file_holds_nothing_that_does_not_show(room: LocalRoom) -> None:
    mail = arrived(room, "a\x1b[31mb\u202ec\r\nd\u00a0e\tf\u200b" + "x" * 20_000)
    path = room.spill(mail)
    assert path is not None
    with open(path, encoding="utf-8", newline="") as file:
        assert file.read() == "abc\nd\u00a0e\tf" + "x" * 20_000


@pytest.mark.promise("spill")
def test_the_file_goes_when_its_message_is_redacted_or_pruned(room: LocalRoom, home: str) -> None:
    first, second, third = (arrived(room, f"{n} {LARGE}") for n in range(3))
    for mail in (first, second, third):
        room.spill(mail)
        room.ack(mail)
    keep.redact(room, first.id)
    assert spilled(home) == sorted(f"{mail.id}.md" for mail in (second, third))
    assert room.spill(first) is None, "what was taken before it was redacted is not written down again"
    fourth = arrived(room, f"4 {LARGE}")
    room.spill(fourth)
    room.store.clock = lambda clock=room.store.clock: clock() + 1000
    keep.prune(room, room.store.clock())
    assert spilled(home) == [f"{fourth.id}.md"]
    assert verify(room).problems == []


def test_a_file_nobody_was_shown_for_a_week_goes_and_can_be_made_again(room: LocalRoom, home: str) -> None:
    mail = arrived(room, LARGE)
    path = room.spill(mail)
    assert path is not None
    keep.prune(room, 0)
    assert spilled(home)
    long_ago = room.store.clock() / 1000 - 8 * 86_400
    os.utime(path, (long_ago, long_ago))
    room.spill(mail)
    keep.prune(room, 0)
    assert spilled(home), "being shown again counts"
    os.utime(path, (long_ago, long_ago))
    keep.prune(room, 0)
    assert spilled(home) == []
    assert room.spill(mail) == path


@pytest.mark.promise("spill")
def test_a_redaction_in_the_very_moment_of_spilling_wins(
    room: LocalRoom, open_room: OpenRoom, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail, other = arrived(room, LARGE), open_room("planner")

    def meanwhile(step: str) -> None:
        if step == "spill-written":
            monkeypatch.undo()
            keep.redact(other, mail.id)
            with open(os.path.join(home, "run", "spill", f"{mail.id}.md"), "w") as file:
                file.write("written after the other looked")

    monkeypatch.setattr(label, "here", meanwhile)
    assert room.spill(mail) is None
    assert spilled(home) == []


def test_a_beginning_is_whole_lines_where_that_loses_little() -> None:
    assert spill.beginning("one\ntwo\nthree", 10) == "one\ntwo"
    assert spill.beginning("a\n" + "b" * 50, 10) == "a\n" + "b" * 8
    assert spill.beginning("c" * 50, 10) == "c" * 10
