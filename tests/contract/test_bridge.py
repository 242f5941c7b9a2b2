"""What every bridge must do. A new one is added to `CASES`, and to nothing else."""

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from postroom import host
from postroom.bridges import registry
from postroom.bridges.contract import Assent, Berth, Bridge, Doing, Heard, Launch, Result, Text
from postroom.bridges.opencode.http import Http
from postroom.bridges.opencode.terminal import site
from postroom.bridges.terminal import typist
from postroom.bridges.tmux.server import Server, target
from postroom.errors import BridgeError
from postroom.model.ladder import Evidence
from postroom.model.message import Json
from tests.bridged import NOISE, Record
from tests.process import BOUND, ROOT, environment, until
from tests.tui.stage import Stage

MAIL = "%%abcdefgh Postroom: 1 message\nWhat does the build say?\n%%abcdefgh end"
SECOND = "%%abcdefgh Postroom: another message"
WORK = "[[work]]"


class Program(NamedTuple):
    """What a bridge is tried with."""

    command: list[str]
    texts: Callable[[], list[str]]  # what it took in
    details: Json = {}  # noqa: RUF012 - read only
    end: Callable[[], None] = lambda: None  # what is left when it has ended
    process: str = ""  # where it runs already: its user has started it, in a terminal


def bridged(scene: str) -> Callable[[str], Program]:
    """A program of `tests.bridged`."""

    def begin(place: str) -> Program:
        record = Record(os.path.join(place, "record"))
        return Program([sys.executable, "-m", "tests.bridged", scene, record.path], record.texts)

    return begin


def serving(name: str, word: str) -> Callable[[str], Program]:
    """A server of `tests.serving`, which is started by that word."""

    def begin(place: str) -> Program:
        record = Record(os.path.join(place, "record"))
        command = [sys.executable, "-m", "tests.serving", name, record.path, word]
        return Program(command, record.texts)

    return begin


def acting(place: str) -> Program:
    """The agent that speaks ACP."""
    record = Record(os.path.join(place, "record"))
    return Program([sys.executable, "-m", "tests.acting", record.path], record.texts)


def staged(place: str) -> Program:
    """The fake agent, in a pane of a tmux server of its own."""
    stage = Stage()
    stage.run("cat")
    role = stage.child("--endless", WORK)
    return Program(role.argv, role.submitted, {"socket": stage.socket, "session": "stage"}, stage.__exit__)


def running(code: str, name: str, place: str, ready: Callable[[str], Json], **env: str) -> Program:
    """A server of `tests.serving` that somebody else has started; `ready` waits for it."""
    record = Record(os.path.join(place, "record"))
    child = subprocess.Popen(
        [sys.executable, "-c", code, record.path], cwd=place, env=environment(PYTHONPATH=ROOT, **env),
        stdout=subprocess.DEVNULL,
    )  # fmt: skip

    def end() -> None:
        child.kill()
        child.wait(BOUND)

    process = host.identity_of(child.pid)
    try:
        return Program([name], record.texts, ready(process), end, process)
    except BaseException:
        end()
        raise


CODEX = """
import os, sys, threading
from tests.bridged import Record
from tests.serving.codex import AppServer, Listening
record = Record(sys.argv[1])
server = AppServer(record, os.getcwd())
thread = server.start()
Listening(os.environ["CODEX_HOME"], server)
with open(record.path + ".thread", "w") as file:
    file.write(thread["id"] + "\\n")
threading.Event().wait()
"""
OPENCODE = """
import sys
from tests.bridged import Record
from tests.serving.opencode import serve_http
serve_http(Record(sys.argv[1]))
"""


def beside_codex(place: str) -> Program:
    """The server that has the thread of a terminal, which its hooks have told."""
    home = tempfile.mkdtemp(prefix="codex-")  # short: a socket's path has at most 107 bytes

    def ready(_: str) -> Json:
        path = os.path.join(place, "record.thread")
        until(lambda: os.path.exists(path) and os.path.getsize(path))
        with open(path, encoding="utf-8") as file:
            return {"session": file.read().strip()}

    found = running(CODEX, "codex", place, ready, CODEX_HOME=home)

    def end() -> None:
        found.end()
        shutil.rmtree(home)

    return found._replace(end=end)


