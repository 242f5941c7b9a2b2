"""What a runtime's terminal looks like, as data: where one types, what it asks, when it works.

A runtime's module has a `profile()`; whoever types, and whoever reads, knows nothing else of it. What is not
recognised by it is not typed into. `given` makes one from a user's own table, and tries its patterns.
"""

import re
from typing import NamedTuple

from postroom.errors import InvalidValue


class Look(NamedTuple):
    """How characters look: what is named must be so, the rest may be anything."""

    dim: bool | None = None
    foreground: str | None = None  # as tmux writes it: `38;5;248`
    background: str | None = None
    reverse: bool | None = None

    def fits(self, found: "Look") -> bool:
        return all(mine is None or mine == its for mine, its in zip(self, found, strict=True))


class Most(NamedTuple):
    """How many lines something can have: a share of the terminal's, and so many."""

    share: float = 0.0
    plus: int = 0

    def lines(self, height: int) -> int:
        return int(height * self.share) + self.plus


class Composer(NamedTuple):
    """Where somebody writes. Patterns are over one line of plain text.

    Its first line is the nearest one at or above the cursor that begins so and looks so; from there it
    reaches to the line that ends it. Where that is missing, or above the cursor, it is none.
    """

    first: str
    more: str = r"  "  # how further lines of a text begin
    above: str = ""  # what the line above it is; empty: anything
    below: str = ""  # what the line below it is; empty: the cursor is in its last line, and nothing below
    foot: str = ""  # a line inside it that nobody typed, and all that follow
    empty: str = ""  # what an empty one shows after `first`; empty: nothing that could be relied on
    prompt: Look = Look()  # how `first` ends; prompts of the past look otherwise
    ground: tuple[Look, ...] = (Look(),)  # how what was typed looks, in one of these ways
    ghost: tuple[Look, ...] = ()  # what nobody typed: placeholders and suggestions
    most: Most = Most()  # how many lines it shows before it scrolls; none: all of them
    aside: int = 6  # columns of its lines that hold no text


class Fold(NamedTuple):
    """From how many lines, or characters, on a marker stands for a text, whatever the size of the terminal.

    None: by their number alone it never does.
    """

    lines: int | None = None
    chars: int | None = None

    def folds(self, text: str) -> bool:
        if self.lines is not None and text.count("\n") + 1 >= self.lines:
            return True
        return self.chars is not None and len(text) >= self.chars


class Dialog(NamedTuple):
    """Something that takes the keys while it is shown."""

    name: str
    pattern: str  # over the whole screen
    is_first: bool = False  # whether it comes before the agent can work at all: trust, login, update


# A last word that names a file or a tool: seen in Codex, Gemini, Qwen and Copilot.
PICKS = r"(?:\A|\s)[@#$]\S*\Z"


class Profile(NamedTuple):
    """One runtime's terminal."""

    composer: Composer
    busy: tuple[str, ...] = ()  # over the whole screen
    dialogs: tuple[Dialog, ...] = ()
    # What stands for a long text in the composer, all of it. What it counts is named by its groups: `lines`,
    # `breaks` between lines, `chars`, or `units` of UTF-16.
    pasted: str = ""
    folds: Fold = Fold()  # when it does so for certain
    bare: int = (
        0  # so long a line is still shown as it is: a marker that counts nothing does not stand for it
    )
    submit: str = "Enter"
    stop: tuple[str, ...] = ("Escape",)  # the keys that stop a turn
    apart: float = 0.2  # seconds between two of them: at once, Escape and Escape are one key with Alt
    deaf: tuple[str, ...] = ()  # over the whole screen: a mode in which Enter submits nothing (vim's)
    # Whether a paste may have several lines, and is still one text: only where the program asks for pastes in
    # brackets, as all do that have a profile of ours. Else each newline could be an Enter; it gets one line.
    lines: bool = True
    picks: str = ""  # a text that ends so opens a list, and Enter takes from it
    queues: bool = False  # whether what is submitted while it works waits, and stops nothing
    programs: tuple[
        str, ...
    ] = ()  # what may be in the foreground of a terminal to which this was given by hand


def of(name: str) -> Profile:
    """The profile of a runtime, by its name."""
    import importlib  # noqa: PLC0415 - not where hooks run

    return importlib.import_module(f"postroom.runtimes.{name}").profile()


# What is typed into these is run, so that no profile is for them.
SHELLS = frozenset((
    "sh", "bash", "rbash", "dash", "ash", "zsh", "fish", "ksh", "ksh93", "mksh", "oksh", "pdksh", "yash",
    "csh", "tcsh", "nu", "elvish", "xonsh", "osh", "ysh", "pwsh", "powershell",
))  # fmt: skip
_KEY = r"(?:[CMS]-)*(?:[A-Za-z][A-Za-z0-9]*|[^\sA-Za-z])"  # as tmux names them
_GIVEN = ("prompt", "busy", "dialogs", "submit", "stop", "lines", "programs")


