"""A room in which a day of work has happened: what the page's tests and the screenshots of the docs show.

What was said is played with a clock of its own, hours ago; who is there now is real:
processes whose hooks have run.
"""

import os
import random
from typing import Any

from postroom import config, host
from postroom.clock import wall
from postroom.config import Settings
from postroom.model.message import Sent
from postroom.room import glance
from postroom.room.authority import Operator
from postroom.room.berth import occupy
from postroom.room.local import LocalRoom
from postroom.room.manners import pause
from tests.player import Player, started

PROJECT, OTHER, PERSON = "shop", "infra", "human:ana"
ROUTES = ("hook:PostToolBatch", "hook:PostToolBatch", "hook:Stop", "acp", "codex", "tmux")
AGENTS = (
    ("planner", "planner", "Plans the release and hands out the work."),
    ("backend", "builder", "The API and what it stores."),
    ("frontend", "builder", "The checkout pages."),
    ("reviewer", "reviewer", "Ask before you merge."),
    ("tester", "tester", "Runs the long suites."),
    ("docs", "writer", "Manuals, and the changelog."),
)
TALK = (
    ("planner", "backend", "Refund endpoint", "dispatch",
     "Please add `POST /refunds` with the rules from the ticket: partial refunds are "
     "allowed, never more than was paid, idempotent by key. The table is there since "
     "migration 41."),
    ("backend", "planner", "Webhook half done", "status",
     "The signature check is in, the retry queue is next. Nothing is uncommitted."),
    ("tester", "backend", "test_cart_merge is flaky", "discovery",
     "It failed twice in 40 runs, always with the same seed. I think the clock is read "
     "twice in `merge()`."),
    ("backend", "@builders", "The contract has changed", "coordination",
     "`amount` is now `amount_cents` in both directions. The old name is accepted until "
     "Friday."),
    ("frontend", "backend", "Which currency wins?", "request",
     "The cart has EUR, the coupon USD. The ticket does not say. I would refuse the "
     "coupon."),
    ("planner", "topic:releases", "1.4 is frozen", "status",
     "Only fixes from now on. The branch is `release/1.4`."),
    ("planner", "reviewer", "Review, please", "request",
     "feat/refunds is ready: 6 files, 214 lines. Look at `ledger.py`, where the lock is "
     "taken before the balance is read."),
    ("docs", "backend", "How is a refund named?", "request",
     "The API says refund, the page says credit. Which one goes into the manual?"),
    ("tester", "planner", "The long suite is green", "worker_done",
     "1,204 passed on feat/refunds, none skipped."),
    ("backend", "reviewer", "Smaller now", "note",
     "I have split the migration off, as you said."),
)  # fmt: skip
DONE = (
    "Done on `feat/refunds`. Two decisions of mine that you may want to see: amounts are "
    "integers in cents, and a second refund with the same key answers 200 with the first "
    "one’s id."
)
REMARKS = (
    "Two remarks, neither blocks:\n\n1. `refund()` reads the balance twice. Harmless under "
    "the lock, but the second read is what the test mocks.\n2. The error for a currency "
    'mismatch says "invalid". Say which two.\n\n```\nraise CurrencyMismatch(paid="EUR", '
    'asked="USD")\n```\n\nMerge when you have looked.'
)
WORK = {
    "worker_done": {"task": "long suite", "summary": "green"},
    "dispatch": {"task": "refund endpoint"},
    "discovery": {"summary": "flaky"},
}


class Past:
    """A clock that goes as all do, some time behind."""

    def __init__(self, seconds: float) -> None:
        self._behind = 0
        self.behind(seconds)

    def __call__(self) -> int:
        return wall() - self._behind

    def behind(self, seconds: float) -> None:
        self._behind = max(0, int(seconds * 1000))

    def advance(self, seconds: float) -> None:
        """Come nearer to now, and not further."""
        self._behind = max(0, self._behind - int(seconds * 1000))


