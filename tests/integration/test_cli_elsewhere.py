"""The command line against a room elsewhere: every command, by its address and a token."""

import datetime
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from postroom.cli.catalog import COMMANDS
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.sweep import give_back
from postroom.server.port import NoBridges
from tests.certified import Authority
from tests.commandline import CommandLine, Result, is_told_well
from tests.conftest import UNLIMITED
from tests.served import Served, served

As = Callable[..., Result]

PLANNER, BUILDER, ANA = "planner", "builder", "human:ana"


class Row(NamedTuple):
    """A call, who makes it, and how it ends."""

    who: str
    line: str
    code: int = 0


# What each command does there. Every command is in one of these three tables.
WORKS: dict[str, list[Row]] = {
    "send": [Row(PLANNER, "send builder hi --attach {file}"), Row(PLANNER, "send builder hi --wait stored"),
             Row(PLANNER, "send builder hi --wait seen --timeout 50ms", 4)],
    "ask": [Row(PLANNER, "ask builder how? --timeout 50ms", 4)],
    "reply": [Row(BUILDER, "reply {mail} yes")],
    "forward": [Row(BUILDER, "forward {mail} human:ana look")],
    "withdraw": [Row(PLANNER, "withdraw {mail}")],
    "types": [Row(PLANNER, "types"), Row(PLANNER, "types show dispatch"), Row(PLANNER, "types show custom"),
              Row(PLANNER, "types show dispach", 2)],
    "inbox": [Row(PLANNER, "inbox"), Row(PLANNER, "inbox --frame")],
    "read": [Row(BUILDER, "read"), Row(PLANNER, "read --all"), Row(BUILDER, "read --all --frame")],
    "attachments": [Row(BUILDER, "attachments {mail}"), Row(BUILDER, "attachments {mail} 1"),
                    Row(BUILDER, "attachments {mail} 1 --out {out}")],
    "wait": [Row(PLANNER, "wait --timeout 20s")],
    "ack": [Row(BUILDER, "ack {mail}")],
    "nack": [Row(BUILDER, "nack {mail} --reason no")],
    "gates": [Row(ANA, "gates"), Row(ANA, "gates {gate}")],
    "decide": [Row(ANA, "decide {gate} approve"), Row(BUILDER, "decide {gate} approve", 5)],
    "receipts": [Row(PLANNER, "receipts {mail}")],
    "sent": [Row(PLANNER, "sent")],
    "thread": [Row(PLANNER, "thread {mail}")],
    "threads": [Row(PLANNER, "threads")],
    "search": [Row(PLANNER, "search hello")],
    "stats": [Row(ANA, "stats"), Row(PLANNER, "stats", 5)],
    "log": [Row(ANA, "log"), Row(ANA, "log builder --limit 3"), Row(PLANNER, "log")],
    "dead": [Row(ANA, "dead"), Row(ANA, "dead show {dead}"), Row(ANA, "dead retry {dead}"),
             Row(ANA, "dead purge {dead} --yes"), Row(PLANNER, "dead retry {dead}", 5)],
    "agents": [Row(PLANNER, "agents")],
    "join": [Row(PLANNER, "join planner.kid"), Row(ANA, "join newcomer"), Row(PLANNER, "join newcomer", 5)],
    "leave": [Row(PLANNER, "leave"), Row(PLANNER, "leave builder", 5)],
    "idle": [Row(PLANNER, "idle")],
    "rename": [Row(PLANNER, "rename drafter")],
    "groups": [Row(PLANNER, "groups")],
    "whoami": [Row(PLANNER, "whoami"), Row(ANA, "whoami")],
    "topics": [Row(PLANNER, "topics"), Row(PLANNER, "topics subscribe news"),
               Row(PLANNER, "topics show news"), Row(PLANNER, "topics unsubscribe news")],
    "mute": [Row(PLANNER, "mute 1h"), Row(PLANNER, "mute --off")],
    "routes": [Row(PLANNER, "routes"), Row(PLANNER, "routes --from planner --to builder")],
    "projects": [Row(PLANNER, "projects")],
    "screen": [Row(ANA, "screen builder"), Row(ANA, "screen builder -n 20"),
               Row(PLANNER, "screen builder", 5)],
    "command": [Row(ANA, "command builder /compact"), Row(PLANNER, "command builder /compact", 5)],
    "interrupt": [Row(ANA, "interrupt builder"), Row(PLANNER, "interrupt builder", 5)],
    "resume": [Row(ANA, "resume builder")],
    "dashboard": [Row(ANA, "dashboard --no-open"), Row(PLANNER, "dashboard --no-open", 5)],
    "top": [Row(ANA, "top --once"), Row(PLANNER, "top --once")],
    "status": [Row(ANA, "status"), Row(PLANNER, "status", 5)],
}  # fmt: skip

