"""`ask_human` from real agents: put to whoever sits before them, where they can, and to people elsewhere."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.agents.conftest import MakeRig
from tests.agents.desk import ANA, BIN, Desk, postroom_in
from tests.agents.log import BOUND, until
from tests.agents.test_setup_tools import EAGER, tools

ASK = {"claude": "mcp__postroom__ask_human", "codex": "ask_human", "opencode": "postroom_ask_human"}
CAN_ASK = ("claude", "codex")  # of these, those that say they can put questions to their user
# The keys that choose the second of two options and hand the form in.
SECOND = {"claude": ("Right", "Down", "Enter", "Enter"), "codex": ("Down", "Enter")}
SHOWN = {"claude": r"(?s)requests your input.*Accept", "codex": r"enter to submit"}
MERGE = {"question": "Merge it?", "options": ["merge", "wait"], "wait": 50}
PORT = {"question": "Which port?", "wait": 50}


class Wired:
    """A desk whose agent has our tools, and what its client says to their server."""

    def __init__(self, make_rig: MakeRig, name: str) -> None:
        self.desk = Desk(make_rig(name)).move_in()
        self.env = self.desk.env
        self.env |= EAGER
        self.rig = self.desk.rig
        allow = ("--allow",) if name in CAN_ASK else ()
        assert postroom_in(self.rig, "setup", name, "--mcp", *allow, "--yes", **self.env).returncode == 0
        self._said = Path(self.rig.place.root, "said")
        server = self.rig.place.write(
            "server.sh", f'#!/bin/sh\ntee -a "{self._said}" | "{BIN}/postroom" "$@"\n'
        )
        os.chmod(server, 0o700)
        for path in Path(self.rig.place.home).rglob("*.*"):
            if path.suffix in (".json", ".toml") and f"{BIN}/postroom" in (text := path.read_text("utf-8")):
                path.write_text(text.replace(f"{BIN}/postroom", server), "utf-8")

    def actions(self) -> set[str]:
        """What its client has answered where it was to ask its user."""
        return set(re.findall(r'"action" ?: ?"(\w+)"', self._said.read_text("utf-8")))

    def script(self, args: object) -> str:
        return f"[[tool {ASK[self.rig.cli.name]} {json.dumps(args)}]] [[say GOODBYE]]"

    def waiting(self) -> bool:
        return bool(self.desk.room.peek(ANA))


@pytest.mark.parametrize("name", ASK)
@pytest.mark.parametrize("args", [MERGE, PORT], ids=["a decision", "in words"])
def test_a_question_that_nobody_before_the_agent_answers_is_answered_by_a_person(
    make_rig: MakeRig, name: str, args: dict[str, object]
) -> None:
    """Headless: Claude Code and Codex say that they can ask and then decline; opencode does not say so."""
    agent = Wired(make_rig, name)
    with agent.desk.starting(agent.script(args)) as running:
        until(agent.waiting, BOUND, "question")
        if name in CAN_ASK:
            until(agent.actions, BOUND, "answer of the client")
        [asked] = agent.desk.room.peek(ANA)
        assert asked.body == args["question"]
        words = ("decide", asked.handle, "merge") if "options" in args else ("reply", asked.handle, "4711")
        done = postroom_in(agent.rig, *words, "--as", ANA, **agent.env)
        assert done.returncode == 0, done
        assert running.finish() == 0
    assert agent.actions() <= {"decline", "cancel"}
    assert bool(agent.actions()) == (name in CAN_ASK)
    found = agent.rig.log.last("GOODBYE").replace("\\", "")
    assert '"answered":true' in found
    assert ('"option":"merge"' if "options" in args else '"body":"4711"') in found
    agent.desk.close()


@pytest.mark.parametrize("name", SECOND)
def test_whoever_sits_before_the_agent_answers_in_its_window(make_rig: MakeRig, name: str) -> None:
    """And is written down as nobody's decision."""
    agent = Wired(make_rig, name)
    with agent.rig.terminal(**agent.env) as terminal:
        terminal.wait_idle()
        for number in range(20):  # it begins a turn without the tools of a server that still starts
            terminal.submit(f"[[say HELLO-{number}]]")
            terminal.wait_idle()
            if any(ASK[name] in tools(one) for one in agent.rig.log.conversation(f"HELLO-{number}")):
                break
        terminal.submit(agent.script(MERGE))
        terminal.wait_screen(SHOWN[name])
        terminal.settle()
        [gate] = agent.desk.room.gates()
        for key in SECOND[name]:
            terminal.press(key)
            terminal.settle()
        until(lambda: "own window" in agent.rig.log.last("GOODBYE"), BOUND, "result of the tool")
    assert '"body":"wait"' in agent.rig.log.last("GOODBYE").replace("\\", "")
    assert agent.actions() == {"accept"}
    assert agent.desk.room.gates() == []
    assert "own window" in agent.desk.room.gate(gate.message.id).withdrawn
    agent.desk.close()
