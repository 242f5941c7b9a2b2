"""`Mailbox` in a tree that nobody serves: programs that share a directory carry their mail themselves."""

import contextlib
import gzip
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from postroom import Letter, Mailbox, host
from postroom.bridges.files import counter, letter
from postroom.errors import BridgeError, InvalidLetter, InvalidName, InvalidValue, Refused, StaleClaim
from postroom.store.sqlite import store
from tests.postal import Agent
from tests.process import BOUND, Child, environment, until

Open = Callable[..., Mailbox]


@pytest.fixture
def tree(tmp_path: str) -> str:
    return os.path.join(tmp_path, "shared")


@pytest.fixture
def box(tree: str) -> Iterator[Open]:
    """Opens mailboxes in the same tree."""
    with ExitStack() as stack:
        yield lambda name, **options: stack.enter_context(Mailbox(tree, name, **options))


def texts(box: Mailbox, timeout: float = 0.0) -> list[str]:
    return [one.text for one in box.receive(timeout)]


def left(tree: str, name: str) -> int:
    """How many letters lie in an outbox."""
    return sum(one.endswith(".json") for one in os.listdir(os.path.join(tree, name, "outbox")))


# ------------------------------------------------------------------------------------- there and back


@pytest.mark.promise("mailbox-alone")
def test_two_programs_that_share_a_directory_talk_with_no_daemon(box: Open):
    alice, bob = box("alice"), box("bob")
    id = alice.send("bob", "shall we?", subject="lunch")
    [found] = bob.receive()
    assert (found.text, found.subject, found.sender, found.verified) == (
        "shall we?", "lunch", "alice", "mailbox",
    )  # fmt: skip
    assert not found.may_be_repeat
    bob.reply(found.id, "we shall")
    assert alice.wait_for_ack(id, BOUND)
    [answer] = alice.receive()
    assert (answer.text, answer.reply_to) == ("we shall", id)


def test_who_waits_is_woken_by_another_process(box: Open, tree: str):
    alice = box("alice")
    with Child("mailbox_drain", tree, "bob", module="tests.mailing") as bob:
        assert bob.hear() == "ready"
        id = alice.send("bob", "end")
        assert bob.hear()["text"] == "end"
        assert bob.end() == 0
    assert alice.wait_for_ack(id, BOUND)


def test_programs_that_come_at_the_same_time_make_one_room_and_meet_in_it(tree: str):
    with ExitStack() as stack:
        pairs = (("alice", "bob"), ("bob", "alice"))
        children = [
            stack.enter_context(Child("mailbox_meet", tree, *pair, module="tests.mailing")) for pair in pairs
        ]
        assert [child.hear() for child in children] == ["ready", "ready"]
        for child in children:
            child.tell()
        assert [child.hear() for child in children] == ["met", "met"]


def test_a_payload_is_given_as_it_is_and_urgent_letters_come_first(box: Open):
    alice, bob = box("alice"), box("bob")
    alice.send("bob", "later", priority="low")
    alice.send("bob", {"state": "working", "summary": "half done"}, type="status", priority="urgent")
    first, second = bob.receive()
    assert (first.type, first.payload) == ("status", {"state": "working", "summary": "half done"})
    assert second.text == "later"


def test_what_cannot_be_a_letter_is_refused_before_anything_is_written(box: Open, tree: str):
    alice = box("alice")
    with pytest.raises(InvalidLetter):
        alice.send("bob", "hello", id="x" * 1000)
    with pytest.raises(InvalidLetter):
        alice.send("", "hello")
    with pytest.raises(InvalidValue):
        alice.receive(limit=0)
    assert [
        name for name in os.listdir(os.path.join(tree, "alice", "outbox")) if name.endswith(".json")
    ] == []


def test_a_name_that_no_agent_can_have_is_refused(tree: str):
    with pytest.raises(InvalidName):
        Mailbox(tree, "No Name")


def test_what_is_sent_again_with_its_id_arrives_once(box: Open):
    alice, bob = box("alice"), box("bob")
    assert alice.send("bob", "once", id="job-7") == "job-7"
    assert alice.send("bob", "once", id="job-7") == "job-7"
    assert texts(bob) == ["once"]
    assert texts(bob) == []


