"""Sending, reading and answering by the command line."""

import json
import re
import select
import signal

import pytest

from tests.commandline import CommandLine, Running, is_told_well
from tests.process import BOUND


@pytest.fixture
def cli(home: str) -> CommandLine:
    cli = CommandLine(home)
    cli.ok("join", "planner", "--role", "planner")
    cli.ok("join", "builder")
    return cli


def test_what_is_sent_is_in_the_inbox_until_it_is_read(cli: CommandLine):
    sent = cli.ok("send", "builder", "hello", "--as", "planner")
    assert "builder: stored, not running" in sent.out
    for _ in range(2):
        assert "hello" in cli.ok("inbox", "--as", "builder").out
    read = cli.ok("read", "--as", "builder")
    assert "planner → builder" in read.out
    assert "\n  hello\n" in read.out
    assert cli.ok("inbox", "--as", "builder").out == ""


def test_send_answers_with_the_id_and_how_each_recipient_can_be_reached(cli: CommandLine):
    answer = cli.ok("send", "builder", "hello", "--as", "planner", "--json").json
    [delivery] = answer["deliveries"]
    assert answer["id"].endswith(answer["handle"])
    assert (delivery["recipient"], delivery["state"], delivery["reach"]) == ("builder", "stored", "stored")


def test_every_flag_of_send_arrives(cli: CommandLine):
    first = cli.sent("builder", "first")
    cli.ok(
        "send", "builder", "second", "--as", "planner", "--type", "dispatch", "--subject", "Parser",
        "--payload", '{"task_id": "T-1"}', "--priority", "HIGH", "--thread", first, "--reply-to", first,
        "--requires-ack", "--expires", "1h", "--key", "k-1", "--metadata", '{"mine": 1}', "--class", "tool",
    )  # fmt: skip
    message = cli.ok("read", "--as", "builder", "--json").json
    assert message["id"] != first, "high goes first"
    expected = {
        "type": "dispatch", "subject": "Parser", "payload": {"task_id": "T-1"}, "priority": "high",
        "thread": first, "reply_to": first, "requires_ack": True, "key": "k-1", "metadata": {"mine": 1},
        "class": "tool", "body": "second", "sender": "planner", "to": "builder", "project": "p",
    }  # fmt: skip
    assert {name: message[name] for name in expected} == expected
    assert message["expires_at"] > message["created_at"]


def test_what_is_sent_for_later_waits_for_its_time(cli: CommandLine):
    answer = cli.ok("send", "builder", "later", "--as", "planner", "--after", "2h")
    assert re.search(r"builder: stored, held until (\d{4}-\d\d-\d\d )?\d\d:\d\d", answer.out)
    assert cli.ok("inbox", "--as", "builder", "--json").json == {"messages": []}


def test_what_is_sent_for_a_moment_is_told_with_it(cli: CommandLine):
    for given, told in (("10:00", "10:00"), ("10:00:05", "10:00:05")):
        answer = cli.ok("send", "builder", "later", "--as", "planner", "--at", f"2199-11-16T{given}")
        assert f"builder: stored, held until 2199-11-16 {told}, not running\n" in answer.out


def test_a_broadcast_needs_no_address(cli: CommandLine):
    sent = cli.ok("send", "--type", "broadcast", "hello", "--as", "planner", "--json").json
    assert [delivery["recipient"] for delivery in sent["deliveries"]] == ["builder"]
    told = cli.ok("receipts", sent["id"], "--json").json["message"]
    assert (told["to"], told["type"], told["body"]) == ("@all", "note", "hello")
    sent = cli.ok(
        "send", "--type", "broadcast", "@all", "--subject", "all of you", "--as", "planner", "--json"
    )
    assert cli.ok("receipts", sent.json["id"], "--json").json["message"]["body"] == ""
    assert "to @all, not to 'builder'" in cli("send", "--type", "broadcast", "builder", "hi", "--as", "a").err


def test_what_is_sent_for_a_moment_is_listed_with_it_and_can_be_withdrawn(cli: CommandLine):
    exact = "2199-11-16T10:00:00Z"
    message = cli.sent("builder", "later", "--at", exact, "--expires", "2199-11-17")
    told = cli.ok("receipts", message, "--json").json
    assert told["message"]["not_before"] == "2199-11-16T10:00:00.000Z"
    assert told["message"]["expires_at"].startswith("2199-11-1")
    assert re.search(r"due 2199-11-1\d \d\d:00:00", cli.ok("sent", "--as", "planner").out)
    assert cli.ok("inbox", "--as", "builder", "--json").json == {"messages": []}
    cli.ok("withdraw", message, "--as", "planner")
    assert "withdrawn" in cli.ok("sent", "--as", "planner").out
    assert cli.receipt(message)["state"] == "withdrawn"