def beside_opencode(place: str) -> Program:
    """The server of a terminal that was started with `--port`, in which something was said."""

    def ready(process: str) -> Json:
        until(lambda: host.listens(host.pid_of(process)))
        Http(site(process)).post("session", body={})
        return {}

    return running(OPENCODE, "opencode", place, ready)


class Case(NamedTuple):
    """How one kind of bridge is tried."""

    begin: Callable[[str], Program]  # in a directory
    runtime: str = ""
    hinder: Callable[["Trial"], None] | None = None  # let the agent be such that nothing may be handed over
    kind: str = ""  # of bridge, where the case is not called by that


class Trial:
    """A bridge to a program, and what that took in."""

    def __init__(self, name: str, case: Case, place: str, test: str) -> None:
        self.case = case
        self._test = test
        self.program = case.begin(place)
        self.way = registry.load(case.kind or name)
        env = environment(PYTHONPATH=ROOT)
        self.launch = Launch(
            "a1", "p/builder", self.program.command, place, env, case.runtime, self.program.details
        )
        self.berth: Berth = self._begun()
        self.bridge: Bridge = self.way.open(self.berth)
        self.begun = 0
        self.heard: list[Heard] = []

    def _begun(self) -> Berth:
        if not self.is_beside:
            return self.way.start(self.launch)
        return Berth("a1", "p/builder", self.program.process, "", self.case.runtime, self.program.details)

    @property
    def is_beside(self) -> bool:
        """Whether it was started by somebody else, in a terminal of theirs."""
        return bool(self.program.process)

    @property
    def pid(self) -> int:
        return host.pid_of(self.berth.process)

    def texts(self) -> list[str]:
        return self.program.texts()

    def type(self, text: str) -> None:
        """As a person does who sits at its terminal."""
        if terminal := self.bridge.terminal():
            terminal.type_by_person(text.encode())
        else:
            pane = target(self.berth.pane)
            Server(pane.socket).run(["send-keys", "-t", pane.id, "-l", "--", text])

    def again(self) -> None:
        """Start it anew, and clear what is left of it."""
        if self.is_beside:
            pytest.skip("who has the terminal starts it anew: that is another process, and another bridge")
        earlier, self.berth = self.berth, self.way.start(self.launch)
        self.bridge = self.way.open(self.berth)
        self.way.end(earlier)

    def end(self) -> None:
        self.bridge.close()
        self.way.end(self.berth)
        if self.is_beside:
            self.program.end()
        until(lambda: host.is_gone(self.berth.process))
        if not self.is_beside:
            self.program.end()

    def ready(self) -> "Trial":
        until(lambda: self.bridge.observe().doing in (Doing.IDLE, Doing.UNKNOWN))
        return self

    def deliver(self, text: Text, holds: Callable[[], bool] = lambda: True):
        if self.is_mailbox:
            pytest.skip(f"its mail is carried; see {CARRIED[self._test]}")

        def begin() -> None:
            self.begun += 1

        return self.bridge.deliver(text, Assent(begin, holds))

    @property
    def is_mailbox(self) -> bool:
        return self.bridge.capabilities().mailbox

    def receive(self) -> list[Heard]:
        self.heard += self.bridge.receive()
        return self.heard

    def ends(self) -> list[int]:
        return [heard.exit_code for heard in self.receive() if heard.exit_code is not None]

    def proofs(self) -> list[Evidence]:
        return [heard.proves for heard in self.receive() if heard.proves]


def work(trial: Trial) -> None:
    trial.deliver(Text(WORK))
    until(lambda: trial.bridge.observe().doing is Doing.PROCESSING)


def draft(trial: Trial) -> None:
    trial.type("half a sentence")
    until(lambda: "half a sentence" in trial.bridge.screen())


def stop(trial: Trial) -> None:
    """Let it read nothing, until its input is full."""
    os.kill(trial.pid, signal.SIGSTOP)
    until(lambda: trial.deliver(Text("x" * 4096)).result is Result.REFUSED)


