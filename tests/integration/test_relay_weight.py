"""The relay's memory: what is claimed for a client that reads slowly, and what stays of one that has gone."""

import asyncio
import gc
import weakref
from typing import Any, cast

import pytest

from postroom.model.message import Mail
from postroom.room.handout import Want, hand_out
from postroom.room.local import LocalRoom
from postroom.server import connection, exchange
from postroom.server.connection import Connection
from postroom.server.desk import Desk
from postroom.server.exchange import Exchange
from postroom.server.presence import Presence
from tests.process import BOUND

BODY = "x" * 400


def settled(room: LocalRoom, refs: list[str]) -> int:
    return sum(room.receipts(ref).deliveries[0].state != "stored" for ref in refs)


@pytest.mark.promise("relay-pressure")
def test_no_more_is_claimed_than_a_slow_reader_has_room_for_in_bytes_and_the_rest_when_it_reads(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "HEAVY", 1000)
    monkeypatch.setattr(exchange, "HEAVY", 1000)
    monkeypatch.setattr(exchange, "_SLICE", 2)
    sent = [room.send("builder", f"{n} {BODY}").id for n in range(12)]

    async def run() -> None:
        desk = Desk(room, cast("Any", None))
        relay = Exchange(desk)
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def send(message: Any) -> None:
            heard.put_nowait(message["text"])

        def dress(mail: Mail, _: Any) -> str:
            return mail.body

        one = Connection(room.who("builder"), dress, Presence(), 1000)
        one.tells_presence = False
        await relay.enter(one)
        for _ in range(10):
            await relay._settled()
            await asyncio.sleep(0)
        assert settled(room, sent) == 4  # two at a time, until that is too much
        sent.append(room.send("builder", f"12 {BODY}").id)  # which is claimed as it is stored, or not
        assert settled(room, sent) == 4
        writing = asyncio.create_task(one.write(send))
        for n in range(13):
            assert (await asyncio.wait_for(heard.get(), BOUND)).startswith(f"{n} ")
        writing.cancel()
        relay.leave(one)
        await desk.end()

    asyncio.run(run())


def test_of_a_connection_that_has_ended_no_text_is_held_though_no_garbage_is_collected(room: LocalRoom):
    class Text(str):
        """Which can be looked after."""

    found: list[weakref.ref[Text]] = []

    def dress(*_: Any) -> str:
        text = Text("x" * 100)
        found.append(weakref.ref(text))
        return text

    for n in range(3):
        room.send("builder", f"{n}")
    gc.disable()
    try:
        one = Connection(room.who("builder"), dress, Presence())
        one.eased = one.end  # as whoever is told of it holds it
        with room.write() as tx:
            mails = hand_out(tx, room, Want(one.stand, 3, 0))
        for mail in mails:
            one.push(mail, {})
        assert [bool(each()) for each in found] == [True] * 3
        one.end()
        one.say({"ok": dress()})
        assert not any(each() for each in found)
    finally:
        gc.enable()
