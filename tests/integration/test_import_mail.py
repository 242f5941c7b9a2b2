"""Trees of mailboxes, imported: mail that waited waits, what was processed is history, once each."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.imports.tree import read
from postroom.model.ladder import Evidence, State
from postroom.room import local
from tests.commandline import CommandLine, is_told_well
from tests.mailboxes import Tree
from tests.process import BOUND, ROOT, environment

SAMPLE = str(Path(ROOT, "tests", "data", "imports", "mailboxes"))


@pytest.fixture
def cli(home: str) -> CommandLine:
    return CommandLine(home)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def imported(cli: CommandLine, path: Path | str, *options: str) -> dict[str, Any]:
    return cli.ok("import", str(path), "--apply", "--json", *options).json


def mail(cli: CommandLine, name: str) -> list[dict[str, Any]]:
    return cli.ok("inbox", "--as", name, "--json").json["messages"]


def sent(cli: CommandLine, name: str) -> dict[str, dict[str, Any]]:
    """What somebody has sent, by its own tool's id and its reader: the state of its delivery is with it."""
    messages = cli.ok("sent", "--as", name, "--json").json["messages"]
    return {one["metadata"]["imported"]["id"]: one | cli.receipt(one["id"]) for one in messages}


def checked(cli: CommandLine) -> None:
    assert cli.ok("verify", "--json").json["problems"] == []


def test_nothing_is_written_before_it_is_agreed_to(cli: CommandLine, home: str):
    before = {path: path.read_bytes() for path in Path(SAMPLE).rglob("*") if path.is_file()}
    shown = cli.ok("import", SAMPLE)
    assert "7 messages to take in" in shown.err
    assert "Head Office is called head-office here" in shown.out
    assert f"postroom import {SAMPLE} --apply" in shown.err
    assert not os.path.exists(home)
    imported(cli, SAMPLE)
    assert before == {path: path.read_bytes() for path in Path(SAMPLE).rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [[], ["--apply"]])
def test_mail_does_not_come_in_again_from_somebody_who_is_called_otherwise_now(
    cli: CommandLine, words: list[str]
):
    imported(cli, SAMPLE)
    before = cli.ok("status", "--json").json["counts"]["messages"]
    refused = cli("import", SAMPLE, "--rename", "Head Office=office", *words)
    assert (refused.code, is_told_well(refused)) == (5, True), refused
    assert "here already under head-office" in refused.err
    assert cli.ok("status", "--json").json["counts"]["messages"] == before
    again = cli.ok("import", SAMPLE, "--rename", "Head Office=head-office", *words, "--json").json
    assert again["messages"]["new"] == 0


def test_that_mail_is_not_taken_out_again_is_told_before_and_after(cli: CommandLine):
    assert "It cannot be undone; make a backup before: postroom backup" in cli.ok("import", SAMPLE).err
    imported(cli, SAMPLE)
    refused = cli("import", SAMPLE, "--undo")
    assert (refused.code, is_told_well(refused)) == (2, True)
    assert "not taken out again" in refused.err
    assert "postroom restore" in refused.err


@pytest.mark.promise("import")
def test_a_tree_is_brought_in_whole_and_once(cli: CommandLine, home: str):
    assert imported(cli, SAMPLE)["messages"] == {"new": 7, "moved": 0, "here": 0}
    assert [one["body"] for one in mail(cli, "builder")] == [
        "Two more trays, please.", "Make that three.", "We close at six.",
    ]  # fmt: skip
    [waiting] = mail(cli, "planner")
    assert (waiting["body"], waiting["priority"], waiting["requires_ack"]) == (
        "The flour is out.",
        "urgent",
        True,
    )
    assert waiting["metadata"]["imported"] == {
        "source": SAMPLE, "file": "planner/inbox/msg-3.json", "id": "msg-3",
        "timestamp": "2026-03-02T10:00:00.000Z",
    }  # fmt: skip
    again = cli.ok("import", SAMPLE, "--apply")
    assert "Nothing to do." in again.err
    assert "7 here already" in again.err
    checked(cli)


