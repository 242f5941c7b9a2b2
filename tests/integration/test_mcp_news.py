"""Who is told of changes, when clients do not read, come twice at once, or go."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest

from postroom.mcp_server.alone import Alone
from postroom.mcp_server.news import News
from postroom.mcp_server.port import Caller
from postroom.mcp_server.visit import Arrival, Visit
from postroom.room.local import LocalRoom
from tests.process import BOUND

INBOX = "postroom://inbox"


class Listener:
    """A client that has subscribed; `reads` is set while it reads."""

    def __init__(self, room: LocalRoom, news: News, name: str) -> None:
        self.visit = Visit(name)
        self._news = news
        self.admits = threading.Event()
        self.admits.set()
        self._caller = Caller(room.who(name), room.on_behalf(name, "p", None))
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()

    async def send_resource_updated(self, uri: str) -> None:
        self.told.put_nowait(uri)
        await self.reads.wait()

    def _admit(self) -> Caller:
        assert self.admits.wait(BOUND)
        return self._caller

    def _context(self) -> Any:
        return SimpleNamespace(request=Arrival(self.visit, self._admit), session=self)

    async def subscribe(self, uri: str) -> None:
        await self._news.subscribe(self._context(), types.SubscribeRequestParams(uri=uri))

    async def unsubscribe(self, uri: str) -> None:
        await self._news.unsubscribe(self._context(), types.UnsubscribeRequestParams(uri=uri))

    async def hears(self) -> str:
        return await asyncio.wait_for(self.told.get(), BOUND)


def play(room: LocalRoom, scene: Callable[[News, Listener, Listener], Awaitable[None]]) -> None:
    """With `builder` and `planner`, who listen."""

    async def run() -> None:
        news = News(Alone(room, "p"))
        try:
            await scene(news, *(Listener(room, news, name) for name in ("builder", "planner")))
        finally:
            news.close()

    asyncio.run(run())


def test_a_client_that_does_not_read_keeps_nothing_from_the_others(room: LocalRoom):
    async def scene(news: News, one: Listener, other: Listener) -> None:
        for each in (one, other):
            await each.subscribe(INBOX)
        one.reads.clear()
        for _ in range(3):
            room.send("builder", "hello")
        assert await one.hears() == INBOX
        room.send("planner", "hello", sender="builder")
        assert await other.hears() == INBOX
        one.reads.set()
        assert await one.hears() == INBOX
        room.send("planner", "hello", sender="builder")
        assert await other.hears() == INBOX
        assert one.told.empty()  # what came while it did not read is told once

    play(room, scene)


def test_who_subscribes_twice_at_once_is_one_and_is_forgotten_when_it_goes(room: LocalRoom):
    async def scene(news: News, one: Listener, other: Listener) -> None:
        await other.subscribe(INBOX)
        await asyncio.gather(one.subscribe(INBOX), one.subscribe("postroom://agent/nobody"))
        await one.unsubscribe(INBOX)
        room.send("builder", "hello")
        room.send("planner", "hello", sender="builder")
        assert await other.hears() == INBOX
        assert one.told.empty()
        await one.subscribe(INBOX)
        news.leave(one.visit)
        assert not news.follows(one.visit)
        room.send("builder", "hello")
        room.send("planner", "hello", sender="builder")
        assert await other.hears() == INBOX
        assert one.told.empty()

    play(room, scene)


def test_who_changes_its_mind_at_once_is_told_nothing(room: LocalRoom):
    """It says so while the room is still asked who it is."""

    async def scene(_: News, one: Listener, __: Listener) -> None:
        one.admits.clear()
        wishes = [asyncio.ensure_future(one.subscribe(INBOX)), asyncio.ensure_future(one.unsubscribe(INBOX))]
        asyncio.get_running_loop().call_soon(one.admits.set)  # when both have begun
        await asyncio.gather(*wishes)
        await one.subscribe("postroom://agent/other")
        room.send("builder", "hello")
        room.join("other")
        assert await one.hears() == "postroom://agent/other"

    play(room, scene)


def test_a_visit_that_ends_while_it_subscribes_leaves_nothing_behind(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    async def scene(news: News, one: Listener, other: Listener) -> None:
        ask = Alone.do

        async def leaving(host: Alone, *asked: Any) -> Any:
            found = await ask(host, *asked)
            news.leave(one.visit)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(Alone, "do", leaving)
            await one.subscribe(INBOX)
        news.leave(one.visit)  # as it is told when its last request is done
        await other.subscribe(INBOX)
        room.send("builder", "hello")
        room.send("planner", "hello", sender="builder")
        assert await other.hears() == INBOX
        assert one.told.empty()

    play(room, scene)


@pytest.mark.parametrize("name", ["id", "handle"])
def test_who_follows_a_message_is_told_how_far_it_gets(room: LocalRoom, name: str):
    sent = room.send("builder", "hello")
    uri = f"postroom://message/{getattr(sent.message, name)}"

    async def scene(news: News, one: Listener, other: Listener) -> None:
        for each in (one, other):
            await each.subscribe(uri)
        room.send("builder", "another")
        room.ack(sent.id, agent="builder")
        assert (await one.hears(), await other.hears()) == (uri, uri)

    play(room, scene)


@pytest.mark.parametrize("name", ["id", "handle"])
@pytest.mark.parametrize("of", ["its first message", "an answer"])
def test_who_follows_a_thread_by_any_message_of_it_is_told_of_the_next(room: LocalRoom, name: str, of: str):
    first = room.send("builder", "how far?")
    answer = room.reply(first.id, "half of it", agent="builder")
    uri = f"postroom://thread/{getattr((first if of == 'its first message' else answer).message, name)}"

    async def scene(news: News, one: Listener, other: Listener) -> None:
        for each in (one, other):
            await each.subscribe(uri)
        room.send("builder", "another thing")
        room.reply(answer.id, "and the rest?")
        assert (await one.hears(), await other.hears()) == (uri, uri)

    play(room, scene)


def test_who_follows_what_is_not_its_own_is_told_nothing(room: LocalRoom):
    room.join("other")
    theirs = room.send("other", "secret")

    async def scene(news: News, one: Listener, other: Listener) -> None:
        for kind in ("message", "thread"):
            await one.subscribe(f"postroom://{kind}/{theirs.id}")
            await one.subscribe(f"postroom://{kind}/{theirs.message.handle}")
        await one.subscribe("postroom://thread/nonsense")
        await one.subscribe(INBOX)
        room.reply(theirs.id, "kept", agent="other")
        room.ack(room.peek("planner")[0])
        room.send("builder", "hello")
        assert await one.hears() == INBOX

    play(room, scene)


def test_who_listens_goes_on_hearing_after_the_store_could_not_be_read(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("postroom.mcp_server.news._PAUSE", 0.0)
    failures = [OSError("no space left on device")]

    async def scene(news: News, one: Listener, other: Listener) -> None:
        change = news._change

        def fails_once(event: Any) -> Any:
            if failures:
                raise failures.pop()
            return change(event)

        monkeypatch.setattr(news, "_change", fails_once)
        await one.subscribe(INBOX)
        room.send("builder", "lost")
        room.send("builder", "hello")
        assert await one.hears() == INBOX
        assert not failures

    play(room, scene)
