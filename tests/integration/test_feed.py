"""What the feed keeps in mind of the room's events, and that nobody misses what it has forgotten."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from postroom.room.local import LocalRoom
from postroom.server import feed as place
from postroom.server.desk import Desk
from postroom.server.feed import Feed
from tests.process import BOUND


def test_the_feed_forgets_what_is_too_much_and_all_when_nobody_follows_and_who_is_slow_misses_nothing(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(place, "HEAVY", 4000)
    monkeypatch.setattr(place, "_SLICE", 2)

    async def run() -> None:
        desk = Desk(room, cast("Any", None))
        feed = Feed(desk)
        slow, quick = feed.follow(await feed.cursor()), feed.follow(await feed.cursor())
        sent: list[str] = []

        async def written(following: Any) -> str:
            """The next message."""
            while True:
                item = await asyncio.wait_for(anext(following), BOUND)
                if item.event.type == "message.sent":
                    return item.event.message.id

        for n in range(20):
            sent.append(room.send("builder", f"{n} {'x' * 1000}").id)
            assert await written(quick) == sent[-1]
            assert sum(item.size for item in feed._recent) == feed._size <= 4000
        assert feed._recent
        assert feed._size > 1000
        assert [await written(slow) for _ in sent] == sent
        for following in (slow, quick):
            await cast("AsyncGenerator[Any]", following).aclose()
        assert (list(feed._recent), feed._size) == ([], 0)
        page = feed._read(room.store.look().cursor(next(iter(room.events()))))
        assert sum(item.size for item in page) < 4000  # of 20,000
        await desk.end()

    asyncio.run(run())