def test_history_has_the_evidence_that_it_was_imported_and_no_more(cli: CommandLine):
    imported(cli, SAMPLE)
    asked, told = sent(cli, "planner")["msg-1"], sent(cli, "builder")
    assert (asked["type"], asked["body"], asked["state"]) == ("request", "How many loaves?", "acked")
    assert (told["msg-1"]["state"], told["msg-1"]["route"]) == ("seen", "import")
    assert {one["evidence"] for one in (asked, told["msg-1"], told["msg-2"])} == {Evidence.IMPORTED.value}
    assert told["msg-3"]["state"] == State.STORED.value
    assert told["msg-3"]["evidence"] is None
    assert {one["verified"] for one in (asked, *told.values())} == {"unverified"}


def test_an_answer_is_in_the_thread_of_what_it_answers_though_ids_repeat(cli: CommandLine):
    """`msg-1` is a letter of each of the two."""
    imported(cli, SAMPLE)
    asked, told = sent(cli, "planner")["msg-1"], sent(cli, "builder")
    assert told["msg-2"]["reply_to"] == asked["id"]
    assert told["msg-2"]["thread"] == asked["id"] != told["msg-1"]["thread"]
    first, second, _ = mail(cli, "builder")
    assert second["thread"] == first["id"]


def test_the_journals_alone_rebuild_the_room_and_nobody_is_asked_for_old_answers(
    cli: CommandLine, tree: Tree, tmp_path: Path
):
    tree.put("builder/inbox/processed", from_="planner", to="builder", type="request")
    tree.put("builder/inbox", from_="planner", to="builder")
    imported(cli, tree.root)
    cli.ok("journal")
    other = str(tmp_path / "other")
    cli.ok("replay", "--into", other)
    rebuilt = CommandLine(other)
    assert rebuilt.ok("verify", "--json").json["digest"] == cli.ok("verify", "--json").json["digest"]
    for one in (cli, rebuilt):
        one.ok("leave", "builder")
        assert mail(one, "planner") == []


def test_what_was_processed_wakes_nobody_and_is_offered_to_nobody(cli: CommandLine, tree: Tree, home: str):
    tree.put("builder/inbox/processed", from_="planner", to="builder")
    imported(cli, tree.root)
    assert cli("read", "--as", "builder", "--json").code == 3
    assert cli("wait", "--as", "builder", "--timeout", "0").code == 4


def test_who_is_muted_is_not_disturbed_by_an_import_and_gets_its_mail_later(cli: CommandLine, tree: Tree):
    tree.put("b/inbox", from_="a", to="b")
    cli.ok("join", "b")
    cli.ok("mute", "--on", "--as", "b")
    imported(cli, tree.root)
    [one] = sent(cli, "a").values()
    assert (one["state"], one["reason"]) == ("stored", "muted")
    assert mail(cli, "b") == []
    cli.ok("mute", "--off", "--as", "b")
    assert len(mail(cli, "b")) == 1
    checked(cli)


def test_what_has_got_further_there_since_gets_as_far_here(cli: CommandLine, tree: Tree):
    first, second, third, fourth = (tree.put("b/inbox", from_="a", to="b") for _ in range(4))
    assert imported(cli, tree.root)["messages"]["new"] == 4
    cli.ok("read", "--as", "b")
    done = tree.root / "b" / "inbox" / "processed"
    done.mkdir()
    for path in (first, second):
        path.rename(done / path.name)
    tree.put("b/outbox", to="a", type="ack", replyTo=json.loads(third.read_text())["id"])
    tree.put(
        "b/outbox",
        to="a",
        type="nack",
        replyTo=json.loads(fourth.read_text())["id"],
        payload={"reason": "no"},
    )
    assert imported(cli, tree.root)["messages"] == {"new": 0, "moved": 3, "here": 1}
    states = [(one["state"], one["evidence"], one["reason"]) for one in sent(cli, "a").values()]
    assert sorted(states, key=str) == [
        ("acked", "imported", None), ("bounced", None, "no"), ("seen", "agent", None),
        ("seen", "imported", None),
    ]  # fmt: skip
    assert imported(cli, tree.root)["state"] == "nothing_to_do"
    checked(cli)