CASES = {
    "tmux": Case(staged, "claude", draft),
    "pty": Case(bridged("tui"), "claude", draft),
    "lines": Case(bridged("lines"), hinder=stop),
    "stream": Case(bridged("stream"), "claude", work),
    "codex": Case(serving("codex", "app-server"), "codex", work),
    "codex-beside": Case(beside_codex, "codex", work, "codex"),
    "opencode": Case(serving("opencode", "serve"), "opencode", work),
    "opencode-beside": Case(beside_opencode, "opencode", work, "opencode"),
    "acp": Case(acting, hinder=work),
    "files": Case(bridged("files"), hinder=work),
}
# Claude Code starts these by itself, and nothing here speaks as its reader of inboxes does: for each property
# that has a sense there, the test that shows it with the files alone. They have no output, turns or end.
_TEAM = "tests/integration/test_team.py"
NOT_STARTED = {
    "claude-team": {
        "test_what_is_handed_to_an_idle_agent_reaches_it_once_and_is_proven": (
            (_TEAM, "test_a_text_is_put_behind_what_is_there_as_the_cli_writes_it"),
            (_TEAM, "test_it_is_seen_when_it_was_taken_out_or_read_and_not_before"),
        ),
        "test_one_text_after_the_other_reaches_the_agent_in_order": (
            (_TEAM, "test_a_text_is_put_behind_what_is_there_as_the_cli_writes_it"),
        ),
        "test_where_nothing_may_be_handed_over_not_a_byte_is_written": (
            (_TEAM, "test_while_the_cli_has_the_lock_nothing_is_written_and_an_abandoned_one_is_no_lock"),
            (_TEAM, "test_a_lead_of_nobody_does_not_read_so_its_mail_waits"),
        ),
        "test_without_the_assent_of_whoever_hands_over_nothing_is_written": (
            (_TEAM, "test_nothing_is_written_without_consent"),
        ),
        "test_an_agent_that_was_killed_is_gone_and_gets_nothing": (
            (_TEAM, "test_nothing_is_written_for_a_team_whose_lead_has_ended"),
        ),
        "test_an_interrupt_says_what_was_proven": (
            (_TEAM, "test_what_its_way_says_it_is_and_nothing_of_it_is_ours_to_stop_or_to_end"),
        ),
        "test_a_text_goes_to_an_agent_at_work_only_by_a_bridge_that_says_so": (
            (_TEAM, "test_while_the_last_one_is_unread_only_what_may_go_to_one_at_work_is_written"),
        ),
        "test_a_proof_from_before_proves_nothing_that_was_handed_over_after_it": (
            (_TEAM, "test_that_one_was_taken_out_proves_nothing_of_the_next"),
        ),
        "test_the_end_of_a_bridge_is_the_end_of_a_child_of_ours": (
            (_TEAM, "test_what_its_way_says_it_is_and_nothing_of_it_is_ours_to_stop_or_to_end"),
        ),
        "test_a_bridge_is_what_its_way_says": (
            (_TEAM, "test_what_its_way_says_it_is_and_nothing_of_it_is_ours_to_stop_or_to_end"),
        ),
    },
}
# What has no sense for one that we do not start, that rings for nobody, and is written to at once.
NO_SENSE = {
    "claude-team": {
        "test_an_assent_that_is_withdrawn_before_the_text_is_submitted_keeps_it_from_being",
        "test_whoever_attends_is_rung_for_when_something_is_to_be_received",
        "test_what_comes_out_is_received_in_bounded_pieces_and_nothing_is_lost_unsaid",
        "test_an_agent_is_started_once_at_a_time_and_again_when_it_has_ended",
        "test_of_two_that_start_an_agent_at_once_one_does",
        "test_what_is_left_of_a_run_is_cleared_and_twice_does_no_harm",
    },
}
# What is handed to others is carried to a mailbox: for each property of that, the test that shows it there.
_INBOX, _HERE = "tests/integration/mailbox/carried/test_mailbox_inbox.py", "tests/contract/test_bridge.py"
CARRIED = {
    "test_what_is_handed_to_an_idle_agent_reaches_it_once_and_is_proven": (
        (_INBOX, "test_what_was_put_away_is_seen_and_the_rest_is_not"),
        (_INBOX, "test_two_carriers_at_once_deliver_each_letter_once"),
    ),
    "test_one_text_after_the_other_reaches_the_agent_in_order": (
        (_INBOX, "test_letters_of_one_priority_are_read_as_they_were_sent"),
        (_INBOX, "test_the_urgent_is_read_first"),
    ),
    "test_where_nothing_may_be_handed_over_not_a_byte_is_written": (
        (_INBOX, "test_while_an_inbox_cannot_be_written_nothing_is_claimed_for_it"),
    ),
    "test_without_the_assent_of_whoever_hands_over_nothing_is_written": (
        (_INBOX, "test_a_program_of_the_agents_own_that_listens_has_its_mail"),
    ),
    "test_an_assent_that_is_withdrawn_before_the_text_is_submitted_keeps_it_from_being": (
        (_INBOX, "test_a_carrier_follows_when_another_begins_the_next_context"),
        (_INBOX, "test_what_is_withdrawn_is_taken_out_of_the_inbox_again"),
    ),
    "test_an_interrupt_says_what_was_proven": (
        (_HERE, "test_a_mailbox_is_handed_nothing_whatever_its_program_does"),
    ),
    "test_a_text_goes_to_an_agent_at_work_only_by_a_bridge_that_says_so": (
        (_INBOX, "test_mail_lies_in_the_inbox_and_is_offered"),
        (_HERE, "test_a_mailbox_is_handed_nothing_whatever_its_program_does"),
    ),
    "test_what_comes_out_is_received_in_bounded_pieces_and_nothing_is_lost_unsaid": (
        (_HERE, "test_what_the_program_of_a_mailbox_prints_is_received_in_bounded_pieces"),
    ),
    "test_a_proof_from_before_proves_nothing_that_was_handed_over_after_it": (
        (_INBOX, "test_what_is_put_away_proves_nothing_that_came_after_it"),
    ),
}


