"""SIGHUP, and `postroom up` where a daemon runs: the config is read again, and counts from then on."""

import json
import os
import signal
import socket
import ssl
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from postroom import host
from postroom.bridges.files import tree as trees
from postroom.daemon import control, instance
from postroom.errors import UnknownAgent
from tests.certified import Authority
from tests.commandline import CommandLine
from tests.process import BOUND, eventually, free_port
from tests.tended import Tended

SHORT = "http_port = PORT\nmax_body_bytes = 20\n"
LONG = "http_port = PORT\nmax_body_bytes = 2000\n"
LETTER = {"to": "builder", "body": "x" * 100}


@pytest.mark.promise("renews")
def test_a_limit_counts_for_who_is_known_and_connected_already(house: Tended):
    house.configure(SHORT)
    house.start(serves=True)
    token = house.token("planner")
    with house.linked("planner") as link:
        assert house.post("/messages", LETTER, token)[1]["error"] == "invalid_body"
        assert link.ask("send", **LETTER)["error"] == "invalid_body"
        house.configure(LONG)
        assert house.renew()["changed"] == ["max_body_bytes"]
        assert house.post("/messages", LETTER, token)[0] == 200
        assert "ok" in link.ask("send", **LETTER)


@pytest.mark.promise("renews")
def test_a_config_that_makes_no_sense_does_not_count_and_that_is_told(house: Tended):
    house.configure(LONG)
    house.start(serves=True)
    token = house.token("planner")
    for wrong, says in (
        ("max_body_bytes = 'many'", "max_body_bytes must be a whole number"),
        ("this is no TOML", "config.toml"),
        (f"{SHORT}[agents.backend]\nclass = 'x'", "there is no 'class'"),
        (f"{SHORT}[[route]]\nfrom = 3", "route"),
        (f"{SHORT}tls_cert = '/nowhere.pem'", "/nowhere.pem cannot be used"),
    ):
        house.configure(wrong)
        assert says in house.renew()["error"]
        assert says in control.ask(house.home, "ping")["config"]["problem"]
        assert house.post("/messages", LETTER, token)[0] == 200
    told = house.status()  # which reads no certificate
    assert any("goes by an earlier config: tls_cert" in one for one in told["warnings"])
    assert "its config stays as it was: tls_cert" in house.line.process("up").err
    house.configure(SHORT)
    house.renew()
    assert house.status()["daemon"]["config"]["problem"] is None
    assert house.post("/messages", LETTER, token)[1]["error"] == "invalid_body"


def test_who_is_declared_has_an_address_then(house: Tended):
    house.configure("")
    house.start()
    house.configure("[agents.reviewer]\nrole = 'reviewer'\n[agents.'q/other']\n")
    house.renew()
    assert house.room.known("reviewer").role == "reviewer"
    with pytest.raises(UnknownAgent):
        house.room.known("other")
    assert house.room.known("q/other")


def test_a_mailbox_goes_by_it_too(house: Tended, tmp_path: Any):
    tree = os.path.join(tmp_path, "tree")
    os.mkdir(tree)
    trees.add(house.room, tree, "boxed", house.room.scope)
    house.configure("max_body_bytes = 20")
    house.start()
    receipts = os.path.join(tree, "boxed", "receipts")
    _write(tree, "one")
    eventually(lambda: [name for name in os.listdir(receipts) if name.startswith("one")])
    assert not house.room.peek("builder")
    house.configure("max_body_bytes = 2000")
    house.renew()
    _write(tree, "two")
    eventually(lambda: house.room.peek("builder"))


def _write(tree: str, name: str) -> None:
    outbox = os.path.join(tree, "boxed", "outbox")
    with open(os.path.join(outbox, f".{name}"), "w", encoding="utf-8") as file:
        json.dump({"id": name, **LETTER}, file)
    os.rename(os.path.join(outbox, f".{name}"), os.path.join(outbox, f"{name}.json"))