def test_a_refusal_whose_reason_no_store_can_hold_is_spelt_out(cli: CommandLine, tree: Tree):
    letter = tree.put("b/inbox", from_="a")
    tree.put(
        "b/outbox", to="a", type="nack", replyTo=json.loads(letter.read_text())["id"],
        payload={"reason": "no \ud800"},
    )  # fmt: skip
    imported(cli, tree.root)
    assert [one["reason"] for one in sent(cli, "a").values()] == ["no \\ud800"]


def test_whatever_is_not_looked_into_is_named(tree: Tree):
    for folder in ("b/inbox", "b/inbox/processed/1/2/3/4", "b/sent"):
        tree.put(folder, from_="a")
    tree.write("", "loose.json", {})
    left = {one.what for one in read(str(tree.root)).left}
    assert left == {"b/inbox/processed/1/2/3/4", "b/sent", "loose.json"}


def test_a_long_conversation_can_be_gone_on_with(cli: CommandLine, tree: Tree):
    for n in range(1, 30):
        writer, reader = ("a", "b") if n % 2 else ("b", "a")
        folder = f"{reader}/inbox" + ("" if n == 29 else "/processed")
        tree.put(folder, id=str(n), from_=writer, to=reader, replyTo=str(n - 1) if n > 1 else None)
    imported(cli, tree.root)
    [last] = mail(cli, "b")
    thread = cli.ok("thread", last["id"], "--json").json["messages"]
    assert len(thread) == 29
    cli.ok("reply", last["id"], "and so on", "--as", "b")


def test_two_imports_at_once_take_in_each_letter_once(cli: CommandLine, tree: Tree):
    for n in range(250):
        tree.put("b/inbox", from_="a", to="b", body=str(n))
    with (
        cli.start("import", str(tree.root), "--apply") as one,
        cli.start("import", str(tree.root), "--apply") as two,
    ):
        assert [one.wait(BOUND), two.wait(BOUND)] == [0, 0]
    waiting = cli.ok("inbox", "--as", "b", "--limit", "500", "--json").json["messages"]
    assert sorted(int(one["body"]) for one in waiting) == list(range(250))


def test_a_letter_that_lies_in_several_places_is_one(cli: CommandLine, tree: Tree):
    letter = {
        "id": "x",
        "from": "a",
        "to": "b",
        "timestamp": "2026-03-02T09:00:00Z",
        "payload": {"text": "hi"},
    }
    for folder in ("a/outbox/sent", "b/inbox", "b/inbox/processed"):
        tree.write(folder, "x.json", letter)
    assert imported(cli, tree.root)["rungs"] == {"b": {"seen": 1}}


def test_twenty_mailboxes_whose_ids_are_all_the_same_are_told_apart(cli: CommandLine, tree: Tree):
    for n in range(20):
        for k in range(10):
            tree.write(
                f"agent{n}/outbox", f"msg-{k}.json", {"id": f"msg-{k}", "to": "hub", "body": f"{n} {k}"}
            )
    assert imported(cli, tree.root)["messages"]["new"] == 200
    assert (
        len(
            {
                one["body"]
                for one in cli.ok("inbox", "--as", "hub", "--limit", "500", "--json").json["messages"]
            }
        )
        == 200
    )


def test_what_was_sent_to_somebody_without_a_mailbox_is_history_of_which_nothing_is_known(
    cli: CommandLine, tree: Tree
):
    tree.put("a/outbox/sent", to="stranger")
    imported(cli, tree.root)
    [one] = sent(cli, "a").values()
    assert one["state"] == "expired"
    assert "nobody knows" in one["reason"]
    assert mail(cli, "stranger") == []


def test_what_has_no_type_of_ours_becomes_a_note_that_says_the_same(cli: CommandLine, tree: Tree):
    tree.write("b/inbox", "1.json", {"from": "a", "type": "deploy", "payload": {"version": 3}, "text": "go"})
    tree.write("b/inbox", "2.json", {"from": "a", "type": "dispatch", "payload": {"nonsense": 1}})
    tree.write("b/inbox", "3.json", {"from": "a", "type": "decision_gate", "payload": {"question": "now?"}})
    tree.write("b/inbox", "4.json", {"from": "a", "job": "bake"})
    tree.write("b/inbox", "5.json", {"from": "a", "payload": {"bounce": {}, "text": "x"}})
    imported(cli, tree.root)
    found = {one["metadata"]["imported"]["file"][-6:]: one for one in mail(cli, "b")}
    assert {one["type"] for one in found.values()} == {"note"}
    assert found["1.json"]["body"] == "go"
    assert found["1.json"]["payload"] == {"version": 3}
    assert found["2.json"]["metadata"]["imported"]["type"] == "dispatch"
    assert found["3.json"]["metadata"]["imported"]["type"] == "decision_gate"
    assert found["4.json"]["payload"] == {"job": "bake"}
    assert found["5.json"]["metadata"]["imported"]["payload"] == {"bounce": {}}
    assert cli.ok("gates", "--json").json["gates"] == []