@pytest.fixture(params=CASES)
def trial(
    request: pytest.FixtureRequest, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Trial]:
    monkeypatch.setattr(typist, "_PATIENCE", 1.0)
    trial = Trial(request.param, CASES[request.param], os.fspath(tmp_path), request.function.__name__)
    yield trial
    trial.end()


def test_every_kind_of_bridge_is_tried_or_it_is_said_why_not():
    assert {*(case.kind or name for name, case in CASES.items()), *NOT_STARTED} == set(registry.names())


def test_what_is_handed_to_an_idle_agent_reaches_it_once_and_is_proven(trial: Trial):
    trial.ready()
    delivered = trial.deliver(Text(MAIL))
    assert delivered.result in (Result.PROVEN, Result.HANDED)
    assert delivered.words
    if delivered.result is Result.HANDED:
        until(trial.proofs)
        assert delivered.evidence is None
    proof = delivered.evidence or trial.proofs()[0]
    assert proof in trial.bridge.capabilities().proves
    assert trial.begun == 1
    assert trial.texts() == [MAIL]


def test_one_text_after_the_other_reaches_the_agent_in_order(trial: Trial):
    for text in (MAIL, SECOND, "a third"):
        trial.ready()
        assert trial.deliver(Text(text)).result in (Result.PROVEN, Result.HANDED)
        until(lambda wanted=text: wanted in trial.texts())
        until(lambda: trial.bridge.observe().doing in (Doing.IDLE, Doing.UNKNOWN))
    assert trial.texts() == [MAIL, SECOND, "a third"]
    assert trial.begun == 3


def test_where_nothing_may_be_handed_over_not_a_byte_is_written(trial: Trial):
    trial.ready()
    assert trial.case.hinder
    trial.case.hinder(trial)
    begun, seen = trial.begun, trial.texts()
    delivered = trial.deliver(Text(SECOND))
    assert delivered.result is Result.REFUSED
    assert delivered.reason in ("busy", "draft", "typing")
    assert trial.begun == begun
    os.kill(trial.pid, signal.SIGCONT)
    trial.bridge.close()
    assert SECOND not in trial.texts()
    assert trial.texts()[: len(seen)] == seen