@pytest.mark.promise("mailbox-alone")
def test_a_shell_script_takes_part_with_nothing_but_its_directory(box: Open, tree: str):
    script = r"""
        mkdir -p sam/inbox/processed sam/outbox
        printf '{"id": "1", "to": "alice", "payload": {"text": "I am sam"}}' >sam/outbox/.new
        mv sam/outbox/.new sam/outbox/1.json
        until set -- sam/inbox/*.json && [ -e "$1" ]; do sleep 0.05; done
        said=$(sed -n 's/^ "body": "\(.*\)"/\1/p' "$1")
        mv "$1" sam/inbox/processed/
        printf '{"id": "2", "to": "alice", "payload": {"text": "you said: %s"}}' "$said" >sam/outbox/.new
        mv sam/outbox/.new sam/outbox/2.json
    """
    alice = box("alice")
    with subprocess.Popen(["sh", "-ec", script], cwd=tree, env=environment()) as sam:
        assert texts(alice, BOUND) == ["I am sam"]
        id = alice.send("sam", "hello sam")
        assert texts(alice, BOUND) == ["you said: hello sam"]
        assert alice.wait_for_ack(id, BOUND)
        assert sam.wait(BOUND) == 0


# --------------------------------------------------------------------------------- what became of it


def test_what_nobody_has_received_is_not_acknowledged_in_time(box: Open):
    alice = box("alice")
    box("bob")
    assert alice.wait_for_ack(alice.send("bob", "anybody?"), 0.01) is False


def test_a_letter_counts_as_seen_when_the_next_ones_are_asked_for(box: Open):
    alice, bob = box("alice"), box("bob")
    id = alice.send("bob", "read me")
    assert texts(bob) == ["read me"]
    assert alice.wait_for_ack(id, 0) is False
    bob.receive()
    assert alice.wait_for_ack(id, BOUND) is True


def test_a_letter_counts_as_seen_when_the_mailbox_is_closed(box: Open, tree: str):
    alice = box("alice")
    with Mailbox(tree, "bob") as bob:
        id = alice.send("bob", "read me")
        bob.receive()
    assert alice.wait_for_ack(id, BOUND) is True
    with Mailbox(tree, "bob") as bob:
        assert bob.receive() == []


def test_what_counts_as_acknowledged_can_be_chosen(box: Open):
    alice, bob = box("alice", ack_rung="acked"), box("bob")
    id = alice.send("bob", "read me, and say so")
    [found] = bob.receive()
    bob.receive()
    assert alice.wait_for_ack(id, 0) is False
    bob.ack(found.id)
    assert alice.wait_for_ack(id, BOUND) is True


