"""An agent with two ways in: its own server, and the pane in which it runs. The better one is used while it
answers, else the other; and what one was handed, the other never gets.
"""

import contextlib
import os
import shlex
import signal
import tempfile
from collections.abc import Iterator

import pytest

from postroom import host
from postroom.bridges.opencode.http import Http
from postroom.bridges.opencode.terminal import site
from postroom.daemon import control
from postroom.daemon.place import log_path
from postroom.model.ladder import Evidence, State
from postroom.room import berth, glance
from postroom.room.local import LocalRoom
from tests.bridged import Record
from tests.process import until
from tests.serving.codex import AppServer, Listening
from tests.tui.house import House
from tests.tui.stage import Pane, Role, Stage, patiently

SOON = "postroom.daemon.route._FIRST=0.1 postroom.bridges.server.ledger._SOON=0.1"
LATE = "postroom.daemon.route._FIRST=600.0"
BRIEF = " postroom.bridges.opencode.http._ASK=0.5"
BRIEFLY = " postroom.bridges.codex.thread._ASK=0.5 postroom.bridges.codex.terminal._ASK=0.5"


class Routed:
    """An agent that is reached by one of two routes."""

    def __init__(self, house: House) -> None:
        self.house = house

    def routes(self) -> list[tuple[str, str | None, str]]:
        """What was noted of the routes to it."""
        told = [event.payload for event in self.house.room.events() if event.type == "agent.route"]
        return [(one["route"], one["instead_of"], one["words"]) for one in told]

    def route(self) -> str:
        return berth.route(self.house.room.store.look(), self.house.room.who("builder").id)


class Codex(Routed):
    """A fake Codex in a pane, and the server that has its thread."""

    def __init__(self, house: House, stage: Stage, place: str) -> None:
        super().__init__(house)
        self._home = os.path.join(stage.root, "codex")
        self.cwd = place
        self.record = Record(os.path.join(place, "record"))
        self.server = AppServer(self.record, place)
        self.server.start()
        self.listening = Listening(self._home, self.server)
        self.pane = self.open(stage)
        house.adopt("builder", self.pane, routes=["codex"], cwd=place)

    def open(self, stage: Stage) -> Pane:
        """A terminal of it, in the same directory."""
        return stage.agent(name="codex", cwd=self.cwd, CODEX_HOME=self._home)

    def end(self) -> None:
        self.listening.close()

    def begin(self) -> None:
        self.listening = Listening(self._home, self.server)

    def hang(self) -> None:
        """It takes connections and calls, and answers none."""
        self.server.mute.update(_ASKED)


_ASKED = ("initialize", *(f"thread/{each}" for each in ("loaded/list", "read", "turns/list", "queue/add")))


class Opencode(Routed):
    """A fake opencode in a pane, and beside it, as its child, the server that it has with `--port`."""

    def __init__(self, house: House, stage: Stage, place: str) -> None:
        super().__init__(house)
        self.record = Record(os.path.join(place, "record"))
        own = tempfile.mkdtemp(dir=stage.root)
        role = Role(own, (), {}, "opencode")
        serve = shlex.join([role.argv[0], "-S", "-m", "tests.serving", "opencode", self.record.path, "serve"])
        begin = f'{serve} >/dev/null 2>&1 & echo $! >{own}/server; exec "$@"'
        self.pane = Pane(stage, stage.run("sh", "-c", begin, "sh", *role.argv, cwd=place), own)
        patiently(lambda: self.pane.log("started"))
        self.pane.control("look")
        with open(os.path.join(own, "server"), encoding="utf-8") as file:
            self.server = int(file.read())
        patiently(lambda: host.listens(self.server))
        Http(site(host.identity_of(self.pane.pid))).post("session", body={"title": "what is shown"})
        house.adopt("builder", self.pane, routes=["opencode"], cwd=place)

    def signal(self, number: int) -> None:
        """To its server."""
        os.kill(self.server, number)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture
def house(room: LocalRoom, stage: Stage) -> Iterator[House]:
    with House(room, stage) as house:
        yield house


@pytest.fixture
def codex(house: House, stage: Stage, tmp_path: os.PathLike[str]) -> Iterator[Codex]:
    codex = Codex(house, stage, os.fspath(tmp_path))
    yield codex
    codex.end()


@pytest.fixture
def opencode(house: House, stage: Stage, tmp_path: os.PathLike[str]) -> Iterator[Opencode]:
    opencode = Opencode(house, stage, os.fspath(tmp_path))
    yield opencode
    with contextlib.suppress(ProcessLookupError):
        opencode.signal(signal.SIGKILL)


