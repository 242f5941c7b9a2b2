"""Agents spoken to in stream-json that do not behave: what they do not say is not believed."""

import json
import os
from collections.abc import Callable, Iterator, Mapping

import pytest

from postroom.bridges.contract import Assent, Doing, Heard, Launch, Result, Text
from postroom.bridges.process import stream
from postroom.bridges.process.stream import Streamed
from tests.process import environment, until

WILLING = Assent(lambda: None, lambda: True)
INIT = {"type": "system", "subtype": "init"}
RESULT = {"type": "result"}
ECHO = {"type": "user", "isReplay": True}
Begin = Callable[[str], Streamed]


def answer(number: str, words: str = "yes") -> dict[str, object]:
    return {"type": "assistant", "message": {"id": number, "content": [{"type": "text", "text": words}]}}


def says(*lines: Mapping[str, object]) -> str:
    """A script that prints so, with the id of what it read last where there is an echo."""
    return "; ".join(
        f'echo \'{json.dumps(line)}\' | sed "s/isReplay/uuid\\": \\"$id\\", \\"isReplay/"' for line in lines
    )


READ = 'read line; id=$(echo "$line" | sed \'s/.*"uuid":"\\([^"]*\\)".*/\\1/\')'


@pytest.fixture
def begin(tmp_path: os.PathLike[str]) -> Iterator[Begin]:
    made: list[Streamed] = []

    def beginner(script: str) -> Streamed:
        command = ["/bin/sh", "-c", script]
        launch = Launch("a1", "p/b", command, str(tmp_path), environment(), "claude")
        made.append(stream.open(stream.start(launch)))
        return made[-1]

    yield beginner
    for bridge in made:
        bridge.close()


def heard(bridge: Streamed, count: int) -> list[Heard]:
    """All that it says, once that is so much."""
    said: list[Heard] = []

    def more() -> bool:
        said.extend(bridge.receive())
        return len(said) >= count

    until(more)
    return said


def test_a_piece_of_an_answer_that_had_begun_before_proves_nothing(begin: Begin):
    bridge = begin(f"{READ}; {says(INIT, answer('m1'), ECHO, answer('m1'), RESULT)}; cat")
    assert bridge.deliver(Text("mail"), WILLING).result is Result.HANDED
    assert not any(each.proves for each in heard(bridge, 5))


def test_an_answer_before_the_text_was_taken_in_proves_nothing_and_the_next_does(begin: Begin):
    bridge = begin(f"{READ}; {says(INIT, answer('m1'), ECHO, answer('m2'), RESULT)}; cat")
    bridge.deliver(Text("mail"), WILLING)
    assert [bool(each.proves) for each in heard(bridge, 5)] == [False, False, False, True, False]


def test_an_agent_that_never_takes_a_text_in_is_at_work_until_it_is_stuck(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
):
    bridge = begin("cat > /dev/null")
    bridge.deliver(Text("mail"), WILLING)
    assert bridge.observe().doing is Doing.PROCESSING
    monkeypatch.setattr(stream, "_STUCK", 0.0)
    assert bridge.observe().doing is Doing.STUCK


def test_an_agent_that_does_not_stop_is_not_said_to_have(begin: Begin, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream, "_STOP", 0.2)
    bridge = begin("cat > /dev/null")
    bridge.deliver(Text("mail"), WILLING)
    interrupted = bridge.interrupt()
    assert not interrupted.proven
    assert "did not answer" in interrupted.words


def test_a_question_to_a_person_holds_mail_back_until_it_is_withdrawn(begin: Begin):
    asks = {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}}
    withdrawn = {"type": "control_cancel_request", "request_id": "r"}
    bridge = begin(f"{READ}; {says(INIT, ECHO, asks)}; read line; {says(withdrawn, RESULT)}; cat")
    bridge.deliver(Text("mail"), WILLING)
    until(lambda: bridge.observe().doing is Doing.ASKING)
    refused = bridge.deliver(Text("more", while_busy=True), WILLING)
    assert (refused.result, refused.reason) == (Result.REFUSED, "approval")
    assert bridge.interrupt().proven
    assert bridge.observe().doing is Doing.IDLE


def test_what_a_person_sees_is_what_it_says(begin: Begin):
    bridge = begin(f"echo hello; {says(INIT, answer('m1', 'the answer'), RESULT)}; echo '{{broken'; cat")
    heard(bridge, 5)
    assert bridge.screen() == "hello\nthe answer\n{broken"


def test_an_agent_that_ends_in_its_turn_is_gone(begin: Begin):
    bridge = begin(f"{READ}; {says(INIT)}; exit 5")
    bridge.deliver(Text("mail"), WILLING)
    assert heard(bridge, 2)[-1].exit_code == 5
    assert bridge.observe().doing is Doing.GONE
    assert not bridge.interrupt().proven