def test_what_counts_as_acknowledged_is_a_setting(box: Open, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTROOM_ACK_RUNG", "offered")
    alice = box("alice")
    box("bob")
    assert alice.wait_for_ack(alice.send("bob", "it lies there"), BOUND) is True
    with pytest.raises(InvalidValue, match="ack_rung"):
        box("carol", ack_rung="somehow")


def test_a_letter_that_was_refused_raises_with_the_reason(box: Open):
    alice, bob = box("alice"), box("bob")
    id = alice.send("bob", "do it")
    [found] = bob.receive()
    bob.nack(found.id, "not my job")
    with pytest.raises(Refused, match="bounced for bob: not my job"):
        alice.wait_for_ack(id)


def test_a_letter_for_nobody_raises_with_the_reason_and_a_directory_is_all_it_takes(box: Open, tree: str):
    alice = box("alice")
    with pytest.raises(Refused, match="nobody has the address 'nobody-here'") as refused:
        alice.wait_for_ack(alice.send("nobody-here", "hello?"))
    assert f"mkdir -p {tree}/NAME" in refused.value.hint
    os.mkdir(os.path.join(tree, "nobody-here"))
    assert not alice.wait_for_ack(alice.send("nobody-here", "hello?"), timeout=0)
    assert texts(box("nobody-here")) == ["hello?"]


def test_who_has_only_files_is_told_in_the_receipt_that_a_directory_is_all_it_takes(box: Open, tree: str):
    alice = box("alice")
    sam = Agent(os.path.join(tree, "sam"))
    for folder in ("inbox", "outbox"):
        os.makedirs(sam.path(folder))
    sam.put("1.json", {"id": "1", "to": "nobody-here", "payload": "hello?"})
    until(lambda: alice.receive() or os.path.exists(sam.path("receipts", "1.json")))
    error = sam.receipt("1")["error"]
    assert (error["code"], error["message"]) == ("unknown_recipient", "nobody has the address 'nobody-here'")
    assert error["hint"].endswith(f"mkdir -p {tree}/NAME")


# ------------------------------------------------------------------------------- nothing is lost


@pytest.mark.promise("mailbox-program")
def test_what_was_in_hand_when_an_error_came_is_received_again_and_labelled(box: Open, tree: str):
    alice = box("alice")

    def fail() -> None:
        with Mailbox(tree, "bob") as bob:
            alice.send("bob", "careful")
            assert texts(bob) == ["careful"]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    again = box("bob")
    [found] = again.receive()
    assert (found.text, found.may_be_repeat) == ("careful", True)
    assert again.receive() == []


@pytest.mark.promise("mailbox-program")
def test_what_was_in_hand_of_a_process_that_was_killed_is_received_again_and_labelled(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    for text in ("one", "two"):
        alice.send("bob", text)
    with Child("mailbox_receive", tree, "bob", 1, module="tests.mailing") as child:
        assert [one["text"] for one in child.hear()] == ["one"]
        child.kill()
    assert [(one.text, one.may_be_repeat) for one in bob.receive()] == [("one", True), ("two", False)]


STEPS = (
    "letter-written", "outbox-read", "outbox-claimed", "outbox-sent", "outbox-moved", "inbox-claimed",
    "inbox-written", "inbox-handed", "letter-moved",
)  # fmt: skip


@pytest.mark.promise("mailbox-alone")
@pytest.mark.parametrize("step", STEPS)
def test_whoever_is_killed_wherever_nothing_is_lost_and_a_repetition_is_labelled(
    box: Open, tree: str, step: str
):
    with Child("mailbox_killed", tree, step, module="tests.mailing") as child:
        assert child.process.wait(BOUND) == -signal.SIGKILL
    alice, bob = box("alice"), box("bob")
    alice.send("bob", "task", id="task")  # as a program does that does not know
    received = bob.receive(0)
    assert [one.text for one in received] in ([], ["task"])
    for one in received:
        bob.reply(one.id, "done")
    assert alice.wait_for_ack("task", BOUND)
    answers = [one for one in alice.receive(BOUND) if one.type == "response"]
    assert {one.text for one in answers} == {"done"}
    if len(answers) > 1:
        assert all(one.may_be_repeat for one in received)


@pytest.mark.promise("mailbox-program")
def test_two_processes_receive_each_letter_once(box: Open, tree: str):
    alice = box("alice")
    box("bob")
    wanted = [f"letter {n}" for n in range(60)]
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("mailbox_drain", tree, "bob", module="tests.mailing")) for _ in "ab"
        ]
        said = queue.Queue[Any]()
        for child in children:
            assert child.hear() == "ready"
            threading.Thread(target=_listen, args=(child, said), daemon=True).start()
        for text in wanted:
            alice.send("bob", text, requires_ack=False)
        heard = [said.get(timeout=BOUND) for _ in wanted]
    assert sorted(one["text"] for one in heard) == sorted(wanted)
    assert not any(one["again"] for one in heard)


def _listen(child: Child, said: "queue.Queue[Any]") -> None:
    with contextlib.suppress(AssertionError, ValueError, OSError):  # it was ended
        while True:
            said.put(child.hear())


