"""The daemon's log: what stands in it and what never does, how large it gets, and what becomes of a daemon
whose log cannot be written.
"""

import json
import logging
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
from typing import Any

import pytest

from postroom.bridges.files import tree as trees
from postroom.daemon import control, log
from tests.integration.test_faults import mounted, play
from tests.process import BOUND, ROOT, environment, eventually
from tests.tended import Tended

SECRET = "the-word-that-nobody-else-may-read"


def test_each_line_is_an_object_with_its_time_level_and_event(house: Tended):
    house.start()
    house.end()
    lines = house.lines()
    assert [one["event"] for one in lines][0 :: len(lines) - 1] == ["began", "ended"]
    for one in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"])
        assert one["level"] in ("debug", "info", "warning", "error")
    assert lines[0]["edition"] == control.EDITION


@pytest.mark.promise("log")
def test_it_never_grows_beyond_what_the_config_says(house: Tended):
    house.start(POSTROOM_LOG_BYTES="4096", POSTROOM_LOG_FILES="2")
    for _ in range(150):
        control.ask(house.home, "renew")
    folder = os.path.dirname(house.log)
    files = sorted(name for name in os.listdir(folder) if name.startswith("daemon.log"))
    assert files == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    times: list[str] = []
    for name in reversed(files):
        about = os.stat(os.path.join(folder, name))
        assert about.st_size <= 4096
        assert stat.S_IMODE(about.st_mode) == 0o600
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            times += [json.loads(line)["time"] for line in file]
    assert len(times) > 50
    assert times == sorted(times)


def test_the_level_is_that_of_the_config_until_somebody_asks_for_another(house: Tended):
    house.configure('log_level = "warning"')
    house.start()
    assert house.status()["daemon"]["logs"]["level"] == "warning"
    house.configure('log_level = "error"')
    assert house.line.process("up").code == 0
    assert house.status()["daemon"]["logs"]["level"] == "error"
    assert house.line.process("up", "--log-level", "debug").code == 0
    assert house.status()["daemon"]["logs"]["level"] == "debug"
    house.renew()
    assert house.status()["daemon"]["logs"]["level"] == "debug"
    assert not house.lines("began")
    refused = house.line.process("up", "--log-level", "loud")
    assert (refused.code, "log_level must be one of debug" in refused.err) == (2, True)


def test_where_it_cannot_be_written_the_daemon_goes_on_and_both_are_told(house: Tended):
    os.makedirs(house.log)
    house.start()
    told = house.status()
    assert told["daemon"]["logs"]["problem"] == "Is a directory"
    assert any("log cannot be written: Is a directory" in one for one in told["warnings"])
    os.rmdir(house.log)
    house.renew()
    [lost] = house.lines("lines were lost")
    assert (lost["lines"] >= 1, lost["why"]) == (True, "Is a directory")
    told = house.status()
    assert (told["daemon"]["logs"]["problem"], told["daemon"]["logs"]["lost"]) == (None, lost["lines"])
    assert any("could not take" in one for one in told["warnings"])


@pytest.mark.promise("log")
def test_on_a_full_disk_lines_are_whole_and_those_that_are_missing_are_counted(tmp_path: Any):
    prefix = mounted(f"mount -t tmpfs -o size=64k tmpfs '{tmp_path}'")
    said = play("log_on_a_full_disk", tmp_path / "home", prefix=prefix)
    assert said["problem"]
    assert said["lost"] > 0
    events = [json.loads(line)["event"] for line in said["lines"]]
    assert events[-2:] == ["lines were lost", "after"]
    assert events.count("before") + said["lost"] == 400


def test_one_that_was_removed_is_made_anew(house: Tended):
    house.start()
    os.unlink(house.log)
    control.ask(house.home, "renew")
    assert house.lines("config read")


