"""Who writes from inside a real agent's shell; `test_sandbox.py`: from inside its sandbox."""

import json
import os
import sys
from typing import Any

import pytest

from postroom.hooks import program
from postroom.hooks.stub import stub
from postroom.room.local import LocalRoom, open_room
from postroom.runtimes import load
from postroom.runtimes.contract import Kind
from tests.agents.conftest import MakeDesk, MakeRig
from tests.agents.desk import Desk
from tests.agents.rig import Rig
from tests.agents.terminal import Terminal

OPEN = {"codex": ("-s", "danger-full-access")}


def wired(rig: Rig, runtime: str) -> LocalRoom:
    """A room whose hooks the agent runs, with `builder` in it."""
    home = os.path.join(rig.place.root, "room")
    room = open_room(home, agent="builder", project="shop")
    room.join("builder")
    known, hook = load(runtime), program.install(home)
    rig.cli.wire(
        rig.place,
        {
            point.event: stub(
                room.home, point.event, f"{hook} {runtime} {point.event}", known.key,
                quiet=point.kind not in (Kind.START, Kind.END),
            )
            for point in known.points
            if point.kind is not Kind.WAKE
        },
    )  # fmt: skip
    return room


def say(rig: Rig, room: LocalRoom, *arguments: str) -> dict[str, Any]:
    """Let the agent send something from its shell; what the command answered."""
    script = f"{sys.executable} -m postroom send builder hello --json >said.json 2>error.txt"
    with open(os.path.join(rig.place.project, "say.sh"), "w", encoding="utf-8") as file:
        file.write(script)
    done = rig.run(
        "[[bash sh say.sh]] [[say BYE]]", *arguments, POSTROOM_HOME=room.home, POSTROOM_PROJECT="shop"
    )
    assert "BYE" in done.out, done
    with open(os.path.join(rig.place.project, "error.txt"), encoding="utf-8") as file:
        assert file.read() == ""
    with open(os.path.join(rig.place.project, "said.json"), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize(
    ("name", "verified"), [("claude", "session"), ("codex", "session"), ("gemini", "process")]
)
def test_an_agents_shell_writes_as_that_agent_without_a_name(
    make_rig: MakeRig, name: str, verified: str
) -> None:
    rig = make_rig(name)
    with wired(rig, name) as room:
        assert say(rig, room, *OPEN.get(name, ()))["deliveries"][0]["state"] == "stored"
        [mail] = room.peek("builder")
        assert (mail.message.verified, mail.message.sender_runtime) == (verified, name)
        assert (mail.message.sender_session or "").startswith(f"{name}:")


def begun(desk: Desk, terminal: Terminal, mark: str) -> str:
    """Let a terminal begin a session; whose that is."""
    known = {id for _, id in bearers(desk)}
    terminal.wait_idle()
    terminal.submit(f"[[say {mark}]]")
    terminal.wait_screen(rf"(?m)^\W*{mark}")
    terminal.wait_idle()
    [name] = [name for name, id in bearers(desk) if id not in known]
    return name


def bearers(desk: Desk) -> list[tuple[str, str]]:
    return [(one.agent.name, sight.session.id) for one in desk.room.agents() for sight in one.sessions]


def test_each_terminal_of_codex_names_its_own_session_though_one_server_runs_their_hooks(
    make_desk: MakeDesk,
) -> None:
    desk = make_desk("codex")
    other = os.path.join(desk.rig.place.project, "other")
    os.mkdir(other)
    with desk.terminal() as first:
        assert begun(desk, first, "READY-A") == "backend"
        with desk.rig.terminal("-C", other, **{**desk.env, "POSTROOM_AGENT": "frontend"}) as second:
            assert begun(desk, second, "READY-B") == "frontend"
    assert desk.complaints() == ""


def test_two_codex_in_one_directory_each_have_the_name_of_their_own_terminal(make_desk: MakeDesk) -> None:
    """As in the README, twice: one server hosts both, and runs the hooks of both."""
    desk = make_desk("codex")
    with desk.terminal() as first:
        assert begun(desk, first, "READY-A") == "backend"
        with desk.rig.terminal(**{**desk.env, "POSTROOM_AGENT": "frontend"}) as second:
            assert begun(desk, second, "READY-B") == "frontend"
            desk.room.ring.remove(desk.room.who("frontend").id)  # so that no process outside is to wake it
            mail = desk.send(to="frontend")
            second.submit("[[say READ]]")
            desk.wait_seen(mail.id)
            assert desk.rig.log.count(mail.mark) == 1
    assert desk.complaints() == ""


def test_codex_started_again_at_once_is_the_same_agent_and_what_was_closed_is_gone(
    make_desk: MakeDesk,
) -> None:
    desk = make_desk("codex")
    del desk.env["POSTROOM_AGENT"]
    with desk.terminal() as first:
        name = begun(desk, first, "READY-A")
        first.quit()
    [closed] = [one for one in desk.room.agents() if one.agent.name == name]
    assert [sight.presence.value for sight in closed.sessions] == ["gone"]
    with desk.terminal() as second:
        assert begun(desk, second, "READY-B") == name
        second.slash("/clear")
        assert begun(desk, second, "READY-C") == name
    assert desk.complaints() == ""