def given(table: object, where: str = "profile") -> Profile:
    """A profile from a user's table in the config, `where` it stands; `InvalidValue` names what is wrong.

    Its composer begins with `prompt` and reaches to the end of what is shown; what follows is the draft. It
    gets one line, unless the table has `lines`: nobody else knows whether it takes pastes in brackets.
    """
    if not isinstance(table, dict):
        raise _wrong(where, "must be a table")
    for key in table:  # pyright: ignore[reportUnknownVariableType] - whatever stands there
        if key not in _GIVEN:
            raise _wrong(f"{where}.{key}", f"is not known; there are {', '.join(_GIVEN)}", str(key))  # pyright: ignore[reportUnknownArgumentType]
    values: dict[str, object] = table  # pyright: ignore[reportUnknownVariableType] - its keys are known now
    if "prompt" not in values:
        raise _wrong(f"{where}.prompt", "is missing: a pattern for how the line begins in which one types")
    profile = Profile(
        Composer(_pattern(values["prompt"], f"{where}.prompt"), more=r""),
        busy=tuple(_pattern(each, f"{where}.busy") for each in _list(values, "busy", where)),
        dialogs=_dialogs(values.get("dialogs", {}), f"{where}.dialogs"),
        submit=_key(values.get("submit", "Enter"), f"{where}.submit"),
        stop=tuple(_key(each, f"{where}.stop") for each in _list(values, "stop", where)),
        lines=_switch(values.get("lines", False), f"{where}.lines"),
        programs=tuple(_program(each, f"{where}.programs") for each in _list(values, "programs", where)),
    )
    _try_out(profile, where)
    return profile


def _try_out(profile: Profile, where: str) -> None:
    """A pattern that takes for ever on some screen would keep the daemon from everything else."""
    from postroom.runtimes.trial import too_slow  # noqa: PLC0415 - not where hooks run

    named = [("prompt", profile.composer.first), *(("busy", one) for one in profile.busy)]
    named += [(f"dialogs.{one.name}", one.pattern) for one in profile.dialogs]
    slow = too_slow(tuple(pattern for _, pattern in named))
    for key, pattern in named:
        if pattern == slow:
            raise _wrong(f"{where}.{key}", f"takes too long on some screens: {pattern!r}"[:300])


def _wrong(where: str, what: str, key: str = "") -> InvalidValue:
    """`key`: one that is not known, and may be meant for another."""
    mend = f"Mend [{'.'.join(where.split('.')[:2])}] in the config; postroom status says where that is."
    if key:
        from postroom.near import meant, near  # noqa: PLC0415 - only for who is refused

        mend = f"{meant(near(key, _GIVEN))} {mend}".strip()
    return InvalidValue(f"{where} {what}", key=where, hint=mend)


def _word(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(where, f"must be text, not {value!r}"[:200])
    return value


def _program(value: object, where: str) -> str:
    name = _word(value, where)
    if name.rpartition("/")[2] in SHELLS:
        raise _wrong(where, f"names a shell, {name}: whatever is typed there is run, so no mail is")
    return name


def _pattern(value: object, where: str) -> str:
    """A pattern that needs something to be there: one that fits nothing at all would fit everywhere."""
    try:
        is_empty = re.compile(_word(value, where), re.MULTILINE).search("")
    except (re.error, RecursionError, OverflowError) as exc:
        raise _wrong(where, f"is no regular expression: {exc}") from None
    if is_empty:
        raise _wrong(where, "fits an empty line, so it would fit everywhere")
    return str(value)


def _key(value: object, where: str) -> str:
    if not re.fullmatch(_KEY, _word(value, where)):
        raise _wrong(where, f"must be a key as tmux names it, such as Enter or C-c, not {value!r}"[:200])
    return str(value)


def _list(values: dict[str, object], key: str, where: str) -> list[object]:
    found = values.get(key, [])
    if not isinstance(found, list):
        raise _wrong(f"{where}.{key}", "must be a list")
    return found  # pyright: ignore[reportUnknownVariableType] - each is checked by who reads it


def _dialogs(value: object, where: str) -> tuple[Dialog, ...]:
    if not isinstance(value, dict):
        raise _wrong(where, "must be a table of names and patterns")
    pairs: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType] - TOML's keys are text
    return tuple(Dialog(name, _pattern(each, f"{where}.{name}")) for name, each in pairs.items())


def _switch(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, "must be true or false")
    return value