# What is a matter of the room's own machine: its files, its programs, its secrets.
THERE: dict[str, list[str]] = {
    "tokens": ["tokens", "tokens issue planner", "tokens revoke planner"],
    "types": ["types --refresh"],
    "projects": ["projects delete p --yes"],
    "spawn": ["spawn worker -- cat"],
    "adopt": ["adopt", "adopt %1"],
    "mailbox": ["mailbox", "mailbox add {dir}", "mailbox remove {dir}"],
    "teams": ["teams adopt a/b"],
    "attach": ["attach builder"],
    "stop": ["stop builder"],
    "watch": ["watch %1 --match x --to builder"],
    "up": ["up"],
    "down": ["down"],
    "dashboard": ["dashboard --forget"],
    "verify": ["verify"],
    "journal": ["journal", "journal status", "journal path"],
    "replay": ["replay --into {dir}"],
    "backup": ["backup {out}"],
    "restore": ["restore {file} --yes"],
    "prune": ["prune --before 1d --yes"],
    "redact": ["redact {mail} --yes"],
    "setup": ["setup claude", "setup --undo claude"],
    "import": ["import {dir}", "import {dir} --apply"],
    "doctor": ["doctor"],
    "bench": ["bench"],
}

# What needs no room, or has one of its own; `demo` runs in `test_demo.py`, `mcp` in `test_mcp_command.py`.
ALONE: dict[str, list[Row]] = {
    "teams": [Row(PLANNER, "teams")],
    "tasks": [Row(PLANNER, "tasks nobody", 5)],
    "mailbox": [Row(PLANNER, "mailbox check {file}", 1)],
    "hook": [Row(PLANNER, "hook plain"), Row(PLANNER, "hook claude Stop")],
    "demo": [],
    "mcp": [],
    "guide": [Row(PLANNER, "guide")],
    "completion": [Row(PLANNER, "completion bash")],
}


class Terminal(NoBridges):
    """One agent is reached by a bridge: what it shows, and what is typed there."""

    def screen(self, agent: Any, lines: int) -> str:
        return f"{agent.name} is at work\x1b[2J, {lines} lines above"

    def command(self, agent: Any, text: str, by: str) -> dict[str, Any]:
        return {"result": "handed", "words": f"{by} typed {text}", "reason": ""}


@pytest.fixture
def room(open_room: Any) -> LocalRoom:
    room = open_room(PLANNER, settings=UNLIMITED._replace(max_unproven=1))
    for name in (PLANNER, BUILDER, ANA):
        room.join(name)
    return room


@pytest.fixture
def web(room: LocalRoom) -> Iterator[Served]:
    with served(room, bridges=Terminal()) as found:
        yield found