def test_threads_of_one_program_receive_each_letter_once_and_settle_only_their_own(box: Open):
    alice, bob = box("alice"), box("bob")
    id = alice.send("bob", "for the first thread")
    assert texts(bob) == ["for the first thread"]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(bob.receive).result() == []
        assert alice.wait_for_ack(id, 0) is False
    wanted = {f"letter {n}" for n in range(40)}
    for text in sorted(wanted):
        alice.send("bob", text, requires_ack=False)
    found, lock = list[str](), threading.Lock()

    def receive() -> None:
        while some := bob.receive(0, 3):
            with lock:
                found.extend(one.text for one in some)

    threads = [threading.Thread(target=receive) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == sorted(wanted)


def test_a_forked_child_neither_receives_nor_keeps_what_its_parent_had(box: Open, tree: str):
    alice = box("alice")
    box("bob")
    alice.send("bob", "hold this")
    with Child("mailbox_fork", tree, "bob", module="tests.mailing") as parent:
        said = parent.hear()
        assert [one["text"] for one in said["received"]] == ["hold this"]
        assert "forked" in said["child"]
        assert parent.process.wait(BOUND) == -signal.SIGKILL
        [found] = box("bob").receive(BOUND)
        assert (found.text, found.may_be_repeat) == ("hold this", True)


def test_an_inbox_that_was_taken_away_is_made_again_and_what_lay_in_it_comes_again(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    alice.send("bob", "before")
    assert texts(bob) == ["before"]
    shutil.rmtree(os.path.join(tree, "bob", "inbox"))
    alice.send("bob", "after")
    found = {one.text: one.may_be_repeat for one in bob.receive(BOUND)}
    while len(found) < 2:
        found |= {one.text: one.may_be_repeat for one in bob.receive(BOUND)}
    assert found == {"before": True, "after": False}


def test_what_is_no_letter_in_an_inbox_is_said_and_keeps_no_other(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    for name, data in (("0-0000000001-00000000", b"{ no json"), ("3-0000000001-00000000", b"[]")):
        with open(os.path.join(tree, "bob", "inbox", f"{name}.json"), "wb") as file:
            file.write(data)
    alice.send("bob", "a real one")
    assert texts(bob) == ["a real one"]
    with pytest.raises(InvalidLetter, match="0-0000000001-00000000"):
        bob.receive()
    alice.send("bob", "another")
    assert texts(bob) == ["another"]


def unreadable(tree: str, number: int, data: bytes = b'{"id": "x", "to": "bob", "expiresAt": "soon"}') -> str:
    path = os.path.join(tree, "bob", "inbox", f"0-{number:010}-00000000.json")
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_letters_that_cannot_be_read_are_told_of_once_each_and_keep_no_room_of_others(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    for number in range(3):
        unreadable(tree, number)
    alice.send("bob", "a real one")
    assert [one.text for one in bob.receive(limit=1)] == ["a real one"]
    for number in range(3):
        with pytest.raises(InvalidLetter, match=f"0-{number:010}"):
            bob.receive()
    assert bob.receive() == []
    alice.send("bob", "another")
    assert [one.text for one in bob.receive(limit=1)] == ["another"]


def test_a_letter_that_could_not_be_read_is_received_once_it_is_mended(box: Open, tree: str):
    bob = box("bob")
    bob.receive()
    path = unreadable(tree, 1)
    with pytest.raises(InvalidLetter):
        bob.receive()
    assert bob.receive() == []
    os.unlink(path)
    unreadable(tree, 1, b'{"id": "x", "to": "bob", "payload": {"text": "mended"}}')
    assert texts(bob) == ["mended"]


def test_a_letter_that_could_not_be_read_and_is_gone_is_told_of_no_more(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    bob.receive()
    path = unreadable(tree, 1)
    alice.send("bob", "a real one")
    assert texts(bob) == ["a real one"]
    os.unlink(path)
    assert bob.receive() == []


def test_a_letter_that_expires_after_the_last_moment_is_refused_and_not_passed_on(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    alice.receive()
    late = {"id": "p", "to": "bob", "payload": {"text": "x"}, "expiresAt": "9999-12-31T23:59:59-14:00"}
    with open(os.path.join(tree, "alice", "outbox", "p.json"), "w", encoding="utf-8") as file:
        json.dump(late, file)
    with pytest.raises(Refused, match="expiresAt"):
        alice.wait_for_ack("p", BOUND)
    assert bob.receive() == []


def test_directories_that_hold_other_things_are_left_alone(box: Open, tree: str):
    os.makedirs(os.path.join(tree, "src", "lib"))
    os.symlink("/etc", os.path.join(tree, "link"))
    box("alice").receive()
    assert os.listdir(os.path.join(tree, "src")) == ["lib"]
    assert not os.path.exists("/etc/outbox")


def test_what_was_opened_when_receiving_was_interrupted_is_received_and_unlabelled(
    box: Open, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = box("alice"), box("bob")
    for text in ("one", "two"):
        alice.send("bob", text)
    read, opened = letter.read, list[object]()

    def interrupted(item: object) -> Letter:
        opened.append(item)
        if len(opened) == 2:
            raise KeyboardInterrupt
        return read(item)

    monkeypatch.setattr(letter, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bob.receive()
    assert [(one.text, one.may_be_repeat) for one in bob.receive()] == [("one", False), ("two", False)]


def test_a_tree_that_cannot_be_made_is_told_as_such(tmp_path: str):
    with open(os.path.join(tmp_path, "file"), "wb"):
        pass
    with pytest.raises(BridgeError, match="cannot be made"):
        Mailbox(os.path.join(tmp_path, "file", "tree"), "alice")


def test_a_directory_that_may_not_be_read_keeps_no_letter_of_others(
    box: Open, tree: str, monkeypatch: pytest.MonkeyPatch
):
    alice, bob, listdir = box("alice"), box("bob"), os.listdir
    os.mkdir(os.path.join(tree, "closed"))

    def forbidden(path: str) -> list[str]:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", forbidden)
    alice.send("bob", "hello")
    assert texts(bob, BOUND) == ["hello"]


def test_a_tree_that_is_gone_is_told_as_such(box: Open, tree: str):
    alice = box("alice")
    os.rename(tree, f"{tree}.away")
    with pytest.raises(BridgeError, match="is gone") as told:
        alice.send("bob", "hello")
    assert told.value.hint
    os.rename(f"{tree}.away", tree)


def test_a_receipt_that_was_packed_still_tells(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    id = alice.send("bob", "hello")
    [found] = bob.receive()
    bob.ack(found.id)
    assert alice.wait_for_ack(id, BOUND)
    receipt = os.path.join(tree, "alice", "receipts", f"{id}.json")
    with open(receipt, "rb") as file, gzip.open(f"{receipt}.gz", "wb") as packed:
        packed.write(file.read())
    os.unlink(receipt)
    assert alice.wait_for_ack(id, 0)


def test_a_mailbox_that_is_closed_says_so(tree: str):
    bob = Mailbox(tree, "bob")
    bob.close()
    bob.close()
    with pytest.raises(StaleClaim, match="closed") as refusal:
        bob.receive()
    assert "Mailbox(" in refusal.value.hint


# ------------------------------------------------------------------------------------- who serves


def test_waiting_sleeps_until_something_changes(box: Open, monkeypatch: pytest.MonkeyPatch):
    alice, bob, waits = box("alice"), box("bob"), list[float]()
    wait = counter.wait

    def noted(descriptors: list[int], seconds: float) -> list[int]:
        waits.append(seconds)
        if len(waits) == 1:
            alice.send("bob", "wake up")
        return wait(descriptors, seconds)

    monkeypatch.setattr(counter, "wait", noted)
    assert texts(bob, BOUND) == ["wake up"]
    assert waits[0] > 5, "it does not look now and then"


@pytest.mark.parametrize("kind", ["share", "disk"])
def test_where_nothing_tells_who_waits_looks_at_least_every_five_seconds(
    kind: str, tree: str, monkeypatch: pytest.MonkeyPatch
):
    """A share that somebody else serves, or a disk of this machine that tells of nothing."""
    if kind == "share":
        os.makedirs(os.path.join(tree, ".postroom"))
        with open(os.path.join(tree, ".postroom", "served"), "w", encoding="utf-8"):
            pass
        monkeypatch.setattr(host, "unsafe_file_system", lambda *_: "fakeowner")
    else:
        for user in ("local", "household"):
            monkeypatch.setattr(f"postroom.bridges.files.{user}.watch", lambda *_: None)
    waits: list[float] = []
    agent = Agent(os.path.join(tree, "bob"))

    def passed(_: list[int], seconds: float) -> list[int]:
        waits.append(seconds)
        if len(waits) == 20:
            with open(agent.path("inbox", "1-0000000001-deadbeef.json"), "w", encoding="utf-8") as file:
                json.dump({"id": "1", "from": "alice", "to": "bob", "payload": "at last"}, file)
        return []

    with Mailbox(tree, "bob") as bob:
        monkeypatch.setattr(counter, "wait", passed)
        assert texts(bob, 600.0) == ["at last"]
    assert len(waits) == 20
    assert max(waits) <= 5.0
    assert min(waits[10:]) > 1.0, "it does not keep the machine awake"


def test_where_no_room_can_live_it_is_said_what_to_run(tree: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store.host, "unsafe_file_system", lambda *_: "nfs")
    with pytest.raises(BridgeError, match="nfs") as refusal:
        Mailbox(tree, "alice")
    assert refusal.value.hint == f"On the machine that has it, run: postroom mailbox add {tree}"
    assert host.unsafe_file_system(tree) == "nfs"


def test_a_tree_that_a_room_elsewhere_serves_is_used_by_its_files_alone(tree: str):
    os.makedirs(os.path.join(tree, ".postroom"))
    with open(os.path.join(tree, ".postroom", "served"), "w", encoding="utf-8"):
        pass
    with Mailbox(tree, "alice") as alice:
        alice.send("bob", "hello")
        assert alice.receive() == []
    assert os.listdir(os.path.join(tree, ".postroom")) == ["served"]
    assert (
        len([one for one in os.listdir(os.path.join(tree, "alice", "outbox")) if one.endswith(".json")]) == 1
    )


def test_programs_stop_carrying_from_the_moment_on_that_a_room_elsewhere_serves(box: Open, tree: str):
    alice, bob = box("alice"), box("bob")
    with open(os.path.join(tree, ".postroom", "served"), "w", encoding="utf-8"):
        pass
    alice.send("bob", "for whoever serves")
    assert bob.receive() == []
    assert left(tree, "alice") == 1
