"""What the README promises: Claude Code and Codex, set up in a line each, write to each other."""

import os

from postroom.model.ladder import State
from tests.agents.clis import CLIS
from tests.agents.conftest import MakeRig
from tests.agents.desk import BIN, Desk
from tests.agents.log import BOUND, Log, until


def test_claude_code_and_codex_write_to_each_other(make_rig: MakeRig) -> None:
    """A person asks one of them to ask the other. All else they do by themselves, on what they are shown."""
    rig = make_rig("claude")
    other = rig.also(CLIS["codex"])
    desk = Desk(rig).set_up()
    assert other.command(os.path.join(BIN, "postroom"), "setup", "codex", "--yes", **desk.env).code == 0
    env = {"PATH": f"{os.path.dirname(other.program)}:{desk.env['PATH']}"}
    with (
        rig.terminal("--allowedTools", "Bash", POSTROOM_AGENT="frontend", **env) as claude,
        other.terminal(POSTROOM_AGENT="api", **env) as codex,
    ):
        codex.wait_idle()
        codex.submit("[[mail postroom reply %handle% 'It is 47''11.']] [[say READY-B]]")
        codex.wait_screen("READY-B")
        codex.wait_idle()
        claude.wait_idle()
        claude.submit(
            "[[mail postroom ack %handle%]] "
            "[[bash postroom send api 'Which PO''RT is it?' --type request]] [[say ASKED]]"
        )
        wait_shown(rig.log, "Which PORT is it?", "/responses")
        wait_shown(rig.log, "It is 4711.", "/messages")
        until(lambda: len(states(desk)) == 2, BOUND, "answer in the room")
        until(lambda: set(states(desk).values()) == {State.ACKED}, BOUND, "acknowledgement")
    sent = {message.body: message for name in ("frontend", "api") for message, _ in desk.room.sent(name)}
    asked, told = sent["Which PORT is it?"], sent["It is 4711."]
    assert (asked.sender, asked.sender_runtime, asked.verified) == ("frontend", "claude", "session")
    assert (told.sender, told.to, told.reply_to) == ("api", "frontend", asked.id)
    for message, path in ((asked, "/responses"), (told, "/messages")):
        assert shown(rig.log, message.body, path)[-1].count(message.body) == 1
    assert desk.complaints() == ""


def shown(log: Log, text: str, path: str) -> list[str]:
    """The requests of one of the two, told apart by where their models are asked, that have a text."""
    found = log.conversation(text)
    return [request.text for request in found if request.path.partition("?")[0].endswith(path)]


def wait_shown(log: Log, text: str, path: str) -> None:
    until(lambda: shown(log, text, path), BOUND, f"{text!r} in a request")


def states(desk: Desk) -> dict[str, State]:
    """How far the messages of the two got."""
    sent = [message for name in ("frontend", "api") for message, _ in desk.room.sent(name)]
    return {message.body: desk.delivery(message.id).state for message in sent}
