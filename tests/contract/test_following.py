"""What following a room promises, by every door that tells of events: all, in order, from a cursor on."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from postroom.room.local import LocalRoom
from postroom.room.remote import RemoteRoom
from tests.conftest import UNLIMITED
from tests.relayed import linked
from tests.served import Served, served

# (cursor, what was said) of each message, after a cursor
Told = Iterator[tuple[str, str]]
Follow = Callable[[str], Told]


@pytest.fixture
def web(home: str) -> Iterator[Served]:
    room = LocalRoom(home, UNLIMITED, agent="planner", project="p")
    for name in ("planner", "builder", "human:ana"):
        room.join(name)
    with served(room) as found:
        yield found
    room.close()


def _in_process(web: Served, stack: ExitStack, after: str) -> Told:
    following: Any = web.room.events(follow=True, after=after)
    stack.callback(following.close)
    return ((str(one.seq), one.message.body) for one in following if one.message)


def _remote(room: RemoteRoom, stack: ExitStack, after: str) -> Told:
    stack.enter_context(room)
    following: Any = room.events(follow=True, after=after)
    stack.callback(following.close)
    return ((str(one.seq), one.message.body) for one in following if one.message)


def _unix(web: Served, stack: ExitStack, after: str) -> Told:
    return _remote(RemoteRoom(f"unix://{web.path}", agent="planner", project="p"), stack, after)


def _http(web: Served, stack: ExitStack, after: str) -> Told:
    return _remote(RemoteRoom(web.url, token=web.token("human:ana")), stack, after)


def _websocket(web: Served, stack: ExitStack, after: str) -> Told:
    link = stack.enter_context(linked(web, "human:ana", path=f"/ws/projects/p?cursor={after}"))
    while True:
        frame = link.hear("message")
        yield frame["cursor"], frame["message"]["body"]


def _sse(web: Served, stack: ExitStack, after: str) -> Told:
    """As a browser's `EventSource` comes back."""
    link = web.connection()
    stack.callback(link.close)
    headers = {"Authorization": f"Bearer {web.token('human:ana')}", "Last-Event-ID": after}
    link.request("GET", "/api/v1/stream", headers=headers)
    stream, frame = link.getresponse(), dict[str, str]()
    assert stream.headers["content-type"].startswith("text/event-stream")
    while line := stream.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            frame[name] = value
        elif frame.pop("event", "") == "message.sent":
            yield frame["id"], json.loads(frame["data"])["payload"]["message"]["body"]


DOORS = {"local": _in_process, "unix": _unix, "http": _http, "websocket": _websocket, "sse": _sse}


@pytest.fixture(params=DOORS)
def follow(request: pytest.FixtureRequest, web: Served) -> Iterator[Follow]:
    with ExitStack() as stack:
        yield lambda after: DOORS[request.param](web, stack, after)


def bodies(told: Told, number: int) -> list[str]:
    return [next(told)[1] for _ in range(number)]


def test_all_that_was_said_since_a_cursor_is_told_in_order(web: Served, follow: Follow):
    web.room.send("builder", "before")
    after = web.room.store.look().last_cursor()
    sent = [f"{n}" for n in range(20)]
    for body in sent:
        web.room.send("builder", body)
    assert bodies(follow(after), 20) == sent


def test_what_is_said_later_is_told_as_it_happens(web: Served, follow: Follow):
    told = follow(web.room.store.look().last_cursor())
    web.room.send("builder", "first")
    assert bodies(told, 1) == ["first"]
    for n in range(3):
        web.room.send("builder", f"{n}")
        assert bodies(told, 1) == [f"{n}"]


@pytest.mark.promise("relay-resume")
def test_who_comes_back_with_what_it_heard_last_misses_nothing_and_hears_nothing_twice(
    web: Served, follow: Follow
):
    after = web.room.store.look().last_cursor()
    for n in range(6):
        web.room.send("builder", f"{n}")
    first = follow(after)
    assert bodies(first, 2) == ["0", "1"]
    cursor, body = next(first)
    web.room.send("builder", "meanwhile")
    assert [body, *bodies(follow(cursor), 4)] == ["2", "3", "4", "5", "meanwhile"]


def test_more_than_a_page_is_told_whole(web: Served, follow: Follow):
    after = web.room.store.look().last_cursor()
    sent = [f"{n}" for n in range(620)]
    for body in sent:
        web.room.send("builder", body)
    assert bodies(follow(after), 620) == sent
