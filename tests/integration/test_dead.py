"""What a person decides about the dead and about whole projects leaves a sound room."""

import pytest

from postroom.config import Settings
from postroom.errors import UnknownAgent
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.clockwork import Clock
from tests.conftest import OpenRoom


def kill(room: LocalRoom, seq: int, agent: str) -> None:
    with room.write() as tx:
        mail = tx.mail(seq, agent)
        assert mail is not None
        tx.append("delivery.dead", agent, about=mail.message, payload={"reason": "x"}, status="dead")


def test_a_retried_message_still_expires(open_room: OpenRoom, clock: Clock):
    room = open_room("planner", clock=clock)
    builder = room.join("builder")
    sent = room.send("builder", "soon stale", expires=60, sender="planner")
    kill(room, sent.message.seq, builder.id)
    room.retry(sent.id)
    assert [mail.body for mail in room.peek("builder")] == ["soon stale"]
    clock.advance(61)
    assert room.peek("builder") == []
    assert room.receipts(sent.id).deliveries[0].state == "expired"


def test_a_deleted_project_takes_its_agents_and_all_that_was_for_them(home: str):
    here, there = (
        LocalRoom(home, Settings(), agent=a, project=p) for a, p in (("x", "here"), ("y", "there"))
    )
    here.join("x")
    there.join("y")
    here.send("there/y", "for nobody else")
    there.send("here/x", "from there")
    assert there.delete_project("there") == 2
    assert here.peek("x") == []
    with pytest.raises(UnknownAgent):
        there.peek("y")
    assert verify(here).problems == []
    here.close()
    there.close()
