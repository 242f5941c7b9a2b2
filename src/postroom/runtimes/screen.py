"""What a runtime's terminal looks like, as data: where one types, what it asks, when it works.

A runtime's module has a `profile()`; whoever types, and whoever reads, knows nothing else of it. What is not
recognised by it is not typed into.
"""

from typing import NamedTuple


class Look(NamedTuple):
    """How characters look: what is named must be so, the rest may be anything."""

    dim: bool | None = None
    foreground: str | None = None  # as tmux writes it: `38;5;248`
    background: str | None = None

    def fits(self, found: "Look") -> bool:
        return all(mine is None or mine == its for mine, its in zip(self, found, strict=True))


class Composer(NamedTuple):
    """Where somebody writes. Patterns are over one line of plain text.

    Its first line is the last one on the screen that begins so and looks so; from there it reaches to the
    line that ends it. Where that is missing, it is none.
    """

    first: str
    more: str = r"  "  # how further lines of a text begin
    above: str = ""  # what the line above it is; empty: anything
    below: str = ""  # what the line below it is; empty: the cursor is in its last line, and nothing below
    foot: str = ""  # a line inside it that nobody typed, and all that follow
    prompt: Look = Look()  # how `first` ends; prompts of the past look otherwise
    ground: tuple[Look, ...] = (Look(),)  # how what was typed looks, in one of these ways
    ghost: tuple[Look, ...] = ()  # what nobody typed: placeholders and suggestions


class Dialog(NamedTuple):
    """Something that takes the keys while it is shown."""

    name: str
    pattern: str  # over the whole screen
    is_first: bool = False  # whether it comes before the agent can work at all: trust, login, update


class Profile(NamedTuple):
    """One runtime's terminal."""

    composer: Composer
    busy: tuple[str, ...] = ()  # over the whole screen
    dialogs: tuple[Dialog, ...] = ()
    pasted: str = ""  # what stands for a long text in the composer
    submit: str = "Enter"
    stop: tuple[str, ...] = ("Escape",)  # the keys that stop a turn
    deaf: tuple[str, ...] = ()  # likewise: a mode in which the composer takes no text (vim's)
    lines: bool = True  # whether a paste may have several lines, and is still one text
    queues: bool = False  # whether what is submitted while it works waits, and stops nothing


def of(name: str) -> Profile:
    """The profile of a runtime, by its name."""
    import importlib  # noqa: PLC0415 - not where hooks run

    return importlib.import_module(f"postroom.runtimes.{name}").profile()


def given(table: dict[str, object]) -> Profile:
    """The profile that a user has given by hand."""
    return Profile(Composer(str(table["prompt"])))
