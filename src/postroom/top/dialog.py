"""Questions that are put over everything else, and what is answered."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from postroom.model.message import Json
from postroom.top import word
from postroom.top.doing import doing, hindrance
from postroom.top.text import plain

Said = tuple[str, str] | None  # what was chosen, and a note


class Dialog(ModalScreen[Said]):
    """One of several, and a few words; None where somebody thinks better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave it")]
    title_text, detail, note = "", "", ""
    choices: tuple[tuple[str, str], ...] = ()
    first = "#choices"  # where the keys go at first
    chosen: int | None = 0  # at first; None: nothing, so that no single key decides

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Label(Text(self.title_text, style="bold"), id="question")
            if self.detail:
                yield Label(Text(self.detail), id="about")
            yield OptionList(*(Option(Text(words), id=key) for key, words in self.choices), id="choices")
            if self.note:
                yield Input(placeholder=self.note, id="note", compact=True)
            note = "⇥ note   " if self.note else ""
            yield Label(Text(f"↑↓ choose   {note}⏎ do it   esc leave it", style="dim"))

    def on_mount(self) -> None:
        choices = self.query_one("#choices", OptionList)
        self.query_one(self.first).focus()
        choices.highlighted = self.chosen

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._done()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()  # behind it, what is submitted is searched for
        self._done()

    def _done(self) -> None:
        choices = self.query_one("#choices", OptionList)
        if choices.highlighted is None:
            return
        key = self.choices[choices.highlighted][0]
        note = self.query_one("#note", Input).value.strip() if self.note else ""
        self.dismiss((key, note) if key else None)

    def action_leave(self) -> None:
        self.dismiss(None)


class Decide(Dialog):
    """What a gate asks."""

    chosen = None
    note = "a note, if you like"

    def __init__(self, gate: Json) -> None:
        super().__init__()
        message = gate["message"]
        self.title_text = plain(message["subject"] or "A decision").replace("\n", " ")
        self.detail = f"{plain(message['sender'])} asks:\n\n{plain(message['body'])[:2000]}"
        self.choices = (*((option, plain(option)) for option in gate["options"]), ("", "leave it open"))


class Answer(Dialog):
    """What somebody was asked, and their words; without any, nothing is sent."""

    note, first = "your answer", "#note"

    def __init__(self, message: Json) -> None:
        super().__init__()
        self.title_text = plain(message["subject"] or "A question").replace("\n", " ")
        self.detail = f"{plain(message['sender'])} asks you:\n\n{plain(message['body'])[:2000]}"
        self.choices = (("send", "Send the answer"), ("", "leave it open"))

    def _done(self) -> None:
        is_sent = self.query_one("#choices", OptionList).highlighted == 0
        if not is_sent or self.query_one("#note", Input).value.strip():
            super()._done()


class Interrupt(Dialog):
    note = "why: told to whom it concerns"

    def __init__(self, name: str, agent: Json) -> None:
        super().__init__()
        self.title_text = f"Stop {plain(name)}?"
        hinders = word.HINDERS.get(hindrance(agent), "")
        self.detail = " ".join(filter(None, (f"Now: {doing(agent).word}.", hinders)))
        means = word.STOPS if agent.get("stops") else word.TELLS
        stop = "Stop" if agent.get("stops") else "Tell it to stop"
        names = {"stop": stop, "pause": "Pause", "cancel": "Cancel"}
        each = ((kind, f"{names[kind]}: {about}") for kind, about in means.items())
        self.choices = (*each, ("", "Leave it alone"))


class Absent(Dialog):
    """Of an agent that does not run there is nothing to stop; what else can be done for it."""

    chosen = None
    note = Interrupt.note

    def __init__(self, name: str, start: str) -> None:
        super().__init__()
        self.title_text = f"{plain(name)} does not run: there is nothing to stop"
        self.detail = f"Its mail is kept until it is started. Start it as you do, or: {start} -- COMMAND"
        self.choices = (
            ("pause", "Pause: its mail waits until it is resumed, though it is started"),
            ("cancel", "Cancel: what it was asked goes back to who asked"),
            ("", "Leave it alone"),
        )


class Sure(Dialog):
    """A plain question."""

    def __init__(self, question: str, detail: str, yes: str) -> None:
        super().__init__()
        self.title_text, self.detail = question, detail
        self.choices = (("yes", yes), ("", "Leave it"))