def test_without_the_assent_of_whoever_hands_over_nothing_is_written(trial: Trial):
    trial.ready()
    delivered = trial.deliver(Text(MAIL), holds=lambda: False)
    assert delivered.result is Result.REFUSED
    assert delivered.reason == "busy"
    assert trial.begun == 0
    trial.bridge.close()
    assert trial.texts() == []


def test_an_assent_that_is_withdrawn_before_the_text_is_submitted_keeps_it_from_being(trial: Trial):
    trial.ready()
    asked = iter([True])
    delivered = trial.deliver(Text(MAIL), holds=lambda: next(asked, False))
    trial.bridge.close()
    if delivered.result is Result.UNCERTAIN:
        assert trial.texts() == []
    else:
        assert delivered.result is Result.HANDED, "it is asked but once, where nothing comes in between"
    assert trial.begun == 1


def test_an_agent_that_was_killed_is_gone_and_gets_nothing(trial: Trial):
    trial.ready()
    os.kill(trial.pid, signal.SIGKILL)
    until(lambda: trial.bridge.observe().doing is Doing.GONE)
    assert trial.bridge.observe().reason == "offline"
    if not trial.is_mailbox:
        delivered = trial.deliver(Text(MAIL))
        assert (delivered.result, delivered.reason) == (Result.REFUSED, "offline")
        assert trial.begun == 0
    assert not trial.bridge.interrupt().proven
    if trial.is_beside:
        assert trial.ends() == [], "nobody here can tell how it ended"
        return
    until(lambda: trial.ends() == [-signal.SIGKILL])
    assert trial.bridge.receive() == [], "it is told once"


def test_whoever_attends_is_rung_for_when_something_is_to_be_received(trial: Trial):
    trial.ready()
    rung: list[int] = []
    trial.bridge.attend(lambda: rung.append(1))
    if trial.bridge.capabilities().output and not trial.is_mailbox:
        trial.deliver(Text(MAIL))
        until(lambda: rung)
        until(trial.receive)
    if trial.bridge.capabilities().owned:
        os.kill(trial.pid, signal.SIGKILL)
        until(trial.ends)
        assert rung


def test_an_interrupt_says_what_was_proven(trial: Trial):
    trial.ready()
    trial.deliver(Text(WORK))
    until(lambda: WORK in trial.texts())
    can = trial.bridge.capabilities().interrupts
    if can:
        until(lambda: trial.bridge.observe().doing is Doing.PROCESSING)
    interrupted = trial.bridge.interrupt()
    assert interrupted.words
    assert interrupted.proven is can
    if can:
        assert trial.bridge.observe().doing is Doing.IDLE
        assert trial.bridge.interrupt().proven, "an idle agent is in no turn"
    assert not host.is_gone(trial.berth.process)


def test_a_text_goes_to_an_agent_at_work_only_by_a_bridge_that_says_so(trial: Trial):
    trial.ready()
    trial.deliver(Text(WORK))
    until(lambda: WORK in trial.texts())
    if trial.bridge.capabilities().interrupts:
        until(lambda: trial.bridge.observe().doing is Doing.PROCESSING)
        assert trial.deliver(Text(MAIL)).reason == "busy"
    delivered = trial.deliver(Text(MAIL, while_busy=True))
    if trial.bridge.capabilities().busy:
        assert delivered.result in (Result.PROVEN, Result.HANDED)
        trial.bridge.interrupt()
        until(lambda: MAIL in trial.texts())
    else:
        assert (delivered.result, delivered.reason) == (Result.REFUSED, "busy")


def test_what_comes_out_is_received_in_bounded_pieces_and_nothing_is_lost_unsaid(trial: Trial):
    trial.ready()
    trial.deliver(Text("[[noise]]"))
    if not trial.bridge.capabilities().output:
        assert not [heard for heard in trial.bridge.receive() if heard.text]
        return
    until(lambda: any(f"noise {NOISE - 1} " in heard.text for heard in trial.receive()))
    while piece := trial.bridge.receive():
        assert len(piece) <= 300
        trial.heard += piece
    shown = [heard for heard in trial.heard if heard.text.startswith("noise")]
    missing = [heard for heard in trial.heard if "left_out" in heard.text]
    assert len(shown) == NOISE or missing
    assert all(heard.stream in ("output", "error", "event") for heard in trial.heard)


