"""Mailboxes as a daemon serves them, and the command that says which."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from postroom import Mailbox, host
from postroom.bridges import manifest as manifests
from postroom.bridges.files import note, place
from postroom.bridges.files import tree as trees
from postroom.bridges.files.tree import Tree
from postroom.bridges.manifest import Manifest
from postroom.config import Settings
from postroom.daemon import instance
from postroom.daemon import trees as looking
from postroom.errors import BridgeError, MailboxUnreachable, Refused
from postroom.room.directory import Scope
from postroom.room.local import LocalRoom
from tests.commandline import CommandLine
from tests.machine import unshare
from tests.postal import Agent
from tests.process import BOUND, ROOT, environment, until


@pytest.fixture
def cli(home: str) -> Iterator[CommandLine]:
    """In a room with `alice`; its daemon, if one was started, ends."""
    cli = CommandLine(home)
    cli.ok("join", "alice")
    yield cli
    end(home, signal.SIGTERM)


def end(home: str, number: int) -> None:
    if process := instance.running(home):
        os.kill(host.pid_of(process), number)
        until(lambda: host.is_gone(process))


@pytest.fixture
def tree(tmp_path: os.PathLike[str]) -> str:
    path = os.path.join(tmp_path, "mail")
    os.mkdir(path)
    return path


def test_a_directory_is_an_agents_mailbox_from_then_on(cli: CommandLine, tree: str) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    os.mkdir(bob.place)
    added = cli.ok("mailbox", "add", tree, "--json").json
    assert [one["agent"] for one in added["added"]] == ["p/bob"]
    assert os.path.exists(os.path.join(tree, ".postroom", "served"))
    ref = cli.sent("bob", "hello", sender="alice")
    until(bob.inbox)
    [found] = bob.inbox()
    bob.put("a.json", {"id": "1", "replyTo": found["id"], "payload": {"text": "hi"}, "requiresAck": True})
    answer = cli.ok("wait", "--as", "alice", "--timeout", "20", "--json").json["messages"][0]
    assert (answer["body"], answer["verified"]) == ("hi", "mailbox")
    assert cli.receipt(ref)["state"] == "acked"
    cli.ok("ack", answer["id"], "--as", "alice")
    until(lambda: bob.names("receipts") and bob.receipt("1")["recipients"][0]["state"] == "acked")


def test_a_program_in_a_served_tree_talks_to_the_room_by_its_files_alone(cli: CommandLine, tree: str) -> None:
    cli.ok("mailbox", "add", tree, "bob")
    ref = cli.sent("bob", "hello", sender="alice")
    with Mailbox(tree, "bob") as bob:
        [found] = bob.receive(BOUND)
        bob.reply(found.id, "hi")
        id = bob.send("alice", "how are you?")
        answers = cli.ok("wait", "--as", "alice", "--timeout", "20", "--json").json["messages"]
        assert answers[0]["body"] == "hi"
        assert cli.receipt(ref)["state"] == "acked"
        until(lambda: cli("read", "--all", "--as", "alice").out.count("how are you?"))
        assert bob.wait_for_ack(id, BOUND)
        refused = bob.send("nobody-here", "hello?")
        with pytest.raises(Refused, match="nobody has the address"):
            bob.wait_for_ack(refused, BOUND)
    assert os.listdir(os.path.join(tree, ".postroom")) == ["served"]


def test_what_appears_in_a_tree_is_served_unless_somebody_has_that_name(cli: CommandLine, tree: str) -> None:
    cli.ok("mailbox", "add", tree)
    for name in ("bob", "alice", "Carol", "bob.child"):
        os.mkdir(os.path.join(tree, name))
    os.symlink(tree, os.path.join(tree, "dave"))
    until(lambda: cli.ok("mailbox", "--json").json["mailboxes"])
    listed = cli.ok("mailbox", "--json").json
    assert [one["agent"] for one in listed["mailboxes"]] == ["p/bob"]
    assert os.listdir(os.path.join(tree, "alice")) == []
    [whole] = listed["trees"]
    assert [one["name"] for one in whole["not_served"]] == ["Carol", "alice", "bob.child"]
    assert all(one["why"] for one in whole["not_served"])
    told = cli.ok("mailbox", "add", tree, "--json").json["left_out"]
    assert [one["name"] for one in told] == ["Carol", "alice", "bob.child"]
    assert f"postroom mailbox add {tree} alice" in told[1]["why"]
    assert told[2]["why"].startswith("that name is under bob's;")
    assert "alice (somebody has that name; if it is meant: postroom mailbox add" in cli.ok("mailbox").err
    cli.ok("mailbox", "add", tree, "alice")
    assert len(cli.ok("mailbox", "--json").json["mailboxes"]) == 2


def test_a_tree_that_is_removed_is_served_no_longer_and_keeps_its_files(cli: CommandLine, tree: str) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree, "bob")
    ref = cli.sent("bob", "hello", sender="alice")
    until(bob.inbox)
    cli.ok("mailbox", "remove", tree)
    assert manifests.every(cli.home) == []
    told = "not running, and its mailbox is served no longer: postroom mailbox add DIR"
    assert told in cli.ok("agents").out
    assert os.listdir(tree) == ["bob"]
    assert sorted(os.listdir(os.path.join(tree, "bob", "inbox"))) == ["processed"]
    delivery = cli.receipt(ref)
    assert (delivery["state"], delivery["reason"]) == ("stored", "offline")
    assert bob.names("inbox") == [], "it would be read there, and then again elsewhere"
    taken = cli.ok("read", "--as", "bob", "--frame").out
    assert "hello" in taken
    assert "may have been shown before" in taken
    assert cli("mailbox", "remove", tree).code == 3


def test_what_was_read_before_a_tree_is_removed_is_seen_and_what_nobody_can_tell_of_is_uncertain(
    cli: CommandLine, tree: str
) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree, "bob")
    read, lost, unread = (cli.sent("bob", text, sender="alice") for text in ("read", "lost", "unread"))
    until(lambda: len(bob.inbox()) == 3)
    end(cli.home, signal.SIGTERM)
    first, second, _ = bob.names("inbox")
    bob.put_away(first)
    os.unlink(os.path.join(bob.place, "inbox", second))
    cli.ok("mailbox", "remove", tree)
    assert (cli.receipt(read)["state"], cli.receipt(read)["evidence"]) == ("seen", "agent")
    assert (cli.receipt(lost)["state"], cli.receipt(lost)["reason"]) == ("stored", "uncertain")
    assert (cli.receipt(unread)["state"], cli.receipt(unread)["reason"]) == ("stored", "offline")
    assert bob.names("inbox") == []


@pytest.mark.parametrize("names", [(), ("bob",)])
def test_a_removal_that_was_cut_short_is_finished_by_the_next_one(
    cli: CommandLine, tree: str, names: tuple[str, ...]
) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    os.mkdir(bob.place)
    cli.ok("mailbox", "add", tree)
    ref = cli.sent("bob", "hello", sender="alice")
    until(bob.inbox)
    end(cli.home, signal.SIGTERM)
    [served] = manifests.every(cli.home)
    if not names:
        with LocalRoom(cli.home, Settings(), project="p") as room:
            trees.remove(room, tree)
    manifests.remove(cli.home, served.agent)
    assert cli.receipt(ref)["state"] == "offered"
    cli.ok("mailbox", "remove", tree, *names)
    assert cli.receipt(ref)["state"] == "stored"
    assert bob.names("inbox") == []
    assert hidden(tree) == ([".postroom"] if names else []), "the tree itself is served, or it is not"
    assert cli("mailbox", "remove", tree, "bob").code == 3


def hidden(tree: str) -> list[str]:
    """What we keep for ourselves in a tree."""
    found = (name for _, folders, files in os.walk(tree) for name in (*folders, *files))
    return sorted(name for name in found if name[0] == ".")


def test_what_a_removal_left_in_a_tree_that_is_served_no_longer_the_next_one_takes_away(
    cli: CommandLine, tree: str
) -> None:
    cli.ok("mailbox", "add", tree, "bob")
    mark = os.path.join(tree, "bob", "inbox", ".postroom")
    until(lambda: os.path.exists(mark))
    cli.ok("mailbox", "remove", tree)
    for path in (mark, os.path.join(tree, "bob", "inbox", "mine.txt")):
        with open(path, "w", encoding="utf-8"):
            pass
    os.mkdir(os.path.join(tree, "bob", "inbox", ".held"))
    refused = cli("mailbox", "remove", tree)
    assert (refused.code, "is not served" in refused.err) == (3, True)
    assert hidden(tree) == []
    assert sorted(os.listdir(os.path.join(tree, "bob", "inbox"))) == ["mine.txt", "processed"]


def test_who_removes_a_tree_again_does_not_touch_it_while_another_room_serves_it(
    cli: CommandLine, tree: str, tmp_path
) -> None:
    cli.ok("mailbox", "add", tree, "bob")
    cli.ok("mailbox", "remove", tree)
    other = CommandLine(os.path.join(tmp_path, "other"))
    other.ok("mailbox", "add", tree, "bob")
    until(
        lambda: os.listdir(os.path.join(tree, "bob", "outbox", ".taking"))
    )  # it is ready for the next letter
    before = hidden(tree)
    assert cli("mailbox", "remove", tree).code == 3
    assert hidden(tree) == before
    end(other.home, signal.SIGTERM)


def test_removing_a_tree_twice_does_not_forget_whose_its_directories_were(
    cli: CommandLine, tree: str
) -> None:
    os.mkdir(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree)
    cli.ok("mailbox", "remove", tree)
    assert cli("mailbox", "remove", tree).code == 3
    assert [one["agent"] for one in cli.ok("mailbox", "add", tree, "--json").json["added"]] == ["p/bob"]


def test_a_tree_that_is_gone_or_out_of_reach_is_removed_and_nothing_is_said_to_be_seen(
    cli: CommandLine, tree: str
) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree, "bob")
    ref = cli.sent("bob", "hello", sender="alice")
    until(bob.inbox)
    end(cli.home, signal.SIGTERM)
    shutil.rmtree(tree)
    cli.ok("mailbox", "remove", tree)
    assert cli.receipt(ref)["state"] == "stored"
    assert "seen_at" not in cli.receipt(ref)


@pytest.mark.parametrize("names", [(), ("bob",)])
def test_who_removes_a_tree_that_is_not_mounted_is_told_what_stays_and_takes_it_away_later(
    cli: CommandLine, tree: str, names: tuple[str, ...]
) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree, "bob")
    ref = cli.sent("bob", "hello", sender="alice")
    until(bob.inbox)
    end(cli.home, signal.SIGTERM)
    os.rename(tree, f"{tree}.away")
    os.mkdir(tree)  # as a mount point is
    again = f"postroom mailbox remove {' '.join((tree, *names))}\n"
    told = cli.ok("mailbox", "remove", tree, *names)
    assert f"Out of reach: {tree}/bob is not there\n" in told.err
    assert f"All files stay in {tree}/bob" in told.err
    assert told.err.endswith(again)
    assert cli.ok("mailbox", "remove", tree, *names).err.endswith(again), "it is not there yet"
    os.rmdir(tree)
    os.rename(f"{tree}.away", tree)
    assert cli.ok("mailbox", "remove", tree, *names, "--json").json["left"] == []
    assert (hidden(tree), bob.names("inbox"), cli.receipt(ref)["state"]) == ([], [], "stored")
    assert cli("mailbox", "remove", tree, *names).code == 3


def test_a_mailbox_that_is_served_again_is_not_spoken_of_as_left(cli: CommandLine, tree: str) -> None:
    cli.ok("mailbox", "add", tree, "bob")
    os.rename(tree, f"{tree}.away")
    cli.ok("mailbox", "remove", tree)
    os.rename(f"{tree}.away", tree)
    cli.ok("mailbox", "add", tree, "bob")
    assert cli.ok("mailbox", "remove", tree).err == ""


def test_two_rooms_do_not_serve_the_same_tree(cli: CommandLine, tree: str, tmp_path) -> None:
    cli.ok("mailbox", "add", tree, "bob")
    other = CommandLine(os.path.join(tmp_path, "other"))
    refused = other("mailbox", "add", tree, "carol")
    assert refused.code == 5
    assert "another room serves" in refused.err
    assert other("mailbox", "add", tree, "carol", "dave").code == 5
    assert sorted(os.listdir(tree)) == [".postroom", "bob"]
    cli.ok("mailbox", "remove", tree)
    other.ok("mailbox", "add", tree, "bob")
    end(other.home, signal.SIGTERM)


def test_looking_at_who_serves_a_tree_writes_nothing_there(tree: str) -> None:
    assert place.marked(tree) == b""
    place.unmark(tree)
    assert os.listdir(tree) == []


def test_what_lies_in_a_tree_does_not_keep_who_serves_it_waiting(tree: str) -> None:
    os.mkdir(os.path.join(tree, ".postroom"))
    os.mkfifo(os.path.join(tree, ".postroom", f".{os.getpid()}"))
    os.mkfifo(os.path.join(tree, ".postroom", "served"))
    assert place.marked(tree) == b""
    place.mark(tree, b"{}")
    assert place.marked(tree) == b"{}"


def test_a_tree_that_was_removed_is_served_again_as_it_was(cli: CommandLine, tree: str) -> None:
    os.mkdir(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree)
    cli.ok("mailbox", "remove", tree)
    again = cli.ok("mailbox", "add", tree, "--json").json
    assert ([one["agent"] for one in again["added"]], again["left_out"]) == (["p/bob"], [])


def test_a_tree_that_another_room_serves_as_a_whole_is_not_noted(
    cli: CommandLine, tree: str, tmp_path
) -> None:
    cli.ok("mailbox", "add", tree)
    other = CommandLine(os.path.join(tmp_path, "other"))
    assert other("mailbox", "add", tree).code == 5
    assert other.ok("mailbox", "--json").json["trees"] == []


def test_what_could_not_be_made_gives_nobody_an_address_and_says_why(cli: CommandLine, tree: str) -> None:
    with open(os.path.join(tree, "bob"), "w", encoding="ascii"):
        pass
    assert cli("mailbox", "add", tree, "bob").code == 1
    os.mkdir(os.path.join(tree, "postroom"))
    os.mkdir(os.path.join(tree, "carol"))
    os.symlink("/nowhere", os.path.join(tree, "carol", "inbox"))
    tried = cli("mailbox", "add", tree, "--json")
    told = {one["name"]: one["why"] for one in tried.json["left_out"]}
    assert (tried.code, sorted(told)) == (1, ["carol", "postroom"])
    assert all(told.values())
    assert "somebody has that name" not in told["carol"]
    assert [one["name"] for one in cli.ok("agents", "--all", "--json").json["agents"]] == ["alice"]


def test_one_that_cannot_be_added_keeps_no_other_from_being_served_and_is_told(
    cli: CommandLine, tree: str
) -> None:
    with open(os.path.join(tree, "carol"), "w", encoding="ascii"):
        pass
    tried = cli("mailbox", "add", tree, "bob", "carol", "dave", "--json")
    assert (tried.code, [one["agent"] for one in tried.json["added"]]) == (1, ["p/bob", "p/dave"])
    [failed] = tried.json["left_out"]
    assert (failed["name"], failed["error"]) == ("carol", "bridge")
    assert f"{tree}/carol" in failed["why"]
    cli.sent("bob", "hello", sender="alice")
    until(Agent(os.path.join(tree, "bob")).inbox)
    told = cli("mailbox", "add", tree, "bob", "carol")
    assert told.out.splitlines()[0] == f"p/bob  {tree}/bob (served before)"
    assert told.out.splitlines()[1].startswith("carol: not served: ")
    assert (told.code, told.err) == (1, "")


def test_of_a_store_that_can_be_reached_no_more_what_was_added_before_is_served(
    cli: CommandLine, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = trees.add

    def unreachable(room: LocalRoom, where: str, wanted: str, scope: Scope) -> tuple[Manifest, bool]:
        if wanted == "bob":
            return add(room, where, wanted, scope)
        raise MailboxUnreachable(f"{wanted} is out of reach", advice="Try it: sftp there.")

    monkeypatch.setattr(trees, "add", unreachable)
    tried = cli("mailbox", "add", tree, "bob", "carol", "dave", "--json")
    assert (tried.code, tried.err, len(tried.json["added"])) == (1, "", 1)
    assert [(one["name"], one["why"], one["hint"]) for one in tried.json["left_out"]] == [
        ("carol", "carol is out of reach", "Try it: sftp there."),
        ("dave", "dave is out of reach", "Try it: sftp there."),
    ]
    assert instance.running(cli.home)


def test_a_look_at_a_tree_elsewhere_that_goes_wrong_is_told_and_the_next_one_is_made(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong: who looks there is a thread, and nobody would miss it."""
    there, answers, asked = "s3://bucket/tree", Queue[Exception | None](), Queue[None]()

    def look(_: LocalRoom, __: Tree) -> list[Manifest]:
        asked.put(None)
        if (exc := answers.get(timeout=BOUND)) is not None:
            raise exc
        return []

    monkeypatch.setattr(trees, "appear", look)
    monkeypatch.setattr(looking, "_SOON", 0.01)
    note.put(room.home, "trees", there, Tree(there, "p")._asdict())
    found = looking.Trees(room)
    found.look()
    asked.get(timeout=BOUND)
    assert found.facts() == {"count": 1, "trouble": {}}
    answers.put(OSError("no disk"))
    asked.get(timeout=BOUND)
    assert found.facts() == {"count": 1, "trouble": {there: "OSError: no disk"}}
    answers.put(None)
    asked.get(timeout=BOUND)
    assert found.facts() == {"count": 1, "trouble": {}}
    note.remove(room.home, "trees", there)
    found.look()
    answers.put(None)


