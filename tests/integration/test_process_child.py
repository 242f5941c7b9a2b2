"""Children of ours behind pipes: what goes in and comes out, and that they end, whatever they do."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import host
from postroom.bridges.contract import Assent, Bridge, Heard, Kind, Launch, Result, Text
from postroom.bridges.process import lines, piped, pty, stream
from postroom.bridges.process.child import Child
from postroom.errors import BridgeError
from tests.bridged import Record
from tests.process import BOUND, ROOT, environment, until

WILLING = Assent(lambda: None, lambda: True)
Start = Callable[..., "Started"]


class Started:
    """A shell script as a child."""

    def __init__(self, launch: Launch) -> None:
        self.berth = lines.start(launch)
        self.bridge: Bridge = lines.open(self.berth)
        self.heard: list[Heard] = []

    @property
    def pid(self) -> int:
        return int(self.berth.process.partition(".")[0])

    @property
    def is_gone(self) -> bool:
        return host.is_gone(self.berth.process)

    def receive(self) -> list[Heard]:
        self.heard += self.bridge.receive()
        return self.heard

    def said(self, name: str = "output") -> list[str]:
        return [heard.text for heard in self.receive() if heard.stream == name and heard.text]

    def ended(self) -> int | None:
        return next((heard.exit_code for heard in self.receive() if heard.exit_code is not None), None)

    def finish(self) -> "Started":
        until(lambda: self.ended() is not None)
        return self


def launch(place: object, *command: str, agent: str = "a1") -> Launch:
    return Launch(agent, "p/builder", [*command], str(place), environment(PYTHONPATH=ROOT))


@pytest.fixture
def start(tmp_path: os.PathLike[str]) -> Iterator[Start]:
    """Starts a script of the shell, or a program."""
    made: list[Started] = []

    def starter(script: str = "", *command: str) -> Started:
        words = command or ("/bin/sh", "-c", script)
        made.append(Started(launch(tmp_path, *words, agent=f"a{len(made)}")))
        return made[-1]

    yield starter
    for each in made:
        each.bridge.close()


def test_what_it_prints_is_heard_in_order_with_its_errors_and_its_end(start: Start):
    child = start("echo one; echo two; echo bad >&2; printf rest; exit 3").finish()
    assert child.said() == ["one", "two", "rest"]
    assert child.said("error") == ["bad"]
    assert child.ended() == 3
    assert child.heard[-1].exit_code == 3


def test_an_end_is_heard_though_another_process_still_holds_its_output(start: Start):
    child = start("sleep 1000 & echo $!; exit 0").finish()
    other = int(child.said()[0])
    assert not host.is_gone(host.identity_of(other))
    child.bridge.close()
    until(lambda: host.is_gone(host.identity_of(other)))


class Unheard:
    """Who hears nothing."""

    def heard(self, stream: str, data: bytes) -> None:
        pass

    def ended(self, code: int) -> None:
        pass


def test_what_a_child_that_has_just_ended_has_left_is_given_nothing_though_its_end_is_not_heard_yet(
    tmp_path: Path,
):
    child = Child(
        launch(tmp_path, "/bin/sh", "-c", "exec 3<&0; sleep 1000 <&3 & touch begun; wait"), Unheard()
    )
    try:
        until((tmp_path / "begun").exists)
        assert child.objection(0.0) == ""
        os.kill(child.pid, signal.SIGKILL)
        until(lambda: host.is_gone(child.process))
        assert (child.objection(0.0), child.write(b"x", 0.0)) == ("offline", 0)
    finally:
        child.listen()
        child.close()


@pytest.mark.promise("children")
def test_a_child_that_minds_no_signal_is_killed_with_all_that_it_started(start: Start):
    script = """trap '' TERM HUP INT; (trap '' TERM HUP; while :; do sleep 1; done) & echo $!
    while :; do sleep 1; done"""
    child = start(script)
    until(child.said)
    other = host.identity_of(int(child.said()[0]))
    child.bridge.close()
    assert child.is_gone
    assert host.is_gone(other)


def test_a_child_that_leaves_when_its_input_ends_is_asked_first(start: Start, tmp_path: os.PathLike[str]):
    child = start("trap 'echo told >> log' TERM; cat; echo left >> log; exit 0")
    child.bridge.close()
    with open(os.path.join(tmp_path, "log"), encoding="utf-8") as file:
        assert file.read() == "left\n"


def test_a_job_in_a_group_of_its_own_ends_with_its_session(start: Start):
    child = start("set -m; sleep 1000 & echo $!; wait")
    until(child.said)
    job = host.identity_of(int(child.said()[0]))
    child.bridge.close()
    assert host.is_gone(job)


def test_a_child_has_no_file_of_ours_and_leaves_us_none(start: Start):
    def ours() -> int:
        return len(os.listdir("/proc/self/fd"))

    with open(__file__, encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        child = start("ls /proc/self/fd | wc -l").finish()
    assert child.said() == ["4"], "its three, and the one by which it looks"
    child.bridge.close()
    before = ours()
    for _ in range(3):
        start("echo").finish().bridge.close()
    assert ours() == before


def test_what_cannot_be_started_says_so_and_leaves_nothing(tmp_path: os.PathLike[str]):
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(BridgeError, match="no program nonesuch"):
        lines.start(launch(tmp_path, "nonesuch"))
    with pytest.raises(BridgeError, match="no directory"):
        lines.start(launch("/nonesuch", "true"))
    with pytest.raises(BridgeError, match="no program"):
        lines.start(launch(tmp_path))
    script = os.path.join(tmp_path, "broken")
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/nonesuch\n")
    os.chmod(script, 0o755)
    with pytest.raises(BridgeError, match="cannot be started"):
        lines.start(launch(tmp_path, script))
    assert len(os.listdir("/proc/self/fd")) == before


def test_output_that_nobody_asks_for_is_dropped_and_counted(start: Start):
    child = start("yes 0123456789 | head -n 300000; echo last")
    until(lambda: host.is_gone(child.berth.process))
    child.finish()
    missing = [json.loads(text)["bytes"] for text in child.said("event")]
    assert missing
    kept = child.said()
    assert kept[-1] == "last"
    assert sum(missing) + sum(map(len, kept[:-1])) == 3_000_000


def test_an_operators_command_goes_in_as_a_line_of_json_of_its_own_type(start: Start):
    child = start("cat")
    for text in ("/compact now", "two\nlines"):
        assert child.bridge.deliver(Text(text, Kind.COMMAND), WILLING).result is Result.HANDED
    until(lambda: len(child.said()) == 2)
    assert [json.loads(line) for line in child.said()] == [
        {"type": "command", "text": "/compact now"},
        {"type": "command", "text": "two\nlines"},
    ]


def test_a_program_that_reads_json_alone_outlives_a_command(start: Start, tmp_path: os.PathLike[str]):
    strict = "import json, sys\nfor line in sys.stdin: print(json.loads(line)['type'], flush=True)"
    child = start("", sys.executable, "-c", strict)
    for kind in (Kind.COMMAND, Kind.BODY):
        assert child.bridge.deliver(Text("/status", kind), WILLING).result is Result.HANDED
    until(lambda: child.said() == ["command", "mail"])


@pytest.mark.parametrize("way", [lines, pty])
def test_nothing_tells_a_child_of_the_pane_in_which_somebody_asked_for_it(way: Any, tmp_path: Path):
    script = 'echo "[$TMUX$TMUX_PANE]$POSTROOM_AGENT."; exec cat'
    asked = launch(tmp_path, "/bin/sh", "-c", script)
    berth = way.start(asked._replace(env={**asked.env, "TMUX": "/tmp/t,1,0", "TMUX_PANE": "%3"}))
    bridge: Bridge = way.open(berth)
    try:
        until(lambda: "[]p/builder." in bridge.screen())
    finally:
        bridge.close()


def test_a_line_of_which_a_part_was_written_is_uncertain_and_is_never_torn(
    start: Start, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(piped, "_WRITE", 0.2)
    monkeypatch.setattr(piped, "_READY", 0.2)
    record = Record(os.path.join(tmp_path, "record"))
    child = start("", sys.executable, "-m", "tests.bridged", "lines", record.path)
    os.kill(child.pid, signal.SIGSTOP)
    large = "x" * 200_000
    uncertain = child.bridge.deliver(Text(large), WILLING)
    assert uncertain.result is Result.UNCERTAIN
    assert "200" in uncertain.words
    refused = child.bridge.deliver(Text("second"), WILLING)
    assert (refused.result, refused.reason) == (Result.REFUSED, "busy")
    os.kill(child.pid, signal.SIGCONT)
    until(lambda: child.receive() is not None and record.texts() == [large])
    assert child.bridge.deliver(Text("third"), WILLING).result is Result.HANDED
    until(lambda: record.texts() == [large, "third"])


def test_a_program_that_closed_its_input_gets_nothing(start: Start):
    child = start("exec <&-; echo closed; sleep 1000")
    until(child.said)
    begun: list[int] = []
    refused = child.bridge.deliver(Text("mail"), Assent(lambda: begun.append(1), lambda: True))
    assert (refused.result, refused.reason, begun) == (Result.REFUSED, "offline", [])


def test_one_word_for_each_text_is_a_proof_only_when_none_is_left(start: Start):
    child = start("""read a; read b; echo '{"postroom": "seen"}'; read c; echo '{"postroom": "seen"}'; cat""")
    for text in ("one", "two"):
        child.bridge.deliver(Text(text), WILLING)
    until(lambda: len(child.said("event")) == 1)
    assert not any(heard.proves for heard in child.heard)
    child.bridge.deliver(Text("go on", Kind.COMMAND), WILLING)
    until(lambda: any(heard.proves for heard in child.receive()))


def test_an_unknown_id_and_words_that_are_no_json_prove_nothing(start: Start):
    child = start(
        """read a; echo '{"postroom": "seen", "id": "7"}'; echo '{"postroom'; echo '{"a": 1}'; cat"""
    )
    child.bridge.deliver(Text("one"), WILLING)
    until(lambda: '{"a": 1}' in child.said())
    assert not any(heard.proves for heard in child.heard)


HOLDER = """
import signal, sys
signal.signal(signal.SIGHUP, lambda *_: None)  # as the daemon: no child inherits that it is ignored
from postroom.bridges import registry
from postroom.bridges.contract import Launch
way = registry.load(sys.argv[1])
berth = way.start(Launch("a1", "p/b", sys.argv[2:], "/", {"PATH": "/usr/bin:/bin"}, "claude"))
print(berth.process, flush=True)
sys.stdin.read()
"""


@pytest.mark.promise("children")
@pytest.mark.parametrize(
    ("way", "command"), [("lines", ["cat"]), ("pty", ["sleep", "1000"]), ("pty", ["sh", "-c", "sleep 1000"])]
)
def test_a_child_ends_when_we_are_killed(way: str, command: list[str]):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, way, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        cwd=ROOT, env=environment(),
    )  # fmt: skip
    with holder:
        assert holder.stdout
        process = holder.stdout.readline().decode().strip()
        assert not host.is_gone(process)
        holder.kill()
        holder.wait(BOUND)
    until(lambda: host.is_gone(process))


def test_a_bridge_cannot_be_opened_by_another_process_than_the_one_that_started_it(start: Start):
    child = start("cat")
    for way in (pty, stream):
        with pytest.raises(BridgeError, match="no child of this process"):
            way.open(child.berth)
    with pytest.raises(BridgeError, match="no child of this process"):
        lines.open(child.berth._replace(process="1.2.3.4"))


def test_a_stream_is_spoken_only_with_a_runtime_that_does(tmp_path: os.PathLike[str]):
    for runtime in ("", "codex", "nonesuch"):
        with pytest.raises(BridgeError, match="does not speak stream-json"):
            stream.start(launch(tmp_path, "cat")._replace(runtime=runtime))