def test_the_same_key_twice_is_one_message(cli: CommandLine):
    first = cli.sent("builder", "once", "--key", "k")
    again = cli.ok("send", "builder", "once", "--as", "planner", "--key", "k")
    assert "already sent with that key" in again.out
    assert first in again.out
    other = cli("send", "builder", "something else", "--as", "planner", "--key", "k")
    assert other.code == 5


def test_a_body_can_come_by_standard_input(cli: CommandLine):
    cli.ok("send", "builder", "-", "--as", "planner", stdin="several\nlines, “as they are”\n".encode())
    assert cli.ok("read", "--as", "builder", "--json").json["body"] == "several\nlines, “as they are”"


def test_options_may_stand_before_between_and_after(cli: CommandLine):
    cli.ok("--as", "planner", "--json", "send", "--type", "note", "builder", "--priority", "low", "hello")
    cli.ok("send", "builder", "--as=planner", "--", "--not-an-option")
    cli.ok("send", "builder", "- a list\n- of things", "--as", "planner")
    bodies = [message["body"] for message in cli.ok("inbox", "--as", "builder", "--json").json["messages"]]
    assert bodies == ["--not-an-option", "- a list\n- of things", "hello"]


def test_whoever_sends_under_a_new_name_gets_an_address(cli: CommandLine):
    message = cli.sent("builder", "hello", sender="newcomer")
    cli.ok("reply", message, "welcome", "--as", "builder")
    assert "welcome" in cli.ok("read", "--as", "newcomer").out


def test_the_environment_says_who_calls_and_as_overrides_it(cli: CommandLine):
    cli.sent("builder", "hello")
    assert "hello" in cli.ok("inbox", env={"POSTROOM_AGENT": "builder"}).out
    assert cli.ok("inbox", "--as", "planner", env={"POSTROOM_AGENT": "builder"}).out == ""


def test_a_message_can_be_read_by_its_handle_and_looked_at_again(cli: CommandLine):
    cli.sent("builder", "first")
    second = cli.sent("builder", "second")
    assert "second" in cli.ok("read", second[-8:], "--as", "builder").out
    assert "second" in cli.ok("read", second, "--as", "builder").out
    assert cli.receipt(second)["attempts"] == 1


def test_read_all_takes_everything_one_line_each(cli: CommandLine):
    for body in ("a", "b", "c"):
        cli.sent("builder", body)
    found = cli.ok("read", "--all", "--as", "builder", "--json").items
    assert [message["body"] for message in found] == ["a", "b", "c"]
    assert cli.ok("read", "--all", "--as", "builder", "--json").items == []
    for body in ("a", "b"):
        cli.sent("builder", body)
    lines = cli.ok("read", "--all", "--as", "builder").out.splitlines()
    assert (lines[1:3], lines[4:]) == (["  a", ""], ["  b"]), "a blank line between them"


def test_reading_from_an_empty_inbox_finds_nothing(cli: CommandLine):
    result = cli("read", "--as", "builder")
    assert (result.code, result.out) == (3, "")


def test_ack_nack_and_reply_move_the_message_up_or_out(cli: CommandLine):
    acked, nacked, replied = (cli.sent("builder", body) for body in ("a", "b", "c"))
    assert cli.ok("ack", acked, "--as", "builder", "--json").json["state"] == "acked"
    assert cli.ok("ack", acked, "--as", "builder").out.endswith("acked\n"), "saying it twice is harmless"
    refused = cli.ok("nack", nacked, "--reason", "not mine", "--as", "builder", "--json").json
    assert (refused["state"], refused["reason"]) == ("bounced", "not mine")
    done = ["--type", "worker_done", "--payload", '{"task_id": "T-1"}']
    cli.ok("reply", replied, "-", "--as", "builder", *done, stdin=b"done\n")
    assert cli.receipt(replied)["state"] == "acked"
    letters = cli.ok("read", "--all", "--as", "planner", "--json").items
    assert [letter["type"] for letter in letters] == ["system", "worker_done"]
    assert "not mine" in letters[0]["body"]


def test_what_has_ended_cannot_be_acknowledged(cli: CommandLine):
    message = cli.sent("builder", "hello")
    cli.ok("nack", message, "--reason", "no", "--as", "builder")
    for ref in (message, message[-8:]):
        result = cli("ack", ref, "--as", "builder")
        assert result.code == 5
        assert is_told_well(result)
        assert result.err.endswith(f"postroom receipts {message[-8:]}\n")