def test_mail_goes_to_the_server_while_that_answers_and_nothing_is_typed(house: House, codex: Codex):
    house.daemon(SEAMS=SOON)
    sent = house.room.send("builder", "What does the build say?")
    house.seen(sent.id, Evidence.RUNTIME_ACK)
    assert house.delivery(sent.id).route == "codex"
    assert "What does the build say?" in codex.record.texts()[0]
    assert codex.pane.submitted() == []
    calls = codex.server.calls
    assert (calls.count("thread/queue/add"), calls.count("turn/start")) == (1, 0), "a person may be at it"
    assert codex.routes() == [], "nothing is to be told where the best one is used from the beginning"


@pytest.mark.promise("next-route")
@pytest.mark.parametrize("how", ["gone", "mute"])
def test_a_server_that_does_not_answer_is_left_for_the_pane_and_that_is_said(
    house: House, codex: Codex, how: str
):
    house.daemon(SEAMS=LATE + BRIEFLY)
    first = house.room.send("builder", "first")
    house.seen(first.id, Evidence.RUNTIME_ACK)
    if how == "gone":
        codex.end()
        patiently(lambda: codex.route() == "tmux")
    else:
        codex.hang()  # which nobody notices before it is asked
    second = house.room.send("builder", "second")
    house.seen(second.id, Evidence.TERMINAL)
    assert house.delivery(second.id).route == "tmux"
    [(route, instead_of, words)] = codex.routes()
    assert (route, instead_of) == ("tmux", "codex")
    assert "app-server" in words
    seen = glance.get(house.home, house.room.who("builder").id)
    assert seen is not None
    assert seen.instead == words
    assert control.ask(house.home, "ping")["instead"] == {"p/builder": words}
    assert len(codex.record.texts()) == len(codex.pane.submitted()) == 1


@pytest.mark.promise("next-route")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_opencode_whose_server_does_not_answer_is_typed_to_and_that_is_said(
    house: House, opencode: Opencode, how: signal.Signals
):
    house.daemon(SEAMS=LATE + BRIEF)
    first = house.room.send("builder", "first")
    house.seen(first.id, Evidence.RUNTIME_ACK)
    assert (house.delivery(first.id).route, opencode.pane.submitted()) == ("opencode", [])
    opencode.signal(how)
    second = house.room.send("builder", "second")
    house.seen(second.id, Evidence.TERMINAL)
    assert (house.delivery(second.id).route, opencode.route()) == ("tmux", "tmux")
    [(route, instead_of, words)] = opencode.routes()
    assert (route, instead_of) == ("tmux", "opencode")
    assert "server" in words
    assert control.ask(house.home, "ping")["instead"] == {"p/builder": words}
    [served], [typed] = opencode.record.texts(), opencode.pane.submitted()
    assert "first" in served
    assert "second" in typed


def messages_until_back(house: House, served: Opencode | Codex, route: str) -> int:
    """How many had to be sent until a server was used again: it is tried when there is something to do."""
    count = 0

    def is_back() -> bool:
        nonlocal count
        sent = house.room.send("builder", f"message {count}")
        patiently(lambda: house.delivery(sent.id).state is State.SEEN)
        count += 1
        return served.route() == route

    until(is_back)
    return count


def test_an_opencode_that_stops_answering_for_a_moment_is_reached_by_its_server_again(
    house: House, opencode: Opencode
):
    house.daemon(SEAMS=SOON + BRIEF)
    opencode.signal(signal.SIGSTOP)
    first = house.room.send("builder", "first")
    house.seen(first.id, Evidence.TERMINAL)
    opencode.signal(signal.SIGCONT)
    n = messages_until_back(house, opencode, "opencode")
    texts = "\n".join([*opencode.record.texts(), *opencode.pane.submitted()])
    assert [texts.count(f"message {number}\n") for number in range(n)] == [1] * n


def test_a_server_that_answers_again_is_used_again(house: House, codex: Codex):
    codex.end()
    house.daemon(SEAMS=SOON)
    first = house.room.send("builder", "first")
    house.seen(first.id, Evidence.TERMINAL)
    codex.begin()
    n = messages_until_back(house, codex, "codex")
    last = house.room.send("builder", "last")
    house.seen(last.id, Evidence.RUNTIME_ACK)
    texts = "\n".join([*codex.record.texts(), *codex.pane.submitted()])
    assert [texts.count(f"message {number}\n") for number in range(n)] == [1] * n


