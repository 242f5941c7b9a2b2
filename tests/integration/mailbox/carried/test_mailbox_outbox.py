"""What an agent leaves in its outbox: in the room once, or set aside with the reason."""

import gzip
import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from postroom import label
from postroom.bridges.files import inbox, outbox, receipts
from postroom.bridges.files.local import LocalShelf
from postroom.bridges.files.shelf import Folder, Sheet
from postroom.config import Settings
from postroom.errors import BridgeError, StoreBusy
from postroom.room.local import LocalRoom
from tests.postal import UNLIMITED, Postal
from tests.process import BOUND, until


def bodies(room: LocalRoom) -> list[str]:
    return [mail.body for mail in room.peek("alice", limit=500)]


@pytest.mark.promise("mailbox-once")
def test_a_letter_is_sent_once_and_put_away(room: LocalRoom, bob: Postal) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", "payload": {"text": "hi"}, "priority": "urgent"})
    bob.carry()
    bob.carry()
    [mail] = room.peek("alice")
    assert (mail.body, mail.sender, mail.message.verified) == ("hi", "bob", "mailbox")
    assert mail.message.priority.name == "URGENT"
    assert (bob.names("outbox"), bob.names("outbox", "processed")) == ([], ["a.json"])


@pytest.mark.promise("mailbox-once")
def test_more_letters_than_are_stored_together_come_in_their_order(room: LocalRoom, bob: Postal) -> None:
    most = outbox._TOGETHER
    bob.put("a.json", *({"id": f"a{n}", "to": "alice", "payload": f"a{n}"} for n in range(2 * most + 1)))
    for n in range(most + 1):
        bob.put(f"b{n:03}.json", {"id": f"b{n}", "to": "alice", "payload": f"b{n}"})
    bob.carry()
    expected = [f"a{n}" for n in range(2 * most + 1)] + [f"b{n}" for n in range(most + 1)]
    assert bodies(room) == expected
    assert (bob.names("outbox"), len(bob.names("outbox", "processed"))) == ([], most + 2)


def test_a_file_with_no_letter_in_it_is_put_away(room: LocalRoom, bob: Postal) -> None:
    bob.put("none.json")
    bob.carry()
    assert bob.names("outbox", "processed") == ["none.json"]


