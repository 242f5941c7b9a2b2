"""The server of opencode: what its agents ask, answers that come late, and servers of somebody else's."""

import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from postroom.bridges.contract import Berth
from postroom.bridges.opencode import http
from postroom.bridges.opencode.http import Http, Site
from postroom.bridges.opencode.session import Dialogue
from postroom.bridges.opencode.terminal import Finder
from postroom.bridges.server.answer import Silence
from postroom.errors import BridgeError
from tests.bridged import Record
from tests.integration.test_servers import Child
from tests.process import until
from tests.serving.opencode import Opencode, Quiet, handler


@pytest.fixture
def child(tmp_path: os.PathLike[str]) -> Iterator[Child]:
    child = Child("opencode", os.fspath(tmp_path))
    yield child
    child.bridge.close()


def test_what_a_subagent_asks_is_passed_on_and_an_answer_that_fails_is_given_again(child: Child):
    child.deliver("[[ask]]")
    until(child.questions)
    [question] = child.questions()
    assert child.bridge.observe().reason == "approval"
    with pytest.raises(BridgeError, match="503"):
        child.bridge.answer(question.id, "once")
    assert child.bridge.answer(question.id, "once")
    assert not child.bridge.answer(question.id, "once"), "it takes one answer"
    until(child.proofs)
    assert child.record.texts() == ["[[ask]]", "decision: once"]


def test_a_question_whose_id_has_half_a_character_is_one_that_nobody_asks(child: Child):
    assert not child.bridge.answer("per_\ud83d", "once")


def test_what_is_no_matter_of_yes_or_no_does_not_stop_it_for_ever(child: Child):
    child.deliver("[[wonder]]")
    until(child.proofs)
    assert child.record.texts() == ["[[wonder]]", "decision: reject"]


def served(kind: type[BaseHTTPRequestHandler]) -> tuple[ThreadingHTTPServer, Http]:
    server = Quiet(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, Http(Site(server.server_address[1]))


@pytest.mark.parametrize("version", ["0.14.2", "", "1.18.33"])
def test_what_begins_no_turn_is_added_only_where_the_server_knows_that(
    tmp_path: os.PathLike[str], version: str
):
    site = Opencode(Record(os.path.join(tmp_path, "record")))
    id = site.start(version=version)["id"]
    server, link = served(handler(site, ""))
    try:
        dialogue = Dialogue(link, id)
        if version.startswith("1."):
            assert "added" in dialogue.inform("hello")
        else:
            with pytest.raises(BridgeError, match=r"not of 1\.0"):
                dialogue.inform("hello")
        assert site.injected.texts() == (["hello"] if version.startswith("1.") else [])
        assert dialogue.last_words(50) == [], "nobody has said it"
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_that_speaks_something_else_is_none_of_opencode(tmp_path: os.PathLike[str]):
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server, link = served(Page)
    try:
        assert Dialogue(link, "ses_1").observe().reason == "offline"
        told = Finder(Berth("a1", "p/builder", str(os.getpid()), details={"session": "ses_1"}))
        with pytest.raises(BridgeError, match="no server of opencode"):
            told.find(link)
    finally:
        server.shutdown()
        server.server_close()


def test_only_a_session_of_the_directory_that_it_works_in_is_a_terminals(tmp_path: os.PathLike[str]):
    site = Opencode(Record(os.path.join(tmp_path, "record")))
    site.start("theirs", directory=os.fspath(tmp_path))
    server, link = served(handler(site, ""))
    try:
        finder = Finder(Berth("a1", "p/builder", str(os.getpid())))
        with pytest.raises(BridgeError, match="nothing was said"):
            finder.find(link)
        ours = site.start("ours", directory=os.getcwd())
        assert finder.find(link) == ours["id"]
        told = Finder(Berth("a1", "p/builder", str(os.getpid()), details={"session": "ses_other"}))
        with pytest.raises(BridgeError):
            told.find(link)
    finally:
        server.shutdown()
        server.server_close()


def test_an_answer_that_comes_drop_by_drop_has_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "_ASK", 0.5)
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip() -> None:
        link, _ = listener.accept()
        with link:
            link.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not over.wait(0.05):
                try:
                    link.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        with pytest.raises(Silence):
            Http(Site(listener.getsockname()[1])).get("session")
    finally:
        over.set()
        thread.join(10)
        listener.close()