class Scene:
    """A room in which there is something of everything, and a directory that has nothing of it."""

    def __init__(self, web: Served, directory: str, env: dict[str, str] | None = None) -> None:
        room = web.room
        self.directory, self._web, self._env = directory, web, env or {}
        os.mkdir(directory)
        file = os.path.join(directory, "file")
        with open(file, "w") as out:
            out.write("some text")
        dead = room.send("builder", "dies").id
        mail = room.take("builder", handed=False)
        assert mail is not None
        with room.write() as tx:
            give_back(tx, mail, room.settings)
        gate = room.send("human:ana", "?", type="decision_gate", payload={"question": "Deploy?"}).id
        room.send("planner", "hello back", sender="builder")
        self._words = {
            "mail": room.send("builder", "hello", attachments=[("a.txt", b"abc")]).id,
            "dead": dead, "gate": gate, "file": file, "dir": directory, "out": os.path.join(directory, "out"),
        }  # fmt: skip
        self._tokens = {name: web.token(name) for name in (PLANNER, BUILDER, ANA)}

    def run(self, who: str, line: str, *more: str) -> Result:
        argv = [word.format_map(self._words) for word in line.split()]
        env = {"POSTROOM_TOKEN": self._tokens[who], "HOME": self.directory, **self._env}
        return CommandLine(self._web.url)(*argv, *more, env=env)


