"""The file of the next letter, made before that comes: it is ours until it is used, or is not used."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from postroom.bridges.files import draft
from postroom.bridges.files.draft import Draft
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Draft]:
    """Every draft from now on, the latest last."""
    found, make = list[Draft](), draft.make

    def noted(directory: int) -> Draft:
        found.append(make(directory))
        return found[-1]

    monkeypatch.setattr(draft, "make", noted)
    return found


def is_open(one: Draft, about: os.stat_result) -> bool:
    """Whether its descriptor still is, and still that file's."""
    try:
        return os.path.samestat(os.fstat(one.file), about)
    except OSError:
        return False


def aside(shelf: LocalShelf) -> list[str]:
    return sorted(os.listdir(os.path.join(shelf.place, Folder.TAKING)))


def prepared(shelf: LocalShelf) -> str:
    """The path of the draft that it has made ahead."""
    shelf.write(Folder.INBOX, "first.json", b"1")
    shelf.prepare()
    [name] = aside(shelf)
    return os.path.join(shelf.place, Folder.TAKING, name)


def came(shelf: LocalShelf, name: str) -> os.stat_result:
    return os.stat(os.path.join(shelf.place, Folder.INBOX, name))


def test_a_mailbox_into_which_nothing_comes_has_none(shelf: LocalShelf) -> None:
    shelf.write(Folder.RECEIPTS, "a.json", b"1")
    shelf.prepare()
    assert aside(shelf) == []


def test_the_next_letter_is_written_into_it_and_one_is_enough(shelf: LocalShelf) -> None:
    path = prepared(shelf)
    shelf.prepare()
    assert len(aside(shelf)) == 1
    made = os.stat(path)
    shelf.write(Folder.INBOX, "next.json", b"2")
    assert came(shelf, "next.json").st_ino == made.st_ino
    assert aside(shelf) == []


def lengthened(path: str, _: str) -> None:
    with open(path, "ab") as file:
        file.write(b"theirs")


def linked(path: str, other: str) -> None:
    os.link(path, other)


def pointed(path: str, other: str) -> None:
    os.unlink(path)
    os.symlink(other, path)


def removed(path: str, _: str) -> None:
    os.unlink(path)


def exchanged(path: str, _: str) -> None:
    os.unlink(path)
    with open(path, "wb"):
        pass


def without_folder(path: str, other: str) -> None:
    os.rename(os.path.dirname(path), other)


@pytest.mark.parametrize("spoil", [lengthened, linked, pointed, removed, exchanged, without_folder])
def test_one_that_somebody_did_something_to_is_not_used(
    shelf: LocalShelf, made: list[Draft], tmp_path: os.PathLike[str], spoil: Callable[[str, str], None]
) -> None:
    path, other = prepared(shelf), os.path.join(tmp_path, "other")
    one, about = made[-1], os.stat(path)
    spoil(path, other)
    shelf.write(Folder.INBOX, "next.json", b"2")
    with open(os.path.join(shelf.place, Folder.INBOX, "next.json"), "rb") as file:
        assert file.read() == b"2"
    assert came(shelf, "next.json").st_nlink == 1
    assert not os.path.isfile(other) or os.path.getsize(other) == 0
    if spoil in (lengthened, linked, without_folder):  # else its number is free for the next file
        assert came(shelf, "next.json").st_ino != about.st_ino
    is_kept = spoil is without_folder  # it may come back
    assert is_open(one, about) is is_kept


def test_one_that_is_out_of_reach_is_not_kept_open(
    shelf: LocalShelf, made: list[Draft], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, stat = prepared(shelf), os.stat
    one, about = made[-1], os.stat(path)

    def refused(name: str, **where: Any) -> os.stat_result:
        if name == os.path.basename(path):
            raise PermissionError
        return stat(name, **where)

    monkeypatch.setattr(os, "stat", refused)
    shelf.write(Folder.INBOX, "next.json", b"2")
    assert not is_open(one, about)


def test_who_leaves_takes_along_what_a_process_that_was_killed_has_just_made(shelf: LocalShelf) -> None:
    with open(os.path.join(shelf.place, Folder.TAKING, ".77.0123456789ab"), "wb"):
        pass
    shelf.leave()
    assert not os.path.exists(os.path.join(shelf.place, Folder.TAKING))


def test_nobody_takes_it_for_one_that_was_left_however_old(shelf: LocalShelf) -> None:
    path = prepared(shelf)
    os.utime(path, (0, 0))
    other = LocalShelf(os.path.dirname(shelf.place), "bob")
    other.tidy()
    other.close()
    assert os.path.exists(path)


def test_who_closes_leaves_none(shelf: LocalShelf) -> None:
    prepared(shelf)
    shelf.close()
    assert aside(shelf) == []