def test_at_another_port_everybody_is_told_and_comes_anew(house: Tended):
    house.configure(LONG)
    house.start(serves=True)
    token, before = house.token("planner"), house.port
    with house.linked("planner") as link:
        house.port = free_port()
        house.configure(LONG)
        house.renew()
        with pytest.raises(ConnectionClosed) as closed:
            link.hear("the last")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    assert house.post("/messages", LETTER, token)[0] == 200
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", before), BOUND)
    assert house.status()["daemon"]["page"]["url"].endswith(f":{house.port}")
    house.configure("http_port = 0")
    house.renew()
    assert house.status()["daemon"]["page"]["url"] is None


def test_a_certificate_that_was_renewed_is_shown_and_one_that_is_none_is_not(house: Tended, tmp_path: Any):
    authority = Authority(tmp_path)
    path = authority.issue()
    house.configure(f"http_port = PORT\ntls_cert = '{path}'")
    house.start(serves=True)
    first = _shown(house.port)
    os.replace(authority.issue(), path)
    assert _shown(house.port) == first
    house.renew()
    second = _shown(house.port)
    assert second != first
    with open(path, "w", encoding="utf-8") as file:
        file.write("not any more")
    assert "cannot be used" in house.renew()["error"]
    assert _shown(house.port) == second


def _shown(port: int) -> bytes | None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), BOUND) as link, context.wrap_socket(link) as shown:
        return shown.getpeercert(binary_form=True)


def test_up_has_a_daemon_that_runs_read_it(house: Tended):
    house.configure("")
    house.start()
    house.configure("max_hops = 3")
    done = house.line.process("up", "--json")
    assert done.json["daemon"]["config"] == {"changed": ["max_hops"], "problem": None}
    house.configure("max_hops = 4")
    assert "it goes by the config as it is now: max_hops" in house.line.process("up").err


def test_the_daemon_of_the_usual_room_reads_the_config_that_commands_read(tmp_path: Any):
    """Which does not lie in the room then."""
    line = CommandLine("")
    place = os.path.join(tmp_path, ".config", "postroom")
    os.makedirs(place)
    with open(os.path.join(place, "config.toml"), "w", encoding="utf-8") as file:
        file.write('log_level = "warning"\n')
    env = {"HOME": str(tmp_path), "POSTROOM_HOME": ""}
    try:
        assert line.process("up", env=env).code == 0
        told = line.process("status", "--json", env=env).json
        assert told["daemon"]["config"]["path"] == told["config"] == os.path.join(place, "config.toml")
        assert told["daemon"]["logs"]["level"] == "warning"
    finally:
        if process := instance.running(os.path.join(tmp_path, ".local", "share", "postroom")):
            os.kill(host.pid_of(process), signal.SIGTERM)
            eventually(lambda: host.is_gone(process))


@pytest.mark.promise("renews")
def test_who_looks_or_ends_the_daemon_is_not_locked_out_by_a_wrong_config(house: Tended):
    house.configure(LONG)
    house.start(serves=True)
    house.line.process("join", "planner")
    house.configure("lease_secnds = 3\nhttp_prt = 1\n")
    for command in (["send", "planner", "hello"], ["up"]):
        refused = house.line.process(*command)
        assert (refused.code, refused.out) == (2, "")
        assert "'lease_secnds'" in refused.err
        assert "'http_prt'" in refused.err
    told = house.line.process("status", "--json")
    assert told.code == 1
    assert "'http_prt'" in json.loads(told.out)["config_problem"]
    assert "warning: the config is refused" in house.line.process("status").out
    examined = house.line.process("doctor", "--json")
    assert examined.code == 1
    assert any("the config is refused" in one["what"] for one in json.loads(examined.out)["problems"])
    ended = house.line.process("down")
    assert ended.code == 0, ended
    assert "the daemon has ended" in ended.out
    assert "warning: the config is refused" in ended.err
