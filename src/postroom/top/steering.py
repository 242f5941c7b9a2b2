"""What a person does from the screen: decide, try again, stop an agent, let it go on; and what came of it."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from rich.style import Style
from rich.text import Text
from textual import work
from textual.app import App
from textual.widgets import Static

from postroom.errors import PostroomError
from postroom.model.message import Json
from postroom.top.detail import Lines
from postroom.top.dialog import Absent, Answer, Decide, Interrupt, Said, Sure
from postroom.top.doing import at_home, attach, runs
from postroom.top.line import Part, called
from postroom.top.rows import PLAIN, STYLES, Rows
from postroom.top.source import Source
from postroom.top.text import many, plain
from postroom.top.view import View

SAID = 6.0  # seconds a line at the foot stays
_AGAIN = "It was handed over once, and nobody can tell what became of it: it may be read twice."


def words(exc: PostroomError) -> str:
    return plain(" ".join(filter(None, (str(exc), exc.hint)))).replace("\n", " ")


class Steering(App[None]):
    """The room, and acts on it; what is shown of it is `Top`'s."""

    def __init__(self, source: Source) -> None:
        is_plain = os.environ.pop("NO_COLOR", None) is not None  # textual would mistake our colours for black
        super().__init__()
        self.theme = "ansi-dark"  # the terminal's own colours, be it dark or light
        self.palette: dict[str, Style] = PLAIN if is_plain else STYLES
        self.set_class(is_plain, "plain")
        self._source = source
        self._view: View | None = None
        self._due = asyncio.Event()
        self._of: tuple[str, str] = ("", "")  # what is looked at closely: its kind and its key
        self._saying: asyncio.TimerHandle | None = None

    # saying

    def put(self, where: str, parts: list[Part]) -> None:
        self.query_one(where, Static).update(self.text([parts]))

    def text(self, lines: Lines) -> Text:
        """Never markup: what others wrote is given as it is, part by part."""
        return Text("\n").join(
            Text.assemble(*((part.text, self.palette[part.style]) for part in parts)) for parts in lines
        )

    def say(self, text: str, tone: str = "") -> None:
        """A line at the foot, for a while."""
        self.put("#said", [Part(plain(text).replace("\n", " "), tone)])
        self.query_one("#said").display = bool(text)
        if self._saying is not None:
            self._saying.cancel()
        if text:
            self._saying = asyncio.get_running_loop().call_later(SAID, self.say, "")

    # what is meant

    def rows(self, name: str) -> Rows:
        return self.query_one(f"#{name}", Rows)

    def agent(self) -> Json | None:
        """The agent that is looked at, or chosen."""
        kind, ref, _ = self.need() if self.rows("needs").has_focus else ("", "", "")
        key = self._of[1] if self._of[0] == "agent" else ref if kind == "agent" else self.rows("agents").key
        return next((one for one in self._view.agents if one["id"] == key), None) if self._view else None

    def need(self) -> tuple[str, str, str]:
        """What is chosen of what needs somebody: its kind, the message, and for whom that was."""
        kind, _, rest = (self.rows("needs").key or "").partition(" ")
        ref, _, party = rest.partition(" ")
        return kind, ref, party

    # acting

    def action_stop(self) -> None:
        one, view = self.agent(), self._view
        if one is None or view is None or one["kind"] == "human":
            self.say("Choose an agent first (⇥).")
            return

        def answered(said: Said) -> None:
            if said:
                self._do(self._stopped(one, *said))

        name = called(one["address"], view.me["project"])
        start = at_home(view.me, f"postroom spawn {name}")
        self.push_screen(Interrupt(name, one) if runs(one) else Absent(name, start), answered)

    async def _stopped(self, one: Json, kind: str, reason: str) -> str:
        address = one["address"]
        found = await self._source.ask("interrupt", address=address, kind=kind, reason=reason)
        how = "proven" if found["proven"] else "told, not stopped" if found["message"] else "not proven"
        there = "" if found["proven"] or self._view is None else at_home(self._view.me, attach(one))
        return f"{kind} {address}: {how}: {found['words']}{f'; see to it: {there}' if there else ''}"

    def action_resume(self) -> None:
        if one := self.agent():
            self._do(self._resumed(one["address"]))

    async def _resumed(self, address: str) -> str:
        found = await self._source.ask("resume", address=address)
        if not found["was_paused"]:
            return f"{address} was not paused"
        return f"{address} goes on: {many(found['released'], 'message')} released"

    def action_decide(self) -> None:
        if self._view is None or not self._view.mine:
            self.say("Nothing waits for a decision of yours.")
            return
        gates, ref = self._view.mine, self.need()[1]
        gate = next((one for one in gates if one["message"]["id"] == ref), gates[0])

        def answered(said: Said) -> None:
            if said:
                self._do(self._decided(gate["message"], *said))

        self.push_screen(Decide(gate), answered)

    async def _decided(self, message: Json, option: str, note: str) -> str:
        await self._source.ask("decide", ref=message["id"], option=option, note=note)
        return f"decided: {option}; {message['sender']} gets the answer"

    def action_answer(self) -> None:
        if self._view is None or not self._view.asks:
            self.say("Nobody waits for an answer of yours.")
            return
        asks, ref = self._view.asks, self.need()[1]
        one = next((one for one in asks if one["id"] == ref), asks[0])

        def answered(said: Said) -> None:
            if said:
                self._do(self._answered(one, said[1]))

        self.push_screen(Answer(one), answered)

    async def _answered(self, one: Json, body: str) -> str:
        await self._source.ask("reply", ref=one["id"], body=body)
        return f"answered: {one['sender']} gets it"

    def action_retry(self) -> None:
        kind, ref, party = self.need()
        if self._view is None or kind not in ("dead", "uncertain"):
            self.say("Choose a letter that was not delivered first (⇥).")
            return
        lost = [one["delivery"] for one in (*self._view.dead, *self._view.uncertain) if one["id"] == ref]
        to = next(one["recipient"] for one in lost if one["recipient_id"] == party)

        def answered(said: Said) -> None:
            if said:
                self._do(self._retried(ref, to))

        if kind == "dead":
            answered(("yes", ""))
        else:
            self.push_screen(Sure("Try it again?", _AGAIN, "Try it again"), answered)

    async def _retried(self, ref: str, to: str) -> str:
        await self._source.ask("retry", ref=ref, to=to)
        return f"{ref[-8:]} waits for {to} again"

    @work(group="act")
    async def _do(self, job: Coroutine[Any, Any, str]) -> None:
        """Something that a person wants done."""
        self.say("…")
        try:
            self.say(await job, "fine")
        except PostroomError as exc:
            self.say(words(exc), "trouble")
        self._due.set()
