"""Letters, as agents write them and as they find them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postroom.bridges.files import letter
from postroom.bridges.files.letter import Flaw, Letter
from postroom.bridges.files.schema import FOUND, LETTER, RECEIPT
from postroom.errors import InvalidLetter, InvalidPayload, KeyConflict
from postroom.model.ladder import Priority
from postroom.model.message import Mail, Message, first_delivery
from postroom.protocol import keyword
from postroom.protocol.schema import check


def message(**fields: Any) -> Message:
    empty = dict.fromkeys(Message._fields[17:])
    usual = {
        "seq": 7, "id": "01a1ec3f-d83b-7369-9bdb-d99517156075", "tenant": "local", "project": "p",
        "sender_id": "a1", "sender": "alice", "sender_role": None, "verified": "session", "to": "bob",
        "type": "note", "cls": "turn", "subject": "", "body": "hello", "thread": "t", "created_at": 1,
        "priority": Priority.NORMAL, "requires_ack": False,
    }  # fmt: skip
    return Message(**{**usual, **empty, **fields})


def found(of: Message) -> dict[str, Any]:
    mail = Mail(of, first_delivery(of, "a2", "bob"))
    return json.loads(letter.written(mail, of.sender, of.reply_to))


def read(**fields: Any) -> Letter:
    return letter.read({"id": "1", "to": "bob", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"payload": {"text": "hi"}},
        {"payload": "hi"},
        {"body": "hi"},
        {"type": "note", "payload": {"text": "hi"}},
    ],
)
def test_the_text_of_a_note_is_wherever_its_writer_put_it(fields: dict[str, Any]) -> None:
    assert (read(**fields).body, read(**fields).payload) == ("hi", None)


def test_what_else_a_note_has_in_its_payload_stays_there() -> None:
    assert read(payload={"text": "hi", "n": 1}).payload == {"n": 1}
    assert read(body="hi", payload={"text": "other"}).payload == {"text": "other"}
    assert read(type="status", payload={"text": "hi"}).payload == {"text": "hi"}


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"to": "bob"}, "id"),
        ({"id": "", "to": "bob"}, "id"),
        ({"id": "x" * 201, "to": "bob"}, "id"),
        ({"id": "a\nb", "to": "bob"}, "id"),
        ({"id": True, "to": "bob"}, "id"),
        ({"id": "1"}, "to"),
        ({"id": "1", "to": ["bob"]}, "to"),
        ({"id": "1", "to": "bob", "from": 3}, "from"),
        ({"id": "1", "to": "bob", "requiresAck": "yes"}, "requiresAck"),
        ({"id": "1", "to": "bob", "payload": [1]}, "payload"),
        ({"id": "1", "to": "bob", "expiresAt": "soon"}, "expiresAt"),
        ({"id": "1", "to": "bob", "expiresAt": "2026-11-18T09:30:00"}, "expiresAt"),
        ({"id": "1", "to": "bob", "expiresAt": "9999-12-31T23:59:59-14:00"}, "expiresAt"),
        ({"id": "1", "to": "bob", "type": "ack"}, "replyTo"),
    ],
)
def test_what_is_wrong_with_a_letter_is_said_by_its_field(item: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidLetter) as raised:
        letter.read(item)
    assert raised.value.facts["field"] == field


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe\xfa", "no JSON"),
        (b'{"id": "\xff"}', "no JSON"),
        (b'{"id": NaN}', "no JSON"),
        (b'{"n": ' + b"1" * 10_000 + b"}", "no JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b"[" + b"1," * 10_000 + b"1]", "10,001 letters"),
    ],
)
def test_what_no_letters_can_be_read_from_is_said_so(data: bytes, why: str) -> None:
    with pytest.raises(InvalidLetter, match=why):
        letter.letters(data)


def test_each_letter_of_a_file_is_read_for_itself() -> None:
    good = {"id": "1", "to": "bob", "body": "x"}
    first, second, third = letter.letters(json.dumps([good, {"id": "2"}, None]).encode())
    assert first == letter.read(good)
    assert isinstance(second, Flaw)
    assert (second.id, str(second.why)) == ("2", "it needs `to`, or replyTo")
    assert isinstance(third, Flaw)
    assert third.id == ""


def test_a_file_written_by_a_shell_of_another_system_is_read_too() -> None:
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        [one] = letter.letters('{"id": "1", "to": "bob", "body": "ä"}'.encode(encoding))
        assert isinstance(one, Letter)
        assert one.body == "ä"


@given(some.binary(max_size=200))
def test_no_bytes_do_anything_but_make_letters_or_say_why_not(data: bytes) -> None:
    try:
        found = letter.letters(data)
    except InvalidLetter:
        return
    assert all(isinstance(one, (Letter, Flaw)) for one in found)


_VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(some.dictionaries(some.sampled_from(list(LETTER["properties"])), _VALUES))
def test_what_is_read_as_a_letter_fits_the_schema(item: dict[str, Any]) -> None:
    try:
        letter.read(item)
    except InvalidLetter:
        return
    item.pop("priority", None)  # which is checked with all else that the room asks for
    item.pop("timestamp", None)
    item.pop("expiresAt", None)
    check(item, LETTER, "letter")


def test_what_an_agent_finds_fits_the_schema_and_reads_as_a_letter() -> None:
    every = [
        message(),
        message(type="status", payload={"state": "x"}, body="", subject="s", requires_ack=True, expires_at=5),
        message(reply_to="r", metadata={"a": 1}, attachments=[{"name": "n", "size": 1, "path": "/x"}]),
    ]
    for one in every:
        document = found(one)
        check(document, FOUND, "letter")
        assert letter.read(document).text == (one.body or "")
    assert found(every[0])["payload"] == {"text": "hello"}
    assert "path" not in found(every[2])["attachments"][0], "there is nothing at that path where it is read"


def test_the_schemas_have_only_words_that_are_held() -> None:
    for schema in (LETTER, FOUND, RECEIPT):
        keyword.register({key: value for key, value in schema.items() if key not in ("$schema", "title")})


def test_letters_sort_by_priority_and_then_as_they_were_sent() -> None:
    sent = [
        (Priority.LOW, 1),
        (Priority.NORMAL, 2),
        (Priority.URGENT, 300),
        (Priority.NORMAL, 10),
        (Priority.URGENT, 7),
    ]
    names = sorted(letter.inbox_name(message(priority=priority, seq=seq)) for priority, seq in sent)
    assert [letter.numbered(name) for name in names] == [7, 300, 2, 10, 1]
    assert letter.numbered("notes.json") is None


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", ".hidden", "x" * 200, "ä", "a\\b", "..", "con:1"])
def test_no_id_leads_a_receipt_astray(id: str) -> None:
    name = letter.receipt_name(id)
    assert "/" not in name
    assert name[0] != "."
    assert name.isascii()
    assert len(name) < 110
    assert name != letter.receipt_name(id + "!")


def test_a_plain_id_names_its_receipt() -> None:
    assert letter.receipt_name("msg-1") == "msg-1.json"


@pytest.mark.parametrize("file", ["job-1.json", "job.1.json", "ä.json", "x" * 150, "a.rejected.json"])
def test_no_id_has_the_name_of_a_receipt_that_is_called_after_a_file(file: str) -> None:
    name = letter.rejected_name(file)
    assert name.endswith(".rejected.json")
    assert name.isascii()
    assert len(name) < 120
    assert letter.receipt_name(name.removesuffix(".json")) != name


def test_a_receipt_fits_the_schema_whatever_it_tells() -> None:
    one = message()
    delivery = first_delivery(one, "a2", "bob")
    check(json.loads(letter.receipt("1", one, [delivery], 3, "note")), RECEIPT, "receipt")
    check(json.loads(letter.refusal("", "f.json", KeyConflict("no"), 3)), RECEIPT, "receipt")
    with pytest.raises(InvalidPayload):
        check({"id": "1"}, RECEIPT, "receipt")


def test_an_id_that_looks_like_the_receipt_of_another_has_one_of_its_own() -> None:
    name = letter.receipt_name("a b")
    assert letter.receipt_name(name.removesuffix(".json")) != name
