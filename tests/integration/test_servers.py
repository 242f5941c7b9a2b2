"""Agents' own servers that refuse, fail, fall silent or talk nonsense: what is said of mail then is true."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from postroom import host
from postroom.bridges import registry
from postroom.bridges.codex import terminal as codex_terminal
from postroom.bridges.codex import thread as codex
from postroom.bridges.codex.approval import asked
from postroom.bridges.codex.talk import Talk
from postroom.bridges.contract import Assent, Bridge, Doing, Heard, Launch, Result, Text
from postroom.bridges.opencode import http as opencode_http
from postroom.bridges.opencode import session as opencode
from postroom.bridges.opencode import terminal as opencode_terminal
from postroom.bridges.opencode.http import Http, Site
from postroom.bridges.server import ledger
from postroom.bridges.server.answer import Refusal, Silence, Unsent
from postroom.bridges.server.ledger import Fate
from postroom.errors import BridgeError, NoServer
from postroom.model.ladder import Evidence
from tests.bridged import Record
from tests.process import ROOT, environment, until

BOTH = {"codex": "app-server", "opencode": "serve"}


class Child:
    """A server of `tests.serving` that is our child."""

    def __init__(self, name: str, place: str) -> None:
        self.record = Record(os.path.join(place, "record"))
        command = [sys.executable, "-m", "tests.serving", name, self.record.path, BOTH[name]]
        self._launch = Launch("a1", "p/builder", command, place, environment(PYTHONPATH=ROOT), name)
        self.way = registry.load(name)
        self.heard: list[Heard] = []
        self.begin()

    def begin(self) -> None:
        self.berth = self.way.start(self._launch)
        self.bridge: Bridge = self.way.open(self.berth)

    def again(self) -> None:
        """Killed, and started again as a keeper does."""
        os.kill(host.pid_of(self.berth.process), signal.SIGKILL)
        until(lambda: self.bridge.observe().doing is Doing.GONE)
        self._launch = self._launch._replace(details=self.berth.details)
        earlier = self.bridge
        self.begin()
        earlier.close()

    def deliver(self, text: str) -> tuple[Result, str]:
        done = self.bridge.deliver(Text(text), Assent(lambda: None, lambda: True))
        return done.result, done.reason

    def receive(self) -> list[Heard]:
        self.heard += self.bridge.receive()
        return self.heard

    def proofs(self) -> list[Evidence]:
        return [heard.proves for heard in self.receive() if heard.proves]

    def doubts(self) -> list[str]:
        return [heard.doubts for heard in self.receive() if heard.doubts]

    def refusals(self) -> list[str]:
        return [heard.refused for heard in self.receive() if heard.refused]

    def questions(self) -> list[Any]:
        return [heard.asks for heard in self.receive() if heard.asks]


@pytest.fixture(params=BOTH)
def child(
    request: pytest.FixtureRequest, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Child]:
    monkeypatch.setattr(ledger, "_SOON", 0.05)
    child = Child(request.param, os.fspath(tmp_path))
    yield child
    child.bridge.close()


def test_what_a_server_refuses_was_not_taken(child: Child):
    assert child.deliver("[[no]]") == (Result.REFUSED, "busy")
    assert child.record.texts() == []
    assert child.deliver("next") == (Result.HANDED, "")
    until(child.proofs)
    assert child.doubts() == []


@pytest.mark.parametrize("text", ["[[taken]]", "[[broken]]"])
def test_what_a_server_took_before_it_said_no_is_not_given_back(child: Child, text: str):
    assert child.deliver(text) == (Result.HANDED, "")
    until(child.proofs)
    assert child.record.texts() == [text]
    assert child.doubts() == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that do not answer are not waited for."""
    monkeypatch.setattr(codex, "_ASK", 1.0)
    monkeypatch.setattr(opencode_http, "_ASK", 1.0)


def test_a_call_that_is_never_answered_is_looked_up_in_the_conversation(child: Child, impatient: None):
    assert child.deliver("[[mute]]") == (Result.HANDED, "")
    until(child.proofs)
    assert child.record.texts() == ["[[mute]]"]
    assert child.doubts() == []


def test_a_text_that_is_nowhere_is_given_up_and_said_to_be_in_doubt(
    child: Child, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger, "LOST", 0.2)
    assert child.deliver("[[lose]]") == (Result.HANDED, "")
    until(child.doubts)
    assert child.proofs() == []


def test_a_turn_that_fails_proves_nothing_and_that_is_said(child: Child):
    assert child.deliver("[[fail]]") == (Result.HANDED, "")
    until(child.refusals)
    assert child.proofs() == []
    assert child.doubts() == []
    assert "turn" in child.refusals()[0]


def test_a_turn_that_is_stopped_proves_nothing_and_that_is_said(child: Child):
    assert child.deliver("[[work]]") == (Result.HANDED, "")
    until(lambda: child.bridge.observe().doing is Doing.PROCESSING)
    assert child.bridge.interrupt().proven
    until(child.doubts)
    assert child.proofs() == []