@pytest.mark.promise("log")
def test_what_was_said_and_what_is_secret_never_stands_in_it(house: Tended, tmp_path: Any):
    """Over every door, in mail that is taken and in mail that is not."""
    tree = os.path.join(tmp_path, "tree")
    os.mkdir(tree)
    house.room.join("boxed")
    trees.add(house.room, tree, "boxed", house.room.scope)
    outbox = os.path.join(tree, "boxed", "outbox")
    house.configure('http_port = PORT\nlog_level = "debug"\nmax_body_bytes = 1000')
    house.start(serves=True)
    token = house.token("planner")
    assert house.post("/messages", {"to": "builder", "body": SECRET}, token)[0] == 200
    assert house.post("/messages", {"to": "builder", "body": SECRET * 100}, token)[0] >= 400
    assert house.post("/messages", {"to": "builder", "body": SECRET}, f"pr_{SECRET}")[0] == 401
    with house.linked("builder") as link:
        assert link.mail()["mail"]["body"] == SECRET
        link.say(op="send", to=SECRET, body=[SECRET])
        link.socket.send(SECRET.encode() + b"\xff")
    with socket.create_connection(("127.0.0.1", house.port), BOUND) as raw:
        raw.sendall(f"GET /{SECRET} NONSENSE\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert b"400" in raw.recv(4096)
    for name, text in (
        ("bad", f'{{"to": "{SECRET}'),
        ("good", json.dumps({"to": "planner", "body": SECRET})),
    ):
        with open(os.path.join(outbox, f".{name}"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(os.path.join(outbox, f".{name}"), os.path.join(outbox, f"{name}.json"))
    eventually(lambda: not [name for name in os.listdir(outbox) if name.endswith(".json")])
    page = house.line.process("dashboard", "--no-open", "--as", "human:ana").out
    house.end()
    with open(house.log, encoding="utf-8") as file:
        text = file.read()
    assert [one for one in house.lines() if one.get("by") == "uvicorn.error"], "a library's line is in it"
    assert SECRET not in text
    assert token not in text
    assert page.partition("once=")[2].strip() not in text


def test_whatever_looks_like_a_secret_is_taken_out_of_a_line():
    record = logging.LogRecord("some.library", logging.WARNING, "", 0, "%s", (
        "GET /login?once=abc123&x=1 Authorization: Bearer pr_0123456789abcdef0123 postroom_7678=s3cret; b=1",
    ), None)  # fmt: skip
    for shown in (log._Line().format(record), log._Plain().format(record)):
        assert "once=…&x=1" in shown
        assert "postroom_7678=…; b=1" in shown
        assert not re.search("abc123|0123456789|s3cret", shown)


def test_an_error_tells_where_it_was_raised_and_not_what_was_at_hand():
    body = "b" * 5000
    try:
        raise ValueError(body)
    except ValueError as exc:
        record = logging.LogRecord("postroom.daemon", logging.ERROR, "", 0, "crashed", (), None)
        record.__dict__["facts"] = {"error": exc}
    line = json.loads(log._Line().format(record))
    assert len(line["error"]) < 1100
    assert line["raised_at"][-1].startswith("test_daemon_log.py:")


def test_in_the_foreground_it_is_shown_to_people_in_words_and_to_programs_as_it_is(house: Tended):
    words = [sys.executable, "-m", "postroom", "up", "--foreground"]
    env = environment(**house.line.environment)
    plain = subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.PIPE)
    assert plain.stderr is not None
    try:
        lines = [plain.stderr.readline() for _ in range(2)]
        assert json.loads(lines[1])["event"] == "began"
    finally:
        plain.send_signal(signal.SIGTERM)
        assert plain.wait(BOUND) == 0
        plain.stderr.close()
    leader, follower = pty.openpty()
    shown = subprocess.Popen(words, cwd=ROOT, env=env, stderr=follower, start_new_session=True)
    os.close(follower)
    try:
        text = b""
        while b"began" not in text:
            text += os.read(leader, 4096)
        assert re.search(rb"\d\d:\d\d:\d\d began  process=", text)
    finally:
        shown.send_signal(signal.SIGTERM)
        assert shown.wait(BOUND) == 0
        os.close(leader)