def test_that_nothing_was_added_is_said_only_where_nothing_was(cli: CommandLine, tree: str) -> None:
    with open(os.path.join(tree, "bob"), "w", encoding="ascii"):
        pass
    tried = cli("mailbox", "add", tree, "bob", "No Name")
    assert (tried.code, tried.err) == (1, "Nothing was added.\n")
    assert [line.partition(":")[0] for line in tried.out.splitlines() if line[0] != " "] == ["bob", "No Name"]
    assert cli("mailbox", "add", tree, "bob", "No Name", "--json").json["added"] == []
    assert not instance.running(cli.home)
    assert cli.ok("mailbox", "--json").json["mailboxes"] == []


def test_a_tree_that_is_noted_and_then_out_of_reach_is_served_and_that_is_said(
    cli: CommandLine, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(_: str) -> list[str]:
        raise MailboxUnreachable("it is out of reach")

    with monkeypatch.context() as patch:
        patch.setattr(place, "members", unreachable)
        tried = cli("mailbox", "add", tree, "--json")
        told = cli("mailbox", "add", tree, "--quiet")
    assert (tried.code, tried.err) == (1, "")
    assert (tried.json["all"], tried.json["why"]) == (True, "it is out of reach")
    assert "it cannot be looked at now: it is out of reach. Nothing is lost" in " ".join(told.out.split())
    os.mkdir(os.path.join(tree, "bob"))
    until(lambda: cli.ok("mailbox", "--json").json["mailboxes"])


def test_a_tree_that_goes_while_it_is_added_is_out_of_reach_as_any_other(cli: CommandLine, tree: str) -> None:
    os.rmdir(tree)
    with LocalRoom(cli.home, Settings(), project="p") as room, pytest.raises(BridgeError, match="not there"):
        trees.add(room, tree, "bob", room.scope)


def test_only_a_person_says_whose_mail_is_read_from_files(cli: CommandLine, tree: str) -> None:
    assert cli("mailbox", "add", tree, "bob", "--as", "alice").code == 5
    assert os.listdir(tree) == []


def test_a_mailbox_that_the_config_declares_is_served(cli: CommandLine, tree: str) -> None:
    with open(os.path.join(cli.home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(f'[agents.bob]\nbridge = "files"\ndirectory = "{tree}"\n')
    assert "bob: a mailbox" in cli.ok("up", "--yes").out
    assert os.path.isdir(os.path.join(tree, "bob", "inbox"))
    cli.sent("bob", "hello", sender="alice")
    until(Agent(os.path.join(tree, "bob")).inbox)
    assert "by its mailbox" in cli.ok("agents").out
    assert cli("stop", "bob").code == 0
    assert manifests.every(cli.home) == []


@pytest.mark.parametrize(
    ("letter", "code", "said"),
    [
        ({"id": "1", "to": "bob", "payload": "x"}, 0, "well-formed"),
        ({"id": "1", "to": "bob"}, 1, "the body is empty"),
        ({"id": "1", "to": "b ob", "payload": "x"}, 1, "is not an address"),
        ({"id": "1", "to": "bob", "type": "dispatch", "payload": {}}, 1, "payload.task_id is missing"),
        ({"to": "bob"}, 1, "it needs an id of its own"),
        ([{"id": "1", "to": "bob", "payload": "x"}, 7], 1, "letter 2: a letter is a JSON object"),
    ],
)
def test_a_letter_can_be_tried_before_it_is_sent(home: str, letter: object, code: int, said: str) -> None:
    tried = CommandLine(home)("mailbox", "check", "-", stdin=json.dumps(letter).encode())
    assert tried.code == code
    assert said in tried.out


@pytest.mark.parametrize("size", [(1 << 23) + 1, 1 << 40])
def test_what_is_too_large_for_a_letter_is_not_read_to_be_tried(home: str, tmp_path, size: int) -> None:
    path = os.path.join(tmp_path, "large.json")
    with open(path, "wb") as file:
        file.truncate(size)
    tried = CommandLine(home)("mailbox", "check", path)
    assert (tried.code, "more than 8,388,608 bytes (mailbox_file_bytes)" in tried.out) == (1, True)
    with open(path, "rb") as file:
        letter = b" " * (1 << 23) + file.read(1)
    assert "mailbox_file_bytes" in CommandLine(home)("mailbox", "check", "-", stdin=letter).out


def test_what_is_no_file_is_neither_waited_for_nor_taken_for_a_tree(home: str, tmp_path) -> None:
    cli, pipe = CommandLine(home), os.path.join(tmp_path, "pipe")
    os.mkfifo(pipe)
    assert "is not a regular file" in cli("mailbox", "check", pipe).err
    refused = cli("mailbox", "add", pipe)
    assert (refused.code, "mkdir" in refused.err) == (2, False)


LONG = 90.0  # seconds for 2,000 letters, where others are at work, too


@pytest.mark.promise("mailbox-ids")
@pytest.mark.promise("mailbox-once")
@pytest.mark.timeout(240)
def test_twenty_mailboxes_with_the_same_names_and_ids_and_a_daemon_that_is_killed(
    cli: CommandLine, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = [Agent(os.path.join(tree, f"w{n}")) for n in range(20)]
    cli.ok("mailbox", "add", tree, *(f"w{n}" for n in range(20)))
    end(cli.home, signal.SIGKILL)
    for n, box in enumerate(boxes):
        for m in range(1, 101):
            box.put(f"msg-{m}.json", {"id": f"msg-{m}", "to": "alice", "payload": f"{n}.{m}"})
    monkeypatch.setenv("POSTROOM_RECIPIENT_QUOTA", "0")
    for share in (200, 900):
        cli.ok("up")
        until(lambda share=share: sum(len(box.names("outbox", "processed")) for box in boxes) > share, LONG)
        end(cli.home, signal.SIGKILL)
        assert any(box.names("outbox") for box in boxes), "it was killed at work"
    cli.ok("up")
    until(lambda: not any(map(holds, boxes)), LONG)
    assert waiting(cli) == 2000
    with LocalRoom(cli.home, Settings(), agent="alice", project="p") as room:
        sent = [room.sent(f"w{n}", limit=500) for n in range(20)]
    bodies = [sorted(message.body for message, _ in one) for one in sent]
    assert bodies == [sorted(f"{n}.{m}" for m in range(1, 101)) for n in range(20)], "each once, as it was"
    assert all(len(box.names("outbox", "processed")) == 100 for box in boxes)


def holds(box: Agent) -> bool:
    """Whether something in its outbox is not in the room yet. What was written there when somebody was killed
    has no name, and is none.
    """
    return bool(box.names("outbox") or box.names("outbox", ".taking"))


def waiting(cli: CommandLine) -> int:
    [alice] = [one for one in cli.ok("agents", "--json").json["agents"] if one["name"] == "alice"]
    return alice["waiting"]


ALONE = """
mount -t tmpfs none "$1" && mkdir "$1/$3" && mount --bind "$2/$3" "$1/$3" && shift 3 && exec "$@"
"""
SENDS = """
import os, sys
from postroom import Mailbox
tree, name = sys.argv[1:]
with Mailbox(tree, name) as box:
    box.send("alice", "from the container", id="1")
    print(type(box._counter).__name__, *os.listdir(tree))
"""


@pytest.mark.parametrize("is_named", [True, False])
def test_a_program_that_sees_only_its_mailbox_leaves_its_letters_to_who_serves_it_also_before_that_looked(
    cli: CommandLine, tree: str, tmp_path: os.PathLike[str], is_named: bool
) -> None:
    os.mkdir(os.path.join(tree, "bob"))
    with LocalRoom(cli.home, Settings(), project="p") as room:
        if is_named:
            trees.add(room, tree, "bob", room.scope)
        else:
            assert len(trees.appear(room, trees.Tree(tree, "p"))) == 1
    here = os.path.join(tmp_path, "container")
    os.mkdir(here)
    program = [*unshare("-m"), "sh", "-ec", ALONE, "sh", here, tree, "bob", sys.executable, "-c", SENDS]
    said = subprocess.run(
        [*program, here, "bob"], capture_output=True, text=True, check=False, env=environment(), timeout=BOUND
    )
    assert (said.stdout.split(), said.stderr) == (["Served", "bob"], "")
    cli.ok("up")
    [letter] = cli.ok("wait", "--as", "alice", "--timeout", "20", "--json").json["messages"]
    assert (letter["body"], letter["verified"]) == ("from the container", "mailbox")
    cli.ok("ack", letter["id"], "--as", "alice")
    box = Agent(os.path.join(tree, "bob"))
    until(lambda: box.names("receipts") and box.receipt("1")["recipients"][0]["state"] == "acked")
    assert (waiting(cli), box.names("outbox", "rejected")) == (0, [])


def test_one_whose_inbox_is_gone_when_it_is_added_again_is_not_said_to_have_seen_what_lay_there(
    cli: CommandLine, tree: str
) -> None:
    """A mark that is put there anew must not pass for the old one."""
    bob = Agent(os.path.join(tree, "bob"))
    cli.ok("mailbox", "add", tree, "bob")
    ref = cli.sent("bob", "hello", sender="alice")
    until(bob.inbox)
    end(cli.home, signal.SIGKILL)
    [served] = manifests.every(cli.home)
    manifests.remove(cli.home, served.agent)
    shutil.rmtree(bob.path("inbox"))
    cli.ok("mailbox", "add", tree, "bob")
    until(bob.inbox)
    assert (cli.receipt(ref)["state"], bob.inbox()[0]["mayBeRepeat"]) == ("offered", True)


JAIL = """
mount -t tmpfs none "$1" && cd "$1" && mkdir mail dev
for each in usr bin lib lib64; do
    if [ -h "/$each" ]; then cp -P "/$each" .; continue; fi
    [ ! -d "/$each" ] || { mkdir "$each"; mount --rbind "/$each" "$each"; }
done
mount --bind "$2" mail && : >dev/null && mount --bind /dev/null dev/null && cp "$3" agent.sh
exec chroot . /bin/sh /agent.sh /mail
"""


@pytest.mark.promise("examples")
def test_an_agent_in_a_container_that_shares_only_its_mailbox_holds_a_conversation(
    cli: CommandLine, tree: str, tmp_path: os.PathLike[str]
) -> None:
    with open(os.path.join(ROOT, "docs", "howto", "files.md"), encoding="utf-8") as file:
        found = re.search(r"^#!/bin/sh.*?^done$", file.read(), re.DOTALL | re.MULTILINE)
    assert found is not None
    script, root = os.path.join(tmp_path, "agent.sh"), os.path.join(tmp_path, "root")
    with open(script, "w", encoding="utf-8") as file:
        file.write(found[0])
    os.mkdir(root)
    cli.ok("mailbox", "add", tree, "builder")
    spaces = unshare("-m", "-n", "--pid", "--fork", "--kill-child")
    jail = [*spaces, "sh", "-ec", JAIL, "sh"]
    check_confined(spaces, [*jail, root, os.path.join(tree, "builder")], tree)
    complaints = os.path.join(tmp_path, "complaints")
    command = [*jail, root, os.path.join(tree, "builder"), script]
    with open(complaints, "wb") as errors, subprocess.Popen(command, stderr=errors) as agent:
        try:
            for question in ("Is it built?", "And now?"):
                answer = cli.ok("ask", "builder", question, "--as", "alice", "--timeout", "25", "--json").json
                assert (answer["body"], answer["verified"]) == ("I have it.", "mailbox")
            thread = cli.ok("thread", answer["id"], "--json").json["messages"]
            assert [one["body"] for one in thread] == ["And now?", "I have it."]
            builder = Agent(os.path.join(tree, "builder"))
            said = {"from": "alice", "id": "m/1", "type": "note", "payload": {"text": "on one line"}}
            builder.drop("1772445600000-0001.json", said)
            until(lambda: "file:answer-m/1" in sent_keys(cli))
            builder.drop("1772445600000-0002.json", {"from": "alice", "type": "note", "payload": "no id"})
            until(lambda: builder.names("inbox") == [])
            until(lambda: "no answer to" in Path(complaints).read_text(encoding="utf-8"))
        finally:
            agent.kill()
    assert Agent(os.path.join(tree, "builder")).names("outbox", "rejected") == []


def sent_keys(cli: CommandLine) -> list[str]:
    messages = cli.ok("sent", "--as", "builder", "--json").json["messages"]
    return [one["key"] for one in messages if one["reply_to"]]


def check_confined(spaces: list[str], jail: list[str], tree: str) -> None:
    """Who is in it has a network of its own, a root of its own, and of the tree one mailbox only."""
    looks = f"{tree}.sh"
    with open(looks, "w", encoding="utf-8") as file:
        file.write(f'echo /*; ls "$1"; ls -d {tree} {os.path.dirname(tree)} || echo nothing else\n')
    said = printed([*jail, looks]).splitlines()
    assert set(said[0].split()) <= {"/agent.sh", "/bin", "/dev", "/lib", "/lib64", "/mail", "/usr"}
    assert said[1:] == ["inbox", "outbox", "receipts", "nothing else"]
    assert printed([*spaces, "readlink", "/proc/self/ns/net"]).strip() != os.readlink("/proc/self/ns/net")


def printed(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND)
    assert done.returncode == 0, done
    return done.stdout


def test_what_is_being_taken_in_is_counted_as_waiting(cli: CommandLine, tree: str) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    os.mkdir(bob.place)
    cli.ok("mailbox", "add", tree)
    until(lambda: os.path.isdir(bob.path("outbox", ".taking")))
    end(cli.home, signal.SIGTERM)
    bob.put("a.json", {"id": "1", "to": "alice"})
    os.rename(bob.path("outbox", "a.json"), bob.path("outbox", ".taking", "1.a.json"))
    [listed] = cli.ok("mailbox", "--json").json["mailboxes"]
    assert listed["outbox"] == 1


@pytest.mark.promise("mailbox-arrivals")
def test_a_letter_that_another_program_puts_into_an_inbox_is_mail_like_any_other(
    cli: CommandLine, tree: str
) -> None:
    bob = Agent(os.path.join(tree, "bob"))
    os.mkdir(bob.place)
    cli.ok("mailbox", "add", tree)
    until(lambda: os.path.exists(bob.path("inbox", ".postroom")))
    said = {"id": "m-1", "from": "alice", "to": "bob", "type": "note", "payload": {"text": "straight"}}
    bob.drop("1772445600000-0001.json", said)
    until(lambda: cli.ok("sent", "--as", "alice", "--json").json["messages"])
    [sent] = cli.ok("sent", "--as", "alice", "--json").json["messages"]
    assert (sent["body"], sent["verified"]) == ("straight", "unverified")
    until(lambda: bob.names("inbox") != ["1772445600000-0001.json"])
    [name] = bob.names("inbox")
    assert bob.read("inbox", name) == said
    bob.put_away(name)
    until(lambda: cli.receipt(sent["id"])["state"] == "seen")