def test_a_clock_that_was_set_back_proves_nothing_by_what_was_answered_before(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger, "_SOON", 0.05)
    child = Child("opencode", os.fspath(tmp_path))
    try:
        assert child.deliver("before") == (Result.HANDED, "")
        until(child.proofs)
        monkeypatch.setattr(opencode.time, "time_ns", lambda: 1_000_000_000_000_000_000)
        assert child.deliver("[[work]]") == (Result.HANDED, "")
        until(lambda: child.bridge.observe().doing is Doing.PROCESSING)
        assert child.bridge.interrupt().proven
        until(child.doubts)
        assert len(child.proofs()) == 1
    finally:
        child.bridge.close()


def test_one_that_was_killed_goes_on_with_the_same_conversation(child: Child):
    assert child.deliver("first") == (Result.HANDED, "")
    until(child.proofs)
    before = child.berth.details
    child.again()
    assert child.berth.details == before
    assert "first" in child.bridge.screen()
    assert child.deliver("second") == (Result.HANDED, "")
    until(lambda: len(child.proofs()) == 2)


def test_one_whose_conversation_is_gone_begins_another_and_says_so(child: Child):
    before = child.berth.details
    for name in os.listdir(os.path.dirname(child.record.path)):
        if name.startswith("record."):
            os.unlink(os.path.join(os.path.dirname(child.record.path), name))
    child.again()
    assert child.berth.details != before
    until(lambda: any("instead_of" in heard.text for heard in child.receive()))


def test_a_server_that_falls_silent_is_given_nothing(child: Child, impatient: None):
    os.kill(host.pid_of(child.berth.process), signal.SIGSTOP)
    assert child.deliver("hello") == (Result.REFUSED, "offline")
    os.kill(host.pid_of(child.berth.process), signal.SIGCONT)
    until(lambda: child.bridge.observe().doing is Doing.IDLE)
    assert child.record.texts() == []