@pytest.fixture
def scene(web: Served, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(web, os.path.join(tmp_path, "elsewhere"))
    monkeypatch.chdir(scene.directory)
    return scene


def test_every_command_is_in_a_table():
    assert set(WORKS) | set(THERE) | set(ALONE) == set(COMMANDS)


def _fulfilled(row: Row, result: Result) -> None:
    assert result.code == row.code, (row, result)
    if row.code:
        assert is_told_well(result), (row, result)
        assert len(result.err.splitlines()) == 2, (row, result)  # with what to do next
    else:
        assert not result.err.startswith("postroom:"), (row, result)


@pytest.mark.promise("remote-cli")
@pytest.mark.parametrize("row", [row for rows in WORKS.values() for row in rows], ids=lambda row: row.line)
def test_what_has_to_do_with_mail_and_people_is_done_from_anywhere(scene: Scene, row: Row):
    _fulfilled(row, scene.run(row.who, row.line))


@pytest.mark.parametrize(
    "row", [row for rows in WORKS.values() for row in rows if not row.code], ids=lambda row: row.line
)
def test_and_is_told_as_json(scene: Scene, row: Row):
    result = scene.run(row.who, row.line, "--json")
    assert result.code == 0, result
    assert result.items or row.line.startswith("attachments {mail} 1")


@pytest.mark.promise("remote-cli")
@pytest.mark.parametrize("line", [line for lines in THERE.values() for line in lines])
def test_what_is_a_matter_of_the_rooms_machine_says_so_and_where_to_run_it(scene: Scene, line: str):
    before = sorted(os.listdir(scene.directory))
    result = scene.run(ANA, line)
    assert (result.code, result.out) == (5, ""), result
    assert is_told_well(result), result
    assert "which are elsewhere" in result.err
    assert f": postroom {line.split(maxsplit=1)[0]}\n" in result.err
    assert scene.run(ANA, line, "--json").error["error"] == "not_here"
    assert sorted(os.listdir(scene.directory)) == before


@pytest.mark.parametrize("row", [row for rows in ALONE.values() for row in rows], ids=lambda row: row.line)
def test_what_needs_no_room_works_as_ever(scene: Scene, row: Row):
    result = scene.run(row.who, row.line)
    assert result.code == row.code, result
    assert "unexpected" not in result.err


@pytest.mark.parametrize("runtime", ["plain", "claude Stop"])
def test_a_hook_refuses_nothing_to_its_runtime_and_says_why_there_is_no_mail(scene: Scene, runtime: str):
    result = scene.run(BUILDER, f"hook {runtime}")
    assert (result.code, result.out) == (0, "")
    assert "elsewhere" in result.err
    assert "postroom read --frame" in result.err


def test_another_machine_is_named_in_what_to_run():
    result = CommandLine("https://room.example:7678")("verify", env={"POSTROOM_TOKEN": "x"})
    assert "Run it there: ssh room.example postroom verify" in result.err


def test_mail_goes_there_and_back(scene: Scene, web: Served):
    sent = scene.run(PLANNER, "send builder over-http", "--json").json
    assert sent["deliveries"][0]["state"] == "stored"
    assert sent["id"] in [one["id"] for one in scene.run(BUILDER, "inbox --json").json["messages"]]
    assert "over-http" in scene.run(BUILDER, f"read {sent['id']}").out
    assert web.room.receipts(sent["id"]).deliveries[0].state is State.SEEN
    assert "sent" in scene.run(BUILDER, f"reply {sent['id']} done").out
    assert "● acked" in scene.run(PLANNER, f"receipts {sent['id']}").out
    found = scene.run(PLANNER, f"thread {sent['id']} --json").json["messages"]
    assert [one["body"] for one in found] == ["over-http", "done"]
    assert "done" in scene.run(PLANNER, "wait --timeout 20s").out


def test_who_waits_for_an_agent_that_is_not_there_is_not_sent_to_start_it_here(scene: Scene):
    told = scene.run(PLANNER, "send builder hi --wait seen --timeout 50ms").err
    assert "start it where the room is" in told
    assert "spawn" not in told


def test_a_token_tells_who_one_is(scene: Scene):
    found = scene.run(BUILDER, "whoami", "--json").json
    assert (found["address"], found["verified"], found["project"]) == ("p/builder", "token", "p")


def test_what_a_terminal_shows_is_harmless_wherever_it_is(scene: Scene):
    shown = scene.run(ANA, "screen builder -n 7")
    assert "builder is at work" in shown.out
    assert "7 lines above" in shown.out
    assert "\x1b" not in shown.out
    typed = scene.run(ANA, "command builder /compact --json").json
    assert (typed["result"], typed["words"]) == ("handed", "human:ana typed /compact")


def test_the_link_of_a_page_elsewhere_logs_its_person_in_once(scene: Scene, web: Served):
    url = scene.run(ANA, "dashboard --no-open --json").json["url"]
    path = url.removeprefix(web.url)
    first = web.get(path, prefix="")
    cookie = {"Cookie": first.headers["set-cookie"].partition(";")[0]}
    assert (first.status, web.get("/me", headers=cookie).json["agent"]) == (303, "human:ana")
    assert web.get(path, prefix="").status == 403
    less = web.token(ANA, "operate")
    assert web.post("/link", token=less).json["error"] == "lacks_scope"


def test_a_refusal_is_told_as_it_is_at_home(scene: Scene):
    refused = scene.run(PLANNER, "send nobody x")
    assert refused.code == 3
    assert is_told_well(refused)
    assert scene.run(PLANNER, "send builder x --as builder").err.startswith("postroom: you are")


@pytest.mark.promise("remote-cli")
def test_the_same_over_tls_with_an_authority_of_ones_own(
    room: LocalRoom, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
):
    authority = Authority(tmp_path)
    last = ("leave", "rename")  # what follows would not find who it knows
    rows = [rows[0] for name, rows in sorted(WORKS.items(), key=lambda one: one[0] in last)]
    with served(room, bridges=Terminal(), cert=authority.issue()) as web:
        assert web.url.startswith("https://")
        for n, row in enumerate(rows):
            scene = Scene(web, os.path.join(tmp_path, f"elsewhere-{n}"), {"SSL_CERT_FILE": authority.path})
            monkeypatch.chdir(scene.directory)
            _fulfilled(row, scene.run(row.who, row.line))


class Fault(NamedTuple):
    """What goes wrong, and what is said of it."""

    address: str
    says: str
    does: str
    token: str = "pr_" + "0" * 48
    code: int = 1
    trusts: str = ""  # a file of an authority


@contextmanager
def _nobody(web: Served, directory: str) -> Iterator[Fault]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    yield Fault(f"http://127.0.0.1:{port}", "does not answer: Connection refused", "postroom status")


@contextmanager
def _no_socket(web: Served, directory: str) -> Iterator[Fault]:
    yield Fault(f"unix://{directory}/none.sock", "does not answer: No such file", "postroom status", token="")


@contextmanager
def _wrong_token(web: Served, directory: str) -> Iterator[Fault]:
    yield Fault(web.url, "no token of this room", "postroom tokens issue NAME", code=5)


@contextmanager
def _no_token(web: Served, directory: str) -> Iterator[Fault]:
    yield Fault(web.url, "not known who asks", "POSTROOM_TOKEN", token="", code=5)


@contextmanager
def _no_such_token(web: Served, directory: str) -> Iterator[Fault]:
    yield Fault(web.url, "is no token", "postroom tokens issue NAME", token="pr_ä\n", code=5)


@contextmanager
def _expired(web: Served, directory: str) -> Iterator[Fault]:
    authority = Authority(directory)
    with served_beside(web, authority.issue(datetime.timedelta(hours=-1))) as url:
        yield Fault(url, "not trusted: certificate has expired", "tls_cert", trusts=authority.path)


@contextmanager
def _unknown_authority(web: Served, directory: str) -> Iterator[Fault]:
    with served_beside(web, Authority(directory).issue()) as url:
        yield Fault(url, "not trusted: unable to get local issuer", "SSL_CERT_FILE")


@contextmanager
def _no_tls(web: Served, directory: str) -> Iterator[Fault]:
    yield Fault(web.url.replace("http", "https"), "does not speak TLS", "http://")


@contextmanager
def _tls_after_all(web: Served, directory: str) -> Iterator[Fault]:
    with served_beside(web, Authority(directory).issue()) as url:
        yield Fault(url.replace("https", "http"), "does not answer", "postroom status")


@contextmanager
def _newer(web: Served, directory: str) -> Iterator[Fault]:
    said = b'{"messages": [{"id": "x", "sphere": 7}], "agent": "a", "project": "p"}'
    with answering(200, said) as url:
        yield Fault(url, "not understood here", "postroom --version")


@contextmanager
def _older(web: Served, directory: str) -> Iterator[Fault]:
    with answering(404, b'{"error": "not_found", "message": "there is no \'/api/v1/inbox\'"}') as url:
        yield Fault(url, "is older than this Postroom", "postroom down; postroom up")


@contextmanager
def _no_room_at_all(web: Served, directory: str) -> Iterator[Fault]:
    with answering(200, b"<html>Welcome</html>") as url:
        yield Fault(url, "nothing that a room says", "postroom status")


@contextmanager
def _no_document(web: Served, directory: str) -> Iterator[Fault]:
    with answering(500, b"[1]") as url:
        yield Fault(url, "nothing that a room says", "postroom status")


@contextmanager
def _gone_meanwhile(web: Served, directory: str) -> Iterator[Fault]:
    with answering(0, b"") as url:
        yield Fault(url, "does not answer", "postroom status")


@contextmanager
def _no_port(web: Served, directory: str) -> Iterator[Fault]:
    yield Fault("https://host:seven", "is no address of a room", "https://host:7678", code=2)


@contextmanager
def _no_scheme(web: Served, directory: str) -> Iterator[Fault]:
    address = web.url.removeprefix("http://")
    yield Fault(address, "is no directory", f"http://{address}", code=2)


FAULTS = [
    _nobody, _no_socket, _wrong_token, _no_token, _no_such_token, _expired, _unknown_authority, _no_tls,
    _tls_after_all, _newer, _older, _no_room_at_all, _no_document, _gone_meanwhile, _no_port, _no_scheme,
]  # fmt: skip


@pytest.mark.promise("remote-cli")
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_the_way_there_is_told_with_what_to_do(
    web: Served, tmp_path: os.PathLike[str], fault: Any
):
    with fault(web, os.fspath(tmp_path)) as found:
        env = {"POSTROOM_TOKEN": found.token} | ({"SSL_CERT_FILE": found.trusts} if found.trusts else {})
        result = CommandLine(found.address)("inbox", env=env)
    assert result.code == found.code, result
    assert is_told_well(result), result
    assert found.says in result.err
    assert found.does in result.err


@contextmanager
def served_beside(web: Served, cert: str) -> Iterator[str]:
    """The same room with a certificate."""
    one = Served(web.room, f"{web.path}.2", cert=cert)
    try:
        yield one.url
    finally:
        one.close()


@contextmanager
def answering(status: int, content: bytes) -> Iterator[str]:
    """Some other server: whatever it is asked, it says that; with a status of 0 it hangs up."""

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            if status:
                head = f"HTTP/1.1 {status} So\r\nContent-Length: {len(content)}\r\n\r\n"
                self.wfile.write(head.encode() + content)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