HOSTILE: dict[str, tuple[Any, str]] = {
    "half.json": (b'{"id": 1, "from"', "no JSON"),
    "bytes.json": (b"\xff\xfe\x00", "no JSON"),
    "deep.json": (b"[" * 100_000, "nested too deep"),
    "number.json": (7, "a JSON object"),
    "nobody.json": ({"text": "x"}, "has no `from`"),
    "unnamed.json": ({"from": "…", "text": "x"}, "cannot be an agent's name"),
    "empty.json": ({"from": "a"}, "empty"),
    "nul.json": ({"from": "a", "text": "\0"}, "NUL"),
    "half-a-character.json": (b'{"from": "a", "text": "\\ud800"}', "half a character"),
    "huge.json": ({"from": "a", "text": "x" * 5_000_000}, "more than"),
    "large.json": ({"from": "a", "text": "x" * 2_000_000}, "limit"),
    "notes.txt": (b"hello", "does not end in .json"),
    "bad.json.gz": (b"no gzip", "incorrect header"),
    "orphan.json": ({"from": "a", "type": "ack", "replyTo": "gone"}, "which is not there"),
    "wordless.json": ({"from": "a", "type": "ack"}, "needs replyTo"),
}


def test_whatever_is_no_letter_is_left_out_with_its_reason_and_keeps_no_other_out(
    cli: CommandLine, tree: Tree, tmp_path: Path
):
    for name, (content, _) in HOSTILE.items():
        tree.write("b/inbox", name, content)
    tree.write("b/inbox", "bomb.json.gz", b"[" + b" " * 50_000_000 + b"]", packed=True)
    tree.write("b/inbox", "good.json", [{"from": "a", "text": "one"}, 7, {"from": "a", "text": "two"}])
    secret = tmp_path / "secret.json"
    secret.write_text('{"from": "a", "text": "secret"}', encoding="utf-8")
    os.symlink(secret, tree.root / "b" / "inbox" / "link.json")
    os.symlink(tmp_path, tree.root / "c")
    os.mkfifo(tree.root / "b" / "inbox" / "pipe.json")
    (tree.root / "b" / "inbox" / "folder.json").mkdir()
    tree.put("b/outbox", from_="a", to="a")
    done = imported(cli, tree.root)
    assert [one["body"] for one in mail(cli, "b")] == ["one", "two"]
    left = {os.path.basename(one["what"]): one["why"] for one in done["left_out"]}
    for name, (_, why) in HOSTILE.items():
        assert why in left[name], left[name]
    assert {"bomb.json.gz", "good.json#2", "link.json", "pipe.json", "folder.json"} <= left.keys()
    assert any("lies in b's outbox" in why for why in left.values())


def test_a_tree_that_a_room_serves_has_nothing_to_import(cli: CommandLine, tree: Tree):
    tree.put("b/inbox", from_="a")
    tree.write(".postroom", "served", {})
    assert cli("import", str(tree.root), "--json").error["error"] == "refused"


def test_an_agent_may_not_import(cli: CommandLine):
    assert cli("import", SAMPLE, "--apply", "--as", "builder", "--json").error["error"] == "refused"


def test_two_mailboxes_whose_names_would_be_spelt_alike_are_refused(cli: CommandLine, tree: Tree):
    tree.put("\udcff/inbox", from_="a")
    tree.put("\\udcff/inbox", from_="a")
    refused = cli("import", str(tree.root), "--apply", "--json").error
    assert refused["error"] == "name_taken"
    assert refused["message"].count("\\udcff") == 1