class Scripted:
    """A room of many hands; ends what it started."""

    def __init__(self, home: str, place: str, *, hours: float = 0.0) -> None:
        self.home, self._place = home, place
        self._clock = Past(hours * 3600)
        self._chance = random.Random(7)
        self._players: list[Player] = []
        self.room = LocalRoom(home, Settings(sender_rate=0), project=PROJECT, clock=self._clock)
        for name, role, about in AGENTS:
            self.room.join(name, role=role, description=about)
        self.room.join(f"{OTHER}/ops", role="operator", description="Deploys.")
        self.room.join(PERSON)
        for name in ("backend", "reviewer", "tester", "docs"):
            self.room.subscribe("releases", agent=name)

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: object) -> None:
        for player in self._players:
            player.__exit__()
        self.room.close()

    def send(self, sender: str, to: str, subject: str, body: str, **options: Any) -> Sent:
        return self.room.send(to, body, sender=sender, subject=subject, **options)

    def work(self, count: int = 60, hours: float = 20.0) -> None:
        """Talk through the day until half an hour ago; all of it is read."""
        for n in range(count):
            self._clock.behind(
                1800 + (hours * 3600 - 1800) * (1 - (n + self._chance.uniform(-0.4, 0.4)) / count)
            )
            sender, to, subject, kind, body = TALK[self._chance.randrange(len(TALK))]
            sent = self.send(sender, to, subject, body, type="note" if kind in WORK else kind)
            self._read(sent, self._chance.choice(ROUTES))
        self._clock.behind(0)

    def _read(self, sent: Sent, route: str, *, ack: bool | None = None) -> None:
        for delivery in sent.deliveries:
            self._clock.advance(self._chance.expovariate(1 / 4))
            mail = self.room.take(delivery.recipient, id=sent.id, route=route)
            assert mail is not None
            self._clock.advance(min(10.0, self._chance.expovariate(1 / 2)))
            self.room.settle(mail)
            if ack if ack is not None else self._chance.random() < 0.75:
                self._clock.advance(self._chance.expovariate(1 / 30))
                self.room.ack(sent.id, agent=delivery.recipient)

    def end_of_day(self) -> None:
        """The last half hour: a thread, a question, a dead letter, and mail that waits."""
        self._clock.behind(1500)
        asked = self.send(
            "planner", "backend", "Refund endpoint", TALK[0][4], requires_ack=True, type="request"
        )
        self._read(asked, "hook:PostToolBatch", ack=False)
        self._clock.advance(60)
        done = self.room.reply(asked.id, DONE, agent="backend")
        self._read(done, "hook:Stop", ack=True)
        look = self.send("planner", "reviewer", "Review, please", TALK[6][4], type="request", thread=asked.id)
        self._read(look, "acp", ack=False)
        self._clock.advance(90)
        remarks = self.room.reply(look.id, REMARKS, agent="reviewer")
        self._read(remarks, "hook:PostToolBatch", ack=True)
        self._clock.advance(40)
        self.lose(
            "planner",
            "tester",
            "Long suite",
            "Run the long suite on feat/refunds, and tell me only what fails.",
        )
        self._clock.advance(30)
        phones = "The pay button leaves the screen on the smallest phones."
        self.send("tester", "frontend", "Checkout breaks at 320 px", phones, type="request", priority="high")
        self.send(
            "planner", "docs", "Changelog for 1.4", "Please write the entry for refunds. Two sentences."
        )
        self.ask(
            "backend",
            "Deploy 1.4?",
            "All checks are green on 9f31c02. May I deploy 1.4 to production?",
            ["now", "tonight", "no"],
        )
        self._clock.behind(0)

    def ask(self, sender: str, subject: str, body: str, options: list[str], *, to: str = PERSON) -> Sent:
        return self.send(
            sender, to, subject, body, type="decision_gate", payload={"options": options}, expires=3000
        )

    def lose(self, sender: str, to: str, subject: str, body: str) -> Sent:
        """A letter that was given up."""
        sent = self.send(sender, to, subject, body)
        with self.room.write() as tx:
            about = {"reason": "offered five times, and never proven to be seen"}
            for delivery in sent.deliveries:
                tx.append(
                    "delivery.dead", delivery.recipient_id, about=sent.message, payload=about, status="dead"
                )
        return sent

    def people(self) -> None:
        """Who is there now: one works, one needs leave, one is idle, one is paused; others do not run."""
        for name, event in (("planner", "Stop"), ("backend", "PostToolBatch"), ("frontend", "Notification")):
            self.begin(name, event)
        pause(self.room, self.room.known("docs"), Operator(PERSON, "human"), paused=True)

    def begin(self, name: str, event: str) -> Player:
        """A session of an agent, which has come to an event."""
        work = os.path.join(self._place, name)
        player = Player(self.home, work, f"session-{name}", POSTROOM_PROJECT=PROJECT, POSTROOM_AGENT=name)
        self._players.append(player)
        self.sign(name, "SessionStart")
        player.hook("SessionStart", source="startup")
        self.sign(name, event)
        return player

    def bridged(self, name: str, does: str, words: str, reason: str = "") -> None:
        """An agent in a terminal, at which somebody has just looked."""
        agent, child = self.room.known(name), started()
        self._players.append(Player(self.home, os.path.join(self._place, name), actor=child))
        occupy(self.room, agent, "tmux", host.identity_of(child.pid))
        glance.put(self.home, agent.id, glance.Glance(does, words, reason, wall(), host.identity()))

    def sign(self, name: str, event: str) -> None:
        """Leave a sign of life, as the shell half of a hook does."""
        path = config.beside(self.home, "life", f"session-{name}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{event}\n")
