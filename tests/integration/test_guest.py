"""An agent of whom only its tools have told, and what becomes of that when its hooks do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import host
from postroom.errors import UnknownRecipient
from postroom.model.message import Json
from postroom.room import people
from postroom.room.draft import draft
from postroom.room.guest import Talk, evidence, may_settle_in, settle_in, talk
from postroom.room.identity import of_process
from postroom.room.local import LocalRoom
from postroom.room.seat import Around, Seat
from postroom.room.session import current
from tests.process import BOUND


def test_who_has_no_session_is_given_one_and_is_known_by_its_process(room: LocalRoom, tmp_path: Path):
    me = os.getpid()
    assert may_settle_in(room.store.look(), me)
    agent = settle_in(room, me, str(tmp_path), name="amy", project="p")
    assert agent.address == "p/amy"
    assert settle_in(room, me, str(tmp_path), name="bob", project="p") == agent
    known = of_process(room.store.look(), me)[1]
    assert known is not None
    assert (known.agent, known.verified) == (agent.id, "process")
    assert not may_settle_in(room.store.look(), me)


def test_hooks_that_tell_of_the_same_process_later_tell_of_the_same_agent(room: LocalRoom):
    agent = settle_in(room, os.getpid(), os.getcwd(), project="p")
    process = host.identity_of(os.getppid())
    seat = Seat("claude", "s1", "", "", process, os.getcwd(), {})
    with room.write() as tx:
        session, same = current(room, tx, seat, anew=True)
    assert same.id == agent.id
    known = of_process(room.store.look(), os.getpid())[1]
    assert known is not None
    assert known.session == session.id  # and not that of the tools


def test_a_name_that_runs_is_not_given_to_another(room: LocalRoom):
    """The other one is a process of its own, whose parent is not ours."""
    first = settle_in(room, os.getpid(), os.getcwd(), name="amy", project="p")
    script = "import os, sys, time; print(os.getpid(), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        # What is above it is us; a program below it is what its tools would be.
        second = settle_in(room, int(other.stdout.readline()), os.getcwd(), name="amy", project="p")
        other.communicate(timeout=BOUND)
    assert second.address != first.address


def test_what_is_written_to_people_goes_to_the_one_above_or_to_all(room: LocalRoom):
    room.join("human:ana")
    room.join("human:bob")

    def send(to: str = "", key: str | None = None) -> list[str]:
        wanted = draft(room.settings, "@up", "hello", type="agent_message", key=key)
        return [one.recipient for one in people.write(room, wanted, to).deliveries]

    assert send() == ["human:ana", "human:bob"]
    assert send("human:bob") == send("bob") == ["human:bob"]
    room.join("planner", supervisor="human:ana")
    assert send(key="k") == ["human:ana"]
    assert send(key="k") == ["human:ana"]
    assert len(room.peek("human:ana")) == 2
    with pytest.raises(UnknownRecipient, match="cyd"):
        send("human:cyd")


def test_conversations_that_one_process_hosts_are_agents_of_their_own(room: LocalRoom):
    """Where requests say which of them they come from, as those of Codex's shared server do."""
    own = host.lineage(os.getpid())[0]
    amy, bob = (Talk(own, "codex", session) for session in ("s-1", "s-2"))
    told = [
        settle_in(room, os.getpid(), os.getcwd(), project="p", among=one, around=Around(served=True))
        for one in (amy, bob, amy)
    ]
    assert told[0] == told[2] != told[1]
    found = [evidence(room.store.look(), one) for one in (amy, bob, Talk(own, "codex", "s-3"))]
    assert [one and one.agent for one in found] == [told[0].id, told[1].id, None]
    assert evidence(room.store.look(), amy._replace(process="1.0.elsewhere")) is None


def test_what_hooks_have_told_of_a_conversation_counts_for_its_tools(room: LocalRoom):
    one = Talk(host.identity(), "codex", "s-1")
    seat = Seat("codex", "s-1", "", "", one.process, os.getcwd(), {}, Around(name="amy"))
    with room.write() as tx:
        agent = current(room, tx, seat, anew=True)[1]
    found = evidence(room.store.look(), one)
    assert found is not None
    assert (found.agent, found.session) == (agent.id, "codex:s-1:main")


@pytest.mark.parametrize(
    "said", [{}, {"sessionId": ""}, {"sessionId": 3}, {"sessionId": "é"}, {"other": "x"}]
)
def test_a_request_that_names_no_conversation_is_its_process(said: Json, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "program", lambda _: "codex")
    assert talk(os.getpid(), said) is None
    found = talk(os.getpid(), {"sessionId": "s-1"})
    assert found is not None
    assert (found.runtime, found.session) == ("codex", "s-1")
