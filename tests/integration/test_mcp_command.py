"""`postroom mcp`: real clients over its pipes, a real daemon behind it, and either of them killed."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import mcp_types as types
import pytest

from postroom import host
from postroom.daemon import instance
from postroom.daemon.place import log_path, running
from postroom.home import beside
from postroom.mcp_server.place import LONGEST
from postroom.mcp_server.tool import BY_NAME
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.commandline import COMMAND
from tests.conftest import UNLIMITED
from tests.process import BOUND, environment, eventually, until
from tests.toolbox import ERAS, by_command, call

eras = pytest.mark.parametrize("era", ERAS)
COMMAND = [*COMMAND, "mcp"]
QUICK = [sys.executable, "-c", "from postroom.cli.main import main; main()", "mcp"]  # as the script does
INBOX = "postroom://inbox"
_OURS = "io.modelcontextprotocol/"
DISCOVER = {f"{_OURS}protocolVersion": ERAS[0], f"{_OURS}clientCapabilities": {}}
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


class House:
    """A room whose daemon may be killed, and clients of its tools."""

    def __init__(self, home: str) -> None:
        self.home = home
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.env = environment(POSTROOM_HOME=home, POSTROOM_HTTP_PORT=str(port), POSTROOM_PROJECT="p")
        self.room = LocalRoom(home, UNLIMITED, project="p", agent="planner")
        self.room.join("planner")

    def client(
        self,
        era: str = ERAS[0],
        *words: str,
        command: list[str] = QUICK,
        hear: Any = None,
        ask: Any = None,
        **env: str,
    ) -> Any:
        """`hear`: gets what it is told; `ask`: answers what it is to ask its user."""
        return by_command(
            [*command, *words], self.env | env, os.path.dirname(self.home), era,
            message_handler=hear, elicitation_callback=ask,
        )  # fmt: skip

    def lines(self, *said: Any, words: tuple[str, ...] = ()) -> list[Any]:
        """What it answers to lines, each as it is or as JSON, when no more come."""
        content = b"".join(
            one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in said
        )
        command = [*QUICK, *words]
        done = subprocess.run(
            command, input=content, env=self.env, capture_output=True, timeout=BOUND, check=True
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def shim(self) -> Any:
        """The command itself, with its pipes."""
        return subprocess.Popen(
            QUICK, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    @property
    def daemon(self) -> int:
        return host.pid_of(running(self.home))

    def kill(self) -> None:
        """The daemon, at once."""
        process = running(self.home)
        os.kill(host.pid_of(process), signal.SIGKILL)
        until(lambda: host.is_gone(process))

    def close(self) -> None:
        if process := running(self.home):
            os.kill(host.pid_of(process), signal.SIGTERM)
            until(lambda: host.is_gone(process))
        self.room.close()

    def state(self, ref: str) -> State:
        return self.room.receipts(ref).deliveries[0].state


@pytest.fixture
def house(home: str) -> Iterator[House]:
    found = House(home)
    yield found
    found.close()


@eras
def test_a_client_with_nothing_else_configured_has_a_working_mailbox(house: House, era: str):
    """The daemon is started, and the agent is given a name, by the process that started the command."""

    async def run() -> str:
        async with house.client(era) as one:
            me = (await call(one, "agents"))["you"]
            await call(one, "send", to="planner", body="hello")
            house.room.send(me, "hello yourself")
            [mail] = (await call(one, "read"))["messages"]
            assert mail["body"] == "hello yourself"
            return me

    me = asyncio.run(run())
    assert me.startswith("p/")
    [mail] = house.room.peek("planner")
    assert (mail.message.verified, mail.message.sender_runtime) == ("process", "mcp")
    assert mail.sender == me.removeprefix("p/")


WHO = """
import asyncio, sys
from tests.integration.test_mcp_command import House, call
house = House(sys.argv[1])
async def who(name):
    async with house.client(POSTROOM_AGENT=name) as one:
        print((await call(one, "agents"))["you"], flush=True)
