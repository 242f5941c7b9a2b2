"""What an agent that speaks ACP says of what it wants to do: people are shown all of it."""

from acp.schema import (
    ContentToolCallContent,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    PermissionOption,
    TerminalToolCallContent,
    TextContentBlock,
    TextResourceContents,
    ToolCallUpdate,
)

from postroom.bridges.acp.question import Calls, question

YES = [PermissionOption(option_id="y", name="Yes", kind="allow_once")]


def test_whatever_it_shows_is_shown():
    script = TextResourceContents(uri="file:///x", text="rm -rf ~")
    content = [
        ContentToolCallContent(type="content", content=TextContentBlock(type="text", text="as discussed")),
        ContentToolCallContent(
            type="content", content=EmbeddedResourceContentBlock(type="resource", resource=script)
        ),
        FileEditToolCallContent(type="diff", path="/etc/hosts", old_text="a", new_text="b"),
        TerminalToolCallContent(type="terminal", terminal_id="t1"),
    ]
    call = Calls().note(ToolCallUpdate(tool_call_id="c", title="do it", content=content))
    details = question("1", call, YES).details
    for shown in ("as discussed\n", "rm -rf ~", "file:///x", "in /etc/hosts:\n- a\n+ b", "t1"):
        assert shown in details
