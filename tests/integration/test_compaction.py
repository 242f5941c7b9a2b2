"""Mail around a compaction: nothing is handed out where no turn may follow, and the agent is woken there."""

import os

import pytest

from postroom.hooks import wake
from postroom.model.ladder import State
from postroom.model.presence import Presence
from postroom.room import wake as calling
from postroom.room.local import LocalRoom
from tests.hooking import ClaudeCode


@pytest.fixture
def claude(room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> ClaudeCode:
    """An agent who is `builder`, and idle."""
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    agent = ClaudeCode(room.home, str(tmp_path))
    agent.start()
    agent.prompt()
    agent.stop()
    return agent


@pytest.fixture
def wakers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who was to be woken by a process of its own; none is started."""
    found: list[str] = []
    monkeypatch.setattr(calling, "start", lambda _, parties: found.extend(parties))
    return found


def delivery(room: LocalRoom, id: str) -> tuple[State, str | None]:
    [one] = room.receipts(id).deliveries
    return one.state, one.route


def presence(room: LocalRoom) -> Presence:
    [status] = [one for one in room.agents() if one.agent.name == "builder"]
    return status.sessions[0].presence


@pytest.mark.promise("compaction")
def test_mail_that_waits_at_the_end_of_a_compaction_at_an_idle_prompt_stays_stored_and_the_agent_is_woken(
    room: LocalRoom, claude: ClaudeCode, wakers: list[str]
) -> None:
    sent = room.send("builder", "mail-1")
    assert "mail-1" not in claude.start("compact")
    assert delivery(room, sent.id) == (State.STORED, None)
    assert wakers == [room.who("builder").id]
    assert "mail-1" in claude.change()


def test_nobody_is_woken_at_the_end_of_a_compaction_if_nothing_waits(
    claude: ClaudeCode, wakers: list[str]
) -> None:
    claude.start("compact")
    assert wakers == []


@pytest.mark.promise("compaction")
@pytest.mark.parametrize("last", ['"type":"tool_result"', '"stop_reason":"tool_use"'])
def test_a_compaction_in_the_middle_of_a_turn_hands_out_mail_for_that_turn(
    room: LocalRoom, claude: ClaudeCode, wakers: list[str], last: str
) -> None:
    claude.prompt()
    with open(claude.transcript, "a", encoding="utf-8") as file:
        file.write('{"type":"user","message":{"content":[{"type":"text"}]}}\n')
        file.write('{"type":"user","message":{"content":[{' + last + "}]}}\\n")
        file.write('{"type":"progress"}\n')
    room.send("builder", "mail-1")
    assert "mail-1" in claude.start("compact")
    assert wakers == []
    assert presence(room) is Presence.BUSY
    claude.stop()
    assert presence(room) is Presence.IDLE


@pytest.mark.promise("compaction")
def test_what_a_wake_has_handed_out_while_an_agent_is_compacted_is_shown_once(
    room: LocalRoom, claude: ClaudeCode, wakers: list[str]
) -> None:
    """It waits in the runtime's queue, and begins a turn in the next context."""
    sent = room.send("builder", "mail-1")
    text = claude.event("FileChanged", keep=False)
    assert "mail-1" in text
    assert "mail-1" not in claude.start("compact")
    assert delivery(room, sent.id)[0] is State.OFFERED
    assert wakers == []
    claude.take_in(text)
    claude.prompt("<task-notification>")
    assert claude.stop() == ""
    assert delivery(room, sent.id)[0] is State.SEEN
    assert room.receipts(sent.id).deliveries[0].attempts == 1


@pytest.mark.promise("hook-loss")
def test_what_a_wake_has_handed_out_and_no_queue_brings_after_a_compaction_is_shown_again(
    room: LocalRoom, claude: ClaudeCode, wakers: list[str]
) -> None:
    room.send("builder", "mail-1")
    claude.event("FileChanged", keep=False)
    claude.start("compact")
    claude.prompt()
    claude.answer(later=5_000)
    assert "mail-1" in claude.stop()
    assert wakers == []


@pytest.mark.promise("compaction")
def test_a_waker_rings_an_idle_agent_that_watches_until_it_takes_its_mail(
    room: LocalRoom, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    party, rings = room.who("builder").id, list[list[str]]()
    room.send("builder", "mail-1")

    def touch(parties: list[str]) -> dict[str, bool]:
        rings.append(parties)
        if len(rings) == 2:  # it has only now begun to watch
            claude.change()
        return dict.fromkeys(parties, False)

    monkeypatch.setattr(wake, "_TURN", 0.05)
    monkeypatch.setattr(wake, "_HOOK", 0)
    monkeypatch.setattr(room.ring, "touch", touch)
    wake.wake(room, party, calling.lock(room.home, party))
    assert rings == [[party]] * 2
    assert "mail-1" in claude.shown[-1]
