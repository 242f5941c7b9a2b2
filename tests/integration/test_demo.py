"""The demo, as people run it: four real processes, one of them killed, nothing lost."""

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import host
from postroom.demo import script
from postroom.demo.account import account
from postroom.demo.stage import Stage
from postroom.room.local import open_room
from tests.commandline import COMMAND, CommandLine
from tests.machine import lacks
from tests.process import BOUND, ROOT, until


@pytest.fixture
def cli(home: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line whose scratch rooms lie where the test can look."""
    scratch = os.path.join(tmp_path, "scratch")
    os.mkdir(scratch)
    monkeypatch.setenv("TMPDIR", scratch)
    return CommandLine(home)


def scratch_of(cli: CommandLine) -> list[str]:
    return os.listdir(os.path.join(os.path.dirname(cli.home), "scratch"))


@pytest.fixture
def report(cli: CommandLine) -> dict[str, Any]:
    """The account of one run, whose room was kept."""
    result = cli.process("demo", "--fast", "--keep", "--json")
    assert result.code == 0, result
    return result.json


def test_nothing_is_lost_and_what_was_offered_again_says_why(cli: CommandLine):
    result = cli.process("demo", "--fast", "--json")
    assert result.code == 0, result
    report = result.json
    typed = report["pane"] is not None  # where there is tmux: one more message, that nobody acknowledges
    found = [report[what] for what in ("messages", "deliveries", "acked", "withdrawn")]
    assert found == [13 + typed, 19 + typed, 17, 2]
    assert report["lost"] == 0
    [again] = report["offered_again"]
    assert (again["subject"], again["to"], again["recipient"]) == ("T-2 parser", "builder", "builder")
    first, second = again["attempts"]
    assert (first["outcome"], second["outcome"]) == ("unproven", "proven")
    assert first["process"] != second["process"]
    assert "ended with the message in hand" in first["why"]
    assert scratch_of(cli) == []
    assert not os.path.exists(cli.home), "it touches nothing of the user's"


def test_the_message_to_a_group_reaches_everyone_but_its_sender(report: dict[str, Any]):
    [farewell] = report["groups"]
    assert (farewell["sender"], farewell["to"]) == ("planner", "@all")
    assert farewell["recipients"] == dict.fromkeys(("builder", "critic", "reviewer"), "acked")


def test_what_is_posted_to_a_topic_reaches_its_subscribers_and_nobody_else(report: dict[str, Any]):
    assert [post["subject"] for post in report["topics"]] == ["T-1 built", "T-2 built"]
    for post in report["topics"]:
        assert (post["sender"], post["to"]) == ("builder", "topic:builds")
        assert post["recipients"] == {"critic": "acked", "planner": "acked"}


def test_of_two_reviewers_one_claims_and_the_other_is_never_shown_it(report: dict[str, Any]):
    assert [one["subject"] for one in report["one_of"]] == ["review T-1?", "review T-2?"]
    with open_room(report["home"], create=False) as room:
        for one in report["one_of"]:
            assert one["to"] == "one:@reviewers"
            assert set(one["recipients"]) == {"critic", "reviewer"}
            assert sorted(one["recipients"].values()) == ["acked", "withdrawn"]
            told = room.receipts(one["id"])
            [claimer] = [d.recipient_id for d in told.deliveries if d.recipient == _claimer(one)]
            assert [attempt.recipient_id for attempt in told.attempts] == [claimer]


def test_every_question_has_one_answer_from_whoever_took_it(report: dict[str, Any]):
    subjects = [asked["subject"] for asked in report["questions"]]
    assert subjects == ["review T-1?", "review T-2?", "test added?"]
    for asked in report["questions"]:
        [answer] = asked["answers"]
        assert answer["sender"] == _claimer(asked)
    claimed, asked_again = report["questions"][1:]
    assert asked_again["to"] == _claimer(claimed), "who wanted a test is asked again"


def _claimer(entry: dict[str, Any]) -> str:
    [name] = [name for name, state in entry["recipients"].items() if state == "acked"]
    return name


@pytest.mark.parametrize("slow", [script.REVIEWER, script.CRITIC])
def test_it_ends_well_whichever_reviewer_is_faster(cli: CommandLine, slow: str):
    with Stage(pace=0.0, keep=False) as stage:
        for name in script.NAMES:
            script.enter(stage.room, name)
        for name in script.NAMES:
            if name != slow:
                stage.start(name)
        until(lambda: any(e.message and e.message.to == "@all" for e in stage.room.events()))
        stage.start(slow)  # when all that could be claimed has been
        until(lambda: stage.has_ended(0.0))
        report = account(stage.room)
    assert [one["recipients"][slow] for one in report["one_of"]] == ["withdrawn", "withdrawn"]
    assert (report["messages"], report["acked"], report["lost"]) == (13, 17, 0)


def test_it_tells_the_story_line_by_line(cli: CommandLine):
    result = cli.process("demo", "--fast")
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    killed, back = (
        next(n for n, line in enumerate(lines) if word in line) for word in ("SIGKILL", "is back")
    )
    fatal = [line for line in lines[:killed] if "T-2 parser" in line]
    answers = {line[27:38].strip() for line in lines if line[25:26] == "↩"}
    assert answers == {"approved", "add a test", "T-1 done", "T-2 done"}
    assert lines[-1].startswith("Next: ")
    assert " -m postroom help, and the tutorial, docs/tutorial/" in lines[-1]
    assert fatal[-1].endswith("stored─offered"), "it was in hand when its holder was killed"
    assert killed < back
    assert "may have been shown before" in lines[back]
    typed = any("In a pane" in line for line in lines)
    words = f"Nothing was lost.  {13 + typed} messages, {19 + typed} deliveries"
    assert any(words in line for line in lines[back:])
    told: dict[str, str] = {}
    for line in (line for line in lines if "→" in line):
        message, _, ladder = line.partition("stored")
        assert told.get(message[:38]) != ladder + message[38:], "a line says something new"
        told[message[:38]] = ladder + message[38:]


def test_it_explains_each_kind_of_address_once_and_names_them_at_the_end(cli: CommandLine):
    lines = cli.process("demo", "--fast").out.splitlines()
    told, closing = lines[: lines.index("You saw:")], lines[lines.index("You saw:") :]
    told = told[: next((n for n, line in enumerate(told) if "In a pane" in line), None)]
    captions = [line for line in told if line.startswith("  ·")]
    assert len(captions) == 3
    for words in (
        "is the first to claim “review T-1?”",
        "topic:builds goes to those who subscribe to it: critic and planner",
        "@all is everyone but the sender: builder, critic and reviewer",
    ):
        assert sum(words in line for line in captions) == 1
    seen = [line.split()[:2] for line in closing if line.startswith("  ") and "attempt" not in line]
    seen = [words for words in seen if words[0] != "pane"]
    one_of = [["one-of", "one:@reviewers"]] * 2
    assert seen[:-1] == [["group", "@all"], ["topic", "topic:builds"], *one_of]
    assert seen[-1][0] == "question"
    assert "  group     @all            1 message to builder, critic, reviewer: 3 of 3 acked" in closing
    assert "  topic     topic:builds    2 messages to critic, planner: 4 of 4 acked" in closing


def test_the_room_can_be_kept_and_looked_at(cli: CommandLine, report: dict[str, Any]):
    assert cli.ok("verify", "--home", report["home"], "--json").json["ok"]
    assert "delivery.returned" in cli.ok("log", "--home", report["home"], "--limit", "500").out


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_however_it_ends_no_process_and_no_file_is_left(cli: CommandLine, how: signal.Signals):
    with cli.start("demo") as demo:
        assert demo.stdout is not None
        while b"T-1" not in demo.stdout.readline():
            assert demo.poll() is None
        children = _children(demo.pid)
        assert len(children) == 4
        demo.send_signal(how)
        _, err = demo.communicate(timeout=BOUND)
    assert (demo.returncode, err) == (128 + how, b"")
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]
    assert scratch_of(cli) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked_even_if_nobody_reads_what_it_prints(cli: CommandLine, how: signal.Signals):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    env = {**os.environ, **cli.environment}
    demo = subprocess.Popen([*COMMAND, "demo", "--fast"], stdout=writer, env=env, cwd=ROOT)
    try:
        until(lambda: bool(scratch_of(cli)))  # it has begun, and cannot say so
        demo.send_signal(how)
        assert demo.wait(BOUND) == 128 + how
    finally:
        demo.kill()
        demo.wait()
        os.close(reader)
        os.close(writer)
    assert scratch_of(cli) == []


def test_its_agents_do_not_outlive_it_even_when_it_is_killed(cli: CommandLine):
    with cli.start("demo") as demo:
        assert demo.stdout is not None
        while b"T-1" not in demo.stdout.readline():
            assert demo.poll() is None
        watched = [os.pidfd_open(pid) for pid in _children(demo.pid)]
        assert len(watched) == 4
        demo.kill()
    for descriptor in watched:
        assert select.select([descriptor], [], [], BOUND)[0], "it still runs"
        os.close(descriptor)


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@contextlib.contextmanager
def at_terminal(cli: CommandLine) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The demo as somebody at a terminal has it: its process, and their end of the terminal."""
    import struct

    terminal, control = pytest.importorskip("termios"), pytest.importorskip("fcntl")
    parent, child = pytest.importorskip("pty").openpty()
    control.ioctl(child, terminal.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, **cli.environment, "TERM": "xterm-256color"}
    demo = subprocess.Popen(
        [*COMMAND, "demo", "--fast"], stdin=child, stdout=child, stderr=child, env=env, cwd=ROOT
    )
    os.close(child)
    try:
        yield demo, parent
    finally:
        os.close(parent)
        demo.kill()
        demo.wait(BOUND)


def heard(parent: int, until: bytes = b"") -> str:
    """What is shown until then, or until it ends."""
    shown, deadline = b"", time.monotonic() + BOUND
    while not (until and until in shown):
        assert time.monotonic() < deadline, shown
        try:
            shown += os.read(parent, 65536)
        except OSError:
            assert not until, shown
            break
    return shown.decode()


def test_on_a_terminal_the_ladders_move_in_place(cli: CommandLine):
    with at_terminal(cli) as (demo, parent):
        text = heard(parent, b"Press Enter")
        os.write(parent, b"\n")
        text += heard(parent)
        assert demo.wait(BOUND) == 0
    assert "\x1b[?25l" in text
    assert text.count("\x1b[?25h") == 1, "the cursor comes back"
    assert "\x1b[2A" in text, "drawn over"
    picture = text[: text.index("\x1b[?25h")].rpartition("\x1b[20A")[2]
    assert picture.count("acked") == 13, "the last picture"
    assert all(len(re.sub(r"\x1b\[[0-9;]*[mK]", "", line).strip()) < 80 for line in picture.split("\n"))


def link_in(text: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/login\?once=[\w-]+", text)
    assert found, text
    return found[0]


def subjects(link: str) -> list[str]:
    """What the page of that link has in its log, for a browser that has just logged in by it."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=BOUND) as page:
        assert b"<main" in page.read()
    with opener.open(urllib.parse.urljoin(link, "/api/v1/messages?limit=100"), timeout=BOUND) as answer:
        return [one["subject"] for one in json.load(answer)["messages"]]


@pytest.mark.parametrize("how", ["enter", "interrupt", "terminate"])
def test_on_a_terminal_it_ends_with_its_page_and_leaves_nothing(cli: CommandLine, how: str):
    with at_terminal(cli) as (demo, parent):
        link = link_in(heard(parent, b"Press Enter"))
        found = subjects(link)
        assert {"T-1 built", "T-2 parser", "review T-1?"} <= set(found), found
        with pytest.raises(urllib.error.HTTPError):  # it works once
            subjects(link)
        assert scratch_of(cli)
        if how == "terminate":
            demo.terminate()
        else:
            os.write(parent, b"\n") if how == "enter" else demo.send_signal(signal.SIGINT)
        heard(parent)
        assert demo.wait(BOUND) == (128 + signal.SIGTERM if how == "terminate" else 0)
    assert scratch_of(cli) == []
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(link, timeout=BOUND)


def test_the_command_that_leads_to_its_pane_stands_alone_and_works_in_any_repository(
    cli: CommandLine, tmp_path: os.PathLike[str]
):
    if shutil.which("tmux") is None:
        lacks("tmux")
    repository = os.path.join(tmp_path, "work")
    subprocess.run(["git", "init", "--quiet", repository], check=True, timeout=BOUND)
    env = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
    with at_terminal(cli) as (demo, parent):
        [told] = re.findall(r"^ *\S.*postroom (--home .*?)\r?$", heard(parent, b"Press Enter"), re.MULTILINE)
        assert "attach" in told, "it is on one line, however narrow the terminal"
        line = [*COMMAND, *shlex.split(told), "--print"]
        found = subprocess.run(line, cwd=repository, env=env, capture_output=True, timeout=BOUND, check=False)
        os.write(parent, b"\n")
        heard(parent)
        assert demo.wait(BOUND) == 0
    assert found.returncode == 0, found
    assert b"tmux" in found.stdout


def test_elsewhere_it_says_how_to_see_the_page_and_ends_at_once(cli: CommandLine):
    result = cli.process("demo", "--fast")
    assert result.code == 0
    assert re.search(
        r"^See it on a page, in a terminal: .*postroom demo --fast --page$", result.out, re.MULTILINE
    )
    assert "login?once=" not in result.out


def test_the_page_is_shown_where_it_is_asked_for_until_its_input_ends(cli: CommandLine):
    with cli.start("demo", "--fast", "--page", env={"LOGNAME": "zoe"}) as demo:
        assert demo.stdout is not None
        assert demo.stdin is not None
        text = ""
        while "login?once=" not in text:
            line = demo.stdout.readline()
            assert line, text
            text += line.decode()
        assert "T-2 parser" in subjects(link_in(text))
        assert re.search(r"^http://\S+$", text, re.MULTILINE), "the link has its line"
        if host.on_path("tmux"):
            assert "human:zoe → clerk" in text, "who looks at the page is who wrote"
        demo.communicate(timeout=BOUND)
    assert demo.returncode == 0
    assert scratch_of(cli) == []


def test_an_agent_that_fails_is_told(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = cli("demo", "--fast")
    assert result.code == 1
    assert "the demo's" in result.err
    assert "failed" in result.err
    assert scratch_of(cli) == []


def test_a_program_in_a_real_pane_gets_its_mail_when_it_asks_nothing_any_more(report: dict[str, Any]):
    if shutil.which("tmux") is None:
        lacks("tmux")
    pane = report["pane"]
    assert (pane["agent"], pane["state"], pane["evidence"]) == ("clerk", "seen", "terminal")
    assert pane["attempts"] == 1


@pytest.mark.parametrize("how", [None, signal.SIGTERM, signal.SIGKILL])
def test_of_its_pane_nothing_is_left_however_it_ends(
    cli: CommandLine, tmp_path: os.PathLike[str], how: signal.Signals | None
):
    if shutil.which("tmux") is None:
        lacks("tmux")
    with tempfile.TemporaryDirectory(prefix="demo-") as place:  # short: a socket's path has at most 107 bytes
        with cli.start("demo", "--fast", env={"TMUX_TMPDIR": place}) as demo:
            assert demo.stdout is not None
            while b"In a pane" not in demo.stdout.readline():
                assert demo.poll() is None
            assert os.listdir(place)
            watched = [os.pidfd_open(pid) for pid in _started_in(place)]
            assert len(watched) >= 2, "the server, and who ends it"
            if how is not None:
                demo.send_signal(how)
            demo.communicate(timeout=BOUND)
        for descriptor in watched:
            assert select.select([descriptor], [], [], BOUND)[0], "it still runs"
            os.close(descriptor)
        until(lambda: not os.listdir(place))


def _started_in(place: str) -> list[int]:
    """Processes that were given a path there."""
    return [pid for pid in host.processes() if any(place in word for word in host.started_with(str(pid))[0])]
