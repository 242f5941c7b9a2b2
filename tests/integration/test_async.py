"""The async face: the same room, no polling, no thread for a waiter, and nothing lost to a cancellation."""

import asyncio
import contextlib
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

import postroom
from postroom.bell.local import LocalBell
from postroom.config import Settings
from postroom.errors import MailboxLeased, StaleClaim, TimedOut, UnknownAgent
from postroom.model.ladder import Outcome, State
from postroom.room import aio
from postroom.room.local import LocalRoom
from tests.conftest import OpenRoom

NEVER = Settings(sweep_seconds=3600.0)  # so that only a ring can wake
Story = Callable[[postroom.AsyncRoom], Awaitable[None]]


@pytest.fixture
def tell(open_room: OpenRoom, room: LocalRoom) -> Callable[[Story], None]:
    """Runs a story in a room opened as `builder`, within ten seconds."""

    def run(story: Story) -> None:
        async def within() -> None:
            async with asyncio.timeout(10), postroom.AsyncRoom(open_room("builder", settings=NEVER)) as there:
                await story(there)

        asyncio.run(within())

    return run


def asleep(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event that is set when somebody sleeps on a bell."""
    sleeping = asyncio.Event()
    readable = aio._readable

    async def announced(waiter, pause: float) -> None:
        sleeping.set()
        await readable(waiter, pause)

    monkeypatch.setattr(aio, "_readable", announced)
    return sleeping


@pytest.mark.promise("async")
def test_a_message_goes_all_the_way_up_the_ladder(tell, room: LocalRoom):
    async def story(there: postroom.AsyncRoom) -> None:
        sent = await there.send("builder", "to myself", priority="high")
        assert [mail.id for mail in await there.peek()] == [sent.id]
        mail = await there.take()
        assert mail is not None
        assert (await there.settle(mail)).state is State.SEEN
        assert (await there.ack(mail)).state is State.ACKED
        answer = await there.reply(mail, "an answer")
        assert (await there.nack(answer.id, "no thanks")).state is State.BOUNCED
        second = await there.send("planner", "never mind")
        assert (await there.withdraw(second.id))[0].state is State.WITHDRAWN
        assert (await there.receipts(sent.id)).deliveries[0].state is State.ACKED
        assert [status.agent.name for status in await there.agents()] == ["builder", "planner"]

    tell(story)


@pytest.mark.promise("async")
@pytest.mark.parametrize("way", ["wait", "take", "listen"])
def test_who_waits_is_woken_by_a_ring_and_not_by_polling(
    tell, room: LocalRoom, way: str, monkeypatch: pytest.MonkeyPatch
):
    async def story(there: postroom.AsyncRoom) -> None:
        sleeping = asleep(monkeypatch)
        waiting = asyncio.create_task(_first(there, way))
        await sleeping.wait()
        await asyncio.to_thread(room.send, "builder", "wake up")
        assert await waiting == "wake up"

    tell(story)


async def _first(there: postroom.AsyncRoom, way: str) -> str | None:
    if way == "wait":
        return (await there.wait(timeout=5))[0].body
    if way == "take":
        mail = await there.take(timeout=5)
        return mail and mail.body
    async with contextlib.aclosing(there.listen()) as listening:  # type: ignore[arg-type]
        async for mail in listening:
            return mail.body
    return None


@pytest.mark.promise("async")
def test_a_hundred_waiters_need_no_thread_each(open_room: OpenRoom, room: LocalRoom, monkeypatch):
    names = [f"agent-{n}" for n in range(50)]
    for name in names:
        room.join(name)

    async def story() -> None:
        async with asyncio.timeout(30), postroom.AsyncRoom(open_room(settings=NEVER)) as there:
            await there.agents()
            waiting = [asyncio.create_task(there.wait(name)) for name in names]
            listening = [asyncio.create_task(_next_of(there.listen(name))) for name in names]
            while len(_waiting(room, names)) < 100:
                await asyncio.sleep(0)
            assert threading.active_count() <= before + 1
            for name in names:
                await there.send(name, name, sender="planner")
            assert [mails[0].body for mails in await asyncio.gather(*waiting)] == names
            assert [mail.body for mail in await asyncio.gather(*listening)] == names

    before = threading.active_count()
    asyncio.run(story())


async def _next_of(listening: AsyncIterator[postroom.Mail]) -> postroom.Mail:
    async for mail in listening:
        return mail
    raise AssertionError("the listening ended")


def _waiting(room: LocalRoom, names: list[str]) -> list[str]:
    bell = room.bell
    assert isinstance(bell, LocalBell)
    return [name for name in names for _ in range(bell.waiting(room.who(name).id))]


def test_waiting_in_vain_ends_with_the_time(tell):
    async def story(there: postroom.AsyncRoom) -> None:
        assert await there.wait(timeout=0.01) == []
        assert await there.take(timeout=0.01) is None
        assert [mail async for mail in there.listen(timeout=0.01)] == []

    tell(story)


def test_scheduled_mail_wakes_at_its_moment(tell, room: LocalRoom):
    async def story(there: postroom.AsyncRoom) -> None:
        await there.send("builder", "later", after=0.1)
        mail = await there.take(timeout=5)
        assert mail is not None
        assert mail.body == "later"

    tell(story)


@pytest.mark.promise("async")
def test_a_message_taken_by_a_task_that_was_cancelled_goes_back_to_the_queue(
    tell, room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    """The claim is made on another thread: it may succeed after nobody waits for it any more."""
    sent = room.send("builder", "precious")

    async def story(there: postroom.AsyncRoom) -> None:
        begun, go_on = threading.Event(), threading.Event()
        take = there.room.take

        def slowly(*args, **kwargs):
            begun.set()
            assert go_on.wait(10)
            return take(*args, **kwargs)

        monkeypatch.setattr(there.room, "take", slowly)
        task = asyncio.create_task(there.take())
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        monkeypatch.setattr(there.room, "take", take)
        mail = await there.take()
        assert mail is not None
        assert mail.id == sent.id
        assert not mail.shown_before

    tell(story)
    outcomes = [attempt.outcome for attempt in room.receipts(sent.id).attempts]
    assert outcomes == [Outcome.LOST, Outcome.OPEN]


@pytest.mark.promise("async")
def test_a_listening_that_is_cancelled_ends_its_lease_at_once(tell, room: LocalRoom, monkeypatch):
    async def story(there: postroom.AsyncRoom) -> None:
        sleeping = asleep(monkeypatch)
        task = asyncio.create_task(_next_of(there.listen()))
        await sleeping.wait()
        with pytest.raises(MailboxLeased):
            await there.take()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while (await there.agents())[0].listening:
            await asyncio.sleep(0)
        assert await there.take() is None

    tell(story)


def test_a_message_is_seen_when_the_next_is_asked_for(tell, room: LocalRoom):
    one, two = room.send("builder", "one"), room.send("builder", "two")

    async def story(there: postroom.AsyncRoom) -> None:
        async for mail in there.listen():
            if mail.id == two.id:
                assert (await there.receipts(one.id)).deliveries[0].state is State.SEEN
                break
            assert (await there.receipts(one.id)).deliveries[0].state is State.STORED

    tell(story)
    mail = room.take("builder")
    assert mail is not None
    assert (mail.id, mail.shown_before) == (two.id, True)  # it was in hand when the loop was left


def test_asking_lets_other_calls_go_on(tell, room: LocalRoom):
    async def story(there: postroom.AsyncRoom) -> None:
        asking = asyncio.create_task(there.ask("planner", "what is the answer?"))
        while not (waiting := await there.peek("planner")):
            await asyncio.sleep(0)
        await there.reply(waiting[0].id, "42", agent="planner")
        assert (await asking).body == "42"
        with pytest.raises(TimedOut):
            await there.ask("planner", "and now?", timeout=0.01)

    tell(story)


def _methods(kind: type) -> dict[str, Callable[..., object]]:
    return {name: one for name, one in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}


@pytest.mark.promise("async-level")
@pytest.mark.parametrize("name", _methods(postroom.Room))
def test_every_method_of_a_room_can_be_awaited_with_the_same_arguments(name: str):
    theirs, ours = _methods(postroom.Room)[name], _methods(postroom.AsyncRoom)[name]
    assert _arguments(ours) == _arguments(theirs)
    wanted = inspect.isasyncgenfunction if name in ("listen", "events") else inspect.iscoroutinefunction
    assert wanted(ours)


def _arguments(method: Callable[..., object]) -> list[tuple[str, object, object]]:
    every = inspect.signature(method).parameters.values()
    return [(one.name, one.kind, one.default) for one in every]


@pytest.mark.promise("async-level")
def test_what_a_conversation_needs_can_be_awaited(tell, room: LocalRoom):
    async def story(there: postroom.AsyncRoom) -> None:
        assert there.agent == "builder"
        await there.subscribe("news")
        said = await there.send("topic:news", "green again", sender="planner", attachments=[("a.txt", b"a")])
        assert [agent.name for agent in await there.subscribers("news")] == ["builder"]
        assert [topic.name for topic in await there.topics()] == ["news"]
        assert [message.id for message in await there.topic_history("news")] == [said.id]
        assert [hit.message.id for hit in await there.search("green")] == [said.id]
        assert [one.name for one in await there.attachments(said.id)] == ["a.txt"]
        assert (await there.message(said.message.handle)).body == "green again"
        mails = await there.peek()
        assert "green again" in (await there.frame(mails)).text
        passed = await there.forward(said.id, "planner", "for you")
        assert [message.id for message in await there.thread(passed.id)] == [passed.id]
        assert (await there.threads())[0].id == passed.message.thread
        gate = await there.send("planner", "May I?", type="decision_gate")
        assert [one.message.id for one in await there.gates()] == [gate.id]
        await there.decide(gate.id, "approve", agent="planner")
        assert (await there.gate(gate.id)).decision is not None
        assert (await there.stats()).messages == len(
            [event async for event in there.events() if _is_sent(event)]
        )
        await there.join("ada", role="tester")
        assert list(await there.groups()) == ["tester"]
        assert (await there.manners(mute=True)).muted == 0
        assert await there.held() == [("muted", 1, None)]
        assert (await there.manners(mute=False)).muted is None
        bundle = await there.take_bundle()
        assert bundle is not None
        await there.settle_all(bundle.mails)
        assert await there.call(there.room.dead) == []

    tell(story)


def _is_sent(event: postroom.Event) -> bool:
    """Whatever was said: the letter that would have denied the gate was not."""
    return event.message is not None and event.message.not_before is None


@pytest.mark.promise("async")
def test_who_waits_for_a_rung_or_follows_the_events_is_woken_and_needs_no_thread(
    tell, room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    async def story(there: postroom.AsyncRoom) -> None:
        sent = await there.send("planner", "how far?")
        last = [event async for event in there.events()][-1]
        cursor = room.store.look().cursor(last)
        sleeping = asleep(monkeypatch)
        threads = threading.active_count()
        climbing = asyncio.create_task(there.until(sent.id, "acked"))
        await sleeping.wait()
        sleeping.clear()
        following = asyncio.create_task(_next_event(there.events(follow=True, agent="planner", after=cursor)))
        await sleeping.wait()
        assert threading.active_count() == threads
        room.ack(sent.id)
        assert [delivery.state for delivery in await climbing] == [State.ACKED]
        assert (await following).type == "delivery.acked"
        assert (await there.until(sent.id, "acked", timeout=0))[0].state is State.ACKED
        second = await there.send("planner", "and this?")
        assert (await there.until(second.id, "seen", timeout=0))[0].state is State.STORED

    tell(story)


async def _next_event(events: AsyncIterator[postroom.Event]) -> postroom.Event:
    async for event in events:
        return event
    raise AssertionError("there are no more events")


def test_errors_arrive_where_they_are_awaited(tell):
    async def story(there: postroom.AsyncRoom) -> None:
        with pytest.raises(UnknownAgent):
            await there.take("nobody", timeout=1)
        with pytest.raises(UnknownAgent):
            await there.wait("nobody")
        with pytest.raises(UnknownAgent):
            await _next_of(there.listen("nobody"))
        mail = (await there.peek("builder")) or [await _taken(there)]
        with pytest.raises(StaleClaim):
            await there.settle(mail[0]._replace(delivery=mail[0].delivery._replace(nonce="another")))

    tell(story)


async def _taken(there: postroom.AsyncRoom) -> postroom.Mail:
    await there.send("builder", "one")
    mail = await there.take()
    assert mail is not None
    return mail
