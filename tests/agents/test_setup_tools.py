"""The mailbox as tools of real agents, with no hooks: listed, called, and mail both ways between two."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from postroom.model.ladder import State
from tests.agents.clis import CLIS
from tests.agents.conftest import MakeRig
from tests.agents.desk import ANA, BIN, Desk, postroom_in
from tests.agents.log import BOUND, Log, Request, until
from tests.agents.rig import Done, Rig
from tests.agents.test_sandbox import SYSTEM, confined, made, sandboxed

OURS = {"send", "inbox", "read", "reply", "ask", "ack", "agents", "handoff"}
ALLOWED = ("--allowedTools", "mcp__postroom")
# Else Claude Code tells its model of no tool that it did not look for.
EAGER: Any = {"ENABLE_TOOL_SEARCH": "false"}


def test_claude_mcp_add_gives_a_working_mailbox_with_nothing_else_configured(make_rig: MakeRig) -> None:
    rig = make_rig("claude")
    path: Any = {"PATH": f"{BIN}:{rig.env['PATH']}"}
    assert rig.command(rig.program, "mcp", "add", "postroom", "--", "postroom", "mcp", **path).code == 0
    said = json.dumps({"to": "human:ana", "body": "It is built."})
    assert command(rig, "join", "human:ana", **path)["name"] == "ana"
    done = rig.run(f"[[tool mcp__postroom__send {said}]] [[say SENT]]", *ALLOWED, **path, **EAGER)
    assert done.code == 0, done
    assert tools(rig.log.conversation()[0]) >= {f"mcp__postroom__{name}" for name in OURS}
    [told] = command(rig, "inbox", "--as", "human:ana", **path)["messages"]
    assert (told["body"], told["verified"]) == ("It is built.", "process")
    id = command(rig, "reply", told["id"], "Then ship it.", "--as", "human:ana", **path)["id"]
    script = "[[tool mcp__postroom__read {}]] [[tool mcp__postroom__agents {}]] [[say READ]]"
    assert rig.run(script, *ALLOWED, **path, **EAGER).code == 0
    assert rig.log.count("Then ship it.", about="mcp__postroom__read") == 1
    [delivery] = command(rig, "receipts", id, **path)["deliveries"]
    assert (delivery["state"], delivery["route"]) == ("seen", "mcp")
    assert told["sender"].endswith(f"/{delivery['recipient']}"), "its next session is the same agent"


@pytest.mark.promise("tools-set-up")
def test_claude_code_and_codex_write_to_each_other_by_their_tools_alone(make_rig: MakeRig) -> None:
    """Codex in its sandbox, which neither writes to the room nor reaches the network."""
    rig = make_rig("claude")
    other = rig.also(CLIS["codex"])
    desk = Desk(rig).move_in()
    for name in ("claude", "codex"):
        assert postroom_in(rig, "setup", name, "--mcp", "--allow", "--yes", **desk.env).returncode == 0
    doctor = json.loads(postroom_in(rig, "doctor", "claude", "codex", "--json", **desk.env).stdout)
    assert [one["tools"] for one in doctor["runtimes"]] == [
        [{"scope": "user", "current": True, "ours": True}]
    ] * 2

    def claude(script: str) -> Done:
        return rig.run(script, **desk.env | EAGER | {"POSTROOM_AGENT": "frontend"})

    def codex(script: str) -> Done:
        assert other.cli.confine is not None
        command = [other.program, "exec", "--skip-git-repo-check", *other.cli.confine(other.place), script]
        return other.command(*command, **desk.env | {"POSTROOM_AGENT": "api"})

    done = codex("[[tool agents {}]] [[say HERE]]")
    assert done.code == 0, done
    assert tools(asked(rig.log, "/responses")[0]) >= OURS
    question = json.dumps({"to": "api", "body": "Which PORT is it?", "type": "request"})
    done = claude(f"[[tool mcp__postroom__send {question}]] [[say ASKED]]")
    assert done.code == 0, done
    [sent] = [message for message, _ in desk.room.sent("frontend")]
    assert (sent.sender, sent.verified) == ("frontend", "process")
    answer = json.dumps({"id": sent.handle, "body": "It is 4711."})
    assert codex(f"[[tool read {{}}]] [[tool reply {answer}]] [[say TOLD]]").code == 0
    assert sum("Which PORT is it?" in one.text for one in asked(rig.log, "/responses")) == 2
    assert desk.delivery(sent.id).state is State.ACKED
    [told] = [message for message, _ in desk.room.sent("api")]
    assert (told.to, told.reply_to, told.body) == ("frontend", sent.id, "It is 4711.")
    assert desk.delivery(told.id).state is State.STORED
    done = claude("[[tool mcp__postroom__inbox {}]] [[tool mcp__postroom__read {}]] [[say HEARD]]")
    assert done.code == 0, done
    assert rig.log.count("It is 4711.", about="mcp__postroom__inbox") == 2  # looked at, then read
    assert desk.delivery(told.id).state is not State.SEEN, "no call came after it"
    desk.close()


def command(rig: Rig, *words: str, **env: str) -> Any:
    done = postroom_in(rig, *words, "--json", **env)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def tools(request: Request) -> set[str]:
    """The tools that a model was told of, those inside a namespace, too."""
    listed: list[Any] = request.body["tools"]
    inner = [each for one in listed for each in one.get("tools", ())]
    return {str(one.get("name")) for one in (*listed, *inner)}


def asked(log: Log, path: str) -> list[Request]:
    """The requests of one of the two, told apart by where their models are asked."""
    return [one for one in log.conversation() if one.path.partition("?")[0].endswith(path)]


@pytest.mark.parametrize("hooks", [False, True])
def test_two_conversations_of_one_server_of_codex_are_two_agents(make_rig: MakeRig, hooks: bool) -> None:
    """In terminals its threads share a process, and the environment of whoever started that."""
    rig = make_rig("codex")
    desk = Desk(rig).set_up() if hooks else Desk(rig).move_in()
    assert postroom_in(rig, "setup", "codex", "--mcp", "--allow", "--yes", **desk.env).returncode == 0
    place = os.path.join(rig.place.root, "other")
    os.mkdir(place)
    with Path(rig.place.home, ".codex", "config.toml").open("a", encoding="utf-8") as config:
        config.write(f'\n[projects."{place}"]\ntrust_level = "trusted"\n')
    with (
        rig.terminal(**desk.env | {"POSTROOM_AGENT": "one"}) as one,
        rig.terminal("--cd", place, **desk.env | {"POSTROOM_AGENT": "two"}) as two,
    ):
        for terminal, name in ((one, "one"), (two, "two")):
            terminal.wait_idle()
            mark = f"HELLO-{name}"
            for _ in range(20):  # it begins a turn without the tools of a server that still starts
                terminal.submit(f"[[say {mark}]]")
                terminal.wait_idle()
                if any("send" in tools(request) for request in rig.log.conversation(mark)):
                    break
            said = json.dumps({"to": "human:ana", "body": f"I am {name}."})
            terminal.submit(f"[[tool send {said}]] [[say SENT]]")
            until(lambda name=name: sent(desk, f"I am {name}."), BOUND, f"mail of {name}")
    for name in ("one", "two"):
        [message] = sent(desk, f"I am {name}.")
        assert (message.sender.rpartition("/")[2], message.verified) == (name, "session")
    desk.close()


def sent(desk: Desk, body: str) -> list[Any]:
    return [mail.message for mail in desk.room.peek(ANA) if mail.body == body]


# How each names a tool of ours to its model.
CALLED = {
    "gemini": "mcp_postroom_send",
    "qwen": "mcp__postroom__send",
    "opencode": "postroom_send",
    "copilot": "postroom-send",
}


@pytest.mark.promise("tools-set-up")
@pytest.mark.parametrize("name", CALLED)
def test_the_others_call_the_tools_too_and_undoing_takes_them_away(make_rig: MakeRig, name: str) -> None:
    desk = Desk(make_rig(name)).move_in()
    assert postroom_in(desk.rig, "setup", name, "--mcp", "--yes", **desk.env).returncode == 0
    said = json.dumps({"to": ANA, "body": f"I am {name}."})
    done = desk.run(f"[[tool {CALLED[name]} {said}]] [[say SENT]]")
    assert done.code == 0, done
    [message] = sent(desk, f"I am {name}.")
    assert message.verified == "process"
    assert postroom_in(desk.rig, "setup", name, "--undo", "--yes", **desk.env).returncode == 0
    [found] = json.loads(postroom_in(desk.rig, "doctor", name, "--json", **desk.env).stdout)["runtimes"]
    assert found["tools"] == []
    desk.close()


# As each that starts our server outside its sandbox names the tools, and how it is known who called.
OUTSIDE = {"claude": ("mcp__postroom__{}", "process"), "codex": ("{}", "session")}
PROBE = 'for each in . ~ "{room}"; do echo x 2>/dev/null >"$each/probe"; done; echo done >made.txt'


class Confined:
    """A CLI in its sandbox with our tools and no hooks, which tries to write where that forbids it."""

    def __init__(self, make_rig: MakeRig, name: str, *allow: str) -> None:
        self.desk = Desk(sandboxed(make_rig, name)).move_in()
        self.env = self.desk.env | EAGER | {"PATH": f"{self.desk.env['PATH']}:{SYSTEM}"}
        assert postroom_in(self.desk.rig, "setup", name, "--mcp", *allow, "--yes", **self.env).returncode == 0
        project = Path(self.desk.rig.place.project)
        project.joinpath("probe.sh").write_text(PROBE.format(room=self.desk.home), encoding="utf-8")

    def run(self, script: str) -> Done:
        arguments = confined(self.desk.rig)
        return self.desk.rig.run(f"[[bash sh probe.sh]] {script} [[say GOODBYE]]", *arguments, **self.env)

    def is_in_force(self) -> bool:
        """Whether the workspace alone was written."""
        assert made(self.desk, "made.txt") == "done"
        place = self.desk.rig.place
        written = [os.path.exists(f"{each}/probe") for each in (place.project, place.home, self.desk.home)]
        return written == [True, False, False]


@pytest.mark.promise("tools-set-up")
@pytest.mark.parametrize("name", OUTSIDE)
def test_the_tools_work_where_the_sandbox_lets_commands_write_in_the_workspace_alone(
    make_rig: MakeRig, name: str
) -> None:
    """Mail goes both ways by them, in the turn in which a command was refused."""
    agent = Confined(make_rig, name, "--allow")
    desk, (tool, verified) = agent.desk, OUTSIDE[name]
    waits = desk.send()
    said = json.dumps({"to": ANA, "body": f"I am {name}."})
    done = agent.run(f"[[tool {tool.format('send')} {said}]] [[tool {tool.format('read')} {{}}]]")
    assert done.code == 0, done
    assert agent.is_in_force(), done
    [message] = sent(desk, f"I am {name}.")
    assert (message.sender, message.verified) == ("shop/backend", verified)
    assert desk.rig.log.count(waits.mark) > 0
    desk.close()


def test_copilot_starts_the_server_inside_its_sandbox_where_it_is_not_to_be_found(make_rig: MakeRig) -> None:
    agent = Confined(make_rig, "copilot")
    said = json.dumps({"to": ANA, "body": "I am copilot."})
    done = agent.run(f"[[tool {CALLED['copilot']} {said}]]")
    assert done.code == 0, done
    assert agent.is_in_force(), done
    assert sent(agent.desk, "I am copilot.") == []
    assert CALLED["copilot"] not in tools(agent.desk.rig.log.conversation()[0])
    agent.desk.close()


def test_qwen_does_not_start_with_its_sandbox_and_our_tools_and_doctor_says_so(make_rig: MakeRig) -> None:
    agent = Confined(make_rig, "qwen")
    done = agent.run("")
    assert done.code != 0
    assert "sandbox does not support" in done.err
    assert agent.desk.rig.log.conversation() == []
    doctor = postroom_in(agent.desk.rig, "doctor", "qwen", "--json", **agent.env)
    [found] = json.loads(doctor.stdout)["runtimes"]
    assert (found["sandbox"]["verdict"], "does not start" in found["sandbox"]["words"]) == ("fails", True)
    agent.desk.close()
