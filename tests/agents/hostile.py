"""Rounds against the guard: a person who types, scrolls and works at the worst moments, while mail comes.

A round has a schedule, made from a seed: what the person does, and when, beside a message. The round is over
when the room says what became of the message; then the person cleans up, by keys alone, and never says yes.
The room is not believed: whether a tool ran is told by its file, all else by what the model was asked.
"""

import itertools
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from postroom.model.ladder import Reason, State
from tests.agents.desk import Posted
from tests.agents.log import until
from tests.agents.pane import Pane, Person
from tests.agents.rig import Rig

_LASTING = {  # what waits for a person
    Reason.APPROVAL.value, Reason.DRAFT.value, Reason.COPY_MODE.value, Reason.SYNCHRONISED.value,
    Reason.UNKNOWN_SCREEN.value, Reason.UNCERTAIN.value, Reason.LEFT_TEXT.value,
}  # fmt: skip
_TOLD = 3.0  # seconds after which a person does not wait for the room any more
_AFTER = 25.0  # seconds for it to go in when nothing is in its way any more
_HEARD = 1.0  # seconds until tmux has told an Escape from the beginning of a key, and the agent has heard it
_LATE = 0.25  # seconds between a text and its Enter, by a person's hand


class Plan(NamedTuple):
    """What a person does in one round: seconds after the message was sent; negative: before."""

    number: int
    deed: str
    at: float
    thinks: float  # seconds which the model takes before it asks
    lasts: float  # seconds for which a mode is kept

    @property
    def draft(self) -> str:
        return f"unfinished thought {self.number:03}"

    @property
    def tool(self) -> str:
        return f"asked-{self.number:03}.txt"


class Count(NamedTuple):
    """What came of all rounds."""

    rounds: int
    approvals: int  # tools that asked and ran, though nobody had said yes
    drafts: int  # what a person had typed and not sent, and the model was asked
    doubles: int  # messages that stood twice in a request
    lost: int  # messages that are neither seen nor waiting with a reason; or seen, and no model was asked
    uncertain: int
    seen: int


def plans(name: str, rounds: int) -> list[Plan]:
    """The same for the same name."""
    dice = random.Random(f"postroom {name}")
    deeds = ["dialog", "dialog", "behind", "behind", "draft", "draft", "keys", "copy", "synchronised"]
    return [
        Plan(n, dice.choice(deeds), dice.uniform(-0.4, 1.0), dice.uniform(0.0, 0.5), dice.uniform(0.05, 0.6))
        for n in range(rounds)
    ]