def test_a_program_that_is_no_server_is_ended_and_what_it_printed_is_told(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    for name, word in BOTH.items():
        command = ["sh", "-c", "echo not today; exit 3", word]
        launch = Launch("a1", "p/builder", command, os.fspath(tmp_path), environment(), name)
        with pytest.raises(BridgeError, match="does not begin") as caught:
            registry.load(name).start(launch)
        assert "not today" in caught.value.hint
        other = launch._replace(runtime="aider", command=["aider"])
        with pytest.raises(BridgeError, match="is no"):
            registry.load(name).start(other)


# Codex asks


def test_a_codex_of_our_own_begins_a_turn_with_what_it_is_given_and_queues_nothing(
    tmp_path: os.PathLike[str],
):
    """One that a terminal shares is given it by its queue: see `test_routes.py`."""
    child = Child("codex", os.fspath(tmp_path))
    try:
        assert child.deliver("hello") == (Result.HANDED, "")
        until(child.proofs)
    finally:
        child.bridge.close()
    calls = Record(f"{child.record.path}.calls").texts()
    assert (calls.count("turn/start"), calls.count("thread/queue/add")) == (1, 0)


@pytest.mark.parametrize(("option", "decision"), [("accept", "accept"), ("", "decline"), ("what", "decline")])
def test_what_codex_asks_is_passed_on_and_only_a_yes_is_a_yes(
    tmp_path: os.PathLike[str], option: str, decision: str
):
    child = Child("codex", os.fspath(tmp_path))
    try:
        child.deliver("[[ask]]")
        until(child.questions)
        [question] = child.questions()
        assert "touch asked" in question.title
        assert [one.kind for one in question.options] == ["allow_once", "reject_once"]
        assert child.bridge.observe().reason == "approval"
        assert child.record.texts() == ["[[ask]]"], "nothing is answered by itself"
        assert child.bridge.answer(question.id, option)
        assert not child.bridge.answer(question.id, "accept"), "it takes one answer"
        until(lambda: child.record.texts() == ["[[ask]]", f"decision: {decision}"])
        until(child.proofs)
    finally:
        child.bridge.close()


def test_of_files_that_codex_wants_to_change_people_see_which_and_how(tmp_path: os.PathLike[str]):
    child = Child("codex", os.fspath(tmp_path))
    try:
        child.deliver("[[ask]] files")
        until(child.questions)
        [question] = child.questions()
        assert question.title == "change files: /etc/hosts (harmless)"
        assert "+127.0.0.1 evil" in question.details
    finally:
        child.bridge.close()


@pytest.mark.parametrize(
    ("method", "params", "title"),
    [
        ("item/fileChange/requestApproval", {}, "change files: its app-server has not said which"),
        ("applyPatchApproval", {"fileChanges": {"a.py": {}, "b.py": {}}}, "change files: a.py, b.py"),
        ("execCommandApproval", {"command": ["rm", "-rf", "a b"]}, "rm -rf 'a b'"),
        (
            "item/commandExecution/requestApproval",
            {"networkApprovalContext": {"host": "example.org"}, "command": "curl x"},
            "reach example.org: curl x",
        ),
        ("item/commandExecution/requestApproval", {"command": "ls", "reason": "why"}, "ls (why)"),
        ("item/commandExecution/requestApproval", {}, "do something that its app-server does not name"),
    ],
)
def test_what_codex_asks_begins_with_what_it_wants_to_do(method: str, params: Any, title: str):
    question = asked("1", {"method": method, "params": {"threadId": "t", "surprise": "shown", **params}})
    assert question is not None
    assert question.title == title
    assert "surprise" in question.details
    assert "threadId" not in question.details


# what is said, and what is nonsense


def test_an_answer_proves_what_came_before_it_and_nothing_else():
    def turn(status: str, *items: Any) -> Any:
        return {"status": status, "items": [*items]}

    ours, theirs = ({"type": "userMessage", "clientId": name} for name in ("ours", "theirs"))
    answer = {"type": "agentMessage", "text": "yes"}
    told: list[tuple[list[Any], Fate]] = [
        ([], Fate.ABSENT),
        ([turn("completed", theirs, answer)], Fate.ABSENT),
        ([turn("inProgress", ours)], Fate.TAKEN),
        ([turn("inProgress", answer, ours)], Fate.TAKEN),
        ([turn("inProgress", ours, answer)], Fate.ANSWERED),
        ([turn("completed", ours)], Fate.REFUSED),
        ([turn("interrupted", ours)], Fate.BROKEN),
        ([turn("failed", theirs, answer, ours)], Fate.REFUSED),
        ([turn("completed", theirs, answer), turn("interrupted", ours)], Fate.ANSWERED),
    ]
    for turns, fate in told:
        assert codex.verdict(turns, "ours").fate is fate, turns


def test_an_answer_of_opencode_proves_what_it_had_before_it_and_nothing_else():
    def said(id: str, role: str = "user", **more: Any) -> Any:
        return {"info": {"id": id, "role": role, **more}, "parts": []}

    done: Any = {"time": {"completed": 1}}
    ours, before, after = said("msg_5"), said("msg_3"), said("msg_7")
    told: list[tuple[list[Any], Fate]] = [
        ([before, said("msg_4", "assistant", parentID="msg_3", **done)], Fate.ABSENT),
        ([before, ours, said("msg_4", "assistant", parentID="msg_3", **done)], Fate.TAKEN),
        ([ours, said("msg_6", "assistant", parentID="msg_5")], Fate.TAKEN),
        ([ours, said("msg_6", "assistant", parentID="msg_5", **done)], Fate.ANSWERED),
        ([ours, after, said("msg_8", "assistant", parentID="msg_7", **done)], Fate.ANSWERED),
        ([ours, said("msg_6", "assistant", parentID="msg_5", error={"name": "X"}, **done)], Fate.REFUSED),
    ]
    for messages, fate in told:
        assert opencode.verdict(messages, "msg_5").fate is fate, messages


@pytest.mark.parametrize(
    "line",
    [
        "",
        "not json",
        "[1, 2]",
        '"text"',
        "{",
        '{"id": 1}',
        '{"id": {}, "result": 3}',
        "[" * 5000,
        "{}",
        "null",
    ],
)
def test_nonsense_of_an_app_server_answers_nothing(line: str):
    def send(_: str) -> None:
        talk.hear(line)

    talk = Talk(send, lambda _: None)
    if line == '{"id": 1}':
        assert talk.call("thread/read", {}, 0.05) == {}
    else:
        with pytest.raises(Silence):
            talk.call("thread/read", {}, 0.05)


def test_an_answer_that_comes_too_late_is_kept_for_nobody():
    sent: list[str] = []
    talk = Talk(sent.append, lambda _: None)
    with pytest.raises(Silence):
        talk.call("turn/start", {}, 0.0)
    talk.hear('{"id": 1, "error": {"message": "late"}}')
    talk.end()
    with pytest.raises(Unsent):
        talk.call("turn/start", {}, 0.0)
    assert len(sent) == 1


def test_an_opencode_that_is_not_there_gets_not_a_byte():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unsent):
        Http(Site(port)).get("session")


def test_a_password_is_asked_for_and_never_guessed(tmp_path: os.PathLike[str]):
    child = Child("opencode", os.fspath(tmp_path))
    try:
        [port] = host.listens(host.pid_of(child.berth.process))
        for site in (Site(port), Site(port, password="guessed")):
            with pytest.raises(Refusal, match="asks for a password"):
                Http(site).get("session")
        assert opencode_terminal.site(child.berth.process).password, "that of its own environment"
    finally:
        child.bridge.close()


Find = Callable[[str], object]


@pytest.mark.parametrize("find", [codex_terminal.home, opencode_terminal.site])
def test_of_a_process_that_cannot_be_looked_into_nothing_is_found(find: Find):
    with pytest.raises(NoServer):
        find("999999999.1.x.y")
