"""Real agents that go on with an earlier conversation: what is handed out is in a request, or not seen."""

import pytest

from postroom.model.context import own_id
from tests.agents.conftest import MakeDesk
from tests.agents.desk import Desk, Posted
from tests.agents.log import BOUND, until
from tests.agents.terminal import Terminal
from tests.agents.test_terminal import begin

# What starts one in a terminal so that it goes on where it was; `{}` stands for its own id of the session.
STARTS = (
    ("claude", "--continue"),
    ("claude", "--resume {}"),
    ("codex", "resume --last"),
    ("codex", "resume {}"),
    ("gemini", "--resume latest"),
    ("gemini", "--resume {}"),
    ("opencode", "--continue"),
    ("opencode", "--session {}"),
    ("qwen", "--continue"),
    ("qwen", "--resume {}"),
    ("copilot", "--continue"),
    ("copilot", "--resume={}"),
)

# What a person writes in a running session to go on with an earlier one, what it shows then, and the keys.
WITHIN = {
    "claude": ("/resume", "⌕ Search", "Enter"),
    "gemini": ("/resume", "Chat Sessions", "Enter"),
    "opencode": ("/sessions", "Search", "Enter"),
    "qwen": ("/resume", "Press / to search", "Enter"),
    "copilot": ("/resume", "enter open", "Down", "Enter"),
}
RESTORED = r"(?m)^\W*BEGUN"  # what the model said in the earlier one


def check_once(desk: Desk, one: Posted) -> None:
    """It is in what the model was asked last, once, and seen."""
    desk.wait_seen(one.id)
    asked = desk.rig.log.conversation(one.mark)
    assert asked, (desk.room.receipts(one.id), desk.complaints())
    last = asked[-1].text
    assert "READY" in last, "nothing was resumed"
    assert last.count(one.mark) == 1, (desk.room.receipts(one.id), desk.complaints())


@pytest.mark.parametrize(("name", "words"), STARTS)
def test_mail_that_waits_for_a_resumed_agent_is_in_a_request(
    make_desk: MakeDesk, name: str, words: str
) -> None:
    desk = make_desk(name)
    with desk.terminal() as terminal:
        begin(desk, terminal)
        before = desk.session()
        terminal.quit()
    until(lambda: desk.presence() == "gone", BOUND, "end of the session")
    one = desk.send()
    with desk.terminal(*words.format(own_id(before.id)).split()) as terminal:
        terminal.wait_idle()
        terminal.submit("[[bash echo ho]] [[say AGAIN]]")
        desk.rig.log.wait("AGAIN")
        check_once(desk, one)


def go_back(terminal: Terminal, name: str) -> None:
    """Leave this session for an earlier one."""
    command, shown, *keys = WITHIN[name]
    terminal.slash(command)
    terminal.wait_screen(shown)
    for key in keys:
        terminal.settle()
        terminal.press(key)


def go_on(desk: Desk, terminal: Terminal) -> None:
    """A prompt in the conversation that was restored; its composer may lose a text for a moment."""
    terminal.wait_screen(RESTORED)
    terminal.wait_idle()
    for left in reversed(range(3)):
        terminal.paste("[[bash echo ho]] [[say AGAIN]]")
        try:
            terminal.wait_screen(r"AGAIN\]\]", BOUND / 3)
            break
        except AssertionError:
            if not left:
                raise
    terminal.press("Enter")
    desk.rig.log.wait("AGAIN")


def leave_one(desk: Desk, *more: str) -> None:
    """A session that has ended; `more` was said in it to the agent itself."""
    with desk.terminal() as terminal:
        begin(desk, terminal)
        for command in more:
            terminal.slash(command)
            terminal.wait_idle()
        terminal.quit()
    until(lambda: desk.presence() == "gone", BOUND, "end of the session")


@pytest.mark.parametrize("name", WITHIN)
def test_mail_that_was_handed_out_in_a_session_that_is_left_for_an_earlier_one_is_in_a_request(
    make_desk: MakeDesk, name: str
) -> None:
    desk = make_desk(name)
    leave_one(desk)
    one = desk.send()
    with desk.terminal() as terminal:
        terminal.wait_idle()
        go_back(terminal, name)
        go_on(desk, terminal)
        check_once(desk, one)


@pytest.mark.parametrize("command", ["/chat", "/resume"])
def test_mail_that_a_checkpoint_of_gemini_has_overwritten_is_in_a_request(
    make_desk: MakeDesk, command: str
) -> None:
    desk = make_desk("gemini")
    leave_one(desk, f"{command} save before")
    one = desk.send()
    with desk.terminal() as terminal:
        terminal.wait_idle()
        terminal.slash(f"{command} resume before")
        go_on(desk, terminal)
        check_once(desk, one)
