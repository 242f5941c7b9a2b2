"""A thread of an app-server that is in this process: what is asked of it, and how often."""

import json
import os
from typing import Any

import pytest

from postroom.bridges.codex import thread
from postroom.bridges.codex.talk import Talk
from postroom.bridges.codex.thread import Thread
from postroom.bridges.contract import Assent, Delivered, Result, Text
from postroom.bridges.server import conversation, ledger
from tests.bridged import Record
from tests.serving.codex import AppServer


class Served:
    """A thread, and the server that has it."""

    def __init__(self, place: str) -> None:
        self.record = Record(os.path.join(place, "record"))
        self.server = AppServer(self.record)
        self.told = self.server.start()
        self.talk = Talk(self._send, lambda _: self.thread.moved())
        self.thread = Thread(self.talk, self.told["id"], queued=False)
        self.server.connect(self._say)

    def _send(self, line: str) -> None:
        self.server.hear(json.loads(line), self._say)

    def _say(self, what: Any) -> None:
        self.talk.hear(json.dumps(what))

    def deliver(self, text: str, *, while_busy: bool = False) -> Delivered:
        assent = Assent(lambda: None, lambda: True)
        return self.thread.deliver(Text(text, while_busy=while_busy), assent, self.thread.observe())


@pytest.fixture
def served(tmp_path: os.PathLike[str]) -> Served:
    return Served(os.fspath(tmp_path))


def test_a_turn_that_does_not_end_is_asked_for_now_and_then_and_not_all_the_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversation, "_STOP", 0.3)
    monkeypatch.setattr(conversation, "_PAUSE", 0.1)
    served.deliver("[[deaf]]")
    served.server.calls.clear()
    assert not served.thread.interrupt().proven
    assert served.server.calls.count("turn/interrupt") == 1
    assert served.server.calls.count("thread/turns/list") <= 6


def test_what_was_queued_before_the_server_said_no_is_not_given_back(
    served: Served, monkeypatch: pytest.MonkeyPatch
):
    served.thread = Thread(served.talk, served.told["id"], queued=True)
    served.deliver("[[work]]")
    monkeypatch.setattr(served.server, "refuses_after", {"thread/queue/add"})
    idle = served.thread.observe()._replace(reason="")  # as it was a moment before
    delivered = served.thread.deliver(Text("second"), Assent(lambda: None, lambda: True), idle)
    assert delivered.result is Result.HANDED
    assert "said" in delivered.words


def test_mail_goes_into_the_turn_that_has_begun_since_it_was_asked_which_that_is(
    served: Served, monkeypatch: pytest.MonkeyPatch
):
    served.deliver("[[work]]")
    asked, told = served.thread.talk.call, iter(["a turn that has ended"])

    def call(method: str, params: Any, patience: float) -> Any:
        """As if the turn were another one when it was asked for first."""
        found = asked(method, params, patience)
        if params.get("itemsView") == "notLoaded" and (before := next(told, "")):
            return {"data": [{**found["data"][0], "id": before}]}
        return found

    monkeypatch.setattr(served.thread.talk, "call", call)
    assert served.deliver("mail", while_busy=True).result is Result.HANDED
    assert served.server.calls.count("turn/steer") == 2
    assert served.record.texts() == ["[[work]]", "mail"]


def test_a_turn_that_takes_nothing_is_asked_once_and_the_mail_waits(served: Served):
    served.deliver("[[work]]")
    served.server.refuses = {"turn/steer"}
    delivered = served.deliver("mail", while_busy=True)
    assert (delivered.result, delivered.reason) == (Result.REFUSED, "busy")
    assert served.server.calls.count("turn/steer") == 1


def test_a_turn_that_is_told_as_interrupted_for_a_moment_only_is_not_doubted(
    served: Served, monkeypatch: pytest.MonkeyPatch
):
    """As Codex 0.166.0 does with one that has just begun."""
    monkeypatch.setattr(ledger, "_SOON", 0.0)
    served.deliver("[[work]]")
    [turn] = served.told["turns"]
    turn["status"] = "interrupted"
    assert served.thread.settled() == []
    turn["status"] = "inProgress"
    served.thread.moved()
    assert served.thread.settled() == []
    turn["status"] = "interrupted"
    served.thread.moved()
    assert served.thread.settled() == [], "it counts from anew"
    monkeypatch.setattr(thread, "_SURE", 0.0)
    served.thread.moved()
    [heard] = served.thread.settled()
    assert "interrupted" in heard.doubts
