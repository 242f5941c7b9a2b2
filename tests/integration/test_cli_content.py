"""Attachments, formats and large bodies on the command line."""

import os
import pty
import re

import pytest

from tests.commandline import COMMAND, CommandLine, is_told_well
from tests.process import BOUND

SCRIPT = 'def greet():\n    return "```"\n'


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner")
    cli.ok("join", "builder")
    return cli


@pytest.fixture
def place(tmp_path: os.PathLike[str]) -> str:
    """A directory with a picture and a script in it."""
    with open(os.path.join(tmp_path, "plot.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n\0\xff")
    with open(os.path.join(tmp_path, "greet.py"), "w") as file:
        file.write(SCRIPT)
    return str(tmp_path)


@pytest.fixture
def message(cli: CommandLine, place: str) -> str:
    return cli.sent("builder", "see", "--attach", f"{place}/plot.png", "--attach", f"{place}/greet.py")


def on_a_terminal(cli: CommandLine, *argv: str) -> tuple[int, str]:
    """What a person sees."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(COMMAND[0], [*COMMAND, *argv], {**os.environ, **cli.environment, "NO_COLOR": "1"})
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # its end, on Linux
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode().replace("\r\n", "\n")


@pytest.mark.promise("attachments")
def test_what_is_sent_with_attach_is_shown_by_read_and_thread(cli: CommandLine, message: str):
    found = cli.ok("attachments", message, "--json").json["attachments"]
    assert [(a["name"], a["media_type"], a["size"]) for a in found] == [
        ("plot.png", "image/png", 10),
        ("greet.py", "text/x-python", len(SCRIPT)),
    ]
    shown = [
        "2 attachments:",
        "  1. plot.png (image, image/png, 10 bytes)",
        f"     {found[0]['path']}",
        f"  2. greet.py (text/x-python, {len(SCRIPT)} bytes)",
        f"     {found[1]['path']}",
        "     ````python",
        "     def greet():",
        '         return "```"',
        "     ````",
    ]
    for command in (["thread", message], ["read", "--as", "builder"]):
        assert cli.ok(*command).out.splitlines()[2:] == shown
    assert "see [plot.png] [greet.py]" in cli.ok("sent", "--as", "planner").out


def test_a_program_is_told_where_the_files_are(cli: CommandLine, message: str):
    taken = cli.ok("read", "--as", "builder", "--json").json
    with open(taken["attachments"][1]["path"]) as file:
        assert file.read() == SCRIPT
    assert cli.ok("attachments", message, "--quiet").out.splitlines()[1] == taken["attachments"][1]["path"]
    assert "1. plot.png" in cli.ok("attachments", message).out


def test_one_is_printed_byte_for_byte(cli: CommandLine, message: str):
    with cli.start("attachments", message, "1") as process:
        assert process.communicate(timeout=30) == (b"\x89PNG\r\n\x1a\n\0\xff", b"")
    assert cli.ok("attachments", message, "greet.py").out == SCRIPT


def test_a_terminal_is_shown_text_and_spared_the_rest(cli: CommandLine, message: str):
    assert on_a_terminal(cli, "attachments", message, "2") == (0, SCRIPT)
    code, shown = on_a_terminal(cli, "attachments", message, "1")
    assert code == 2
    assert "nothing for a terminal" in shown
    harmful = cli.sent("builder", "x", "--attach", _written(cli.home + ".txt", "a\x1b[31mb\n"))
    assert on_a_terminal(cli, "attachments", harmful, "1") == (0, "a[31mb\n")


def _written(path: str, text: str) -> str:
    with open(path, "w") as file:
        file.write(text)
    return path


def test_saving_says_where_and_overwrites_only_by_force(cli: CommandLine, message: str, place: str):
    out = f"{place}/out"
    assert cli.ok("attachments", message, "2", "--out", out).out == f"{out}\n"
    again = cli("attachments", message, "2", "--out", out)
    assert (again.code, is_told_well(again)) == (5, True)
    assert "--force" in again.err
    assert cli.ok("attachments", message, "2", "--out", out, "--force", "--json").json == {"saved": [out]}
    assert cli("attachments", message, "--out", f"{place}/both").code == 2, "two do not go into one file"
    os.mkdir(f"{place}/both")
    assert cli.ok("attachments", message, "--out", f"{place}/both").out.splitlines() == [
        f"{place}/both/plot.png",
        f"{place}/both/greet.py",
    ]


def test_what_is_not_there_is_told_with_what_to_run(cli: CommandLine, message: str):
    result = cli("attachments", message, "3")
    assert (result.code, is_told_well(result)) == (3, True)
    assert f"postroom attachments {message[-8:]}" in result.err
    assert cli("attachments", "00000000").code == 3
    assert cli.ok("attachments", cli.sent("builder", "nothing with it")).out == ""


@pytest.mark.promise("bad-input")
@pytest.mark.parametrize("path", ["/dev/null", "/", "-", "/nowhere", "", "nul\nl"])
def test_what_cannot_be_attached_is_a_clear_error(cli: CommandLine, path: str):
    result = cli("send", "builder", "see", "--as", "planner", f"--attach={path}")
    assert (result.code, is_told_well(result)) == (2, True), result
    told = cli("send", "builder", "see", "--as", "planner", f"--attach={path}", "--json").error
    assert told["error"] == "invalid_attachment"
    assert cli.ok("inbox", "--as", "builder", "--json").json == {"messages": []}


def test_an_excerpt_is_short_and_what_is_damaged_says_so(cli: CommandLine, message: str, place: str):
    long = cli.sent("builder", "x", "--attach", _written(f"{place}/long.txt", "line\n" * 40))
    assert "… 10 more lines" in cli.ok("thread", long).out
    larger = cli.sent("builder", "x", "--attach", _written(f"{place}/larger.txt", "line\n" * 1000))
    assert "```" not in cli.ok("thread", larger).out
    [_, script] = cli.ok("attachments", message, "--json").json["attachments"]
    os.unlink(script["path"])
    assert (
        "(the content of greet.py cannot be read: No such file or directory)" in cli.ok("thread", message).out
    )
    assert cli("attachments", message, "2").code == 1
    assert cli("verify").code == 1


def test_replies_and_questions_take_attachments_too(cli: CommandLine, message: str, place: str):
    answer = cli.ok(
        "reply", message, "here", "--as", "builder", "--attach", f"{place}/greet.py", "--json"
    ).json
    assert [a["name"] for a in cli.ok("attachments", answer["id"], "--json").json["attachments"]] == [
        "greet.py"
    ]
    asked = cli("ask", "builder", "?", "--as", "planner", "--timeout", "0", "--attach", f"{place}/plot.png")
    assert asked.code == 4
    assert "[plot.png]" in cli.ok("sent", "--as", "planner").out


def test_who_asks_is_told_what_came_with_the_answer(cli: CommandLine, place: str):
    with cli.start("ask", "builder", "Where is it?", "--as", "planner") as asker:
        cli.ok("wait", "--as", "builder", "--timeout", "30")
        [request] = cli.ok("inbox", "--as", "builder", "--json").json["messages"]
        cli.ok("reply", request["id"], "Here.", "--as", "builder", "--attach", f"{place}/greet.py")
        out, err = asker.communicate(timeout=BOUND)
    assert out == b"Here.\n"
    told = re.search(
        r"builder answered with (\w{8}) and 1 attachment: postroom attachments (\w{8})\n", err.decode()
    )
    assert told is not None
    assert "greet.py" in cli.ok("attachments", told[2]).out


def test_a_body_is_plain_unless_it_is_said_to_be_markdown(cli: CommandLine):
    marked = cli.sent("builder", "# Title", "--format", "markdown", "--metadata", '{"mine": 1}')
    message = cli.ok("receipts", marked, "--json").json["message"]
    assert message["metadata"] == {"mine": 1, "format": "markdown"}
    plain = cli.sent("builder", "# no title")
    assert cli.ok("receipts", plain, "--json").json["message"]["metadata"] is None
    refused = cli("send", "builder", "x", "--as", "planner", "--format", "html")
    assert (refused.code, is_told_well(refused)) == (2, True)
    assert "plain, markdown" in refused.err


@pytest.mark.promise("spill")
def test_an_agent_is_shown_the_beginning_of_a_large_body_and_where_the_rest_is(cli: CommandLine):
    body = "\n".join(f"line {n}" for n in range(5000))
    message = _sent(cli, body)
    shown = cli.ok("read", "--as", "builder").out
    assert len(shown) < 1500
    assert "  line 0\n" in shown
    path = shown.rstrip().rpartition("The whole body: ")[2]
    assert path.endswith(f"run/spill/{message}.md")
    with open(path) as file:
        assert file.read() == body
    assert cli.receipt(message)["state"] == "seen"
    assert "  line 4999\n" in cli.ok("read", message, "--as", "builder", "--whole").out
    assert cli.ok("read", message, "--as", "builder", "--json").json["body"] == body


def _sent(cli: CommandLine, body: str) -> str:
    return cli.ok("send", "builder", "-", "--as", "planner", "--json", stdin=body.encode()).json["id"]


def test_a_person_at_a_terminal_is_shown_all_of_it(cli: CommandLine):
    message = _sent(cli, "line\n" * 5000)
    code, shown = on_a_terminal(cli, "read", message, "--as", "builder")
    assert code == 0
    assert shown.count("  line\n") == 5000
