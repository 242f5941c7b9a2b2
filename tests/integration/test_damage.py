"""Files that are not the room they should be: damaged, cut short, or something else altogether."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.config import Settings
from postroom.errors import (
    PostroomError,
    StoreCorrupt,
    StoreError,
)
from postroom.room.local import LocalRoom
from tests.conftest import OpenRoom

HASTY = Settings(busy_seconds=0.1)


# damage


def _try_everything(open_room: OpenRoom, home: str) -> set[str]:
    """What becomes of each kind of use: `done` or a code. Any other exception fails the test."""
    uses: list[Callable[[LocalRoom], object]] = [
        lambda room: room.peek("builder"),
        lambda room: room.send("builder", "x"),
        lambda room: room.take("builder"),
        lambda room: list(room.events()),
        lambda room: room.agents(),
        lambda room: room.sent(),
        lambda room: room.wait("builder", timeout=0.001),
        lambda room: room.projects(),
        lambda room: room.dead(),
        lambda room: next(room.listen("builder", timeout=0.001), None),
        lambda room: room.sweep(),
        lambda room: room.hush("builder"),
    ]
    found = set()
    for use in uses:
        room = open_room("planner", home=home, settings=HASTY)
        try:
            use(room)
            found.add("done")
        except PostroomError as exc:
            found.add(exc.code)
        finally:
            room.close()
    return found


@pytest.fixture
def whole(room: LocalRoom, home: str) -> bytes:
    """A closed room of a good many pages, as bytes."""
    for n in range(40):
        room.send("builder", f"message {n} " + "x" * 500, payload={"n": n})
    for _ in range(10):
        room.settle(room.take("builder") or pytest.fail("nothing there"))
    room.close()
    with open(os.path.join(home, "room.db"), "rb") as file:
        return file.read()


def _put(tmp_path: Path, name: str, content: bytes) -> str:
    home = tmp_path / name
    home.mkdir()
    (home / "room.db").write_bytes(content)
    return str(home)


@pytest.mark.promise("corrupt")
@pytest.mark.parametrize("size", [15, 100, 512, 4096, 100_000])
def test_random_bytes_are_no_room(tmp_path: Path, open_room: OpenRoom, size: int):
    content = random.Random(size).randbytes(size)
    home = _put(tmp_path, "noise", content)
    assert _try_everything(open_room, home) == {"store_corrupt"}
    assert (tmp_path / "noise" / "room.db").read_bytes() == content  # it was not made worse


@pytest.mark.promise("corrupt")
def test_a_room_cut_short_is_called_damaged(tmp_path: Path, open_room: OpenRoom, whole: bytes):
    for part in (0.1, 0.3, 0.5, 0.9):
        home = _put(tmp_path, f"cut-{part}", whole[: int(len(whole) * part)])
        found = _try_everything(open_room, home)
        assert "store_corrupt" in found
        assert found <= {"done", "store_corrupt"}


@pytest.mark.promise("corrupt")
@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes_never_end_in_a_traceback(tmp_path: Path, open_room: OpenRoom, whole: bytes, seed: int):
    chance = random.Random(seed)
    damaged = bytearray(whole)
    for _ in range(200):
        damaged[chance.randrange(100, len(damaged))] ^= 1 << chance.randrange(8)
    home = _put(tmp_path, "flipped", bytes(damaged))
    _try_everything(open_room, home)


@pytest.mark.promise("corrupt")
@pytest.mark.parametrize("page", range(1, 12))
def test_a_page_of_noise_never_ends_in_a_traceback(
    tmp_path: Path, open_room: OpenRoom, whole: bytes, page: int
):
    noise = random.Random(page).randbytes(4096)
    content = whole[: page * 4096] + noise + whole[(page + 1) * 4096 :]
    found = _try_everything(open_room, _put(tmp_path, "noisy", content))
    assert found <= {"done", "store_corrupt", "store"}


def test_a_damaged_header_is_called_damage(tmp_path: Path, open_room: OpenRoom, whole: bytes):
    home = _put(tmp_path, "header", b"SQLite format 4\0" + whole[16:])
    assert _try_everything(open_room, home) == {"store_corrupt"}


# what stands where the room should


@pytest.mark.parametrize("obstacle", ["directory", "dangling link", "home is a file", "fifo"])
def test_an_obstacle_where_the_room_should_be_is_named(tmp_path: Path, open_room: OpenRoom, obstacle: str):
    home = tmp_path / "home"
    if obstacle == "home is a file":
        home.write_text("not a directory")
    else:
        home.mkdir()
        path = home / "room.db"
        if obstacle == "directory":
            path.mkdir()
        elif obstacle == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / "nowhere" / "room.db")
    with pytest.raises(StoreError) as refusal:
        open_room("planner", home=str(home)).join("planner")
    assert str(home) in str(refusal.value)


@pytest.mark.parametrize(
    "name",
    [
        "with space",
        "100%",
        "what?",
        "a#b",
        "%3f",
        "straße",
        "日本",
        "back\\slash",
        "a&b=c",
        "'quoted\"",
        "//",
    ],
)
def test_a_home_may_have_any_name(tmp_path: Path, open_room: OpenRoom, name: str):
    home = "/" + str(tmp_path) + "/home" if name == "//" else str(tmp_path / name)
    room = open_room("planner", home=home)
    room.join("builder")
    room.send("builder", "hello")
    assert [mail.body for mail in room.wait("builder", timeout=1)] == ["hello"]
    assert os.path.getsize(os.path.join(home, "room.db")) > 0


def test_a_room_may_be_reached_through_a_link(tmp_path: Path, open_room: OpenRoom):
    real = open_room("planner", home=str(tmp_path / "real"))
    real.join("builder")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    linked = open_room("planner", home=str(tmp_path / "link"))
    linked.send("builder", "hello")
    assert [mail.body for mail in real.peek("builder")] == ["hello"]


def test_a_corrupt_room_says_how_to_go_on(tmp_path: Path, open_room: OpenRoom):
    home = _put(tmp_path, "noise", b"x" * 5000)
    with pytest.raises(StoreCorrupt) as refusal:
        open_room("planner", home=home).peek("planner")
    assert "verify" in refusal.value.hint