class Rounds:
    """Plays them, one after the other, in one pane."""

    def __init__(self, pane: Pane, person: Person, behind: str = "") -> None:
        self._pane = pane
        self._terminal = pane.terminal
        self._person = person
        self._behind = behind  # a script that lets the agent work on by itself some seconds later
        self._unsent: list[str] = []  # what the person has typed, and never sent
        self._typed = 0  # characters that the person has typed in this round, and not sent
        self._answered = 0  # questions of this round
        self._posted: list[Posted] = []
        self._clock = threading.Event()
        self.ends: Counter[str] = Counter()
        self.lost: list[str] = []  # as in `Count`
        self.notes: list[str] = []  # a line a round

    def play(self, plan: Plan) -> None:
        self._typed = self._answered = 0
        self._prepare(plan)
        begin = time.monotonic() + max(0.0, -plan.at)
        doing = threading.Thread(target=self._do, args=(plan, begin + plan.at))
        doing.start()
        self._wait_for(begin)
        one = self._pane.desk.send(f"Round {plan.number}.")
        self._posted.append(one)
        doing.join(60)
        is_short = plan.number % 3 > 0 and plan.deed in ("draft", "keys")
        end = self._told(one, _LASTING | ({Reason.TYPING.value} if is_short else set()))
        self.ends[f"{plan.deed}: {end}"] += 1
        self._clean_up(take_back=plan.number % 8 > 0)
        self._settle(one, self._behind if plan.deed == "behind" else "")
        self._note(plan, one, end)

    def _note(self, plan: Plan, one: Posted, end: str) -> None:
        """How a round ended, for whoever has to explain a count."""
        now, times = self._pane.delivery(one), self._pane.times(one.mark)
        asked = f"{times} times in {len(self._pane.rig.log.requests())} requests"
        self.notes.append(f"{plan.number} {plan.deed}: {end}, then {now.state} {now.reason}; {asked}")
        if now.state is State.SEEN and not times:
            told = f"{plan}: {self._pane.words()[-1]}\n" + "\n".join(self.notes[-3:])
            raise AssertionError(f"seen, and in no request: {told}\n{self._pane.terminal.screen()}")

    def _prepare(self, plan: Plan) -> None:
        """Have the agent wait for something behind its idle prompt, after which it works on by itself."""
        if plan.deed == "behind" and self._behind:
            script = self._behind.replace("NUMBER", str(plan.number))
            self._terminal.submit(f"{script} {self._question(plan)} [[say GRANTED]]")
            until(lambda: os.path.exists(self._file(f"begun-{plan.number}")), _AFTER, "start")
            self._pane.wait_idle()

    def _question(self, plan: Plan) -> str:
        return self._pane.rig.cli.question.replace("asked.txt", plan.tool)

    def _file(self, name: str) -> str:
        return os.path.join(self._pane.rig.place.project, name)

    def _do(self, plan: Plan, at: float) -> None:
        deed: Callable[[Plan], None] = {
            "dialog": self._ask,
            "behind": self._let_go if self._behind else self._ask,
            "draft": self._draft,
            "keys": self._fidget,
            "copy": self._scroll,
            "synchronised": self._synchronise,
        }[plan.deed]
        self._wait_for(at)
        deed(plan)

    # what a person does

    def _ask(self, plan: Plan) -> None:
        """Sets it to work, so that it will ask; no Enter is pressed where the composer has more than that."""
        text = f"{plan.draft} [[sleep {plan.thinks:.2f}]] {self._question(plan)} [[say GRANTED]]"
        self._person.type(text)
        self._wait_for(time.monotonic() + _LATE)
        draft = self._pane.reading().draft or ""
        if "".join(draft.split()) == "".join(text.split()):
            self._person.type("\r")
        else:
            self._typed = len(text)
            self._unsent.append(plan.draft)

    def _let_go(self, plan: Plan) -> None:
        """What the agent waits for comes: it works on, and asks."""
        open(self._file(f"go-{plan.number}"), "w", encoding="ascii").close()

    def _draft(self, plan: Plan) -> None:
        self._unsent.append(plan.draft)
        for part in plan.draft.split(" "):
            self._person.type(f"{part} ")
            self._typed += len(part) + 1
            self._wait_for(time.monotonic() + plan.thinks / 5)

    def _fidget(self, plan: Plan) -> None:
        """Types something and takes it back."""
        word = f"qzx{plan.number:03}"
        self._unsent.append(word)
        self._person.type(word)
        self._wait_for(time.monotonic() + plan.lasts)
        self._person.type("\x7f" * len(word))

    def _scroll(self, plan: Plan) -> None:
        self._terminal.tmux("copy-mode", "-t", self._pane.id)
        self._wait_for(time.monotonic() + plan.lasts)
        if plan.number % 2:
            self._leave_copy_mode()

    def _synchronise(self, plan: Plan) -> None:
        self._terminal.tmux("set-option", "-w", "synchronize-panes", "on")
        self._wait_for(time.monotonic() + plan.lasts)
        if plan.number % 2:
            self._terminal.tmux("set-option", "-w", "synchronize-panes", "off")

    def _leave_copy_mode(self) -> None:
        mode = self._terminal.tmux("display-message", "-p", "-t", self._pane.id, "#{pane_in_mode}")
        if mode.strip() == "1":
            self._terminal.tmux("send-keys", "-t", self._pane.id, "-X", "cancel")

    def _wait_for(self, moment: float) -> None:
        """A person's clock: what is done at a moment waits for nothing else."""
        self._clock.wait(max(0.0, moment - time.monotonic()))

    # what became of it

    def _told(self, one: Posted, lasting: set[str]) -> str:
        found = ""

        def is_told() -> bool:
            nonlocal found
            now = self._pane.delivery(one)
            found = "seen" if now.state is State.SEEN else f"waits: {now.reason}"
            return now.state is State.SEEN or now.reason in lasting

        try:
            until(is_told, _TOLD)
        except AssertionError:
            pass  # it is on its way, and waits for the person
        return found

    def _clean_up(self, *, take_back: bool) -> None:
        """All modes are left, each question is answered with no, and the composer emptied.

        With `take_back`, the person takes away only what they have typed themselves.
        """
        self._leave_copy_mode()
        self._terminal.tmux("set-option", "-w", "synchronize-panes", "off")
        until(self._is_answered, _AFTER, "end of the turn")
        if take_back and self._typed:
            self._person.type("\x7f" * self._typed)
        elif not take_back:
            self._empty()

    def _is_answered(self) -> bool:
        """Whether it is idle; where it asks, it is told no."""
        state = self._pane.reading().state.value
        if state == "dialog":
            self._person.press("Escape")
            self._answered += 1
            self._wait_for(time.monotonic() + _HEARD)
        return state == "idle"

    def _empty(self) -> None:
        """Have the agent idle and its composer empty, whatever it asks meanwhile."""
        keys = itertools.cycle(("C-u", "BSpace"))

        def is_empty() -> bool:
            is_idle, draft = self._is_answered(), self._pane.reading().draft
            if is_idle and draft:
                self._person.press(next(keys))
            return is_idle and draft == ""

        until(is_empty, _AFTER, "empty composer")

    def _settle(self, one: Posted, behind: str) -> None:
        """What was not told for certain goes in now, and the next round begins with a composer at rest."""

        def is_over() -> bool:
            now = self._pane.delivery(one)
            is_asked = now.state is State.SEEN and self._pane.times(one.mark) > 0  # some milliseconds later
            is_told = is_asked or now.reason == Reason.UNCERTAIN.value
            if now.reason in (Reason.DRAFT.value, Reason.LEFT_TEXT.value):  # some put back what was stopped
                self._empty()
            return self._is_answered() and is_told and bool(self._answered or not behind)

        try:
            until(is_over, _AFTER)
        except AssertionError:
            pass  # it is counted
        self._pane.terminal.settle()
        self._empty()

    def count(self) -> Count:
        """By what the model was asked, and by the files that tools have made."""
        texts = [request.text for request in self._pane.rig.log.requests()]
        made = [name for name in os.listdir(self._pane.rig.place.project) if name.startswith("asked-")]
        times = {one.mark: max((text.count(one.mark) for text in texts), default=0) for one in self._posted}
        ends = {one.mark: self._pane.delivery(one) for one in self._posted}
        seen = [mark for mark, end in ends.items() if end.state is State.SEEN]
        doubtful = [mark for mark, end in ends.items() if end.reason == Reason.UNCERTAIN.value]
        waits = [mark for mark, end in ends.items() if end.state is State.STORED and end.reason]
        self.lost = [
            f"{mark}: {ends[mark]}"
            for mark in times
            if mark not in waits and not (mark in seen and times[mark])
        ]
        return Count(
            rounds=len(self._posted),
            approvals=len(made),
            drafts=sum(any(draft in text for text in texts) for draft in self._unsent),
            doubles=sum(number > 1 for number in times.values()),
            lost=len(self.lost),
            uncertain=len(doubtful),
            seen=len(seen),
        )


_LATER = """#!/bin/sh
touch begun-$1
until [ -e go-$1 ]; do sleep 0.01; done
"""


def behind(rig: Rig) -> str:
    """Directives that end a turn; the agent works on by itself when `go-NUMBER` is there; none: it cannot.

    A command of Claude Code that runs in the background does, for which nobody has to be asked here.
    """
    if rig.cli.name != "claude":
        return ""
    rig.place.merge(".claude/settings.json", {"permissions": {"allow": ["Bash(./later.sh:*)"]}})
    script = rig.place.write(os.path.join(rig.place.project, "later.sh"), _LATER)
    os.chmod(script, 0o700)
    call = {"command": "./later.sh NUMBER", "description": "wait", "run_in_background": True}
    return f"[[tool Bash {json.dumps(call)}]] [[say STARTED]]"