def test_send_can_wait_for_a_rung(cli: CommandLine):
    with cli.start(
        "send", "builder", "hello", "--as", "planner", "--wait", "acked", "--timeout", "20s", "--json"
    ) as sender:
        with cli.start("wait", "--as", "builder", "--json") as waiter:
            out, _ = waiter.communicate(timeout=BOUND)
        [mail] = json.loads(out)["messages"]
        cli.ok("ack", mail["id"], "--as", "builder")
        answer, _ = sender.communicate(timeout=BOUND)
    assert sender.returncode == 0
    assert [delivery["state"] for delivery in json.loads(answer)["deliveries"]] == ["acked"]


def test_send_that_waits_in_vain_exits_4_and_the_message_stays(cli: CommandLine):
    result = cli("send", "builder", "hello", "--as", "planner", "--wait", "seen", "--timeout", "10ms")
    assert result.code == 4
    assert "stored" in result.out
    assert "not seen by builder within 10 ms" in result.err
    assert "hello" in cli.ok("inbox", "--as", "builder").out
    offered = cli("send", "builder", "hello", "--as", "planner", "--wait", "offered", "--timeout", "10ms")
    assert "not offered to builder within 10 ms" in offered.err


def test_send_that_waits_for_what_is_refused_exits_5(cli: CommandLine):
    with cli.start("send", "builder", "hello", "--as", "planner", "--wait", "seen") as sender:
        [mail] = json.loads(cli.process("wait", "--as", "builder", "--json").out)["messages"]
        cli.ok("nack", mail["id"], "--reason", "busy with other things", "--as", "builder")
        _, err = sender.communicate(timeout=BOUND)
    assert sender.returncode == 5
    assert b"bounced by builder: busy with other things" in err


def test_a_rung_that_does_not_exist_is_refused_before_anything_is_sent(cli: CommandLine):
    assert cli("send", "builder", "hello", "--as", "planner", "--wait", "heaven").code == 2
    for options in (["--wait", "heaven"], ["--priority", "mega"], ["--class", "first"]):
        wrong = cli("send", "builder", "hello", "--as", "planner", *options)
        assert wrong.err.endswith("See: postroom help send\n"), options
    assert cli("send", "builder", "hello", "--as", "planner", "--timeout", "3s").code == 2
    assert cli.ok("inbox", "--as", "builder").out == ""


def test_ask_prints_the_answer_alone(cli: CommandLine):
    with cli.start("ask", "builder", "which?", "--as", "planner") as asker:
        [mail] = json.loads(cli.process("wait", "--as", "builder", "--json").out)["messages"]
        cli.ok("reply", mail["id"], "this one", "--as", "builder")
        out, _ = asker.communicate(timeout=BOUND)
    assert (asker.returncode, out) == (0, b"this one\n")
    assert mail["type"] == "request"
    assert cli.ok("inbox", "--as", "planner", "--json").json == {"messages": []}, "the answer was seen"


def test_ask_without_an_answer_exits_4(cli: CommandLine):
    result = cli("ask", "builder", "which?", "--as", "planner", "--timeout", "0.01")
    assert result.code == 4
    assert is_told_well(result)


def test_who_interrupts_ask_is_told_which_request_stays(cli: CommandLine):
    with cli.start("ask", "builder", "which?", "--as", "planner") as asker:
        [mail] = json.loads(cli.process("wait", "--as", "builder", "--json").out)["messages"]
        asker.send_signal(signal.SIGINT)
        _, err = asker.communicate(timeout=BOUND)
    assert asker.returncode == 130
    assert f"postroom receipts {mail['handle']}" in err.decode()


def test_ask_that_is_refused_exits_5_with_the_reason(cli: CommandLine):
    with cli.start("ask", "builder", "which?", "--as", "planner") as asker:
        [mail] = cli.ok("wait", "--as", "builder", "--json").json["messages"]
        cli.ok("nack", mail["id"], "--reason", "ask somebody else", "--as", "builder")
        _, err = asker.communicate(timeout=BOUND)
    assert asker.returncode == 5
    assert b"ask somebody else" in err
    assert f"postroom receipts {mail['handle']}" in err.decode()


def test_wait_returns_at_once_when_mail_is_there_and_marks_nothing(cli: CommandLine):
    message = cli.sent("builder", "hello")
    [mail] = cli.ok("wait", "--as", "builder", "--json").json["messages"]
    assert mail["id"] == message
    assert cli.receipt(message)["state"] == "stored"
    assert cli.ok("wait", "--as", "builder").out.startswith("ID ")
    assert cli.ok("wait", "--as", "builder", "--quiet").out.startswith(message[-8:])