for name in sys.stdin:
    asyncio.run(who(name.strip()))
"""


class Other:
    """An agent of its own, whose tools are started anew each time that it is asked who it is."""

    def __init__(self, house: House) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WHO, house.home], env=house.env, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip

    def who(self, name: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def __enter__(self) -> "Other":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=BOUND)


def test_an_agent_stays_who_it_is_and_nobody_else_gets_its_name_while_it_runs(house: House):
    with Other(house) as one, Other(house) as other:
        assert one.who("amy") == "p/amy"
        assert one.who("bob") == "p/amy"
        assert other.who("amy") not in ("", "p/amy")


@eras
def test_it_serves_by_itself_where_there_is_to_be_no_daemon(house: House, era: str):
    async def run() -> None:
        async with house.client(era, "--no-daemon", "--as", "builder") as one:
            assert (await call(one, "agents"))["you"] == "p/builder"
            sent = house.room.send("builder", "hello")
            await call(one, "read")
            assert house.state(sent.id) is State.OFFERED
            while house.state(sent.id) is State.OFFERED:  # what comes in while it writes proves nothing yet
                await call(one, "inbox")
            assert house.state(sent.id) is State.SEEN

    asyncio.run(asyncio.wait_for(run(), BOUND))
    assert not running(house.home)


def test_it_serves_by_itself_where_the_daemon_serves_nothing(house: House):
    async def run() -> None:
        async with house.client(POSTROOM_HTTP_PORT="0", POSTROOM_AGENT="builder") as one:
            assert (await call(one, "agents"))["you"] == "p/builder"

    asyncio.run(run())


def test_nothing_of_it_is_loaded_before_somebody_asks_for_it(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_HTTP_PORT", house.env["POSTROOM_HTTP_PORT"])
    instance.ensure(house.home)

    def loaded() -> bool:
        with open(f"/proc/{house.daemon}/maps", encoding="utf-8") as file:
            return "pydantic_core" in file.read()

    def serves() -> bool:
        with open(log_path(house.home), encoding="utf-8") as file:
            return "page served" in file.read()

    until(serves)
    assert not loaded()
    house.lines({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert loaded()


# ------------------------------------------------------------------------------- whatever comes first


@pytest.mark.promise("mcp-answers")
@pytest.mark.parametrize("words", [(), ("--no-daemon",)], ids=["by a daemon", "by itself"])
def test_whatever_comes_first_is_answered(house: House, words: tuple[str, ...]):
    lines = partial(house.lines, words=words)
    said = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": DISCOVER}}
    [discovered] = lines(said)
    assert discovered["result"]["supportedVersions"] == [ERAS[0]]
    [unknown, other] = lines(
        {"jsonrpc": "2.0", "id": 1, "method": "no/such"}, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    )
    assert (unknown["id"], unknown["error"]["code"]) == (1, -32601)
    assert other["id"] == 2
    assert "error" in other
    odd = b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}\n'
    [broken, none, wrong, no_number] = lines(b"{broken\n", odd, {"id": 7, "what": "is this"}, b"[]\n")
    assert broken["error"]["code"] == -32700
    assert (none["id"], none["error"]["code"]) == (None, -32700)
    assert (wrong["id"], wrong["error"]["code"]) == (7, -32600)
    assert (no_number["id"], no_number["error"]["code"]) == (None, -32600)
    assert bool(running(house.home)) == (not words)


@pytest.mark.promise("mcp-answers")
def test_a_line_as_large_as_many_frames_gets_through(house: House):
    body = "x" * 900_000
    [_, answer] = house.lines(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "send", "arguments": {"to": "planner", "body": body}}},
    )  # fmt: skip
    assert not answer["result"].get("isError"), answer["result"]["content"][0]["text"][:300]
    assert [mail.body for mail in house.room.peek("planner")] == [body]


@pytest.mark.promise("mcp-answers")
def test_a_line_that_is_too_large_is_answered(house: House):
    large = {"to": "planner", "body": "x" * LONGEST}
    [answer, last] = house.lines(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "send", "arguments": large}},
        {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
    )
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)
    assert last["id"] == 2


@pytest.mark.promise("mcp-answers")
def test_a_request_at_which_every_connection_ends_is_answered_too(house: House):
    """By a daemon that does not get over it."""
    path = beside(house.home, "http.sock")
    host.private_directory(os.path.dirname(path))
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    link, _ = door.accept()
                    with link:
                        link.recv(1 << 16)
                        link.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
                        link.recv(1 << 16)

        threading.Thread(target=serve, daemon=True).start()
        [answer] = house.lines({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        door.shutdown(socket.SHUT_RDWR)
    assert answer["id"] == 1
    assert "again and again" in answer["error"]["message"]


@pytest.mark.promise("mcp-answers")
def test_what_is_the_same_for_everybody_is_told_before_a_daemon_serves(house: House):
    """And once: when one does, it is told what the client has said, and its answer is not passed on."""
    path = beside(house.home, "http.sock")
    host.private_directory(os.path.dirname(path))
    with house.shim() as shim, socket.socket(socket.AF_UNIX) as door:

        def say(number: int, method: str, **params: Any) -> None:
            said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            shim.stdin.write(json.dumps(said).encode() + b"\n")
            shim.stdin.flush()

        def hear() -> Any:
            return json.loads(shim.stdout.readline())

        door.bind(path)  # at which nobody answers
        door.listen()
        say(1, "initialize", **OPENING)
        assert hear()["result"]["serverInfo"]["name"] == "postroom"
        shim.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        say(2, "tools/list")
        assert {one["name"] for one in hear()["result"]["tools"]} == set(BY_NAME)
        assert not running(house.home)
        say(3, "tools/call", name="send", arguments={"to": "planner", "body": "hello"})
        say(4, "tools/list", cursor="x")
        os.unlink(path)
        door.close()
        assert sorted((hear()["id"], hear()["id"])) == [3, 4]
        assert running(house.home)
    assert [mail.body for mail in house.room.peek("planner")] == ["hello"]


def test_a_client_that_does_not_want_the_answer_leaves_no_trace(house: House):
    house.lines({"jsonrpc": "2.0", "id": 1, "method": "ping"})  # so that a daemon runs
    with house.shim() as shim:
        shim.stdout.close()
        shim.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        shim.stdin.flush()
        assert shim.stderr.read() == b""
        assert shim.wait(BOUND) == 1


# -------------------------------------------------------------------------------------- who is killed


@eras
@pytest.mark.promise("mcp-killed")
def test_a_daemon_that_is_killed_loses_no_call_and_does_none_twice(house: House, era: str):
    """Killed while calls are under way: each is answered, and each message is there once."""
    rounds, kills = 60, 2

    async def run() -> None:
        async with house.client(era) as one:
            await call(one, "agents")

            async def send(number: int) -> None:
                await call(one, "send", to="planner", body=f"message {number}")

            for kill in range(kills):
                numbers = range(kill * rounds, (kill + 1) * rounds)
                calls = [asyncio.ensure_future(send(number)) for number in numbers]
                await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.to_thread(house.kill)
                await asyncio.gather(*calls)

    asyncio.run(run())
    bodies = [mail.body for mail in house.room.peek("planner", limit=500)]
    assert sorted(bodies) == sorted(f"message {number}" for number in range(rounds * kills))


@pytest.mark.promise("mcp-killed")
def test_a_call_that_waits_goes_on_waiting_when_the_daemon_is_killed(house: House):
    async def run() -> Any:
        async with house.client("legacy") as one:
            asking = asyncio.ensure_future(call(one, "ask", to="planner", body="how far?", wait=60))
            await asyncio.to_thread(until, lambda: house.room.peek("planner"))
            await asyncio.to_thread(house.kill)
            [asked] = house.room.peek("planner")
            house.room.reply(asked, "half of it", agent="planner")
            return await asking

    assert asyncio.run(run())["answer"]["body"] == "half of it"
    assert house.room.peek("planner") == []


@pytest.mark.promise("mcp-killed")
def test_what_was_read_before_the_daemon_was_killed_is_seen_by_the_next_call(house: House):
    async def run() -> None:
        async with house.client() as one:
            me = (await call(one, "agents"))["you"]
            sent = house.room.send(me, "hello")
            [mail] = (await call(one, "read"))["messages"]
            await asyncio.to_thread(until, lambda: _is_handed(house, sent.id))
            await asyncio.to_thread(house.kill)
            assert house.state(sent.id) is State.OFFERED
            assert (await call(one, "read"))["messages"] == []
            assert house.state(sent.id) is State.SEEN
            assert mail["body"] == "hello"

    asyncio.run(run())


@pytest.mark.promise("mcp-people")
def test_a_question_is_put_to_the_client_again_when_the_daemon_was_killed(house: House):
    """And the one before is taken back: an answer to that is an answer to nothing."""
    house.room.join("human:ana")
    ask = {"name": "ask_human", "arguments": {"question": "Now?", "options": ["no", "yes"], "wait": 60}}
    with house.shim() as shim:

        def say(**said: Any) -> None:
            shim.stdin.write(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n")
            shim.stdin.flush()

        def hear() -> Any:
            return json.loads(shim.stdout.readline())

        say(id=1, method="initialize", params=OPENING | {"capabilities": {"elicitation": {}}})
        assert hear()["id"] == 1
        say(method="notifications/initialized")
        say(id=2, method="tools/call", params=ask)
        first = hear()
        house.kill()
        taken_back = hear()
        assert (taken_back["method"], taken_back["params"]["requestId"]) == (
            "notifications/cancelled", first["id"],
        )  # fmt: skip
        again = hear()
        assert again["id"] != first["id"]
        for one, chosen in ((first, "no"), (again, "yes")):
            say(id=one["id"], result={"action": "accept", "content": {"answer": chosen}})
        assert hear()["result"]["structuredContent"]["answer"]["body"] == "yes"
    assert house.room.peek("human:ana") == []


@pytest.mark.promise("mcp-people")
def test_what_its_user_said_while_the_daemon_was_killed_is_an_answer_to_the_question_all_the_same(
    house: House,
):
    """In the newer protocol, whose clients bring the question back with the answer."""
    house.room.join("human:ana")
    chosen: Any = {"answer": types.ElicitResult(action="accept", content={"answer": "merge"})}

    async def ask(_: Any, __: Any) -> types.ElicitResult:
        raise AssertionError("it is put to the user by the test")

    async def run() -> Any:
        async with house.client(ask=ask) as one:
            asked = await one.session.call_tool("ask_human", MERGE | {"wait": 60}, allow_input_required=True)
            await asyncio.to_thread(house.kill)
            state = asked.request_state
            return await one.call_tool("ask_human", MERGE, input_responses=chosen, request_state=state)

    assert asyncio.run(run()).structured_content["answer"]["body"] == "merge"
    assert house.room.gates() == []


PORT = {"question": "Which port?"}
MERGE = {"question": "Merge?", "options": ["merge", "wait"]}


def _settle(house: House, args: dict[str, Any]) -> str:
    """A person answers the one question there is; what the agent is to hear."""
    [asked] = house.room.peek("human:ana")
    if "options" in args:
        house.room.decide(asked.id, "merge", note="go on", agent="human:ana")
        return "merge"
    house.room.reply(asked, "7678", agent="human:ana")
    return "7678"


def _heard(mail: dict[str, Any]) -> str:
    """What a person has said: what was chosen, or in words."""
    return mail.get("payload", {}).get("decision", {}).get("option") or mail["body"]


@eras
@pytest.mark.parametrize("args", [PORT, MERGE], ids=["in words", "a decision"])
@pytest.mark.promise("mcp-people")
def test_who_waits_for_a_person_is_answered_by_the_daemon_after_the_one_that_was_killed(
    house: House, era: str, args: dict[str, Any]
):
    house.room.join("human:ana")

    async def run() -> None:
        async with house.client(era) as one:
            asking = asyncio.ensure_future(call(one, "ask_human", **args, wait=60))
            await asyncio.to_thread(eventually, lambda: house.room.peek("human:ana"))
            before = house.daemon
            await asyncio.to_thread(house.kill)
            await asyncio.to_thread(eventually, lambda: running(house.home))  # which the command has started
            assert house.daemon != before
            wanted = _settle(house, args)
            found = await asking
            assert (found["answered"], _heard(found["answer"])) == (True, wanted)
            assert (await call(one, "read"))["messages"] == []  # it is not told twice

    asyncio.run(asyncio.wait_for(run(), 2 * BOUND))
    assert house.room.peek("human:ana") == []


@pytest.mark.parametrize("args", [PORT, MERGE], ids=["in words", "a decision"])
@pytest.mark.promise("mcp-people")
def test_what_a_person_answers_after_a_restart_of_everything_comes_to_the_inbox(
    house: House, args: dict[str, Any]
):
    """Of an agent that did not wait: its tools have ended, and the daemon was killed."""
    house.room.join("human:ana")

    async def ask() -> None:
        async with house.client(POSTROOM_AGENT="builder") as one:
            assert not (await call(one, "ask_human", **args, wait=0))["answered"]

    async def read() -> list[str]:
        async with house.client(POSTROOM_AGENT="builder") as one:
            return [_heard(mail) for _ in range(2) for mail in (await call(one, "read"))["messages"]]

    asyncio.run(ask())
    house.kill()
    assert asyncio.run(read()) == []
    wanted = _settle(house, args)
    house.kill()
    assert asyncio.run(read()) == [wanted]
    assert house.room.peek("human:ana") == []


@eras
@pytest.mark.promise("mcp-people")
@pytest.mark.promise("mcp-killed")
def test_what_a_person_is_told_is_there_once_when_the_daemon_was_killed(house: House, era: str):
    """Told before it was killed, and while it was."""
    house.room.join("human:ana")
    later = [f"notice {number}" for number in range(30)]

    async def run() -> None:
        async with house.client(era) as one:
            told = await call(one, "notify_human", body="first")
            assert told["to"][0]["name"] == "human:ana"
            calls = [asyncio.ensure_future(call(one, "notify_human", body=body)) for body in later]
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.to_thread(house.kill)
            await asyncio.gather(*calls)
            assert running(house.home)
            assert (await call(one, "inbox"))["messages"] == []

    asyncio.run(run())
    bodies = [mail.body for mail in house.room.peek("human:ana", limit=500)]
    assert sorted(bodies) == sorted(["first", *later])


@pytest.mark.promise("mcp-killed")
def test_a_call_that_was_under_way_proves_nothing_when_it_is_made_again(house: House):
    """The model had made it before it was shown that mail."""
    with house.shim() as shim:

        def say(number: int, method: str, **params: Any) -> None:
            said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            shim.stdin.write(json.dumps(said).encode() + b"\n")
            shim.stdin.flush()

        def hear() -> Any:
            return json.loads(shim.stdout.readline())

        say(1, "initialize", **OPENING)
        hear()
        shim.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        say(2, "tools/call", name="agents", arguments={})
        me = hear()["result"]["structuredContent"]["you"]
        say(3, "tools/call", name="ask", arguments={"to": "planner", "body": "?", "wait": 60})
        until(lambda: house.room.peek("planner"))
        sent = house.room.send(me, "hello")
        say(4, "tools/call", name="read", arguments={})
        assert hear()["id"] == 4
        until(lambda: _is_handed(house, sent.id))
        house.kill()
        until(lambda: running(house.home))
        [asked] = house.room.peek("planner")
        house.room.reply(asked, "yes", agent="planner")
        assert hear()["id"] == 3
        assert house.state(sent.id) is State.OFFERED
        say(5, "tools/call", name="agents", arguments={})
        assert hear()["id"] == 5
        assert house.state(sent.id) is State.SEEN


def _is_handed(house: House, ref: str) -> bool:
    return house.room.receipts(ref).deliveries[0].handed_at is not None


def test_a_client_that_only_listens_does_not_bring_back_a_daemon_that_was_ended(house: House):
    async def run() -> None:
        async with house.client() as one, one.listen(resource_subscriptions=["postroom://inbox"]):
            await asyncio.to_thread(house.kill)
            assert (await call(one, "inbox"))["messages"] == []  # it comes back for who asks
            await asyncio.to_thread(house.kill)

    asyncio.run(run())
    assert not running(house.home)


@eras
@pytest.mark.filterwarnings("default:resources/.*subscribe is removed")
@pytest.mark.promise("mcp-killed")
def test_who_follows_its_inbox_hears_of_mail_after_the_daemon_was_killed(house: House, era: str):
    """Of what came while there was none, and of what comes then."""
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await told.put(str(message.params.uri))

    async def pass_on(news: Any) -> None:
        async for event in news:
            await told.put(event.uri)

    async def run() -> None:
        async with house.client(era, hear=hear, POSTROOM_AGENT="builder") as one, AsyncExitStack() as stack:
            await call(one, "agents")
            if era == "legacy":
                await one.subscribe_resource(INBOX)
            else:
                news = await stack.enter_async_context(one.listen(resource_subscriptions=[INBOX]))
                passing = asyncio.ensure_future(pass_on(news))
                stack.callback(passing.cancel)
            await asyncio.to_thread(house.kill)
            house.room.send("builder", "meanwhile")
            await call(one, "agents")
            assert await asyncio.wait_for(told.get(), BOUND) == INBOX
            house.room.send("builder", "afterwards")
            assert await asyncio.wait_for(told.get(), BOUND) == INBOX

    asyncio.run(run())


@pytest.mark.promise("mcp-dies")
@pytest.mark.promise("mcp-people")
def test_a_client_that_dies_in_the_middle_loses_nothing(house: House):
    """Killed after it was given mail, and while it waits for a person."""
    with subprocess.Popen(
        QUICK, env=house.env | {"POSTROOM_AGENT": "builder"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shim:
        assert shim.stdin
        assert shim.stdout

        def say(number: int, method: str, params: Any) -> None:
            assert shim.stdin
            said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            shim.stdin.write(json.dumps(said).encode() + b"\n")
            shim.stdin.flush()

        say(1, "initialize", OPENING)
        assert json.loads(shim.stdout.readline())["id"] == 1
        shim.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        say(2, "tools/call", {"name": "agents", "arguments": {}})
        assert b"p/builder" in shim.stdout.readline()
        sent = house.room.send("builder", "hello")
        say(3, "tools/call", {"name": "read", "arguments": {}})
        assert b"hello" in shim.stdout.readline()
        house.room.join("human:ana")
        say(4, "tools/call", {"name": "ask_human", "arguments": {"question": "Which port?", "wait": 60}})
        until(lambda: house.room.peek("human:ana"))
        assert house.state(sent.id) is State.SEEN  # by the call after it
        again = house.room.send("builder", "again")
        say(5, "tools/call", {"name": "read", "arguments": {}})
        assert b"again" in shim.stdout.readline()
        shim.kill()
    until(lambda: house.state(again.id) is State.STORED)
    [asked] = house.room.peek("human:ana")
    house.room.reply(asked, "7678", agent="human:ana")
    waiting = {mail.body: mail.delivery.shown_before for mail in house.room.peek("builder")}
    assert waiting == {"again": True, "7678": False}


def test_next_to_nothing_is_loaded_before_lines_are_passed_on():
    heavy = {"argparse", "asyncio", "socket", "sqlite3", "typing", "postroom.config", "postroom.errors"}
    code = "import sys; before = set(sys.modules); import postroom.cli.main, postroom.cli.lines;"
    code += f"print(*sorted(({heavy} & set(sys.modules)) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