def test_a_proof_from_before_proves_nothing_that_was_handed_over_after_it(trial: Trial):
    trial.ready()
    first = trial.deliver(Text(MAIL))
    if first.result is Result.PROVEN:
        return  # at once, and by nothing that is heard later
    until(lambda: trial.texts() == [MAIL])
    until(lambda: trial.bridge.observe().doing in (Doing.IDLE, Doing.UNKNOWN))
    os.kill(trial.pid, signal.SIGSTOP)
    second = trial.deliver(Text(SECOND))
    if second.result is Result.REFUSED:  # it is asked first what it does, and does not answer
        assert (trial.begun, trial.texts()) == (1, [MAIL])
        os.kill(trial.pid, signal.SIGCONT)
        return
    assert second.result is Result.HANDED
    assert trial.proofs() == []
    os.kill(trial.pid, signal.SIGCONT)
    until(trial.proofs)
    assert trial.texts() == [MAIL, SECOND]


def test_the_end_of_a_bridge_is_the_end_of_a_child_of_ours(trial: Trial):
    trial.ready()
    trial.bridge.close()
    if trial.bridge.capabilities().owned:
        assert host.is_gone(trial.berth.process)
        assert trial.bridge.observe().doing is Doing.GONE
        with pytest.raises(BridgeError):
            trial.way.open(trial.berth)
    else:
        if trial.is_beside:
            trial.way.end(trial.berth)
        assert not host.is_gone(trial.berth.process), "it is not ours to end"
    trial.bridge.close()


def test_an_agent_is_started_once_at_a_time_and_again_when_it_has_ended(trial: Trial):
    trial.ready()
    if trial.bridge.capabilities().owned:
        with pytest.raises(BridgeError, match="running already"):
            trial.way.start(trial.launch)
    os.kill(trial.pid, signal.SIGKILL)
    until(lambda: trial.bridge.observe().doing is Doing.GONE)
    trial.again()
    trial.ready()
    if not trial.is_mailbox:
        assert trial.deliver(Text(MAIL)).result in (Result.PROVEN, Result.HANDED)
        until(lambda: trial.texts() == [MAIL])


def test_of_two_that_start_an_agent_at_once_one_does(trial: Trial):
    trial.ready()
    if not trial.bridge.capabilities().owned:
        return  # whoever has the terminal has the agent
    trial.bridge.close()
    barrier = threading.Barrier(2)

    def start(_: int) -> Berth | None:
        barrier.wait(BOUND)
        try:
            return trial.way.start(trial.launch)
        except BridgeError:
            return None

    with ThreadPoolExecutor(2) as pool:
        [trial.berth] = [berth for berth in pool.map(start, range(2)) if berth]
    trial.bridge = trial.way.open(trial.berth)
    trial.ready()


def test_a_bridge_is_what_its_way_says(trial: Trial):
    trial.ready()
    assert trial.bridge.name == trial.way.NAME
    assert trial.way.ABOUT
    assert "\n" not in trial.way.ABOUT
    can = trial.bridge.capabilities()
    all_of_kind = trial.way.CAPABILITIES._replace(busy=False)
    if trial.is_beside:
        all_of_kind = all_of_kind._replace(owned=False, output=False)
    assert can._replace(busy=False) == all_of_kind
    assert not (can.owned and trial.way.BY_CALLER), "a child is its starter's, and the command that asks ends"
    assert not (can.owned and can.screen) or trial.bridge.terminal(), "nobody else could show it"
    trial.bridge.setup()
    if not trial.is_mailbox:
        trial.deliver(Text("a text that may be shown"))
    assert isinstance(trial.bridge.screen(), str)
    assert isinstance(trial.bridge.screen(20), str)
    observed = trial.bridge.observe()
    assert observed.words
    assert observed.at > 0


