"""Search: right at any moment, however far the index is, and silent about what has been taken out."""

import os
import sqlite3

import pytest

from postroom.errors import InvalidAddress, InvalidQuery, InvalidValue, StoreFull, UnknownAgent
from postroom.room import backup, keep
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from postroom.store.sqlite import search, volume, write
from tests.contract.conftest import Enter


@pytest.fixture(autouse=True)
def _small_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four messages or so fill a volume, and two are entered at once."""
    for module in (write, search):
        monkeypatch.setattr(module, "VOLUME_BITS", 3)
    monkeypatch.setattr(search, "_WIDTH", 8)
    monkeypatch.setattr(volume, "BATCH", 2)
    monkeypatch.setattr(volume, "ROWS", 2)
    monkeypatch.setattr(volume, "FEW", 1)


def bodies(room: LocalRoom, query: str, **options) -> list[str]:
    return [hit.message.body for hit in room.search(query, **options)]


def volumes(room: LocalRoom) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(room.home, "search")))
    except FileNotFoundError:
        return []


@pytest.mark.promise("search")
def test_a_message_is_found_as_soon_as_it_is_sent_and_newest_first(room: LocalRoom):
    sent: list[str] = []
    for n in range(40):
        room.send("builder", f"the needle {n}")
        room.send("builder", f"only hay {n}")
        sent.insert(0, f"the needle {n}")
        if n % 9 == 0:
            assert bodies(room, "needle", limit=100) == sent
    assert bodies(room, "needle", limit=100) == sent
    assert bodies(room, "needle", limit=3) == sent[:3]
    assert len(volumes(room)) > 5


def test_only_the_volumes_that_are_needed_are_made(room: LocalRoom):
    for n in range(30):
        room.send("builder", f"hay {n}")
    assert bodies(room, "hay", limit=2) == ["hay 29", "hay 28"]
    assert len(volumes(room)) <= 2


def test_pages_meet_without_a_gap(room: LocalRoom):
    for n in range(30):
        room.send("builder", f"hay {n}")
    found: list[str] = []
    before: int | None = None
    while page := room.search("hay", limit=7, before=before):
        found += [hit.message.body for hit in page]
        before = page[-1].message.seq
    assert found == [f"hay {n}" for n in reversed(range(30))]


def test_subject_body_and_payload_are_searched_and_the_hit_says_which(room: LocalRoom):
    room.send("builder", "in the body: alpha", subject="beta", payload={"deep": [{"gamma": "delta\nomega"}]})
    for word, field in (("alpha", "body"), ("beta", "subject"), ("gamma", "payload"), ("omega", "payload")):
        [hit] = room.search(word)
        assert hit.snippet.field == field
        [(start, end)] = hit.snippet.marks
        assert hit.snippet.text[start:end] == word
    assert room.search("nomega") == []


@pytest.mark.promise("search")
def test_filters_leave_what_they_ask_for(room: LocalRoom, clock):
    room.join("human:ana")
    first = room.send("builder", "word one", type="request")
    clock.advance(100)
    moment = clock.now
    room.send("planner", "word two", sender="builder")
    room.send("human:ana", "word three", thread=first.message.thread)
    room.take("builder")
    mail = room.take("human:ana")
    assert mail
    room.ack(mail)
    assert bodies(room, "word", sender="builder") == ["word two"]
    assert bodies(room, "word", to="builder") == ["word one"]
    assert bodies(room, "word", to="human:ana", sender="planner") == ["word three"]
    assert bodies(room, "word", type="request") == ["word one"]
    assert bodies(room, "word", thread=first.id) == ["word three", "word one"]
    assert bodies(room, "word", since=moment) == ["word three", "word two"]
    assert bodies(room, "word", until=moment - 1) == ["word one"]
    assert bodies(room, "word", until=0) == []
    assert bodies(room, "word", state="acked") == ["word three"]
    assert bodies(room, "word", state="offered", to="builder") == ["word one"]
    assert bodies(room, "word", state="offered", to="human:ana") == []
    assert bodies(room, "word", to="@builders") == []
    assert bodies(room, "word -two -three") == ["word one"]


@pytest.mark.parametrize("few", [1, 1000])
def test_a_state_is_asked_for_the_same_whether_few_or_many_have_it(
    room: LocalRoom, few: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "_FEW", few)
    for n in range(12):
        room.send("builder", f"hay {n}")
        if n % 3:
            mail = room.take("builder")
            assert mail
            if n % 3 == 1:
                room.ack(mail)
    stored, offered, acked = (bodies(room, "hay", state=one) for one in ("stored", "offered", "acked"))
    assert (len(stored), len(offered), len(acked)) == (4, 4, 4)
    assert sorted(stored + offered + acked) == sorted(bodies(room, "hay"))


def test_a_filter_that_makes_no_sense_is_refused(room: LocalRoom):
    with pytest.raises(UnknownAgent):
        room.search("word", sender="nobody")
    with pytest.raises(InvalidValue):
        room.search("word", state="lost")
    with pytest.raises(InvalidAddress):
        room.search("word", to="no body")
    with pytest.raises(InvalidQuery):
        room.search("-word")


def test_what_the_room_itself_wrote_can_be_asked_for(room: LocalRoom):
    room.send("builder", "unwelcome")
    mail = room.take("builder")
    assert mail
    room.nack(mail, "too late")
    [hit] = room.search("late", sender="postroom")
    assert hit.message.type == "system"


@pytest.mark.parametrize(
    "query",
    ['"', 'a" OR "b', "body:x", "subject : (", "a NEAR(b, 2)", "^a", "a + b", "{body} : a", "a AND OR", "*a",
     "'; DROP TABLE words", "a\0b", "\ud7ff x", "((((", "-- a", "x" * 4000, "a OR b " * 21],
)  # fmt: skip
def test_nothing_that_is_typed_has_a_meaning_of_its_own_to_the_index(room: LocalRoom, query: str):
    room.send("builder", "a b x body subject NEAR 2")
    try:
        room.search(query)
    except InvalidQuery:
        pass


@pytest.mark.promise("tenants")
def test_a_tenant_finds_only_its_own(room: LocalRoom, enter: Enter):
    other = enter("planner", tenant="an/other")
    other.join("planner")
    for n in range(12):
        room.send("builder", f"ours {n}")
        other.send("planner", f"theirs {n}")
    assert len(bodies(room, "ours OR theirs")) == 12
    assert set(bodies(other, "ours OR theirs")) == {f"theirs {n}" for n in range(12)}


# what is taken out


def words_in_files(room: LocalRoom, word: str) -> set[str]:
    """The files of the index in which a word stands, in whatever page."""
    directory, found = os.path.join(room.home, "search"), set[str]()
    for name in volumes(room):
        with open(os.path.join(directory, name), "rb") as file:
            if word.encode() in file.read():
                found.add(name)
    return found


@pytest.mark.promise("search-forgets")
@pytest.mark.parametrize("how", ["redact", "prune", "purge", "delete"])
def test_what_is_taken_out_is_gone_from_the_index_and_from_its_files(room: LocalRoom, clock, how: str):
    for n in range(6):
        room.send("builder", f"hay {n}")
    ref = room.send("builder", "it is quetzalcoatl").id
    for n in range(6):
        room.send("builder", f"more hay {n}")
    assert bodies(room, "quetzalcoatl") == ["it is quetzalcoatl"]
    assert words_in_files(room, "quetzalcoatl")
    kept = set(volumes(room))
    match how:
        case "redact":
            keep.redact(room, ref)
        case "prune":
            mail = room.take("builder", id=ref)
            assert mail
            room.ack(mail)
            clock.advance(10)
            keep.prune(room, clock.now)
        case "purge":
            for _ in range(5):
                with room.write() as tx:
                    message = tx.message(ref)
                    assert message
                    mail = tx.mail(message.seq, room.who("builder").id)
                    assert mail
                    if mail.delivery.state != "dead":
                        tx.append("delivery.dead", room.who("builder").id, about=message, status="dead")
            from postroom.room.dead import purge

            purge(room, ref)
        case _:
            room.delete_project("p")
    assert words_in_files(room, "quetzalcoatl") == set()
    if how != "delete":
        assert kept & set(volumes(room)), "the other volumes stay"
        assert len(bodies(room, "hay", limit=50)) == 12
    assert bodies(room, "quetzalcoatl") == []
    assert words_in_files(room, "quetzalcoatl") == set()
    if how != "purge":
        assert verify(room).problems == []


@pytest.mark.promise("search-forgets")
def test_who_indexes_while_a_message_is_redacted_leaves_no_word_of_it(
    room: LocalRoom, enter: Enter, monkeypatch: pytest.MonkeyPatch
):
    ref = room.send("builder", "it is quetzalcoatl").id
    other, enter_words, done = enter("planner"), volume.Volume._enter, list[str]()

    def redacted_meanwhile(self: volume.Volume, *args) -> int:
        entered = enter_words(self, *args)
        if not done:
            done.append(ref)
            keep.redact(other, ref)
        return entered

    monkeypatch.setattr(volume.Volume, "_enter", redacted_meanwhile)
    assert bodies(room, "quetzalcoatl") == []
    assert done
    assert words_in_files(room, "quetzalcoatl") == set()


def test_after_a_restore_nothing_is_found_that_the_backup_does_not_have(room: LocalRoom, tmp_path):
    for n in range(4):
        room.send("builder", f"old {n}")
    backup.backup(room, str(tmp_path / "copy.db"))
    for n in range(9):
        room.send("builder", f"lost {n}")
    assert len(bodies(room, "old OR lost")) == 13
    backup.restore(room, str(tmp_path / "copy.db"))
    assert bodies(room, "lost") == []
    for n in range(9):
        room.send("builder", f"new {n}")
    assert bodies(room, "lost") == []
    assert len(bodies(room, "new")) == 9
    assert len(bodies(room, "old")) == 4


# where there is no index


def looks_through_everything(room: LocalRoom) -> None:
    for n in range(20):
        room.send("builder", f"Näedle {n}" if n % 2 else f"hay {n}", type="request" if n < 10 else "note")
    assert bodies(room, "naed*", type="request") == [f"Näedle {n}" for n in (9, 7, 5, 3, 1)]
    assert bodies(room, "naedle -9", limit=2) == ["Näedle 19", "Näedle 17"]


@pytest.mark.promise("search")
def test_without_fts5_every_message_is_looked_through(room: LocalRoom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(volume, "is_possible", lambda: False)
    looks_through_everything(room)
    assert volumes(room) == []


def test_where_the_index_finds_no_place_every_message_is_looked_through(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    def full(path: str) -> None:
        raise StoreFull(path=path)

    monkeypatch.setattr(volume.link, "create", full)
    looks_through_everything(room)


def test_a_full_disk_leaves_the_index_where_it_is_and_the_answer_right(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    looks_through_everything(room)
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = 13

    def fill(*args) -> None:
        raise full

    monkeypatch.setattr(volume.Volume, "fill", fill)
    room.send("builder", "Naedle 20")
    assert bodies(room, "naedle", limit=2) == ["Naedle 20", "Näedle 19"]


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 2000])
def test_a_damaged_volume_is_made_anew(room: LocalRoom, damage: bytes):
    for n in range(20):
        room.send("builder", f"hay {n}")
    before = bodies(room, "hay")
    for name in volumes(room):
        with open(os.path.join(room.home, "search", name), "r+b") as file:
            file.truncate(len(damage))
            file.write(damage)
    assert bodies(room, "hay") == before
    assert bodies(room, "hay") == before


def test_a_volume_that_turns_out_to_be_damaged_on_the_way_is_done_without(
    room: LocalRoom, monkeypatch: pytest.MonkeyPatch
):
    for n in range(20):
        room.send("builder", f"hay {n}")

    def pages(self: volume.Volume, match: str, before: int):
        yield from list(whole(self, match, before))[:1]
        raise sqlite3.DatabaseError("database disk image is malformed")

    whole = volume.Volume.pages
    monkeypatch.setattr(volume.Volume, "pages", pages)
    assert bodies(room, "hay") == [f"hay {n}" for n in reversed(range(20))]


def test_a_room_that_cannot_be_written_is_searched_as_far_as_the_index_goes_and_beyond(room: LocalRoom):
    for n in range(10):
        room.send("builder", f"hay {n}")
    room.search("hay")
    for n in range(10, 20):
        room.send("builder", f"hay {n}")
    before = volumes(room)
    room.store.readonly = True
    assert bodies(room, "hay") == [f"hay {n}" for n in reversed(range(20))]
    assert volumes(room) == before
    room.store.readonly = False


def test_the_index_is_for_its_owners_eyes_only(room: LocalRoom):
    room.send("builder", "hay")
    room.search("hay")
    assert os.stat(os.path.join(room.home, "search")).st_mode & 0o777 == 0o700
    for name in volumes(room):
        assert os.stat(os.path.join(room.home, "search", name)).st_mode & 0o777 == 0o600
