"""Kill -9 of the daemon while its clients write to each other: they come back with their cursors."""

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import websockets
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from postroom.daemon import control
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.token import issue
from postroom.room.verify import verify
from tests.process import BOUND, ROOT, environment, eventually, free_port
from tests.relayed import Link

KILLS = 4
EACH = 60  # messages that each writes to each other
NAMES = ("a", "b", "c", "d")


class Keeper:
    """A daemon that is killed and started again."""

    def __init__(self, home: str) -> None:
        self._home, self.port = home, free_port()
        self.start()

    def start(self) -> None:
        limits = {
            "POSTROOM_HTTP_PORT": str(self.port),
            "POSTROOM_HTTP_RATE": "0",
            "POSTROOM_SENDER_RATE": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "postroom.daemon", self._home], cwd=ROOT, env=environment(**limits)
        )

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(BOUND)


class Writer:
    """A program that writes, reads, and comes back."""

    def __init__(self, name: str, token: str, port: int) -> None:
        self.heard: list[str] = []  # in its one context
        self._cursor = ""
        self._todo = [
            (other, f"{name} to {other}, {n}") for n in range(EACH) for other in NAMES if other != name
        ]
        self._url = f"ws://127.0.0.1:{port}/ws/projects/p?agent={name}"
        self._headers = {"Authorization": f"Bearer {token}"}
        self.news = asyncio.Event()

    async def live(self) -> None:
        while True:
            with suppress(WebSocketException, OSError):
                url = f"{self._url}&cursor={self._cursor}" if self._cursor else self._url
                async with websockets.connect(url, additional_headers=self._headers) as link:
                    await self._talk(link)
            await asyncio.sleep(0)

    async def _talk(self, link: Any) -> None:
        await self._say(link)
        async for text in link:
            frame = json.loads(text)
            if frame.get("type") == "mail":
                self.heard.append(frame["mail"]["body"])
                self._cursor = frame["cursor"]
                self.news.set()
                if len(self.heard) % 5 == 0:
                    await link.send(json.dumps({"op": "seen", "cursor": self._cursor}))
            elif "ok" in frame and self._todo and frame["id"] == self._todo[0][1]:
                self._todo.pop(0)
                await self._say(link)
            else:
                assert "error" not in frame, frame

    async def _say(self, link: Any) -> None:
        """The next one; said again, if need be, with the same key."""
        if self._todo:
            to, body = self._todo[0]
            await link.send(json.dumps({"id": body, "op": "send", "to": to, "body": body, "key": body}))


@pytest.fixture
def keeper(home: str, room: LocalRoom) -> Iterator[Keeper]:
    for name in NAMES:
        room.join(name)
    keeper = Keeper(home)
    yield keeper
    keeper.kill()


@pytest.mark.promise("relay-resume")
def test_clients_of_a_daemon_that_is_killed_under_load_lose_nothing_and_get_nothing_twice(
    room: LocalRoom, keeper: Keeper
):
    writers = [Writer(name, issue(room, room.known(name), ()), keeper.port) for name in NAMES]
    total = len(NAMES) * (len(NAMES) - 1) * EACH

    async def heard(wanted: int) -> None:
        while sum(len(one.heard) for one in writers) < wanted:
            for one in writers:
                one.news.clear()
            waiting = [asyncio.create_task(one.news.wait()) for one in writers]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=BOUND)
            for task in waiting:
                task.cancel()

    async def play() -> None:
        living = [asyncio.create_task(one.live()) for one in writers]
        for number in range(KILLS):
            await asyncio.wait_for(heard(total * (number + 1) // (KILLS + 2)), BOUND)
            keeper.kill()
            keeper.start()
        await asyncio.wait_for(heard(total), BOUND)
        for task in living:
            task.cancel()
        await asyncio.gather(*living, return_exceptions=True)

    asyncio.run(play())
    for name, one in zip(NAMES, writers, strict=True):
        wanted = [f"{other} to {name}, {n}" for n in range(EACH) for other in NAMES if other != name]
        assert Counter(one.heard) == Counter(wanted)
    assert not [mail for mail in room.dead() if mail.delivery.state is State.DEAD]
    assert verify(room).problems == []


def test_what_a_client_was_told_is_noted_as_seen_survives_the_daemon(room: LocalRoom, keeper: Keeper):
    token, sent = issue(room, room.known("a"), ()), [room.send("a", f"{n}", sender="b").id for n in range(20)]
    url = f"ws://127.0.0.1:{keeper.port}/ws/projects/p?agent=a"
    eventually(lambda: control.ping(room.home))
    with Link(connect(url, additional_headers={"Authorization": f"Bearer {token}"})) as link:
        cursors = [link.mail()["cursor"] for _ in sent]
        link.say(op="seen", cursor=cursors[9])
        assert link.ask("seen", cursor=cursors[-1])["ok"] == {"seen": 10}
        keeper.kill()  # on its word
    assert {room.receipts(one).deliveries[0].state for one in sent} == {State.SEEN}
