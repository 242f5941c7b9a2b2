"""Kill -9, hundreds of times, at random points: then the store is held against what each process was told."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from postroom.errors import MailboxLeased
from postroom.model.ladder import State
from postroom.model.message import Mail
from postroom.room import journal
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests import crash
from tests.process import BOUND, ROOT, environment, until

ROUNDS = int(os.environ.get("POSTROOM_TEST_CRASHES", "300"))
WHOLE_GROUP = 20  # every so many rounds


class Troupe:
    """The processes of `tests.crash`, as they are now."""

    def __init__(self, home: str, log: str) -> None:
        self._reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash", home, log, str(writing)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment(),
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        self.living: dict[int, str] = {}
        self.suicides = 0
        for _ in crash.ROLES:
            self._hear()

    def _hear(self) -> int:
        """The next birth; who died for it."""
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        if self.living.pop(said["died"], None):
            self.suicides += 1
        self.living[said["born"]] = said["role"]
        return said["died"]

    def play(self, steps: int) -> None:
        """Let them do so much."""
        while steps > 0:
            steps -= len(os.read(self._reading, steps))

    def kill(self, pid: int) -> None:
        """One of them; returns when another has taken its part."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it was faster
        while pid in self.living:
            self._hear()

    def kill_all(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(BOUND)
        assert self.process.stdout is not None
        self.process.stdout.close()
        while os.read(self._reading, 65536):  # its end: the last of them is gone
            pass
        os.close(self._reading)


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalRoom, list[list[Any]]]]:
    """A room after hundreds of kills, and what everyone wrote down."""
    base = tmp_path_factory.mktemp("crash")
    home, log = str(base / "home"), str(base / "log")
    room = crash.open_room(home)
    for agent in (crash.TAKEN, crash.LISTENED, *crash.SENDERS):
        room.join(agent)
    chance = random.Random(os.urandom(8))
    troupe = Troupe(home, log)
    try:
        for number in range(1, ROUNDS + 1):
            troupe.play(chance.randrange(1, 40))
            if number % WHOLE_GROUP == 0:
                troupe.kill_all()
                troupe = Troupe(home, log)
            else:
                troupe.kill(chance.choice(list(troupe.living)))
        troupe.play(200)
    finally:
        troupe.kill_all()
    with open(log, encoding="utf-8") as file:
        lines = [
            json.loads(line[line.rindex("[") :]) for line in file
        ]  # a kill may have torn what was before
    for agent in (crash.TAKEN, crash.LISTENED):  # who comes after them is shown the rest
        while (mail := taken(room, agent)) is not None:
            lines.append([0, "shown", mail.id, mail.shown_before])
            room.settle(mail)
            lines.append([0, "settled", mail.id])
    yield room, lines
    room.close()


def taken(room: LocalRoom, agent: str) -> Mail | None:
    """The next. A process that was killed has closed its files a moment before it is gone."""
    found: list[Mail | None] = []

    def is_done() -> bool:
        with suppress(MailboxLeased):
            found.append(room.take(agent))
        return bool(found)

    until(is_done)
    return found[0]


def said(lines: list[list[Any]], word: str) -> list[list[Any]]:
    return [line[2:] for line in lines if line[1] == word]


def stored(room: LocalRoom, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(os.path.join(room.home, "room.db"))) as connection:
        return connection.execute(query).fetchall()


def states(room: LocalRoom) -> dict[str, State]:
    rows = stored(room, "SELECT m.id, d.state FROM message m JOIN delivery d ON d.seq = m.seq")
    return {id: State(state) for id, state in rows}


def test_enough_happened_to_prove_something(aftermath):
    _, lines = aftermath
    words = Counter(line[1] for line in lines)
    processes = {line[0] for line in lines}
    assert len(processes) > ROUNDS / 2
    for word in ("sent", "shown", "settled", "acked", "bounced"):
        assert words[word] > ROUNDS / 2, words
    assert any(labelled for _, labelled in said(lines, "shown"))


def test_nobody_was_told_of_an_error(aftermath):
    _, lines = aftermath
    assert said(lines, "failed") == []