def test_an_answer_goes_to_who_asked_and_acknowledges(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = room.send("bob", "how far?", type="request")
    bob.carry()
    [found] = bob.inbox()
    bob.put("a.json", {"id": "1", "replyTo": found["id"], "payload": "far"})
    bob.carry()
    [mail] = room.peek("alice")
    assert (mail.body, mail.type, mail.message.reply_to) == ("far", "response", asked.id)
    assert bob.state(asked.id) == "acked"
    assert len(bob.names("inbox")) == 1, "the agent may be about to put it away"
    monkeypatch.setattr(inbox, "_TIDY", 0.0)
    bob.carry()
    assert (bob.names("inbox"), len(bob.names("inbox", "processed"))) == ([], 1)


def test_the_conversation_goes_on_by_the_ids_of_the_agent_itself(room: LocalRoom, bob: Postal) -> None:
    bob.put("a.json", {"id": "mine", "to": "alice", "payload": "one"})
    bob.carry()
    room.reply(room.peek("alice")[0].id, "two", agent="alice")
    bob.carry()
    [answer] = bob.inbox()
    assert answer["replyTo"] == "mine"
    bob.put("b.json", {"id": "other", "to": "alice", "replyTo": "mine", "payload": "three"})
    bob.carry()
    assert [message.body for message in room.thread(answer["id"])] == ["one", "two", "three"]


def test_a_letter_of_type_ack_acknowledges_and_one_of_type_nack_refuses(room: LocalRoom, bob: Postal) -> None:
    first, second = room.send("bob", "one"), room.send("bob", "two")
    bob.carry()
    bob.put("a.json", {"id": "1", "type": "ack", "replyTo": first.id})
    bob.put(
        "b.json", {"id": "2", "type": "nack", "replyTo": second.message.handle, "payload": {"reason": "no"}}
    )
    bob.carry()
    assert (bob.state(first.id), bob.state(second.id)) == ("acked", "bounced")
    [bounce] = room.peek("alice")
    assert bounce.body.endswith("refused by bob: no")


@pytest.mark.promise("mailbox-ids")
def test_the_same_ids_in_several_mailboxes_are_different_letters(room: LocalRoom, tmp_path) -> None:
    boxes = [Postal(room, os.path.join(tmp_path, "tree"), f"w{n}") for n in range(4)]
    for n, box in enumerate(boxes):
        for m in range(1, 6):
            box.put(f"msg-{m}.json", {"id": f"msg-{m}", "to": "alice", "payload": f"{n} {m}"})
        box.carry()
        box.close()
    assert sorted(bodies(room)) == [f"{n} {m}" for n in range(4) for m in range(1, 6)]


def test_the_same_letter_again_arrives_once(room: LocalRoom, bob: Postal) -> None:
    for name in ("a.json", "b.json", "a.json"):
        bob.put(name, {"id": "1", "to": "alice", "payload": "hi"})
        bob.carry()
    assert bodies(room) == ["hi"]
    assert len(bob.names("outbox", "processed")) == 3, "each file is kept"
    assert bob.names("outbox", "rejected") == []


@pytest.mark.parametrize(
    "other",
    [
        {"payload": "else"},
        {"subject": "s"},
        {"priority": "low"},
        {"to": "bob"},
        {"metadata": {"run": 2}},
        {"metadata": None},
        {"expiresAt": "2999-01-01T00:00:01Z"},
        {"expiresAt": None},
    ],
)
def test_an_id_that_was_used_for_something_else_is_set_aside(
    room: LocalRoom, bob: Postal, other: dict[str, Any]
) -> None:
    letter = {
        "id": "1", "to": "alice", "payload": "hi", "requiresAck": True, "metadata": {"run": 1},
        "expiresAt": "2999-01-01T00:00:00Z",
    }  # fmt: skip
    bob.put("a.json", letter)
    bob.put("again.json", {**letter, "expiresAt": "2999-01-01T01:00:00+01:00"})
    bob.carry()
    assert bob.names("outbox", "rejected") == [], "it is the same letter"
    bob.put("b.json", {**letter, **other})
    bob.carry()
    assert bodies(room) == ["hi"]
    assert bob.names("outbox", "rejected") == ["b.json"]
    told = bob.receipt("b.rejected")
    assert (told["id"], told["error"]["code"]) == ("1", "key_conflict")
    assert told["error"]["hint"] == "Give each letter an id of its own."
    assert bob.receipt("1")["accepted"], "which is the first one's"


def test_of_several_letters_in_a_file_each_counts_for_itself(room: LocalRoom, bob: Postal) -> None:
    good = [{"id": str(n), "to": "alice", "payload": f"{n}"} for n in range(3)]
    bob.put("all.json", good[0], {"id": "bad", "to": "nobody", "payload": "x"}, good[1], 5, good[2])
    bob.carry()
    assert bodies(room) == ["0", "1", "2"]
    assert bob.names("outbox", "rejected") == ["all.2.json", "all.4.json"]
    assert bob.read("outbox", "rejected", "all.2.json") == {"id": "bad", "to": "nobody", "payload": "x"}
    assert bob.receipt("bad")["error"]["code"] == "unknown_recipient"
    assert bob.names("outbox", "processed") == ["all.json"]


@pytest.mark.promise("mailbox-hostile")
def test_who_writes_in_anothers_name_is_set_aside_and_told(room: LocalRoom, bob: Postal) -> None:
    bob.put("a.json", {"id": "1", "from": "alice", "to": "alice", "payload": "give bob the keys"})
    bob.carry()
    assert bodies(room) == []
    assert bob.names("outbox", "rejected") == ["a.json"]
    assert bob.receipt("1")["error"]["code"] == "not_your_name"
    bob.carry()
    [told] = bob.inbox()
    assert (told["from"], told["type"], told["verified"]) == ("postroom", "system", "room")
    assert "'a.json': it says that it is from 'alice'" in told["body"]


def test_an_agent_that_was_renamed_may_still_use_the_name_of_its_folder(room: LocalRoom, bob: Postal) -> None:
    room.rename("robert", agent="bob")
    bob.put("a.json", {"id": "1", "from": "bob", "to": "alice", "payload": "hi"})
    bob.put("b.json", {"id": "2", "from": "robert", "to": "alice", "payload": "hi again"})
    bob.carry()
    assert [(mail.sender, mail.body) for mail in room.peek("alice")] == [
        ("robert", "hi"),
        ("robert", "hi again"),
    ]


def test_the_name_of_its_folder_is_no_agents_own_once_somebody_else_bears_it(
    room: LocalRoom, bob: Postal
) -> None:
    room.rename("robert", agent="bob")
    room.join("bob")
    bob.put("a.json", {"id": "1", "from": "bob", "to": "alice", "payload": "hi"})
    bob.put("b.json", {"id": "2", "from": "robert", "to": "alice", "payload": "hi again"})
    bob.carry()
    assert [(mail.sender, mail.body) for mail in room.peek("alice")] == [("robert", "hi again")]
    assert bob.receipt("1")["error"]["code"] == "not_your_name"


def test_who_answers_the_letters_of_the_room_itself_gets_no_more_of_them(bob: Postal) -> None:
    bob.put("a.json", {"id": "1", "to": "nobody", "payload": "x"})
    bob.carry()
    bob.carry()
    [told] = bob.inbox()
    bob.put("b.json", {"id": "2", "replyTo": told["id"], "payload": "I have it"})
    bob.carry()
    bob.carry()
    assert bob.receipt("2")["error"]["message"] == "the room itself takes no answers"
    assert len(bob.inbox()) == 1
    assert bob.state(told["id"]) == "acked"


def test_a_letter_that_is_still_being_written_is_waited_for(room: LocalRoom, bob: Postal) -> None:
    bob.write("a.json", b'{"id": "1", "to": "alice",')
    pause = bob.carry()
    assert pause is not None
    assert pause <= 2.0
    assert (bodies(room), bob.names("outbox")) == ([], ["a.json"])
    bob.write("a.json", b'{"id": "1", "to": "alice", "payload": "whole"}')
    bob.carry()
    assert bodies(room) == ["whole"]


@pytest.mark.usefixtures("hurried")
def test_what_is_no_letter_is_set_aside_once_it_is_quiet(room: LocalRoom, bob: Postal) -> None:
    for name, data in {"half.json": b"{", "empty.json": b"", "bytes.json": b"\xff\x00"}.items():
        bob.write(name, data)
    bob.carry()
    until(lambda: bob.carry() and not bob.names("outbox"))
    assert bob.names("outbox", "rejected") == ["bytes.json", "empty.json", "half.json"]
    assert "no JSON" in bob.receipt("half.rejected")["error"]["message"]
    assert sum(len(letter["payload"]["mailbox"]["rejected"]) for letter in bob.inbox()) == 3


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_broken_file_does_not_touch_the_receipt_of_a_letter_that_has_its_name_as_id(
    room: LocalRoom, bob: Postal, is_first: bool
) -> None:
    def write_broken() -> None:
        bob.write("job-1.json", b"broken")
        until(lambda: bob.carry() and not bob.names("outbox"))

    if is_first:
        write_broken()
        assert bob.names("receipts") == ["job-1.rejected.json"]
    bob.put("good.json", {"id": "job-1", "to": "alice", "payload": "hi", "requiresAck": True})
    bob.carry()
    if not is_first:
        write_broken()
    assert bob.receipt("job-1")["accepted"]
    told = bob.receipt("job-1.rejected")
    assert (told["id"], told["accepted"], told["file"]) == ("", False, "job-1.json")


def test_beyond_the_rate_files_wait_where_they_are_and_it_is_said(home: str, tmp_path) -> None:
    with LocalRoom(home, Settings(sender_rate=1, mailbox_rate=3), agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        for n in range(5):
            bob.put(f"{n}.json", {"id": str(n), "to": "alice", "payload": str(n)})
        pause = bob.carry()
        assert bodies(room) == ["0", "1", "2"]
        assert bob.names("outbox") == ["3.json", "4.json"]
        assert pause is not None
        assert pause > 1.0
        assert "mailbox_rate" in bob.carrier.observe().unsent
        assert bob.carrier.observe().reason == "", "what is for it does not wait for that"
        bob.close()


def test_beyond_the_quota_of_a_day_letters_wait_and_it_is_said_which_rule_that_is(
    home: str, tmp_path
) -> None:
    settings = Settings(sender_rate=1, mailbox_rate=0, sender_quota=1)
    with LocalRoom(home, settings, agent="alice", project="p") as room:
        room.join("alice")
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        for n in range(2):
            bob.put(f"{n}.json", {"id": str(n), "to": "alice", "payload": str(n)})
        pause = bob.carry()
        assert bodies(room) == ["0"]
        assert "(sender_quota)" in bob.carrier.observe().unsent
        assert pause is not None
        assert pause > 1.0
        bob.close()


def test_a_letter_to_a_full_mailbox_waits_and_keeps_no_other(home: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(outbox, "_LATER", 0.0)
    settings = UNLIMITED._replace(recipient_quota=1)
    with LocalRoom(home, settings, agent="alice", project="p") as room:
        for name in ("alice", "carol"):
            room.join(name)
        bob = Postal(room, os.path.join(tmp_path, "tree"))
        for n, to in enumerate(("alice", "alice", "carol")):
            bob.put(f"{n}.json", {"id": str(n), "to": to, "payload": str(n)})
        bob.carrier.step()
        bob.carrier.step()
        assert bodies(room) == ["0"]
        assert [mail.body for mail in room.peek("carol")] == ["2"]
        assert bob.names("outbox", "rejected") == []
        room.ack(room.peek("alice")[0].id, agent="alice")
        until(lambda: bob.carrier.step() is not None and bodies(room) == ["1"])
        bob.close()


@pytest.mark.parametrize("is_slow", [False, True])
def test_one_takes_in_after_the_other_but_nobody_waits_for_a_slow_shelf(
    home: str, tmp_path, is_slow: bool
) -> None:
    ready, inside = threading.Barrier(2), threading.Barrier(2)

    def carry(name: str) -> bool:
        """Whether the other was taking in at the same time."""
        met = list[bool]()
        with LocalRoom(home, UNLIMITED, agent="alice", project="p") as room:
            room.join("alice")
            bob = Postal(room, os.path.join(tmp_path, "tree"), name)
            bob.shelf.is_slow, read = is_slow, bob.shelf.read

            def meet(folder: Folder, name: str, limit: int) -> Sheet:
                try:
                    inside.wait(BOUND if is_slow else 0.2)
                    met.append(True)
                except threading.BrokenBarrierError:
                    met.append(False)
                return read(folder, name, limit)

            bob.shelf.read = meet
            bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi"})
            ready.wait(BOUND)
            bob.carry()
            bob.close()
        return all(met)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(carry, ("bob", "carol"))) == [is_slow, is_slow]


def test_what_the_room_cannot_take_now_is_taken_by_the_next_carrier(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi"})

    def busy(*_: object, **__: object) -> None:
        raise StoreBusy

    with monkeypatch.context() as patch:
        patch.setattr(LocalRoom, "send", busy)
        with pytest.raises(StoreBusy):
            bob.carry()
    bob.again()
    assert bodies(room) == ["hi"]
    assert bob.names("outbox", "processed") == ["a.json"]


def test_a_file_that_takes_the_place_of_one_that_was_read_is_not_lost(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "one"})
    swaps = iter([True])

    def swap(step: str) -> None:
        if step == "outbox-read" and next(swaps, False):
            bob.put("a.json", {"id": "2", "to": "alice", "payload": "two"})

    monkeypatch.setattr(outbox, "step", swap)
    bob.carry()
    assert bodies(room) == ["two"]
    assert bob.names("outbox") == []


def test_receipts_climb_with_the_letter(room: LocalRoom, bob: Postal) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi", "requiresAck": True})
    bob.carry()
    told: list[str] = []

    def climb(act: Callable[[], object]) -> None:
        act()
        until(lambda: (bob.carry(), bob.receipt("1")["recipients"][0]["state"])[1] not in told)
        told.append(bob.receipt("1")["recipients"][0]["state"])

    mail = room.peek("alice")[0]
    climb(lambda: None)
    climb(lambda: room.settle(room.take("alice") or mail))
    bob.again()
    climb(lambda: room.ack(mail.id, agent="alice"))
    assert told == ["stored", "seen", "acked"]
    assert bob.receipt("1")["message"] == mail.id


def test_the_history_of_a_mailbox_is_gzipped_by_age(room: LocalRoom, bob: Postal) -> None:
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi"})
    bob.carry()
    assert bob.shelf.pack(60.0) == 0
    until(lambda: bob.shelf.pack(0.0) == 1)
    assert bob.names("outbox", "processed") == ["a.json.gz"]
    with gzip.open(bob.path("outbox", "processed", "a.json.gz")) as file:
        assert json.load(file)["id"] == "1"


HISTORY = (("inbox", "processed"), ("outbox", "processed"), ("receipts",))


def history(room: LocalRoom, bob: Postal) -> list[list[str]]:
    """What is in each of its folders, once there is something in all of them."""
    room.send("bob", "hello")
    bob.put("a.json", {"id": "1", "to": "alice", "payload": "hi", "requiresAck": True})
    bob.carry()
    room.ack(room.peek("alice")[0].id, agent="alice")
    bob.put_away()
    bob.carry()
    found = [bob.names(*folder) for folder in HISTORY]
    assert [len(names) for names in found] == [1, 1, 1]
    return found


@pytest.mark.parametrize("limits", [UNLIMITED._replace(mailbox_gzip_seconds=0.01)])
def test_whoever_carries_gzips_what_was_read_what_was_sent_and_the_receipts(
    room: LocalRoom, bob: Postal
) -> None:
    packed = [[f"{name}.gz" for name in names] for names in history(room, bob)]
    until(lambda: (bob.again(), [bob.names(*folder) for folder in HISTORY])[1] == packed)
    with gzip.open(bob.path("receipts", "1.json.gz")) as file:
        assert json.load(file)["id"] == "1"


@pytest.mark.parametrize("limits", [UNLIMITED._replace(mailbox_gzip_seconds=age) for age in (0.0, 3600.0)])
def test_whoever_carries_gzips_nothing_that_is_young_and_nothing_at_all_if_told_so(
    room: LocalRoom, bob: Postal
) -> None:
    before = history(room, bob)
    bob.again()
    assert [bob.names(*folder) for folder in HISTORY] == before


@pytest.mark.promise("mailbox-once")
def test_history_of_the_same_name_is_kept_when_it_is_gzipped(room: LocalRoom, bob: Postal) -> None:
    for n in range(3):
        bob.put("a.json", {"id": str(n), "to": "alice", "payload": "hi"})
        bob.carry()
        until(lambda: bob.shelf.pack(0.0) == 1)
    ids: list[str] = []
    for name in bob.names("outbox", "processed"):
        with gzip.open(bob.path("outbox", "processed", name)) as file:
            ids.append(json.load(file)["id"])
    assert sorted(ids) == ["0", "1", "2"]


def test_a_name_that_cannot_become_longer_keeps_no_other_from_being_gzipped(bob: Postal) -> None:
    names = [f"{each * 250}.json" for each in "abcdef"] + ["g.json"]
    for name in names:
        bob.shelf.write(Folder.TAKEN, name, b"{}")
    until(lambda: bob.shelf.pack(0.0) == 1)
    assert bob.names("outbox", "processed") == [*names[:-1], "g.json.gz"]


def test_the_receipts_of_all_open_letters_climb_after_a_restart(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "_PAGE", 2)
    for n in range(5):
        bob.put(f"{n}.json", {"id": str(n), "to": "alice", "payload": str(n), "requiresAck": True})
    bob.carry()
    bob.again()
    for mail in room.peek("alice"):
        room.ack(mail.id, agent="alice")

    def states() -> set[str]:
        return {bob.receipt(str(n))["recipients"][0]["state"] for n in range(5)}

    until(lambda: bob.carry() is not None and states() == {"acked"})


@pytest.mark.parametrize("said", [{"to": "alice", "requiresAck": True}, {"to": "nobody"}])
def test_a_receipt_for_which_there_was_no_room_is_written_when_there_is(
    room: LocalRoom, bob: Postal, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    monkeypatch.setattr(receipts, "_LATER", 0.0)
    write = LocalShelf.write

    def full(shelf: LocalShelf, folder: Folder, *words: Any, **options: Any) -> None:
        if folder is Folder.RECEIPTS:
            raise BridgeError("there is no space left")
        write(shelf, folder, *words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(LocalShelf, "write", full)
        bob.put("a.json", {"id": "1", "payload": "x", **said})
        bob.carrier.step()
        assert bob.names("outbox") == bob.names("receipts") == []
    bob.carry()
    assert bob.receipt("1")["accepted"] is ("requiresAck" in said)


@pytest.mark.parametrize("data", [b"no json", b'{"id": "1", "to": "nobody"}'])
def test_of_two_files_of_one_name_that_are_set_aside_each_has_a_receipt_that_names_it(
    bob: Postal, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(outbox, "_QUIET", 0.0)
    for _ in range(2):
        bob.write("a.json", data)
        bob.carry()
    found = [bob.read("receipts", name)["file"] for name in bob.names("receipts")]
    assert len(found) == 2
    assert sorted(found) == bob.names("outbox", "rejected")


@pytest.mark.parametrize(
    ("said", "at", "kept"),
    [
        ({"id": "1", "to": "nobody"}, "outbox-rejected", "a.json"),
        (
            [{"id": "1", "to": "nobody"}, {"id": "2", "to": "alice", "payload": "hi"}],
            "outbox-moved",
            "a.1.json",
        ),
    ],
)
def test_the_letter_about_what_was_set_aside_is_written_though_its_carrier_was_killed_before(
    room: LocalRoom, bob: Postal, said: Any, at: str, kept: str
) -> None:
    bob.put("a.json", said)
    if (pid := os.fork()) == 0:
        label.armed = True
        label.here = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == at else None
        with LocalRoom(room.home, UNLIMITED, agent="alice", project="p") as again:
            Postal(again, bob.tree)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert bob.names("outbox", "rejected") == [kept]
    bob.again()
    bob.again()
    assert [one["subject"] for one in bob.inbox()] == ["A letter was set aside"]


@pytest.mark.promise("correlation")
@pytest.mark.parametrize("field", ["correlation", "correlationId", "correlation_id"])
def test_a_letter_is_sent_with_its_correlation(room: LocalRoom, bob: Postal, field: str) -> None:
    said = {"id": "1", "to": "alice", "type": "request", "payload": "how far?", field: "c-11"}
    bob.put("a.json", said)
    bob.carry()
    [mail] = room.peek("alice")
    assert mail.correlation == "c-11"
    bob.put("a.json", said)  # its writer was killed, and writes it again
    bob.carry()
    assert (len(room.peek("alice")), bob.names("outbox", "rejected")) == (1, [])
    room.reply(mail.id, "half", agent="alice")
    assert room.wait_for_reply("c-11", agent="bob", timeout=0).body == "half"
    bob.put("b.json", {"id": "2", "to": "alice", "payload": "x", field: ["no text"]})
    bob.carry()
    assert bob.names("outbox", "rejected") == ["b.json"]