@pytest.mark.promise("next-route")
def test_what_a_server_was_handed_before_it_was_lost_is_uncertain_and_never_typed(house: House, codex: Codex):
    house.daemon(SEAMS=LATE)
    sent = house.room.send("builder", "[[work]]")
    patiently(codex.record.texts)
    codex.end()
    house.waits(sent.id, "uncertain")
    after = house.room.send("builder", "after it")
    house.seen(after.id, Evidence.TERMINAL)
    assert house.delivery(sent.id).reason == "uncertain"
    [typed] = codex.pane.submitted()
    assert "[[work]]" not in typed


def test_a_connection_that_breaks_and_is_made_again_loses_and_doubts_nothing(house: House, codex: Codex):
    house.daemon(SEAMS=SOON)
    sent = house.room.send("builder", "[[work]]")
    patiently(codex.record.texts)
    codex.listening.cut()
    [thread] = codex.server.loaded.values()
    codex.server.finish(thread)
    house.seen(sent.id, Evidence.RUNTIME_ACK)
    assert len(codex.record.texts()) == 1


def test_where_no_server_runs_mail_is_typed_and_nothing_is_said_of_it(house: House, codex: Codex):
    codex.end()
    house.daemon(SEAMS=SOON)
    sent = house.room.send("builder", "hello")
    house.seen(sent.id, Evidence.TERMINAL)
    assert codex.routes() == []


@pytest.mark.promise("right-conversation")
@pytest.mark.parametrize("second", ["terminal", "thread"])
def test_where_the_thread_of_a_terminal_could_be_another_the_server_is_not_used(
    house: House, stage: Stage, codex: Codex, second: str
):
    if second == "terminal":
        codex.open(stage)
    else:
        codex.server.start()
    house.daemon(SEAMS=SOON)
    sent = house.room.send("builder", "hello")
    house.seen(sent.id, Evidence.TERMINAL)
    assert codex.record.texts() == []


def test_threads_that_no_terminal_shows_are_not_taken_for_one_that_is_shown(house: House, codex: Codex):
    codex.server.start(ephemeral=True)
    codex.server.start(parentThreadId="another")
    codex.server.start(originator="somebody")
    codex.server.start("/elsewhere")
    house.daemon(SEAMS=SOON)
    sent = house.room.send("builder", "hello")
    house.seen(sent.id, Evidence.RUNTIME_ACK)


def test_a_terminal_that_shows_another_thread_is_typed_into_and_the_old_one_gets_nothing(
    house: House, codex: Codex
):
    house.daemon(SEAMS=LATE)
    first = house.room.send("builder", "first")
    house.seen(first.id, Evidence.RUNTIME_ACK)
    codex.server.start()
    second = house.room.send("builder", "second")
    house.seen(second.id, Evidence.TERMINAL)
    assert len(codex.record.texts()) == 1


def test_an_operators_command_is_typed_into_the_terminal_and_not_handed_to_the_server(
    house: House, codex: Codex
):
    house.daemon(SEAMS=SOON)
    patiently(lambda: codex.route() == "codex")
    done = control.ask(house.home, "command", agent=house.room.who("builder").id, text="/compact", by="ana")
    assert done["result"] == "proven", done
    assert codex.pane.submitted() == ["/compact"]
    assert codex.record.texts() == []


@pytest.mark.promise("next-route")
def test_a_server_that_takes_no_mail_is_left_for_the_pane_after_a_few_tries(house: House, codex: Codex):
    codex.server.refuses = {"thread/queue/add"}
    house.daemon(SEAMS=LATE)
    sent = house.room.send("builder", "hello")
    house.seen(sent.id, Evidence.TERMINAL)
    assert codex.server.calls.count("thread/queue/add") == 3
    [(route, _, words)] = codex.routes()
    assert route == "tmux"
    assert "takes no mail" in words


def test_an_agent_beside_a_terminal_is_told_its_address_without_a_turn_unless_its_hooks_do(
    house: House, codex: Codex
):
    house.daemon(SOON)
    patiently(codex.server.injected.texts)
    [text] = codex.server.injected.texts()
    assert "Your address in Postroom is builder" in text
    assert codex.record.texts() == codex.pane.submitted() == []
    sent = house.room.send("builder", "hello")
    house.seen(sent.id, Evidence.RUNTIME_ACK)
    assert len(codex.server.injected.texts()) == 1


def test_a_server_that_knows_no_such_call_gets_its_mail_all_the_same(house: House, codex: Codex):
    codex.server.refuses = {"thread/inject_items"}
    house.daemon(SOON)
    sent = house.room.send("builder", "hello")
    house.seen(sent.id, Evidence.RUNTIME_ACK)
    assert codex.server.calls.count("thread/inject_items") == 1
    with open(log_path(house.home), encoding="utf-8") as file:
        assert "not introduced" in file.read()
