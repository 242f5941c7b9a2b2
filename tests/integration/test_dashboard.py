"""The page of a real daemon: logged in to by a link, kept over restarts, told of where it is not served."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import config, host
from postroom.bridges import manifest as manifests
from postroom.bridges.files import tree as trees
from postroom.bridges.files.tree import Tree
from postroom.bridges.manifest import Manifest
from postroom.config import Settings
from postroom.daemon import control, instance
from postroom.room.local import LocalRoom
from tests.certified import Authority
from tests.commandline import CommandLine, Result, is_told_well
from tests.process import BOUND, eventually, free_port, until


class House:
    """A room whose daemon serves at a port of its own."""

    def __init__(self, home: str) -> None:
        self.line = CommandLine(home)
        self.home = home
        self.port = free_port()
        self.extra: dict[str, str] = {}

    def __call__(self, *argv: str) -> Result:
        """As a process: a daemon that is started must be nobody's child here."""
        return self.line.process(*argv, env={"POSTROOM_HTTP_PORT": str(self.port), **self.extra})

    def link(self) -> str:
        result = self("dashboard", "--no-open", "--json", "--as", "human:ana")
        assert result.code == 0, result
        return result.json["url"]

    def cookie(self) -> str:
        status, headers, _ = self.get(self.link().partition(f":{self.port}")[2])
        assert status == 303
        return headers["set-cookie"].partition(";")[0]

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND)
        try:
            link.request("GET", path, headers=headers)
            answer = link.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            link.close()

    def end(self, number: int = signal.SIGTERM) -> None:
        if process := instance.running(self.home):
            os.kill(host.pid_of(process), number)
            until(lambda: host.is_gone(process))


@pytest.fixture
def house(home: str) -> Iterator[House]:
    found = House(home)
    found.line.ok("join", "builder")
    yield found
    found.end()


def test_the_link_logs_in_whoever_asked_for_it_and_the_browser_stays_so_over_a_killed_daemon(house: House):
    cookie = house.cookie()
    status, _, body = house.get("/api/v1/me", Cookie=cookie)
    assert (status, json.loads(body)["agent"]) == (200, "human:ana")
    house.end(signal.SIGKILL)
    house.link()
    assert house.get("/api/v1/me", Cookie=cookie)[0] == 200
    assert house("dashboard", "--forget", "--as", "human:ana").out == "1 browser logged out\n"
    assert house.get("/api/v1/me", Cookie=cookie)[0] == 401


def test_the_page_is_for_people(house: House):
    refused = house("dashboard", "--no-open", "--as", "builder")
    assert refused.code == 5
    assert is_told_well(refused)
    assert not instance.running(house.home)


def test_who_is_given_an_address_to_open_the_page_is_told(house: House):
    told = "human:ana is new here: it has an address now, and gets the answers\n"
    assert told in house("dashboard", "--no-open", "--as", "human:ana").err
    assert "is new here" not in house("dashboard", "--no-open", "--as", "human:ana").err
    for flag in ("--json", "--quiet"):
        assert "is new here" not in house("dashboard", "--no-open", "--as", "human:ben" + flag[2:], flag).err


def test_a_port_that_is_taken_is_told_and_tried_again_and_the_daemon_runs_all_the_same(house: House):
    with socket.create_server(("127.0.0.1", house.port)):
        refused = house("dashboard", "--no-open", "--as", "human:ana")
        assert refused.code == 1
        assert f"port {house.port}" in refused.err
        assert "http_port" in refused.err
        again = house("up")
        assert again.code == 0
        assert f"warning: the page is not served: port {house.port}" in again.err
        assert "postroom down; POSTROOM_HTTP_PORT=PORT postroom up" in again.err  # the config has no say
        assert instance.running(house.home)
        assert f"port {house.port}" in json.dumps(house("status", "--json").json["daemon"]["page"])
    assert "not served" not in house("up").err  # which tries again
    assert house("status", "--json").json["daemon"]["page"]["url"]
    assert house.cookie()


def test_a_port_that_only_this_call_names_is_told_to_be_none_of_the_daemon_that_runs(house: House):
    house.link()
    assert "started without" not in house("up").err
    before, house.port = house.port, free_port()
    advice = f"postroom down; POSTROOM_HTTP_PORT={house.port} postroom up"
    for words in (["up"], ["dashboard", "--no-open", "--as", "human:ana"]):
        told = house(*words)
        assert told.code == 0, told
        assert f"the daemon that runs was started without POSTROOM_HTTP_PORT={house.port}" in told.err, words
        assert advice in told.err, words
    assert str(before) in house("status").out
    assert house("down").code == 0
    assert "started without" not in house("up").err
    assert house.link().startswith(f"http://127.0.0.1:{house.port}/")


def test_a_port_that_is_taken_is_told_with_the_line_and_the_file_that_name_another(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("POSTROOM_HTTP_PORT")
    path = config.config_path(house.home)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"http_port = {house.port}\n")
    with socket.create_server(("127.0.0.1", house.port)):
        told = house.line.process("up", "--yes").err
    assert f"write the line http_port = {house.port + 1} into {path}, then: postroom up" in told


