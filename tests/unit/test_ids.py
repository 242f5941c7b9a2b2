"""Identifiers: real UUIDs made without the uuid module, and short handles that do not collide by time."""

import os
import subprocess
import sys
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model import ids


def test_a_message_id_is_a_uuid_of_version_7_with_the_time_in_front():
    before = time.time_ns() // 1_000_000
    made = [ids.uuid7() for _ in range(2000)]
    after = time.time_ns() // 1_000_000
    for text in made:
        parsed = uuid.UUID(text)
        assert str(parsed) == text
        assert parsed.version == 7
        assert parsed.variant == uuid.RFC_4122
        assert before <= parsed.int >> 80 <= after
        assert ids.is_uuid(text)


def test_ids_made_in_one_millisecond_differ_and_so_do_their_handles():
    made = [ids.uuid7() for _ in range(2000)]
    assert len(set(made)) == len(made)
    assert len({ids.handle(text) for text in made}) > 1990  # of 32 random bits


def test_ids_made_in_different_milliseconds_sort_by_time(monkeypatch: pytest.MonkeyPatch):
    made = []
    for at in range(1_800_000_000_000_000_000, 1_800_000_000_100_000_000, 1_000_000):
        monkeypatch.setattr(time, "time_ns", lambda at=at: at)
        made.append(ids.uuid7())
    assert made == sorted(made)


def test_every_random_digit_takes_every_value():
    made = [ids.uuid7() for _ in range(4000)]
    for place in range(36):
        seen = {text[place] for text in made}
        if place in (8, 13, 18, 23):
            assert seen == {"-"}
        elif place == 14:
            assert seen == {"7"}
        elif place == 19:
            assert seen == set("89ab")
        elif place > 14:
            assert seen == set("0123456789abcdef"), place


def test_a_handle_is_the_end_of_its_id():
    text = ids.uuid7()
    assert text.endswith(ids.handle(text))
    assert ids.is_handle(ids.handle(text))
    assert not ids.is_uuid(ids.handle(text))
    assert not ids.is_handle(text)


@given(st.text(max_size=40))
def test_what_is_called_a_uuid_is_one(text: str):
    if ids.is_uuid(text):
        assert str(uuid.UUID(text)) == text


@pytest.mark.parametrize(
    "text", ["", "x" * 36, "0" * 36, "-" * 36, "G" * 8, "1234567", "123456789", "\u0661" * 8]
)
def test_what_is_no_id_is_not_taken_for_one(text: str):
    assert not ids.is_uuid(text)
    assert not ids.is_handle(text)


def test_an_agents_id_is_told_from_a_persons_and_is_safe_as_a_file_name():
    agent, human = ids.agent_id(), ids.human_id()
    assert (agent[0], human[0]) == ("a", "h")
    assert agent.isalnum()
    assert len({ids.agent_id() for _ in range(1000)}) == 1000


def test_children_of_a_fork_make_different_ids():
    code = (
        "import os\nfrom postroom.model.ids import uuid7, nonce\nuuid7()\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        os.write(1, (uuid7() + ' ' + nonce() + '\\n').encode())\n"
        "        os._exit(0)\n"
        "for _ in range(8): os.wait()\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    words = out.stdout.split()
    assert len(words) == len(set(words)) == 16


def test_the_uuid_module_is_not_needed(monkeypatch: pytest.MonkeyPatch):
    code = "import sys; from postroom.model import ids; ids.uuid7(); sys.exit('uuid' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, check=False, timeout=30)
    assert ran.returncode == 0


@pytest.mark.parametrize("now", [-5_000_000_000, 0, 1_794_780_365_536_000_000, (1 << 48) * 1_000_000])
def test_an_id_is_an_id_whatever_the_clock_says(now: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("postroom.model.ids.time.time_ns", lambda: now)
    assert ids.is_uuid(ids.uuid7())
    assert ids.is_uuid(ids.message_id(now // 1_000_000, 7))
