"""What `postroom doctor` knows of the daemon, of panes and of mailboxes, and the command that it names."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.files import tree as trees
from postroom.bridges.manifest import Manifest
from postroom.daemon import control
from postroom.daemon.place import lock_path
from postroom.room.local import LocalRoom
from tests.process import eventually
from tests.tended import Tended

SERVES = "http_port = PORT\n"


@pytest.fixture
def house(room: LocalRoom, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Tended]:
    os.mkdir(tmp_path / "bin")
    os.symlink(shutil.which("tmux") or "/bin/true", tmp_path / "bin" / "tmux")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no agent CLI is there
    with Tended(room) as house:
        yield house


def doctor(house: Tended) -> Any:
    return house.line("doctor", "--json").json


def problems(house: Tended) -> dict[str, str]:
    """What is wrong, and what is to be run."""
    return {one["what"]: one["next"] for one in doctor(house)["problems"]}


def kept(house: Tended, **facts: Any) -> Manifest:
    agent = house.room.known("builder")
    manifest = Manifest(agent.id, agent.address, "tmux", "1.1.1.1", "%3@/tmp/none,1", "claude")._replace(
        **facts
    )
    manifests.put(house.home, manifest)
    return manifest


def test_of_a_room_that_needs_no_daemon_nothing_is_wrong(house: Tended):
    told = doctor(house)
    assert told["ok"]
    assert (told["daemon"]["process"], told["terminals"], told["mailboxes"]) == (None, [], [])
    assert "daemon" not in house.line.ok("doctor").out


def test_a_daemon_that_is_needed_and_does_not_run_is_to_be_started(house: Tended):
    kept(house, pane="", process=host.identity())
    assert problems(house) == {"no daemon runs, so no mail is brought to p/builder": "postroom up"}


@pytest.mark.parametrize(
    ("bridge", "still"),
    [
        ("tmux", "nothing is typed into the terminals of agents"),
        ("files", "no mail is carried to or from the file mailboxes of p/builder"),
        ("acp", "no mail is brought to p/builder"),
    ],
)
def test_status_says_what_stands_still_without_a_daemon(house: Tended, bridge: str, still: str):
    kept(house, pane="", bridge=bridge, process=host.identity())
    told = house.line.ok("status", "--json").json["warnings"]
    assert told == [f"no daemon runs, so {still}; see: postroom up"]


def test_a_daemon_that_runs_is_told_with_its_edition_and_its_page_is_tried(house: Tended):
    house.configure(SERVES)
    house.start(serves=True)
    told = doctor(house)
    assert told["ok"], told
    assert told["daemon"]["edition"] == control.EDITION
    assert (told["daemon"]["answers"], told["daemon"]["page"]["reached"]) == (True, True)
    assert f"answers, edition {control.EDITION}, page at http://127.0.0.1:{house.port}" in " ".join(
        house.line.ok("doctor").out.split()
    )


def test_a_port_that_is_taken_is_told(house: Tended):
    house.configure(SERVES)
    with socket.create_server(("127.0.0.1", house.port)):
        house.start(serves=True)
        [(what, helps)] = problems(house).items()
    assert f"port {house.port} cannot be had" in what
    assert helps.endswith("then: postroom up")


def test_a_daemon_that_does_not_answer_is_to_be_restarted(house: Tended):
    house.start()
    os.unlink(os.path.join(os.path.dirname(lock_path(house.home)), "daemon.sock"))
    [(what, helps)] = problems(house).items()
    assert "does not answer" in what
    assert helps == "postroom down && postroom up"


def test_what_the_daemon_complained_about_is_shown(house: Tended):
    house.configure("")
    house.start()
    house.configure("tls_cert = '/nowhere.pem'")
    assert house.renew()
    told = doctor(house)
    assert [one["event"] for one in told["daemon"]["errors"]] == 2 * [
        "config refused, and the one before counts"
    ]
    [(what, helps)] = problems(house).items()
    assert "goes by an earlier config: tls_cert /nowhere.pem" in what
    assert helps.endswith("then: postroom up")
    assert "  error     " in house.line("doctor").out
    assert "config refused" in house.line("doctor").out


def test_what_a_daemon_before_this_one_complained_about_is_told_as_earlier(house: Tended):
    house.configure("")
    house.start()
    house.configure("tls_cert = '/nowhere.pem'")
    assert house.renew()
    house.configure("")
    house.line.ok("down")
    assert {one["earlier"] for one in doctor(house)["daemon"]["errors"]} == {True}
    house.start()
    assert {one["earlier"] for one in doctor(house)["daemon"]["errors"]} == {True}
    text = house.line.ok("doctor").out
    assert "  earlier   error, 2" in text
    assert "  error     " not in text


def test_what_the_daemon_complained_about_and_is_mended_is_told_no_more_and_what_lasts_once(house: Tended):
    house.configure(SERVES)
    with socket.create_server(("127.0.0.1", house.port)):
        house.start(serves=True)
        for _ in range(3):
            assert house.renew()
        text = house.line("doctor").out
        assert text.count("page not served") == 1, text
        assert "times, last then)" in text
    assert house.renew()
    told = doctor(house)
    assert told["daemon"]["page"]["url"]
    assert told["daemon"]["errors"] == []
    assert "page not served" not in house.line("doctor").out


def test_a_pane_that_is_gone_is_told_with_what_brings_it_back(house: Tended):
    gone = host.identity_of(os.getpid()).replace(str(os.getpid()), "999999", 1)
    kept(house, process=gone)
    house.start(POSTROOM_LOG_LEVEL="debug")
    [helps] = [helps for what, helps in problems(house).items() if "was in pane %3" in what]
    assert helps.endswith("postroom adopt --release p/builder")
    kept(house, process=gone, command=["claude"])
    [helps] = [helps for what, helps in problems(house).items() if "was in pane %3" in what]
    assert helps == "postroom spawn p/builder -- claude"


def test_without_tmux_that_is_told_where_somebody_needs_it(
    house: Tended, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    with subprocess.Popen(["/bin/sleep", "1000"]) as program:
        kept(house, process=host.identity_of(program.pid))
        monkeypatch.setenv("PATH", str(tmp_path))
        assert problems(house)["agents run in panes, and tmux is not on your PATH"] == "Install tmux."
        program.kill()


def test_a_mailbox_that_is_gone_or_closed_is_told(house: Tended, tmp_path: Any):
    tree = str(tmp_path / "tree")
    os.mkdir(tree)
    trees.add(house.room, tree, "boxed", house.room.scope)
    house.start()
    inbox = os.path.join(tree, "boxed", "inbox")
    eventually(lambda: os.path.exists(os.path.join(inbox, ".postroom")))
    told = doctor(house)
    assert told["ok"], told
    assert told["mailboxes"] == [
        {"agent": "p/boxed", "place": os.path.join(tree, "boxed"), "there": True, "writable": True,
         "blind": host.unsafe_file_system(tree) or None, "trouble": told["mailboxes"][0]["trouble"]}
    ]  # fmt: skip
    assert "1 served" in house.line.ok("doctor").out
    shutil.rmtree(os.path.join(tree, "boxed"))
    [(what, helps)] = problems(house).items()
    assert what == f"the mailbox of p/boxed is not there: {tree}/boxed"
    assert helps == f"postroom mailbox add {tree} boxed"
    house.signal(signal.SIGTERM)
