"""Correlation: what a request and its answers share, and the wait for the reply to an earlier one."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import postroom
from postroom.errors import NoAnswer, PostroomError, Refused, TimedOut, UnknownMessage
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room import aio, ask, wait
from postroom.room.local import LocalRoom
from tests.clockwork import Clock
from tests.commandline import CommandLine
from tests.conftest import UNLIMITED, OpenRoom
from tests.process import BOUND
from tests.room_activity import gone_process
from tests.served import Served, served

NEVER = UNLIMITED._replace(sweep_seconds=3600.0)  # so that only a ring can wake
Wait = Callable[..., Mail]


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    with served(room) as found:
        yield found


@pytest.fixture(params=["local", "remote", "async"])
def waits(request: pytest.FixtureRequest, room: LocalRoom, open_room: OpenRoom) -> Iterator[Wait]:
    """`planner` waits for a reply: in this process, over HTTP, in an event loop."""
    if request.param == "local":
        yield room.wait_for_reply
    elif request.param == "remote":
        with served(room) as web, postroom.open(web.url, token=web.token("planner")) as there:
            yield there.wait_for_reply
    else:

        async def within(ref: str, **options: Any) -> Mail:
            async with postroom.AsyncRoom(open_room("planner")) as there:
                return await there.wait_for_reply(ref, **options)

        yield lambda ref, **options: asyncio.run(within(ref, **options))


@pytest.mark.promise("correlation")
@pytest.mark.parametrize("by", ["id", "handle", "correlation"])
def test_a_reply_that_came_before_is_given_at_once_and_nothing_is_marked(
    room: LocalRoom, waits: Wait, by: str
):
    sent = room.send(
        "builder", "how far?", type="request", correlation="c-1" if by == "correlation" else None
    )
    replied = room.reply(sent.id, "half", agent="builder")
    ref = {"id": sent.id, "handle": sent.message.handle, "correlation": "c-1"}[by]
    found = waits(ref, timeout=0)
    assert (found.id, found.body) == (replied.id, "half")
    assert found.correlation == ("c-1" if by == "correlation" else sent.id)
    assert waits(ref, timeout=0).id == replied.id
    assert room.receipts(replied.id).deliveries[0].state is State.STORED
    taken = room.take("planner")
    assert taken is not None
    room.ack(taken)
    assert waits(ref, timeout=0).id == replied.id  # also one that was read


@pytest.mark.promise("correlation")
@pytest.mark.parametrize("mode", ["local", "async"])
def test_a_reply_wakes_who_waits_by_the_bell(
    room: LocalRoom, open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch, mode: str
):
    """Nothing else could: neither a glance nor a sweep comes in time."""
    monkeypatch.setattr(ask, "GLANCE", 3600.0)
    sleeps = threading.Event()
    slept = wait._Sleep.until_reason

    def announced(self: Any, left: float | None) -> None:
        sleeps.set()
        slept(self, left)

    monkeypatch.setattr(wait._Sleep, "until_reason", announced)
    readable = aio._readable

    async def told(waiter: Any, pause: float) -> None:
        sleeps.set()
        await readable(waiter, pause)

    monkeypatch.setattr(aio, "_readable", told)
    sent = room.send("builder", "how far?", type="request", correlation="c-1")
    found: Future[Mail] = Future()

    def waiting() -> None:
        there = open_room("planner", settings=NEVER)
        try:
            if mode == "local":
                found.set_result(there.wait_for_reply("c-1"))
            else:
                found.set_result(asyncio.run(within(there)))
        except PostroomError as exc:
            found.set_exception(exc)

    async def within(there: LocalRoom) -> Mail:
        async with postroom.AsyncRoom(there) as elsewhere:
            return await elsewhere.wait_for_reply("c-1")

    threading.Thread(target=waiting, daemon=True).start()
    assert sleeps.wait(BOUND)
    replied = room.reply(sent.id, "half", agent="builder")
    assert found.result(BOUND).id == replied.id


@pytest.mark.promise("correlation")
def test_only_who_was_asked_can_reply(room: LocalRoom, waits: Wait):
    room.join("stranger")
    sent = room.send("builder", "how far?", correlation="c-1")
    room.send("planner", "done!", sender="stranger", correlation="c-1")
    with pytest.raises(TimedOut):
        waits("c-1", timeout=0)
    replied = room.send("planner", "half", sender="builder", reply_to=sent.id, correlation="c-1")
    assert waits("c-1", timeout=0).id == replied.id


def test_of_several_with_one_correlation_any_that_was_asked_may_reply(room: LocalRoom, waits: Wait):
    room.join("reviewer")
    first = room.send("builder", "how far?", correlation="c-1")
    room.send("reviewer", "how far?", correlation="c-1")
    replied = room.reply(first.id, "half", agent="builder")
    assert waits("c-1", timeout=0).id == replied.id


def test_a_correlation_that_was_used_again_waits_for_the_reply_to_the_latest(room: LocalRoom, waits: Wait):
    first = room.send("builder", "how far?", correlation="c-1")
    old = room.reply(first.id, "half", agent="builder")
    second = room.send("builder", "and now?", correlation="c-1")
    with pytest.raises(TimedOut):
        waits("c-1", timeout=0)
    new = room.reply(second.id, "all", agent="builder")
    assert waits("c-1", timeout=0).id == new.id
    assert waits(first.id, timeout=0).id == old.id


def test_what_others_write_with_a_correlation_can_be_waited_for(room: LocalRoom, waits: Wait):
    with pytest.raises(TimedOut, match="build-7"):
        waits("build-7", timeout=0)
    told = room.send("planner", "the build is green", sender="builder", correlation="build-7")
    assert waits("build-7", timeout=0).id == told.id


def test_what_is_not_yours_cannot_be_waited_for(room: LocalRoom, waits: Wait):
    theirs = room.send("planner", "hello", sender="builder")
    for ref in (theirs.id, theirs.message.handle, "0f0f0f0f"):
        with pytest.raises(UnknownMessage):
            waits(ref, timeout=0)


@pytest.mark.promise("correlation")
def test_who_waits_for_what_was_refused_or_has_ended_is_told(room: LocalRoom, clock: Clock):
    sent = room.send("builder", "how far?", type="request", correlation="c-1")
    room.nack(sent.id, "not mine", agent="builder")
    with pytest.raises(Refused, match="not mine"):
        room.wait_for_reply("c-1", timeout=0)
    gone = room.send("builder", "and this?", type="request")
    room.withdraw(gone.id)
    with pytest.raises(NoAnswer):
        room.wait_for_reply(gone.id, timeout=0)


def test_who_was_asked_and_has_died_is_waited_for_no_longer(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ask, "GLANCE", 0.01)
    sent = room.send("builder", "how far?", type="request")
    mail = room.take("builder")
    assert mail is not None
    room.settle(mail)
    with gone_process() as process:
        with room.write() as tx:
            tx.execute("UPDATE delivery SET claimer = ? WHERE seq = ?", (process, sent.message.seq))  # type: ignore[attr-defined]
        with pytest.raises(NoAnswer):
            room.wait_for_reply(sent.id, timeout=BOUND)


# the command line


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "builder")
    cli.ok("join", "planner")
    return cli


@pytest.mark.promise("correlation")
def test_a_command_waits_for_the_reply_to_what_another_sent(cli: CommandLine):
    ref = cli.sent("builder", "how far?", "--correlation", "c-1")
    late = cli("wait", "--correlation", "c-1", "--timeout", "0s", "--as", "planner", "--json")
    assert (late.code, late.error["error"]) == (4, "timed_out")
    assert ref[-8:] in late.error["message"]
    cli.ok("reply", ref, "half", "--as", "builder")
    found = cli.ok("wait", "--correlation", "c-1", "--timeout", "1s", "--as", "planner", "--json").json
    [mail] = found["messages"]
    assert (mail["body"], mail["correlation"]) == ("half", "c-1")
    assert "half" in cli.ok("wait", "--correlation", ref, "--as", "planner").out
    assert [one["body"] for one in cli.ok("inbox", "--as", "planner", "--json").json["messages"]] == ["half"]


def test_a_command_waits_with_a_process_that_sleeps(cli: CommandLine):
    ref = cli.sent("builder", "how far?", "--correlation", "c-1")
    with cli.start("wait", "--correlation", "c-1", "--as", "planner", "--json") as process:
        cli.ok("reply", ref, "half", "--as", "builder")
        out, _ = process.communicate(timeout=BOUND)
    assert b'"half"' in out


def test_a_correlation_is_one_line(cli: CommandLine):
    assert cli("send", "builder", "x", "--correlation", "a\nb", "--as", "planner").code == 2


def test_a_request_to_the_api_waits_as_long_as_it_says(web: Served, room: LocalRoom):
    token = web.token("planner")
    sent = web.post("/messages", {"to": "builder", "body": "x", "correlation": "c 1/ä"}, token=token).json
    late = web.get("/inbox/reply?ref=c%201%2F%C3%A4&timeout=0", token=token)
    assert (late.status, late.json["error"]) == (408, "timed_out")
    room.reply(sent["id"], "half", agent="builder")
    assert web.get("/inbox/reply?ref=c%201%2F%C3%A4", token=token).json["body"] == "half"
    assert web.get("/inbox/reply?ref=x&timeout=1e9", token=token).status == 400
