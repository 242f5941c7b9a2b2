"""Who has which letter in hand, among programs on one machine."""

import os

import pytest

from postroom.bridges.files.hold import FOLDER, Here, Holds
from postroom.errors import BridgeError

LETTERS = ["2-0000000001-aaaaaaaa.json", "2-0000000002-bbbbbbbb.json"]


@pytest.fixture
def mailbox(tmp_path: str) -> str:
    os.makedirs(os.path.join(tmp_path, "bob", "inbox"))
    return os.path.join(tmp_path, "bob")


def holds(mailbox: str) -> Holds:
    return Holds(Here(mailbox))


def test_what_one_has_another_does_not_get(mailbox: str):
    one, other = holds(mailbox), holds(mailbox)
    assert one.take(LETTERS, 1) == [(LETTERS[0], False)]
    assert other.take(LETTERS, 5) == [(LETTERS[1], False)]
    assert one.take(LETTERS, 5) == []
    one.close()
    other.close()


@pytest.mark.timeout(20)  # else each hold that there might have been is looked for
@pytest.mark.parametrize("number", ["999999999999", "9" * 200, "\u0663"])
def test_what_is_called_a_hold_as_nobody_has_held_is_none_and_nobody_counts_to_it(mailbox: str, number: str):
    one = holds(mailbox)
    os.mkdir(os.path.join(mailbox, FOLDER))
    with open(os.path.join(mailbox, FOLDER, f"{LETTERS[0]}.{number}"), "wb"):
        pass
    assert one.take(LETTERS, 1) == [(LETTERS[0], False)]
    one.done(LETTERS[0])
    one.close()
    assert os.listdir(os.path.join(mailbox, FOLDER)) == [f"{LETTERS[0]}.{number}"]


def test_how_often_a_letter_was_held_is_known_though_only_others_are_asked_for(mailbox: str):
    one, other = holds(mailbox), holds(mailbox)
    one.take(LETTERS, 1)
    one.close()
    assert other.take(LETTERS[1:], 5, LETTERS) == [(LETTERS[1], False)]
    assert other.take(LETTERS, 5) == [(LETTERS[0], True)]
    other.close()


@pytest.mark.parametrize("letter", ["2-0000000009-cccccccc.json", LETTERS[0]])
def test_a_directory_that_is_called_like_a_hold_keeps_nobody_from_their_mail(mailbox: str, letter: str):
    one = holds(mailbox)
    os.makedirs(os.path.join(mailbox, FOLDER, f"{letter}.0"))
    assert [name for name, _ in one.take(LETTERS, 5)] == LETTERS
    for name in LETTERS:
        one.done(name)
    one.close()


def test_what_is_done_leaves_nothing_behind(mailbox: str):
    one = holds(mailbox)
    for letter, _ in one.take(LETTERS, 5):
        one.done(letter)
    one.close()
    assert os.listdir(os.path.join(mailbox, FOLDER)) == []


def test_what_the_end_of_one_leaves_is_anothers_and_known_to_have_been_held(mailbox: str):
    one, other, third = holds(mailbox), holds(mailbox), holds(mailbox)
    one.take(LETTERS, 1)
    one.close()
    assert other.take(LETTERS, 1) == [(LETTERS[0], True)]
    assert third.take(LETTERS[:1], 1) == []
    other.close()
    assert third.take(LETTERS[:1], 1) == [(LETTERS[0], True)]
    third.close()


def test_what_is_left_of_letters_that_are_gone_is_removed(mailbox: str):
    one = holds(mailbox)
    one.take(LETTERS, 5)
    one.close()
    other = holds(mailbox)
    assert other.take([], 5) == []
    other.close()
    assert os.listdir(os.path.join(mailbox, FOLDER)) == []


def test_a_hold_that_nobody_can_read_is_nobodys(mailbox: str):
    os.makedirs(os.path.join(mailbox, FOLDER))
    with open(os.path.join(mailbox, FOLDER, f"{LETTERS[0]}.0"), "wb") as file:
        file.write(b"\xff../../etc/passwd\0")
    one = holds(mailbox)
    assert one.take(LETTERS, 1) == [(LETTERS[0], True)]
    one.close()


def test_no_link_in_a_mailbox_leads_to_what_lies_elsewhere(mailbox: str, tmp_path: str):
    elsewhere = os.path.join(tmp_path, "elsewhere")
    os.mkdir(elsewhere)
    with open(os.path.join(elsewhere, "2-0000000009-cccccccc.json.0"), "w", encoding="ascii"):
        pass
    os.symlink(elsewhere, os.path.join(mailbox, FOLDER))
    one = holds(mailbox)
    with pytest.raises(BridgeError, match="cannot be used"):
        one.take(LETTERS, 5)
    one.close()
    assert len(os.listdir(elsewhere)) == 1


def test_what_is_no_hold_stays_where_it_is_and_is_not_waited_for(mailbox: str):
    folder = os.path.join(mailbox, FOLDER)
    os.mkdir(folder)
    with open(os.path.join(folder, "notes.txt"), "w", encoding="ascii"):
        pass
    os.mkfifo(os.path.join(folder, "2-0000000009-cccccccc.json.0"))
    os.mkfifo(os.path.join(folder, f"{LETTERS[0]}.0"))
    one = holds(mailbox)
    assert one.take(LETTERS[:1], 5) == [(LETTERS[0], True)]
    one.done(LETTERS[0])
    one.close()
    assert os.listdir(folder) == ["notes.txt"]
