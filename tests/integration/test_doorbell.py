"""What wakes a keeper, and that others can ring it again when its place was removed."""

import os
import shutil
import socket
from collections.abc import Iterator

import pytest

from postroom.bell.local import LocalBell
from postroom.daemon.doorbell import Doorbell

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="tells of Unix sockets")


@pytest.fixture
def bell(tmp_path: os.PathLike[str]) -> Iterator[LocalBell]:
    bell = LocalBell(os.path.join(tmp_path, "bell"))
    yield bell
    bell.close()


@pytest.fixture
def doorbell(bell: LocalBell) -> Iterator[Doorbell]:
    doorbell = Doorbell(bell, "bob")
    yield doorbell
    doorbell.close()


def test_rings_from_anywhere_wake_once_and_are_forgotten_together(bell: LocalBell, doorbell: Doorbell):
    assert not doorbell.wait(0)
    for _ in range(3):
        bell.ring(("bob",))
        doorbell.ring()
    assert doorbell.wait(60)
    assert not doorbell.wait(0)


def test_what_is_watched_wakes_until_it_was_read(doorbell: Doorbell):
    told, teller = os.pipe()
    doorbell.watch(told)
    os.write(teller, b"!")
    assert doorbell.wait(60)
    assert doorbell.wait(0), "it is not for a bell to read it"
    os.read(told, 1)
    assert not doorbell.wait(0)
    doorbell.watch(-1)
    os.close(told)
    os.close(teller)


@pytest.mark.parametrize("is_told", [False, True])
def test_a_place_that_was_removed_is_made_again_at_the_next_look(
    bell: LocalBell, doorbell: Doorbell, tmp_path: os.PathLike[str], is_told: bool
):
    shutil.rmtree(os.path.join(tmp_path, "bell"))
    assert doorbell.is_lost()
    if is_told:
        doorbell.ring()
    assert doorbell.wait(0) is is_told
    assert not doorbell.is_lost()
    bell.ring(("bob",))
    assert doorbell.wait(60)