def test_what_is_left_of_a_run_is_cleared_and_twice_does_no_harm(trial: Trial):
    trial.ready()
    earlier = trial.berth
    os.kill(trial.pid, signal.SIGKILL)
    until(lambda: trial.bridge.observe().doing is Doing.GONE)
    trial.again()
    trial.way.end(earlier)
    assert not host.is_gone(trial.berth.process)
    trial.ready()
    assert trial.is_mailbox or trial.deliver(Text(MAIL)).result in (Result.PROVEN, Result.HANDED)


@pytest.mark.parametrize("name", NOT_STARTED)
def test_of_a_bridge_that_is_not_tried_here_every_property_is_shown_elsewhere_or_has_no_sense(name: str):
    properties = {
        each
        for each, test in globals().items()
        if each.startswith("test_") and "trial" in inspect.signature(test).parameters
        if not getattr(test, "pytestmark", None)  # else it is of one kind only
    }
    assert len(properties) > 12
    assert not NOT_STARTED[name].keys() & NO_SENSE[name]
    assert NOT_STARTED[name].keys() | NO_SENSE[name] == properties


@pytest.mark.parametrize("others_of", [CARRIED, *NOT_STARTED.values()], ids=["files", *NOT_STARTED])
def test_each_property_that_is_not_tried_here_has_a_test_of_its_own(
    others_of: dict[str, tuple[tuple[str, str], ...]],
):
    for test, others in others_of.items():
        assert test in globals(), test
        for path, name in others:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                assert f"\ndef {name}(" in file.read(), (path, name)


@pytest.mark.parametrize("trial", ["files"], indirect=True)
def test_a_mailbox_is_handed_nothing_whatever_its_program_does(trial: Trial):
    assert not trial.bridge.capabilities().interrupts
    for text in (Text(MAIL), Text(MAIL, while_busy=True)):
        done = trial.bridge.deliver(text, Assent(lambda: pytest.fail("it has begun"), lambda: True))
        assert done.result is Result.REFUSED
    interrupted = trial.bridge.interrupt()
    assert (interrupted.proven, bool(interrupted.words)) == (False, True)
    assert not host.is_gone(trial.berth.process)
    assert trial.texts() == []


@pytest.mark.parametrize("trial", ["files"], indirect=True)
def test_what_the_program_of_a_mailbox_prints_is_received_in_bounded_pieces(trial: Trial):
    """It is given a letter by its directory, as a carrier does."""
    inbox = os.path.join(str(trial.berth.details["place"]), "inbox")
    with open(os.path.join(inbox, ".new"), "w", encoding="utf-8") as file:
        json.dump({"id": "1", "payload": {"text": "[[noise]]"}}, file)
    os.rename(file.name, os.path.join(inbox, "1.json"))
    pieces: list[list[Heard]] = []
    until(lambda: pieces.append(trial.bridge.receive()) or "left_out" in str(pieces) or _is_whole(pieces))
    assert all(len(piece) <= 300 for piece in pieces)


def _is_whole(pieces: list[list[Heard]]) -> bool:
    return sum(heard.text.startswith("noise") for piece in pieces for heard in piece) == NOISE


@pytest.mark.parametrize("trial", ["files"], indirect=True)
def test_a_mailbox_is_handed_nothing_and_the_end_of_its_program_is_told_once(trial: Trial):
    delivered = trial.bridge.deliver(Text(MAIL), Assent(lambda: pytest.fail("it has begun"), lambda: True))
    assert (delivered.result, trial.texts()) == (Result.REFUSED, [])
    rung: list[int] = []
    trial.bridge.attend(lambda: rung.append(1))
    with pytest.raises(BridgeError, match="running already"):
        trial.way.start(trial.launch)
    os.kill(trial.pid, signal.SIGKILL)
    until(lambda: trial.bridge.observe().doing is Doing.GONE)
    until(lambda: trial.ends() == [-signal.SIGKILL])
    assert rung
    assert trial.bridge.receive() == []
    trial.again()
    assert not host.is_gone(trial.berth.process)
