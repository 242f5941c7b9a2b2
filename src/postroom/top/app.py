"""The screen: who needs somebody, the agents, the mail, and beside them what is looked at closely."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Key
from textual.widgets import Footer, Input, Static

from postroom.errors import PostroomError
from postroom.top import detail, line
from postroom.top.doing import at_home, doing, inbox, runs, session
from postroom.top.key import BY_ACTION, BY_KEY, KEYS, Place
from postroom.top.line import Part
from postroom.top.rows import Rows
from postroom.top.source import Source
from postroom.top.steering import Steering, words
from postroom.top.text import many, plain
from postroom.top.view import View, look, look_around

SETTLE = 0.12  # seconds: a burst of events is looked at once
AROUND = 5.0  # seconds between two looks at what sessions do, which rings no bell
_WIDE = 110  # columns from which there is room beside
_FIND = "words, from:NAME to:NAME with:NAME state:dead …"
_RAIL = "●●◐○ the rungs: stored, offered, seen, acknowledged; ◐ by some of many, × where it ended otherwise"


class Top(Steering):
    """One room; told by its source when to look again."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "Postroom"
    CSS_PATH = "top.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(one.key, one.action, one.label, key_display=one.shown or None) for one in KEYS if one.action
    ]

    def __init__(self, source: Source, *, wanted: str = "") -> None:
        super().__init__(source)
        self._wanted, self._lost = wanted, ""
        self._beside: Callable[[View], detail.Lines] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Horizontal(id="desk"):
            with Vertical(id="lists"):
                for name in ("needs", "agents", "mail"):
                    yield Static(id=f"{name}-title", markup=False)
                    yield Rows(id=name, palette=self.palette)
            with VerticalScroll(id="beside", can_focus=True):
                yield Static(id="detail", markup=False)
        yield Input(id="find", placeholder=_FIND, compact=True)
        yield Static(id="said", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.rows("agents").focus()
        self._find.display = False
        self._attend()
        self._keep_up()
        self.set_interval(AROUND, self._around)

    async def on_unmount(self) -> None:
        self._source.close()

    # looking

    @work
    async def _attend(self) -> None:
        """Wait for what happens."""
        while True:
            try:
                async for _ in self._source.changes():
                    self._due.set()
            except PostroomError as exc:
                self._cut_off(exc)
                await asyncio.sleep(AROUND)

    @work
    async def _keep_up(self) -> None:
        """Look whenever there is something new, and not more often than anybody can see."""
        while True:
            self._due.clear()
            await self._look()
            await self._due.wait()
            await asyncio.sleep(SETTLE)

    async def _look(self) -> None:
        found: View | PostroomError
        try:
            found = await self._source.do(look, self._source, self._wanted)
        except PostroomError as exc:
            found = exc
        if not self.is_running:  # it was left meanwhile: nothing is there to show it
            return
        if isinstance(found, PostroomError):
            self._cut_off(found)
            return
        self._show(found)
        await self._look_closely()

    @work(exclusive=True, group="around")
    async def _around(self) -> None:
        """What sessions do is no event. Where none runs, and the room is here, nothing can have changed."""
        view = self._view
        is_alive = view is not None and any(map(session, view.agents))
        if view is None or self._lost:
            self._due.set()
        elif self.app_focus and (is_alive or view.health or not self._source.is_here):
            try:
                found = await self._source.do(look_around, self._source, view)
            except PostroomError as exc:
                self._cut_off(exc)
                return
            if (found.agents, line.failing(found.health)) != (view.agents, line.failing(view.health)):
                self._show(found)
            else:
                self.rows("agents").again()  # time goes on

    def _cut_off(self, exc: PostroomError) -> None:
        self._lost = words(exc)
        self._entitle()

    # showing

    def _show(self, view: View) -> None:
        self._view, self._lost = view, ""
        self.rows("needs").lay(lambda wide: line.needs(view, wide) + line.others(view, wide))
        nobody = f"Nobody is here yet: {at_home(view.me, 'postroom join NAME')}"
        self.rows("agents").lay(lambda wide: line.agents(view, wide), empty=nobody)
        nothing = "Nothing that fits." if self._wanted else "Nothing was written yet."
        self.rows("mail").lay(lambda wide: line.mail(view, wide), empty=nothing)
        self._arrange()
        self._entitle()

    def _arrange(self) -> None:
        """Each list has what it needs, as far as there is room; the mail has the rest."""
        tall, needs, people = self.size.height, self.rows("needs"), self.rows("agents")
        needs.styles.height = min(needs.count, max(3, tall // 6))
        needs.display = self.query_one("#needs-title").display = needs.count > 0
        people.styles.height = max(1, min(people.count, max(4, tall // 3)))
        self.set_class(self.size.width < _WIDE, "narrow")
        self.set_class(self._beside is not None, "open")
        for rows in self.query(Rows):
            rows.mark(self._of[1])
        self.refresh_bindings()

    def _entitle(self) -> None:
        view = self._view
        if self._lost:
            old = "what you see may be old: " if view else ""
            self.put("#head", [Part(f"{old}{self._lost}", "trouble")])
        elif view is not None:
            self.put("#head", _head(view))
        if view is None:
            return
        needs = (
            (len(view.mine), "decision", ""),
            (len(view.asks), "question", ""),
            (len(line.asking(view)), "agent", " that cannot go on"),
            (len(view.dead) + len(view.uncertain), "letter", " not delivered"),
        )
        kinds = ", ".join(f"{many(count, what)}{how}" for count, what, how in needs if count)
        rest = f"others decide {many(len(view.others), 'question')}" if view.others else ""
        title = [Part("Needs you", "bold"), Part(f"  {kinds}", "dim")] if kinds else []
        title += [Part(f"  {rest}" if title else f"{rest[:1].upper()}{rest[1:]}", "dim")]
        self.put("#needs-title", title)
        self.put("#agents-title", [Part("Agents", "bold")])
        some = [Part(f"  {plain(self._wanted)}", "link"), Part("  esc: all of it", "dim")]
        self.put("#mail-title", [Part("Mail", "bold"), *(some if self._wanted else [])])

    def on_resize(self) -> None:
        if self._view is not None:
            self.call_after_refresh(self._arrange)

    def on_descendant_focus(self) -> None:
        if self.screen_stack:  # at the end, the focus goes on when there is nothing left
            self.refresh_bindings()

    def on_rows_chosen(self) -> None:
        self.refresh_bindings()

    # looking closely

    def on_rows_opened(self, event: Rows.Opened) -> None:
        match event.rows.id:
            case "agents":
                self._open("agent", event.key)
            case "mail":
                self._open("message", event.key)
            case _ if self.need()[0] == "gate":
                self.action_decide()
            case _ if self.need()[0] == "request":
                self.action_answer()
            case _ if self.need()[0] == "agent":
                self._open("agent", self.need()[1])
            case _:
                self._open("message", self.need()[1])

    def _open(self, kind: str, key: str) -> None:
        shown = {"agent": detail.agent, "message": detail.message, "thread": detail.thread}[kind]
        self._lay_open((kind, key), lambda view: shown(self._source, view, key))

    def action_keys(self) -> None:
        keys = [[Part(f"{one.shown or one.key:<9}", "link"), Part(one.help)] for one in KEYS]
        shown: detail.Lines = [[Part("Keys", "bold")], [], *keys, [], [Part(_RAIL, "dim")]]
        self._lay_open(("keys", ""), lambda _: shown)

    def _lay_open(self, of: tuple[str, str], shown: Callable[[View], detail.Lines]) -> None:
        self._of, self._beside = of, shown
        self._arrange()
        beside = self.query_one("#beside", VerticalScroll)
        beside.focus()
        beside.scroll_home(animate=False)
        self._read()

    @work(exclusive=True, group="detail")
    async def _read(self) -> None:
        await self._look_closely()

    async def _look_closely(self) -> None:
        shown, view = self._beside, self._view
        if shown is None or view is None:
            return
        try:
            lines = await self._source.do(shown, view)
        except PostroomError as exc:
            lines = [[Part(words(exc), "trouble")]]
        if shown is self._beside:
            self.query_one("#detail", Static).update(self.text(lines))

    def action_leave(self) -> None:
        """Back to where one came from: out of the search, what was opened, what was found."""
        if self._find.display:
            self._find.display = False
            self.rows("mail").focus()
        elif self._beside is not None:
            where = "agents" if self._of[0] == "agent" else "mail"
            self._beside, self._of = None, ("", "")
            self._arrange()
            self.rows(where).focus()
        elif self._wanted:
            self._search("")

    def action_thread(self) -> None:
        kind, key = self._of
        is_need = self.rows("needs").has_focus and self.need()[0] != "agent"
        ref = self.need()[1] if is_need else self.rows("mail").key
        if ref := key if kind == "message" else ref:
            self._open("thread", ref)

    # finding

    def action_find(self) -> None:
        self._find.display = True
        self._find.value = self._wanted
        self.screen.set_focus(self._find)  # at once: the next key may have been pressed already

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.action_leave()
        self._search(event.value.strip())

    def action_mail_of(self) -> None:
        if one := self.agent():
            self._beside, self._of = None, ("", "")
            self._search(f"with:{one['address']}")
            self.rows("mail").focus()

    @work(exclusive=True, group="find")
    async def _search(self, wanted: str) -> None:
        try:
            await self._source.do(look, self._source, wanted, limit=1)
        except PostroomError as exc:
            self.say(words(exc), "trouble")
            return
        self._wanted = wanted
        self._due.set()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that mean something now do anything, and are listed."""
        at, key = self._place(), BY_ACTION.get(action)
        if at is None or key is None:
            return True
        return action == "leave" if self._is_elsewhere else key.when(at)

    def on_key(self, event: Key) -> None:
        """A key that means nothing now is answered, too: with where it would."""
        at, key = self._place(), BY_KEY.get(event.key)
        if at is None or key is None or self._is_elsewhere or key.when(at):
            return
        if said := key.otherwise(at):
            self.say(said)

    @property
    def _is_elsewhere(self) -> bool:
        """Whether a dialog or the search has the keys."""
        return len(self.screen_stack) > 1 or self._find.has_focus

    def _place(self) -> Place | None:
        if self._view is None:
            return None
        opened = self._of[0] if self._beside is not None else ""
        need = self.need()[0] if self.rows("needs").has_focus else ""
        is_agent = opened == "agent" or (not opened and (need == "agent" or self.rows("agents").has_focus))
        return Place(self._view, self._wanted, opened, need, self.agent() if is_agent else None)

    @property
    def _find(self) -> Input:
        return self.query_one("#find", Input)


def _head(view: View) -> list[Part]:
    agents = [one for one in view.agents if one["kind"] != "human"]
    running = sum(map(runs, agents))
    stuck = sum(bool(doing(one).trouble) for one in agents)
    facts = f"{running} of {many(len(agents), 'agent')} running · {sum(map(inbox, agents)):,} waiting"
    parts = [Part("Postroom", "bold"), Part(f"  {plain(view.me['project'])}"), Part(f"  {facts}", "dim")]
    parts += [Part(f"  {stuck} {'needs' if stuck == 1 else 'need'} somebody", "trouble")] if stuck else []
    wrong = line.failing(view.health)
    parts += [Part(f"  {wrong}", "trouble")] if wrong else []
    return parts + ([Part(f"  as {plain(view.me['agent'])}", "dim")] if view.me["agent"] else [])
