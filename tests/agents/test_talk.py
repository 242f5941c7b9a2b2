"""What the README promises: Claude Code and Codex, set up in a line each, write to each other."""

import os

from postroom.model.ladder import State
from tests.agents.clis import CLIS
from tests.agents.conftest import MakeRig
from tests.agents.desk import BIN, Desk
from tests.agents.log import until


def test_claude_code_and_codex_write_to_each_other(make_rig: MakeRig) -> None:
    rig = make_rig("claude")
    other = rig.also(CLIS["codex"])
    desk = Desk(rig).set_up()
    assert other.command(os.path.join(BIN, "postroom"), "setup", "codex", "--yes", **desk.env).code == 0
    env = {"PATH": desk.env["PATH"]}
    with (
        rig.terminal("--allowedTools", "Bash", POSTROOM_AGENT="frontend", **env) as claude,
        other.terminal(POSTROOM_AGENT="api", **env) as codex,
    ):
        codex.wait_idle()
        codex.submit("[[say READY-B]]")
        codex.wait_screen("READY-B")
        codex.wait_idle()
        claude.wait_idle()
        claude.submit("[[bash postroom send api 'Which PO''RT is it?']] [[say ASKED]]")
        rig.log.wait("Which PORT is it?")
        codex.wait_idle()
        codex.submit("[[bash postroom send frontend 'It is 47''11.']] [[say TOLD]]")
        rig.log.wait("It is 4711.")
        sent = {message.body: message for name in ("frontend", "api") for message, _ in desk.room.sent(name)}
        asked, told = sent["Which PORT is it?"], sent["It is 4711."]
        for message in (asked, told):
            until(lambda id=message.id: desk.is_seen(id), 30, "evidence that it was seen")
    assert (asked.sender, asked.sender_runtime, asked.verified) == ("frontend", "claude", "session")
    assert told.sender == "api"
    assert desk.delivery(asked.id).state is State.SEEN
    assert desk.complaints() == ""
