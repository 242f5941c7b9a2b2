"""The relay when something in it fails: what was not written is not seen, and nothing stays behind."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from postroom.config import Settings
from postroom.errors import StoreBusy, StoreError
from postroom.model.message import Mail
from postroom.room.local import LocalRoom
from postroom.room.token import revoke
from postroom.room.unit import Unit
from postroom.server import doorway, exchange, relay
from tests.conftest import OpenRoom
from tests.process import until
from tests.relayed import linked
from tests.served import BOUND, Served, served


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    room.join("human:ana")
    with served(room) as found:
        yield found


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SWEEP", "_AGAIN"):
        monkeypatch.setattr(exchange, name, 0.05)


def state(web: Served, ref: str) -> str:
    return web.room.receipts(ref).deliveries[0].state.value


def test_what_somebody_writes_into_the_metadata_of_others_hurts_nobody(web: Served):
    with linked(web, "builder", path="/ws/agent/messages/p?agent_id=builder") as builder:
        for kept in ("x", 5, ["type"], {"type": "status"}, None):
            web.room.send("builder", "hello", metadata={"relayed": kept})
            assert builder.raw()["content"] == "hello"


def test_mail_that_cannot_be_written_is_not_seen_and_takes_none_with_it(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    dressed = relay._dressed

    def failing(mail: Mail, texts: dict[int, str]) -> str:
        if mail.body == "poison":
            raise RuntimeError("no frame of it")
        return dressed(mail, texts)

    monkeypatch.setattr(relay, "_dressed", failing)
    refs = [web.room.send("builder", body).id for body in ("before", "poison", "after")]
    with linked(web, "builder") as builder:
        bodies = {builder.mail()["mail"]["body"] for _ in range(2)}
        assert bodies == {"before", "after"}
        web.room.send("builder", "last")
        assert builder.ask("seen", cursor=builder.mail()["cursor"])["ok"] == {"seen": 3}
    until(lambda: state(web, refs[1]) == "stored")
    assert [state(web, ref) for ref in refs] == ["seen", "stored", "seen"]


def test_who_acknowledges_by_another_door_gets_more(web: Served):
    refs = [web.room.send("builder", str(n)).id for n in range(6)]
    with linked(web, "builder", window=2) as builder:
        for n, ref in enumerate(refs):
            assert builder.mail()["mail"]["body"] == str(n)
            web.room.ack(ref, agent="builder")


@pytest.mark.parametrize("failure", [StoreBusy(), RuntimeError("who knows")])
def test_a_round_that_fails_is_tried_again(web: Served, monkeypatch: pytest.MonkeyPatch, failure: Exception):
    settle, left = exchange.settle, [failure, failure]

    def failing(*words: Any) -> None:
        if left:
            raise left.pop()
        settle(*words)

    monkeypatch.setattr(exchange, "settle", failing)
    sent = web.room.send("builder", "hello")
    with linked(web, "builder") as builder:
        builder.ask("seen", cursor=builder.mail()["cursor"])
    assert (state(web, sent.id), left) == ("seen", [])


def test_what_was_stored_is_pushed_though_something_failed_after_that(
    web: Served, monkeypatch: pytest.MonkeyPatch
):
    left = [StoreBusy()]

    class Failing(Unit):
        def __exit__(self, *words: Any) -> None:
            super().__exit__(*words)
            if self.is_stored and left:
                raise left.pop()

    monkeypatch.setattr(exchange, "Unit", Failing)
    sent = web.room.send("builder", "hello")
    with linked(web, "builder") as builder:
        assert builder.mail()["mail"]["body"] == "hello"
        assert (state(web, sent.id), left) == ("offered", [])


def test_one_that_could_not_come_in_is_told_and_the_others_stay(web: Served, monkeypatch: pytest.MonkeyPatch):
    def busy(*_: Any) -> None:
        raise StoreBusy

    monkeypatch.setattr(exchange, "resume", busy)
    with linked(web, "planner") as planner, linked(web, "builder") as builder:
        with linked(web, "builder", cursor="abc.1") as late, pytest.raises(ConnectionClosed) as closed:
            late.hear("mail")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == doorway.LATER
        web.room.send("builder", "still here")
        assert builder.mail()["mail"]["body"] == "still here"
        assert not [one for one in planner.has_heard_all() if one.get("gone")]


@pytest.mark.parametrize(
    "text",
    ['{"id": 1, "op": "ask", "to": "x", "body": "y", "timeout": NaN}', '{"id": 1, "op": ["ping"]}',
     '{"id": "\\ud800", "op": "ping"}', '{"id": 1, "op": {}}'],
)  # fmt: skip
def test_a_frame_that_makes_no_sense_is_answered_and_the_connection_goes_on(web: Served, text: str):
    with linked(web, "builder") as builder:
        builder.socket.send(text)
        while "error" not in (frame := builder.raw()):
            pass
        assert frame["error"] != "unexpected", json.dumps(frame)
        builder.has_heard_all()


@pytest.mark.parametrize("path", ["/ws/projects/p", "/ws/agent/messages/p"])
def test_who_only_looks_on_is_shown_out_when_its_token_is_revoked(
    web: Served, monkeypatch: pytest.MonkeyPatch, path: str
):
    monkeypatch.setattr(doorway, "_LOOK", 0.05)
    with linked(web, "human:ana", path=path) as ana:
        revoke(web.room.home, web.room.known("human:ana"))
        with pytest.raises(ConnectionClosed) as closed:
            ana.hear("nothing that comes")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == doorway.NOBODY


# ----------------------------------------------------------------------------- a room that waits for its disk


class Disk:
    """One that may be slow, or fail."""

    def __init__(self, room: LocalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
        self._harden, self._may = room.store.harden, threading.Semaphore(0)
        self.is_slow, self.asked = False, 0
        self.fault: Exception | None = None
        monkeypatch.setattr(room.store, "harden", self.harden)

    def harden(self) -> None:
        self.asked += 1
        if self.is_slow:
            assert self._may.acquire(timeout=BOUND)
        if self.fault is not None:
            raise self.fault
        self._harden()

    def answer(self) -> None:
        self._may.release()


@pytest.fixture
def lasting(open_room: OpenRoom, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, Disk]]:
    room = open_room("planner", settings=Settings(durability="full", sender_rate=0))
    room.join("planner")
    room.join("builder")
    disk = Disk(room, monkeypatch)
    with served(room) as found:
        yield found, disk


@pytest.mark.promise("durability")
def test_who_sends_is_told_so_by_what_is_on_the_disk_and_the_disk_is_asked_once_for_many(
    lasting: tuple[Served, Disk],
):
    web, disk = lasting
    with linked(web, "planner") as planner, linked(web, "builder") as builder:
        disk.is_slow, disk.asked = True, 0
        for number in range(5):
            planner.say(id=number, op="send", to="builder", body=f"{number}")
            until(lambda: disk.asked)
        planner.say(id="last", op="ping")
        assert [builder.mail()["mail"]["body"] for _ in range(5)] == list("01234")
        while (frame := planner.raw()).get("id") is None:
            pass
        assert frame["id"] == "last"  # of the others nothing is said yet
        disk.answer()
        assert planner.raw()["id"] == 0
        disk.answer()
        assert [planner.raw()["id"] for _ in range(4)] == [1, 2, 3, 4]
        assert disk.asked == 2
        disk.is_slow = False


@pytest.mark.promise("durability")
@pytest.mark.parametrize(
    ("fault", "told"),
    [(StoreError("the disk did not confirm it", path="room.db"), "store"), (ValueError("?"), "error")],
)
def test_who_sends_hears_of_a_disk_that_does_not_confirm_it(
    lasting: tuple[Served, Disk], fault: Exception, told: str
):
    web, disk = lasting
    with linked(web, "planner") as planner, linked(web, "builder") as builder:
        disk.fault = fault
        assert planner.ask("send", to="builder", body="hello")["error"] == told
        assert builder.mail()["mail"]["body"] == "hello"
        disk.fault = None
        assert "ok" in planner.ask("send", to="builder", body="again")


def test_a_server_that_ends_waits_for_the_disk_that_somebody_waits_for(lasting: tuple[Served, Disk]):
    web, disk = lasting
    with linked(web, "planner") as planner:
        disk.is_slow, disk.asked = True, 0
        planner.say(id=1, op="send", to="builder", body="hello")
        until(lambda: disk.asked)
        ending = threading.Thread(target=web.close)
        ending.start()
        disk.is_slow = False
        disk.answer()
        ending.join(BOUND)
        assert not ending.is_alive()
