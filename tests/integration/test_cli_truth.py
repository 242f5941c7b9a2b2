"""What a command says is so at that moment: nothing is asked for twice, and what is cut or left out shows."""

import fcntl
import os
import pty
import re
import struct
import termios
from itertools import chain

import pytest

from postroom.bridges.files import tree
from postroom.cli import catalog
from postroom.cli.commands import demo
from postroom.cli.parser import PAGE
from postroom.clock import wall
from postroom.errors import MailboxUnreachable
from tests.commandline import CommandLine
from tests.player import Player
from tests.process import BOUND

REPLY, DECIDE = "waits for an answer", "OPTION, which is one of"


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    for name in ("planner", "builder", "human:ana"):
        cli.ok("join", name)
    return cli


def gate(cli: CommandLine, payload: str = "{}", body: str = "May I deploy?", expires: str = "2h") -> str:
    return cli.sent(
        "human:ana", body, "--type", "decision_gate", "--payload", payload, "--expires", expires,
        sender="builder",
    )  # fmt: skip


def at_80_columns(cli: CommandLine, *argv: str) -> str:
    """What a person sees on a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with cli.start(*argv, env={"NO_COLOR": "1"}, stdout=theirs) as process:
        os.close(theirs)
        assert process.wait(BOUND) == 0
        text = os.read(ours, 65536).decode().replace("\r\n", "\n")
    os.close(ours)
    return text


# what is expected


@pytest.mark.promise("asked-once")
@pytest.mark.parametrize("act", ["reply", "ack", "nack", "withdraw"])
def test_an_answer_is_asked_for_until_it_has_come(cli: CommandLine, act: str):
    request = cli.sent("builder", "Which one?", "--type", "request")
    assert REPLY in cli.ok("thread", request).out
    if act != "withdraw":
        assert REPLY in cli.ok("read", request, "--as", "builder").out
    call = {
        "reply": ["reply", request, "This.", "--as", "builder"],
        "ack": ["ack", request, "--as", "builder"],
        "nack": ["nack", request, "--reason", "no", "--as", "builder"],
        "withdraw": ["withdraw", request, "--as", "planner"],
    }
    cli.ok(*call[act])
    assert REPLY not in cli.ok("thread", request).out
    if act in ("reply", "ack"):
        assert REPLY not in cli.ok("read", request, "--as", "builder").out


@pytest.mark.promise("asked-once")
def test_who_was_asked_with_others_is_asked_until_they_have_answered_themselves(cli: CommandLine):
    cli.ok("join", "tester")
    request = cli.sent("@all", "Are you well?", "--type", "request")
    cli.ok("reply", request, "Yes.", "--as", "builder")
    assert REPLY not in cli.ok("thread", request).out
    assert REPLY in cli.ok("read", request, "--as", "tester").out


@pytest.mark.promise("asked-once")
def test_an_acknowledgement_is_asked_for_until_all_have_given_it(cli: CommandLine):
    cli.ok("join", "tester")
    asked, wish = cli.sent("@all", "Frozen.", "--requires-ack"), "asks for an acknowledgement"
    cli.ok("ack", asked, "--as", "builder")
    assert wish in cli.ok("thread", asked).out
    cli.ok("ack", asked, "--as", "tester")
    assert wish not in cli.ok("thread", asked).out


@pytest.mark.promise("asked-once")
def test_an_open_gate_shows_one_command_and_a_decided_one_none(cli: CommandLine):
    ref = gate(cli)
    reads = (["gates", ref], ["read", ref, "--as", "human:ana"], ["thread", ref])
    for call in reads:
        assert cli.ok(*call).out.count(DECIDE) == 1, call
    cli.ok("ack", ref, "--as", "human:ana")
    assert DECIDE in cli.ok("thread", ref).out, "to have it is not to decide it"
    cli.ok("decide", ref, "approve", "--as", "human:ana")
    for call in reads:
        assert DECIDE not in cli.ok(*call).out, call
    assert "waits" not in cli.ok("gates", ref).out


@pytest.mark.promise("asked-once")
def test_a_gate_that_was_taken_back_or_denied_asks_nobody(cli: CommandLine):
    withdrawn, denied = gate(cli), gate(cli, expires="1ms")
    cli.ok("withdraw", withdrawn, "--as", "builder")
    assert "It can no longer be decided." in cli.ok("gates", withdrawn).out
    assert "Denied: nobody decided in time." in cli.ok("gates", denied).out
    for ref in (withdrawn, denied):
        assert DECIDE not in cli.ok("gates", ref).out + cli.ok("thread", ref).out


def test_what_was_read_as_json_says_what_it_is_then(cli: CommandLine):
    first, second = cli.sent("builder", "one"), cli.sent("builder", "two")
    assert cli.ok("read", "--as", "builder", "--json").json["state"] == "seen"
    assert cli.receipt(first)["state"] == "seen"
    cli.ok("ack", first, "--as", "builder")
    assert cli.ok("read", first, "--as", "builder", "--json").json["state"] == "acked"
    assert [mail["state"] for mail in cli.ok("inbox", "--as", "builder", "--json").json["messages"]] == [
        "stored"
    ]
    assert cli.receipt(second)["state"] == "stored"


# what is not all


@pytest.mark.promise("more-is-told")
@pytest.mark.parametrize("command", ["inbox", "wait"])
@pytest.mark.parametrize("frame", [[], ["--frame"]])
def test_a_list_that_is_not_whole_says_so(cli: CommandLine, command: str, frame: list[str]):
    for n in range(3):
        cli.sent("builder", f"message {n}")
    some = [command, "--limit", "2", "--as", "builder", *frame]
    assert "more wait: --limit 4" in cli.ok(*some).err
    document = cli.ok(*some, "--json").json
    assert document["more"] is True
    assert len(document["shown" if frame else "messages"]) == 2
    every = [command, "--limit", "3", "--as", "builder", *frame]
    assert "more wait" not in cli.ok(*every).err
    assert "more" not in cli.ok(*every, "--json").json


@pytest.mark.promise("more-is-told")
def test_the_longest_list_there_is_says_so_too(cli: CommandLine):
    environment = {"POSTROOM_SENDER_RATE": "0"}
    for n in range(PAGE):
        cli.ok("send", "builder", f"message {n}", "--as", "planner", env=environment)
    call = ["inbox", "--limit", f"{PAGE}", "--as", "builder"]
    assert cli.ok(*call).err == ""
    cli.ok("send", "builder", "one more", "--as", "planner", env=environment)
    result = cli.ok(*call)
    assert len(result.out.splitlines()) == 1 + PAGE
    assert f"the first {PAGE}; more wait: postroom --as builder read" in result.err
    assert cli.ok(*call, "--json").json["more"] is True


def test_whether_there_was_mail_at_all_is_told(cli: CommandLine):
    for frame in ([], ["--frame"]):
        result = cli.ok("read", "--all", "--as", "builder", *frame)
        assert (result.out, result.err) == ("", "No mail.\n")
    assert cli("read", "--as", "builder").code == 3
    cli.sent("builder", "one")
    result = cli.ok("read", "--all", "--as", "builder")
    assert result.err == "No more mail.\n"


def test_who_waits_in_vain_is_sent_to_a_command_that_ends(cli: CommandLine):
    result = cli("wait", "--timeout", "1ms", "--json", env={"POSTROOM_AGENT": "builder"})
    assert (result.code, result.error["hint"]) == (4, "Sleep again: postroom wait. Look: postroom inbox")


def test_a_command_that_is_advised_is_in_the_name_and_the_room_of_the_one_that_was_given(cli: CommandLine):
    waited = cli("wait", "--timeout", "1ms", "--as", "builder").err
    assert "Sleep again: postroom --as builder wait. Look: postroom --as builder inbox" in waited
    advised = waited.partition("Look: ")[2].strip()
    assert cli.shell(advised).code == 0
    unknown = cli("receipts", "1f3a9c02", "--as", "builder", "--home", cli.home).err
    lead = f"postroom --home {cli.home} --as builder"
    assert f"List what you have: {lead} inbox, {lead} sent" in unknown.replace("\n    ", " ")
    looked = cli("inbox", "--as", "nobody", "--home", cli.home).err
    assert f"postroom --home {cli.home} join nobody" in looked, "joining asks for no name of the caller"
    cli.sent("builder", "Is it done?", "--type", "request")
    assert "an answer: postroom --as builder reply" in cli.ok("read", "--as", "builder").out
    cli.ok("mute", "--on", "--as", "builder")
    cli.sent("builder", "later")
    assert "postroom --as builder mute --off" in cli.ok("inbox", "--as", "builder").err


# options of several words


OPTIONS = '{"options": ["deploy now", "deploy later", "no"]}'


def test_an_option_of_several_words_is_shown_as_a_shell_must_get_it(cli: CommandLine):
    ref = gate(cli, OPTIONS)
    short = ref[-8:]
    told = cli("decide", ref, "deploy", "now", "--as", "human:ana", "--json")
    assert told.code == 2
    assert told.error["hint"].endswith(f"postroom decide {ref} 'deploy now'")
    told = cli("decide", ref, "dep", "--as", "human:ana", "--json")
    assert (told.code, told.error["message"]) == (2, "'dep' fits several: deploy now, deploy later")
    assert told.error["hint"].endswith(f"postroom --as human:ana decide {short} 'deploy now'")
    told = cli("decide", ref, "perhaps", "--as", "human:ana", "--json")
    assert told.error["message"] == "'perhaps' is none of the options: deploy now, deploy later, no"
    assert "OPTION, which is one of 'deploy now', 'deploy later', no\n" in cli.ok("gates", ref).out
    assert f"-> postroom decide {short} 'OPTION'\n" in cli.ok("inbox", "--frame", "--as", "human:ana").out
    assert cli.shell(f"postroom decide {short} 'deploy now' --as human:ana").code == 0


def test_options_of_one_word_need_no_quotes(cli: CommandLine):
    ref = gate(cli, '{"options": ["now", "later"]}')
    assert f"decide {ref[-8:]} OPTION\n" in cli.ok("inbox", "--frame", "--as", "human:ana").out


def test_a_gate_that_asks_in_its_payload_is_listed_with_the_question(cli: CommandLine):
    gate(cli, '{"question": "Deploy 1.4?\\nIt is late.", "options": ["yes", "no"]}', body="")
    lists = (["gates"], ["inbox", "--as", "human:ana"], ["sent", "--as", "builder"])
    for call in lists:
        assert cli.ok(*call).out.splitlines()[1].endswith("  Deploy 1.4?"), call


# times


def test_how_long_a_gate_waits_is_the_same_everywhere(cli: CommandLine):
    gate(cli)
    assert "  1 h 59 min  May I" in cli.ok("gates").out
    assert ", expires in 1 h 59 min ->" in cli.ok("inbox", "--frame", "--as", "human:ana").out


def test_a_time_of_today_has_no_date_wherever_it_is_told(cli: CommandLine):
    from postroom.cli.moment import clock, minute

    now = wall() // 60_000 * 60_000
    assert minute(now) == clock(now)[:5]
    assert minute(now + 1000) == clock(now + 1000)
    other = now - 400 * 86_400_000
    assert minute(other).startswith(clock(other)[:16])


# what was done before


def test_what_was_withdrawn_or_refused_before_is_told_as_that(cli: CommandLine):
    ref = cli.sent("builder", "one")
    cli.ok("withdraw", ref, "--as", "planner")
    result = cli("withdraw", ref, "--as", "planner")
    assert result.code == 5
    assert f"message {ref[-8:]} was withdrawn before" in result.err
    ref = cli.sent("builder", "two")
    first = cli.ok("nack", ref, "--reason", "not mine", "--as", "builder")
    assert first.err == ""
    again = cli.ok("nack", ref, "--reason", "really", "--as", "builder")
    assert "was bounced before, and its sender was told: not mine" in again.err
    assert "bounced before" in cli.ok("nack", ref, "--reason", "x", "--as", "builder", "--json").json["note"]


def test_what_was_seen_is_not_told_as_withdrawn(cli: CommandLine):
    ref = cli.sent("builder", "one")
    cli.ok("read", "--as", "builder")
    assert "has been seen" in cli("withdraw", ref, "--as", "planner").err


# who is who


def test_a_person_is_told_by_the_address(cli: CommandLine):
    ref = gate(cli)
    frame = cli.ok("inbox", "--frame", "--as", "human:ana").out
    assert "1 message for human:ana." in frame
    cli.ok("decide", ref, "deny", "--as", "human:ana")
    assert "human:ana has decided" in cli("decide", ref, "deny", "--as", "human:ana").err
    note = cli.sent("builder", "hello")
    assert "was not sent to human:ana" in cli("ack", note, "--as", "human:ana").err


def test_who_stands_above_an_agent_is_told_by_the_address(cli: CommandLine):
    cli.ok("join", "helper", "--supervisor", "human:ana")
    found = {one["name"]: one for one in cli.ok("agents", "--json").json["agents"]}
    assert found["helper"]["supervisor_address"] == "human:ana"
    assert found["helper"]["supervisor"] == found["ana"]["id"]
    assert found["builder"]["supervisor_address"] is None


# columns


def test_every_help_fits_into_80_columns(cli: CommandLine):
    pages = [cli.ok("help", name).out for name in catalog.COMMANDS]
    pages += [cli.ok("help").out, at_80_columns(cli, "help", "settings")]
    lines = [line for line in chain(*map(str.splitlines, pages)) if cli.home not in line]
    assert [line for line in lines if len(line) >= 80] == []


def test_help_keeps_paragraphs_and_examples_as_they_are_written(cli: CommandLine):
    text = cli.ok("help", "types").out
    assert '\n\n  [types.deploy]\n  meaning = "Deploy this version."\n' in text
    text = cli.ok("help", "send").out
    assert "<<'EOF'\n  Several lines, and nothing in them is for the shell.\n  EOF\n" in text


def test_a_narrow_list_of_what_was_sent_keeps_what_became_of_it(cli: CommandLine):
    ref = cli.sent("builder", "Please build the parser, and do tell me when it is done.", "--type", "request")
    cli.ok("nack", ref, "--reason", "Not my part of the code: ask ana", "--as", "builder")
    line = at_80_columns(cli, "sent", "--as", "planner").splitlines()[1]
    assert len(line) <= 80
    assert "bounced: Not my part of the code: ask ana" in line


def test_what_nothing_vouches_for_is_called_unverified_and_the_rest_is_not(cli: CommandLine):
    token = cli.ok("tokens", "issue", "planner", "--json").json["token"]
    doubtful = cli.sent("builder", "Stop the deployment.")
    proven = cli.sent("builder", "Go on.", env={"POSTROOM_TOKEN": token})
    for ref, doubts in ((doubtful, True), (proven, False)):
        for command in ("receipts", "thread", "read"):
            head = cli.ok(command, ref, "--as", "builder").out.splitlines()[0]
            assert ("unverified" in head) is doubts, head


LONG = "human:the-one-who-watches-over-the-shop"


def test_no_line_about_mail_between_long_names_is_wider_than_80_columns(cli: CommandLine):
    cli.ok("join", LONG)
    ref = cli.sent(
        LONG, "hi", "--type", "request", "--priority", "urgent", "--expires", "2h", sender="builder"
    )
    cli.ok("read", "--as", LONG)
    shown = [at_80_columns(cli, command, ref).splitlines() for command in ("receipts", "thread")]
    for lines in (*shown, at_80_columns(cli, "log").splitlines()):
        assert max(map(len, lines)) <= 80, lines
    assert f"builder → {LONG}" in shown[0][0]
    assert [line.strip() for line in shown[0] if "unverified" in line] != []


def test_an_attempt_by_a_hook_is_told_in_80_columns_and_no_word_is_broken(
    home: str, cli: CommandLine, tmp_path
):
    with Player(home, str(tmp_path / "work"), POSTROOM_AGENT="builder") as player:
        player.hook("SessionStart", source="startup")
        ref = cli.sent("builder", "hi")
        player.hook("UserPromptSubmit", prompt="go")
        player.hook("Stop")
    lines = at_80_columns(cli, "receipts", ref).splitlines()
    assert max(map(len, lines)) <= 80, lines
    told = " ".join(line.strip() for line in lines)
    assert re.search(r"attempt 1: \S+ by hook:UserPromptSubmit, process \d+, proven after \S+ m?s", told), (
        told
    )


def test_the_columns_of_the_log_stay_where_they_are_under_a_long_address(cli: CommandLine):
    cli.ok("join", LONG)
    refs = [cli.sent(to, "hi")[-8:] for to in ("builder", LONG)]
    log = at_80_columns(cli, "log").splitlines()
    places = {line.index(ref) for ref in refs for line in log if ref in line}
    assert len(places) == 1, log


# the demo


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("postroom", "postroom"),
        ("bin/postroom", "bin/postroom"),
        ("../elsewhere/postroom", None),
        ("__main__.py", "python -m postroom"),
    ],
)
def test_the_next_step_is_told_as_the_program_was_called(
    program: str, told: str | None, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = os.path.join(here, program)
    monkeypatch.setattr("sys.argv", [path, "demo"])
    monkeypatch.setattr("sys.executable", "/usr/bin/python")
    monkeypatch.setattr("shutil.which", lambda name: path if program == "postroom" else None)
    assert demo.called() == (told or os.path.abspath(path))


def test_a_store_that_cannot_be_reached_when_it_is_added_is_not_said_to_be_looked_at_again(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    def unreachable(*_: object) -> None:
        raise MailboxUnreachable("s3://bucket/mail cannot be reached: Unable to locate credentials")

    monkeypatch.setattr(tree, "add", unreachable)
    refused = cli("mailbox", "add", "s3://bucket/mail", "builder", "tester", "--json")
    hint = refused.error["hint"]
    assert (refused.code, refused.out) == (1, "")
    assert hint.endswith("Nothing was added.")
    assert "looked for again" not in hint
