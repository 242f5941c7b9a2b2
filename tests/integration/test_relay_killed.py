"""Kill -9 of the daemon while its clients write to each other: they come back with their cursors, over
WebSockets and server-sent events, or post again with the same key.
"""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
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
POSTER, PERSON = "e", "human:ana"
PAUSE = 0.02


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


class Follower:
    """A browser's `EventSource`: it comes back with the id of the last event that it was told of."""

    def __init__(self, token: str, port: int, cursor: str) -> None:
        self.heard: list[str] = []
        self.returns = -1  # how often it came back
        self.over = threading.Event()
        self._cursor, self._port = cursor, port
        self._headers = {"Authorization": f"Bearer {token}"}
        self._news = threading.Condition()

    def live(self) -> None:
        while not self.over.wait(PAUSE):
            link = HTTPConnection("127.0.0.1", self._port, timeout=BOUND)
            headers = {**self._headers, "Last-Event-ID": self._cursor}
            with suppress(OSError, HTTPException), closing(link):
                link.request("GET", "/api/v1/stream", headers=headers)
                with link.getresponse() as answer:
                    assert answer.status == 200
                    self.returns += 1
                    self._read(answer)

    def _read(self, lines: Iterable[bytes]) -> None:
        """What was not told to its end is told again."""
        event: dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
                continue
            if "id" in event:
                self._hear(event)
            event = {}

    def _hear(self, event: dict[str, str]) -> None:
        with self._news:
            self._cursor = event["id"]
            if event["event"] == "message.sent":
                self.heard.append(json.loads(event["data"])["payload"]["message"]["body"])
                self._news.notify_all()

    def wait_for(self, count: int, last: str = "") -> None:
        """Until it has heard of so many, or of one that was just said."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= count or last in self.heard[-99:], BOUND)


class Poster:
    """A program without a connection of its own: it posts, and what was not answered again, with its key."""

    def __init__(self, token: str, port: int) -> None:
        self.told: list[str] = []  # that were answered
        self.retries = 0
        self.over = threading.Event()
        self._port, self._headers = port, {"Authorization": f"Bearer {token}"}
        self._link: HTTPConnection | None = None

    def live(self, follower: Follower) -> None:
        """One after the other, as soon as everybody may have heard of the last."""
        while not self.over.is_set():
            to = NAMES[len(self.told) % len(NAMES)]
            body = f"{POSTER} to {to}, {len(self.told)}"
            eventually(lambda: self._post(to, body))  # noqa: B023 - it is called here
            self.told.append(body)
            follower.wait_for(sys.maxsize, body)
        self._close()

    def _post(self, to: str, body: str) -> bool:
        try:
            self._link = self._link or HTTPConnection("127.0.0.1", self._port, timeout=BOUND)
            words = json.dumps({"to": to, "body": body, "key": body})
            self._link.request("POST", "/api/v1/messages", words, self._headers)
            answer = self._link.getresponse()
            said = json.loads(answer.read())
        except (OSError, HTTPException, ValueError):
            self._close()
            self.retries += 1
            return False
        assert answer.status == 200, said
        return True

    def _close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


@pytest.fixture
def keeper(home: str, room: LocalRoom) -> Iterator[Keeper]:
    for name in (*NAMES, POSTER, PERSON):
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
    follower = Follower(issue(room, room.known(PERSON), ()), keeper.port, room.store.look().last_cursor())
    poster = Poster(issue(room, room.known(POSTER), ()), keeper.port)

    async def heard(wanted: int) -> None:
        while sum(len(one.heard) for one in writers) < wanted:
            for one in writers:
                one.news.clear()
            waiting = [asyncio.create_task(one.news.wait()) for one in writers]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=BOUND)
            for task in waiting:
                task.cancel()

    def has_come_back(number: int) -> None:
        """Follower and poster are at it again, after so many deaths."""
        told = len(poster.told)
        eventually(lambda: follower.returns >= number and len(poster.told) > told + 1)

    async def play(posting: Future[None]) -> None:
        living = [asyncio.create_task(one.live()) for one in writers]
        for number in range(KILLS):
            await asyncio.wait_for(heard(total * (number + 1) // (KILLS + 2)), BOUND)
            await asyncio.to_thread(has_come_back, number)
            keeper.kill()
            keeper.start()
        await asyncio.to_thread(has_come_back, KILLS)
        poster.over.set()
        await asyncio.wrap_future(posting)
        await asyncio.wait_for(heard(total + len(poster.told)), BOUND)
        for task in living:
            task.cancel()
        await asyncio.gather(*living, return_exceptions=True)
        await asyncio.to_thread(follower.wait_for, total + len(poster.told))

    with ThreadPoolExecutor(2) as pool:
        following, posting = pool.submit(follower.live), pool.submit(poster.live, follower)
        try:
            asyncio.run(play(posting))
        finally:  # else the pool waits for them
            poster.over.set()
            follower.over.set()
            keeper.kill()
        following.result(BOUND)
    said = [f"{one} to {other}, {n}" for n in range(EACH) for one in NAMES for other in NAMES if one != other]
    said += poster.told
    for name, one in zip(NAMES, writers, strict=True):
        assert Counter(one.heard) == Counter(text for text in said if f" to {name}, " in text)
    assert Counter(follower.heard) == Counter(said)
    assert min(follower.returns, poster.retries) >= KILLS
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
