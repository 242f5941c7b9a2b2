"""Bells whose sockets a cleaner of temporary files removes: who waits binds again, and is rung as before."""

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from postroom.bell.local import LocalBell
from postroom.config import Settings
from postroom.room.aio import AsyncRoom
from postroom.room.local import LocalRoom
from postroom.room.unit import EVERYONE
from postroom.server import exchange, feed
from tests.process import BOUND, until
from tests.relayed import linked
from tests.served import served

SOON = Settings(sweep_seconds=0.05, sender_rate=0)
NEVER = Settings(sweep_seconds=3600.0, sender_rate=0)
pytestmark = [
    pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="tells of Unix sockets"),
    pytest.mark.promise("bell-renewed"),
]


@contextmanager
def in_thread(act: Callable[[], Any]) -> Iterator[list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(act()), daemon=True)
    thread.start()
    yield found
    thread.join(BOUND)
    assert not thread.is_alive()


def waits(open_room: Any) -> Any:
    room = open_room("builder", settings=SOON)
    return [mail.body for mail in room.wait(timeout=BOUND)]


def takes(open_room: Any) -> Any:
    mail = open_room("builder", settings=SOON).take(timeout=BOUND)
    return [mail.body]


def listens(open_room: Any) -> Any:
    with open_room("builder", settings=SOON).listen(timeout=BOUND) as listening:
        return [next(listening).body]


def waits_in_a_loop(open_room: Any) -> Any:
    async def run() -> list[str]:
        async with AsyncRoom(open_room("builder", settings=SOON)) as room:
            return [mail.body for mail in await room.wait(timeout=BOUND)]

    return asyncio.run(run())


def listens_in_a_loop(open_room: Any) -> Any:
    async def run() -> list[str]:
        async with AsyncRoom(open_room("builder", settings=SOON)) as room:
            async for mail in room.listen(timeout=BOUND):
                return [mail.body]
        return []

    return asyncio.run(run())


def bell(room: LocalRoom, party: str = "") -> str:
    return os.path.join(room.home, "run", "bell", party)


def clean_socket(room: LocalRoom, party: str) -> None:
    for name in os.listdir(bell(room, party)):
        os.unlink(os.path.join(bell(room, party), name))


def clean_directory(room: LocalRoom, party: str) -> None:
    shutil.rmtree(bell(room, party))


def clean_all(room: LocalRoom, party: str) -> None:
    shutil.rmtree(bell(room))


CLEANED = pytest.mark.parametrize("clean", [clean_socket, clean_directory, clean_all])


@CLEANED
@pytest.mark.parametrize("act", [waits, takes, listens, waits_in_a_loop, listens_in_a_loop])
def test_a_waiter_whose_socket_was_removed_is_rung_again(
    room: LocalRoom, open_room: Any, act: Callable[..., Any], clean: Callable[..., None]
):
    party = room.who("builder").id
    with in_thread(lambda: act(open_room)) as found:
        until(lambda: room.bell.waiting(party) == 1)
        clean(room, party)
        until(lambda: room.bell.waiting(party) == 1)  # by itself, though nothing happens
        assert room.send("builder", "hello").reach == ["live"]
    assert found == [["hello"]]


def test_each_waiter_of_a_program_binds_again_though_one_sweeps_for_all(room: LocalRoom, open_room: Any):
    party, shared = room.who("builder").id, open_room("builder", settings=SOON)
    with in_thread(lambda: shared.wait(timeout=BOUND)), in_thread(lambda: shared.wait(timeout=BOUND)):
        until(lambda: room.bell.waiting(party) == 2)
        clean_socket(room, party)
        until(lambda: room.bell.waiting(party) == 2)
        room.send("builder", "hello")


@CLEANED
def test_a_client_of_the_relay_is_rung_again(
    open_room: Any, room: LocalRoom, monkeypatch: pytest.MonkeyPatch, clean: Callable[..., None]
):
    monkeypatch.setattr(exchange, "_SWEEP", 0.05)
    party, web_room = room.who("builder").id, open_room("planner")
    with served(web_room) as web, linked(web, "builder") as builder:
        until(lambda: room.bell.waiting(party) == 1)
        clean(room, party)
        until(lambda: room.bell.waiting(party) == 1)
        monkeypatch.setattr(exchange, "_SWEEP", 3600.0)
        room.send("builder", "hello")
        assert builder.mail()["mail"]["body"] == "hello"


def test_who_looks_on_is_rung_again(open_room: Any, room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(feed, "_SWEEP", 0.05)
    room.join("human:ana")
    web_room = open_room("planner")
    with served(web_room) as web, linked(web, "human:ana", path="/ws/projects/p") as ana:
        ana.hear("hello")
        until(lambda: room.bell.waiting(EVERYONE) == 1)
        clean_all(room, EVERYONE)
        until(lambda: room.bell.waiting(EVERYONE) == 1)
        room.send("builder", "hello")
        assert ana.hear("message")["message"]["body"] == "hello"


def test_where_it_cannot_bind_again_it_tries_later(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    one = LocalBell(str(tmp_path))
    waiter = one.waiter("x")
    shutil.rmtree(tmp_path / "x")
    (tmp_path / "x").write_text("in the way")
    assert not waiter.renew()
    assert waiter.is_lost()
    (tmp_path / "x").unlink()
    assert waiter.renew()
    assert not waiter.renew()
    assert one.ring(("x",)) == {"x": 1}
    assert waiter.wait(0)
    waiter.close()
    one.close()