def test_two_mailboxes_that_would_have_one_address_are_refused(cli: CommandLine, tree: Tree):
    tree.put("Front End/inbox", from_="a")
    tree.put("front-end/inbox", from_="a")
    refused = cli("import", str(tree.root), "--apply", "--json").error
    assert refused["error"] == "name_taken"
    assert imported(cli, tree.root, "--rename", "Front End=human:ana")["mailboxes"] == [
        "human:ana",
        "front-end",
    ]
    assert len(mail(cli, "human:ana")) == 1


KILLED = """
import os, sys
from postroom import label
from postroom.cli.main import run
left = int(sys.argv[1])
def here(step):
    global left
    left -= step in ("before-commit", "after-commit", "after-import")
    if left == 0:
        os.kill(os.getpid(), 9)
label.here, label.armed = here, True
os._exit(run(["import", sys.argv[2], "--apply", "--quiet"]))
"""


def test_who_is_killed_at_any_step_has_taken_in_nothing_twice_and_loses_nothing(tree: Tree, scratch: str):
    for n in range(120):
        tree.put("b/inbox" if n % 2 else "b/inbox/processed", from_="a", to="b", body=str(n))
    code, step = -signal.SIGKILL, 0
    while code == -signal.SIGKILL:
        step += 1
        cli = CommandLine(f"{scratch}/{step}")
        code = subprocess.run(
            [sys.executable, "-c", KILLED, str(step), str(tree.root)], cwd=ROOT, timeout=BOUND, check=False,
            env=environment(**cli.environment),
        ).returncode  # fmt: skip
        done = imported(cli, tree.root)["messages"]
        assert done["new"] + done["here"] == 120
        waiting = cli.ok("inbox", "--as", "b", "--limit", "500", "--json").json["messages"]
        assert sorted(int(one["body"]) for one in waiting) == list(range(1, 120, 2))
        checked(cli)
    assert code == 0
    assert step > 8


NAMES = st.sampled_from(["a", "b", "Front End", "c.d", "all", "*", "…", "", "human:ana", "x/y"])
WORDS = ("id", "from", "to", "timestamp", "type", "priority", "payload", "text", "replyTo", "thread", "x")
LETTERS = st.dictionaries(
    st.sampled_from(WORDS),
    st.sampled_from(["m1", "m2", "m3", "ack", "request", "note", "2026-03-02T09:00:00Z", "high"])
    | NAMES | st.none() | st.integers() | st.lists(NAMES, max_size=2)
    | st.dictionaries(NAMES, NAMES, max_size=2),
)  # fmt: skip
FOLDERS = st.sampled_from(["inbox", "inbox/processed", "outbox", "outbox/sent", "processed", "inbox/other"])
TREES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "Front End"]), FOLDERS, LETTERS), min_size=1, max_size=8
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES)
def test_whatever_a_tree_holds_is_taken_in_once_or_left_out(scratch: str, found: list[Any]):
    place = Path(scratch, os.urandom(6).hex())
    tree, cli = Tree(place / "tree"), CommandLine(str(place / "home"))
    tree.put("hub/inbox/processed", from_="a")
    for n, (owner, folder, letter) in enumerate(found):
        tree.write(f"{owner}/{folder}", f"{n}.json", letter)
    result = cli("import", str(tree.root), "--apply", "--json")
    assert result.code in (0, 5), result
    if result.code:
        assert "--rename" in result.error["hint"]
        return
    left = {one["what"] for one in result.json["left_out"]}
    assert all(_is_told(letter, found, left | taken(cli)) for letter in found)
    assert imported(cli, tree.root)["state"] == "nothing_to_do"
    checked(cli)


def taken(cli: CommandLine) -> set[str]:
    """The files that messages of a room came from."""
    with local.open_room(cli.home, project="p") as room:
        messages = [event.message for event in room.store.look().events() if event.message]
    return {(one.metadata or {})["imported"]["file"] for one in messages}


def _is_told(one: Any, found: list[Any], told: set[str]) -> bool:
    """Whether a letter, or one that says just the same, was taken in or left out; or it is about another."""
    owner, folder, letter = one
    same = [n for n, (_, _, other) in enumerate(found) if other == letter]
    places = [f"{found[n][0]}/{found[n][1]}/{n}.json" for n in same]
    return letter.get("type") == "ack" or bool(told & {owner, f"{owner}/{folder}", *places})
