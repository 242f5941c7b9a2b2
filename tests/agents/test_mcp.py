"""Real agents with the mailbox as their own tools: mail is read, answered, and acknowledged by that."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from postroom import host
from postroom.daemon.place import running
from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from tests.agents.conftest import MakeRig
from tests.agents.rig import Rig
from tests.conftest import UNLIMITED
from tests.process import BOUND, environment, until

PROGRAM = os.path.join(os.path.dirname(sys.executable), "postroom")
TOOL = {"claude": "mcp__postroom__{}", "codex": "{}"}  # as each calls them
VERIFIED = {"claude": "process", "codex": "session"}  # Codex says which conversation calls
MakeWired = Callable[[str], Rig]


@pytest.fixture
def wired(make_rig: MakeRig, home: str) -> Iterator[MakeWired]:
    """Makes a rig of a CLI that was told of the server, as its user does it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    env = environment(POSTROOM_HOME=home, POSTROOM_HTTP_PORT=str(port))
    said = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'  # the daemon runs, as it does for all but the first
    subprocess.run([PROGRAM, "mcp"], input=said, env=env, check=True, capture_output=True, timeout=BOUND)

    def make(name: str) -> Rig:
        rig = make_rig(name)
        env = [f"POSTROOM_HOME={home}", f"POSTROOM_AGENT={name}", "POSTROOM_PROJECT=p",
               f"POSTROOM_HTTP_PORT={port}"]  # fmt: skip
        words = [word for one in env for word in ("--env" if name == "codex" else "-e", one)]
        said = ["postroom", *words] if name == "claude" else [*words, "postroom"]
        done = rig.command(rig.program, "mcp", "add", *said, "--", PROGRAM, "mcp")
        assert done.code == 0, done
        if name == "claude":  # whose user has said once that it may
            rig.place.merge(".claude/settings.json", {"permissions": {"allow": ["mcp__postroom"]}})
        return rig

    yield make
    if process := running(home):
        os.kill(host.pid_of(process), signal.SIGTERM)
        until(lambda: host.is_gone(process))


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_agent_reads_and_answers_by_its_tools(wired: MakeWired, home: str, name: str):
    room = LocalRoom(home, UNLIMITED, project="p", agent="planner")
    room.join("planner")
    room.join(name)
    sent = room.send(name, "What is SEVEN and one?")
    rig = wired(name)
    tool = TOOL[name].format
    answer = f'[[tool {tool("reply")} {{"id": "{sent.id[-8:]}", "body": "EIGHT"}}]]'
    done = rig.run(f"[[tool {tool('read')} {{}}]] {answer} [[say GOODBYE]]")
    assert done.code == 0, done
    assert "What is SEVEN and one?" in rig.log.last("GOODBYE"), done
    [mail] = room.peek("planner")
    assert (mail.body, mail.sender, mail.message.verified) == ("EIGHT", name, VERIFIED[name])
    assert room.receipts(sent.id).deliveries[0].state is State.ACKED
    room.close()