def test_status_tells_where_the_page_is(house: House):
    house.link()
    assert house("status", "--json").json["daemon"]["page"]["url"] == f"http://127.0.0.1:{house.port}"
    assert f"http://127.0.0.1:{house.port}" in house("status").out


def test_metrics_tell_how_the_daemon_and_its_watchers_do(house: House):
    cookie = house.cookie()
    status, _, body = house.get("/api/v1/metrics", Cookie=cookie)
    found = json.loads(body)
    assert (status, found["total_messages"], found["unacknowledged"]) == (200, 0, 0)
    assert (found["avg_latency"], found["p95_latency"], found["inbox_sizes"]) == (None, None, {})
    health = found["watcher_health"]
    assert (health["agents"], health["crashes"], health["web"]["problem"]) == (0, 0, None)
    assert health["watches"] == {"count": 0, "crashes": 0}
    assert health["trees"] == {"count": 0, "mailboxes": 0, "trouble": {}}
    status, _, body = house.get("/metrics", Cookie=cookie)
    assert (status, b"postroom_uptime_seconds" in body) == (200, True)
    assert house.get("/healthz")[0] == 200


def test_an_agent_that_cannot_be_kept_and_a_tree_that_is_gone_are_in_the_health(house: House, tmp_path: Path):
    """Really so: a terminal that no multiplexer has, and a directory that was removed."""
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    with LocalRoom(house.home, Settings(), agent="human:ana", project="p") as room:
        for place in (kept, gone):
            place.mkdir()
            trees.put(room, Tree(str(place), "p"))
        (kept / "boxed").mkdir()
        shutil.rmtree(gone)
        agent = room.join("tester")
        program = host.identity_of(os.getpid())
        manifests.put(house.home, Manifest(agent.id, agent.address, "tmux", program, "no pane at all"))
    cookie = house.cookie()
    eventually(lambda: control.ask(house.home, "ping")["trees"]["mailboxes"])
    eventually(lambda: control.ask(house.home, "ping")["crashes"])
    eventually(lambda: control.ask(house.home, "ping")["watchers"].get("p/boxed") == "running")
    told = json.loads(house.get("/api/v1/metrics", Cookie=cookie)[2])
    assert told["watcherHealth"] == {"tester": "crashed", "boxed": "running"}
    health = told["watcher_health"]
    assert health["crashes"] >= 1
    assert health["trees"] == {"count": 2, "mailboxes": 1, "trouble": {str(gone): "it is not there"}}
    lines = house.get("/metrics", Cookie=cookie)[2].decode().splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(found["postroom_crashes_total"]) >= 1
    names = ("postroom_mailboxes", "postroom_trees", "postroom_trees_unseen")
    assert [float(found[name]) for name in names] == [1, 2, 1]
    assert "; 2 trees, 1 of them not looked at;" in house("status").out
    title, line = house("top", "--once").out.splitlines()[-2:]
    assert title == "Daemon"
    assert re.fullmatch(
        r"▲ looks after 2 agents, 1 mailbox, 2 trees  \d crash(es)? of bridges, 1 tree not looked at", line
    )


def test_nothing_is_served_where_that_is_turned_off(house: House):
    house.port = 0
    assert house("up").code == 0
    refused = house("dashboard", "--no-open", "--as", "human:ana")
    assert "http_port is 0" in refused.err
    assert not os.path.exists(f"{house.home}-hooks/http.sock")


def test_the_daemon_loads_nothing_of_the_server_before_it_serves():
    script = "import sys, postroom.daemon.loop; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=BOUND)
    loaded = {name.partition(".")[0] for name in done.stdout.decode().split()}
    assert not loaded & {"starlette", "uvicorn", "websockets", "anyio", "h11"}
    assert not [name for name in done.stdout.decode().split() if name.startswith("postroom.server")]


def test_others_are_served_only_with_a_certificate(house: House, tmp_path: os.PathLike[str]):
    house.extra = {"POSTROOM_HTTP_HOST": "0.0.0.0"}
    refused = house("dashboard", "--no-open", "--as", "human:ana")
    assert "tls_cert" in refused.err
    assert "postroom down; POSTROOM_HTTP_HOST=127.0.0.1 postroom up" in refused.err
    house.end()

    authority = Authority(tmp_path)
    house.extra |= {"POSTROOM_TLS_CERT": authority.issue()}
    assert house.link().startswith(f"https://0.0.0.0:{house.port}/login?once=")
    link = http.client.HTTPSConnection(
        "127.0.0.1", house.port, timeout=BOUND, context=ssl.create_default_context(cafile=authority.path)
    )
    link.request("GET", "/healthz")
    answer = link.getresponse()
    assert (answer.status, json.loads(answer.read())) == (200, {"status": "ok"})
    assert answer.headers["strict-transport-security"]
    link.close()