def test_wait_exits_4_when_time_is_up_and_130_when_interrupted(cli: CommandLine):
    assert cli("wait", "--as", "builder", "--timeout", "1ms").code == 4
    with cli.start("log", "--follow") as follower:
        _first_line(follower)
        follower.send_signal(signal.SIGINT)
        _, err = follower.communicate(timeout=BOUND)
    assert (follower.returncode, err) == (130, b"")


def _first_line(process: Running) -> bytes:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], BOUND)[0], "it said nothing"
    return process.stdout.readline()


def test_receipts_draw_the_ladder_with_its_evidence(cli: CommandLine):
    message = cli.sent("builder", "hello", "--priority", "urgent", "--requires-ack")
    assert "● stored ───── ○ offered" in cli.ok("receipts", message).out
    cli.ok("read", "--as", "builder")
    seen = cli.ok("receipts", message[-8:]).out
    assert "● offered ──── ● seen ─────── ○ acked" in seen
    assert "evidence: the agent's own act (agent)" in seen
    assert "attempt 1:" in seen
    assert "by cli" in seen
    cli.ok("nack", message, "--reason", "changed my mind", "--as", "builder")
    assert "✗ bounced" in cli.ok("receipts", message).out


def test_receipts_in_json_have_the_message_and_every_delivery_with_its_history(cli: CommandLine):
    message = cli.sent("builder", "hello")
    cli.ok("read", "--as", "builder")
    found = cli.ok("receipts", message, "--json").json
    assert found["message"]["id"] == message
    [delivery] = found["deliveries"]
    assert {
        "message",
        "recipient",
        "state",
        "route",
        "evidence",
        "attempts",
        "reason",
        "stored_at",
        "seen_at",
    } <= set(delivery)
    assert [attempt["outcome"] for attempt in delivery["history"]] == ["proven"]


def test_sent_says_what_became_of_what_one_sent(cli: CommandLine):
    assert cli.ok("sent", "--as", "planner").out == ""
    cli.sent("builder", "first")
    second = cli.sent("builder", "second")
    cli.ok("ack", second, "--as", "builder")
    lines = cli.ok("sent", "--as", "planner").out.splitlines()
    assert "acked" in lines[1]
    assert "stored" in lines[2]
    found = cli.ok("sent", "--as", "planner", "--limit", "1", "--json").json["messages"]
    assert [(m["id"], m["deliveries"][0]["state"]) for m in found] == [(second, "acked")]


def test_a_thread_is_named_by_any_of_its_messages(cli: CommandLine):
    first = cli.sent("builder", "question")
    answer = cli.ok("reply", first, "answer", "--as", "builder", "--quiet").out.strip()
    for ref in (first, answer[-8:]):
        assert [m["id"] for m in cli.ok("thread", ref, "--json").json["messages"]] == [first, answer]
    text = cli.ok("thread", first).out
    assert text.index("question") < text.index("answer")


def test_what_nobody_has_seen_can_be_withdrawn(cli: CommandLine):
    message = cli.sent("builder", "oops")
    assert "withdrawn" in cli.ok("withdraw", message, "--as", "planner").out
    assert cli.ok("inbox", "--as", "builder").out == ""
    seen = cli.sent("builder", "too late")
    cli.ok("read", "--as", "builder")
    late = cli("withdraw", seen, "--as", "planner")
    assert late.code == 5
    assert late.err.endswith(f"postroom receipts {seen[-8:]}\n")
    assert cli("withdraw", seen, "--as", "builder").code == 5


def test_a_message_whose_reader_was_killed_says_that_it_may_have_been_shown(cli: CommandLine):
    message = cli.sent("builder", "fragile")
    die = "import os, postroom; postroom.open(agent='builder').take(); os.kill(os.getpid(), 9)"
    killed = cli.shell(f'"$PYTHON" -c "{die}"')
    assert killed.code in (-9, 137)
    again = cli.ok("read", "--as", "builder")
    assert "(may have been shown before)" in again.out
    text = cli.ok("receipts", message).out
    assert re.search(r"attempt 1: .+ unproven after .+, as its process ended with the message in hand", text)
    tries = cli.ok("receipts", message, "--json").json["deliveries"][0]["history"]
    assert [each["cause"] for each in tries] == ["gone", None]
    assert "an earlier attempt may have shown it already" in text
    assert "attempt 2" in text