@pytest.mark.promise("crash")
def test_the_file_is_sound(aftermath):
    room, _ = aftermath
    assert stored(room, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.promise("replay")
def test_its_invariants_hold_and_its_journals_rebuild_it(aftermath):
    room, _ = aftermath
    journal.sync(room)
    found = verify(room, deep=True)
    assert found.problems == []
    assert found.skipped == []


@pytest.mark.promise("crash")
def test_every_message_whose_send_returned_is_there_exactly_once(aftermath):
    room, lines = aftermath
    begun = {token for (token,) in said(lines, "sending")}
    told = {line[0]: line[1] for line in said(lines, "sent")}
    rows = stored(room, "SELECT body, id FROM message WHERE type = 'note'")
    there = dict(rows)
    assert len(there) == len(rows), "a message was stored twice"
    assert {token: there.get(token) for token in told} == told
    assert set(there) <= begun, "a message was stored that nobody sent"


@pytest.mark.promise("crash")
def test_what_was_acknowledged_settled_or_refused_is_so(aftermath):
    room, lines = aftermath
    now = states(room)
    acked = {id for (id,) in said(lines, "acked")}
    bounced = {id for (id,) in said(lines, "bounced")}
    settled = {id for (id,) in said(lines, "settled")}
    assert {now[id] for id in acked} == {State.ACKED}
    assert {now[id] for id in bounced} == {State.BOUNCED}
    assert {now[id] for id in settled} <= {State.SEEN, State.ACKED, State.BOUNCED}


@pytest.mark.promise("never-silently-twice")
def test_nothing_was_shown_again_without_saying_so(aftermath):
    _, lines = aftermath
    showings: dict[str, list[bool]] = defaultdict(list)
    for id, labelled in said(lines, "shown"):
        showings[id].append(labelled)
    assert [id for id, labels in showings.items() if not all(labels[1:])] == []
    assert any(len(labels) > 1 for labels in showings.values()), "nothing was shown twice at all"


@pytest.mark.promise("crash")
def test_nothing_was_lost(aftermath):
    """Shown to somebody, or dead after five attempts nobody lived to prove, and its sender told."""
    room, lines = aftermath
    shown = {id for id, _ in said(lines, "shown")}
    now = states(room)
    missing = {id for _, id in said(lines, "sent")} - shown
    # Who was killed between being shown a message and writing that down showed it all the same.
    attempted = {
        id
        for (id,) in stored(
            room, "SELECT m.id FROM message m JOIN delivery d ON d.seq = m.seq WHERE attempts > 0"
        )
    }
    assert missing <= attempted
    assert {now[id] for id in missing} <= {State.SEEN, State.ACKED, State.BOUNCED, State.DEAD}
    assert not {State.STORED, State.OFFERED} & {now[id] for _, id in said(lines, "sent")}


@pytest.mark.promise("bounce")
def test_each_refusal_and_each_death_sent_one_bounce(aftermath):
    room, _ = aftermath
    bounces = Counter(
        json.loads(payload)["bounce"]["message"]
        for (payload,) in stored(room, "SELECT payload FROM message WHERE sender = 'postroom'")
    )
    refused = [id for id, state in states(room).items() if state in (State.BOUNCED, State.DEAD)]
    assert set(refused) == set(bounces)
    assert set(bounces.values()) <= {1}


@pytest.mark.promise("crash")
def test_every_answer_told_is_there_once_and_has_acknowledged_its_question(aftermath):
    room, _ = aftermath
    answers = stored(room, "SELECT reply_to, body FROM message WHERE type = 'response'")
    now = states(room)
    assert len(answers) > 0
    assert {now[asked] for asked, _ in answers} == {State.ACKED}
    assert all(body == f"re {asked}" for asked, body in answers)


def test_no_sequence_number_was_used_twice_or_left_out(aftermath):
    room, _ = aftermath
    seqs = [seq for (seq,) in stored(room, "SELECT seq FROM event UNION ALL SELECT seq FROM message")]
    assert sorted(seqs) == list(range(1, len(seqs) + 1))
