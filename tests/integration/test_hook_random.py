"""A session lives at random: events, dropped texts, a transcript that lags, hooks that die.

Two things always hold. Nothing is `seen` that the model was not given; and nothing is given twice in one
context without a word of it.
"""

import random
from collections import Counter

import pytest

from postroom.model.ladder import State
from postroom.room.local import LocalRoom
from postroom.room.verify import verify
from tests.hooking import ClaudeCode
from tests.integration.test_hook_killed import AFTER_ALL_WAS_WRITTEN, AGAIN, BEFORE_ANYTHING_WAS_SHOWN

EVENTS = ("UserPromptSubmit", "PostToolBatch", "Stop", "FileChanged", "Notification")
STEPS = 40


class Lagging(ClaudeCode):
    """Its transcript is written late, though in order."""

    def __init__(self, home: str, cwd: str, chance: random.Random) -> None:
        super().__init__(home, cwd)
        self.chance = chance
        self.unwritten: list[tuple[str, str, int | None]] = []
        self.contexts: list[list[str]] = [[]]

    def _write(self, kind: str, text: str, at: int | None = None) -> None:
        self.unwritten.append((kind, text, at))
        self.flush(self.chance.randrange(len(self.unwritten) + 1))

    def flush(self, number: int) -> None:
        for kind, text, at in self.unwritten[:number]:
            super()._write(kind, text, at)
        del self.unwritten[:number]

    def take_in(self, text: str) -> None:
        self.contexts[-1].append(text)
        super().take_in(text)

    def begin(self, source: str) -> None:
        self.flush(len(self.unwritten))
        if source == "clear":
            self.end()
            self.session = self.key = self.session + "x"
            self.transcript = self.transcript.replace(".jsonl", "x.jsonl")
        self.contexts.append([])
        self.start(source)


def entries(text: str) -> list[tuple[str, bool]]:
    """The bodies in a frame, and whether each is labelled."""
    found: list[tuple[str, bool]] = []
    labelled = False
    for line in text.splitlines():
        if line.startswith("%%"):
            labelled = AGAIN in line
        elif line.startswith("number "):
            found.append((line, labelled))
    return found


def live(claude: Lagging, room: LocalRoom, chance: random.Random, n: int) -> None:
    """One thing that happens."""
    what = chance.random()
    if what < 0.35:
        room.send("builder", f"number {n};", priority=chance.choice(["normal", "normal", "urgent"]))
    elif what < 0.75:
        event = chance.choice(EVENTS)
        if event in ("PostToolBatch", "Stop"):
            claude.answer()
        claude.event(event, keep=chance.random() < 0.8)
    elif what < 0.9:
        before = chance.random() < 0.5
        step = chance.choice(BEFORE_ANYTHING_WAS_SHOWN[:2] if before else AFTER_ALL_WAS_WRITTEN)
        claude.die(chance.choice(EVENTS[:3]), step, keep=not before and chance.random() < 0.5)
    else:
        claude.begin(chance.choice(["resume", "compact", "clear"]))


@pytest.mark.promise("hook-proof")
@pytest.mark.promise("hook-context")
@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_nothing_is_seen_that_was_not_given_or_given_twice_unlabelled(
    room: LocalRoom, tmp_path, monkeypatch: pytest.MonkeyPatch, seed: int
):
    monkeypatch.setenv("POSTROOM_PROJECT", "p")
    monkeypatch.setenv("POSTROOM_AGENT", "builder")
    chance = random.Random(seed)
    room.settings = room.settings._replace(max_unproven=1_000)
    claude = Lagging(room.home, str(tmp_path), chance)
    claude.start()
    for n in range(STEPS):
        live(claude, room, chance, n)
        check(claude, room)
    claude.begin("compact")
    for _ in range(6):
        claude.prompt("a person says something")
        claude.flush(99)
        claude.answer()
        claude.flush(99)
    check(claude, room)
    for message, [delivery] in room.sent(limit=500):
        assert delivery.state in (State.SEEN, State.DEAD), message.body
    assert verify(room, deep=True).problems == []


def check(claude: Lagging, room: LocalRoom) -> None:
    given = {body for context in claude.contexts for text in context for body, _ in entries(text)}
    for message, [delivery] in room.sent(limit=500):
        assert delivery.state is not State.SEEN or message.body in given, f"{message.body} was never given"
    for context in claude.contexts:
        unlabelled = Counter(body for text in context for body, label in entries(text) if not label)
        assert not unlabelled or max(unlabelled.values()) == 1, unlabelled.most_common(1)
