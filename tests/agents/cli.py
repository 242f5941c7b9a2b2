"""What the rig must know of an agent CLI to run it: its `Cli`, one a module under `clis/`."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where an agent runs: a scratch directory with a home, a project and a place for temporary files."""

    root: str
    url: str  # of the model, without a path

    @property
    def home(self) -> str:
        return os.path.join(self.root, "home")

    @property
    def project(self) -> str:
        return os.path.join(self.root, "shop")

    @property
    def tmp(self) -> str:
        return os.path.join(self.root, "tmp")

    def write(self, path: str, content: str | dict[str, Any]) -> str:
        """Write a file, given relative to the home; where it is now."""
        whole = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, indent=2))
        return whole

    def merge(self, path: str, content: Mapping[str, Any]) -> str:
        """Set top-level keys of a JSON file of the home, and keep the others."""
        whole = os.path.join(self.home, path)
        old: dict[str, Any] = {}
        if os.path.exists(whole):
            with open(whole, encoding="utf-8") as file:
                old = json.load(file)
        return self.write(path, old | dict(content))


def _nothing(place: Place) -> dict[str, str]:
    return {}


def _no_hooks(place: Place, commands: Mapping[str, str]) -> None:
    raise NotImplementedError("this agent runs no hooks")


class Cli(NamedTuple):
    """One agent CLI, as data and small functions."""

    name: str
    seed: Callable[[Place], None]
    """Writes what a first start would ask for: accounts, trust, themes, updates."""
    env: Callable[[Place], dict[str, str]]
    """The variables it needs beyond a plain environment."""
    headless: Callable[[str], list[str]]
    """The arguments that run one prompt and end."""
    interactive: tuple[str, ...] = ()
    """The arguments that start it in a terminal."""
    wakeable: tuple[str, ...] = ()
    """The arguments that it must have, too, so that something can wake it when it is idle there."""
    prompt: str = ""
    """A pattern that the screen has while it waits for a person to write."""
    busy: str = r"(?!)"
    """A pattern that the screen has while it works, even if `prompt` is there too."""
    asks: str = r"(?!)"
    """A pattern that the screen has while it asks for a permission."""
    declines: tuple[str, ...] = ("Escape",)
    """The keys that answer such a question with no."""
    consent: Callable[[Place], tuple[str, str] | None] = lambda place: None
    """The question its next start in a terminal will ask and the tests agree to: its pattern, and a digit."""
    quit: tuple[str, ...] = ("/quit",)
    """What to write, or press if it is a key like `C-c`, to end it as a person would."""
    wire: Callable[[Place, Mapping[str, str]], None] = _no_hooks
    """Installs hooks, a shell command for each event. What was wired before is replaced."""
    events: tuple[str, ...] = ()
    """Every event it has hooks for."""
    shapes: Mapping[str, str] = {}
    """Where a hook's answer reaches the model, and the shape (of `capture.SHAPES`) it must have there."""
    resume: Callable[[str], list[str]] | None = None
    """The arguments that go on with the last session, headless, with one prompt."""
    fork: Callable[[str, str], list[str]] | None = None
    """The arguments that fork a session, by its id, headless, with one prompt."""
    question: str = "[[bash touch asked.txt]]"
    """A directive that makes `asked.txt`, for which it asks a person first."""
    subagent: str = ""
    """Directives that let a subagent run `echo sub`, and wait for it where it has to be waited for."""
    confine: Callable[[Place], list[str]] | None = None
    """Lets its commands run in its own sandbox, which writes in the project alone; the arguments for that."""
    confine_needs: tuple[str, ...] = ()
    """The programs of the machine without which that sandbox does not run."""
    compact: str = "/compact"
    clear: str = "/clear"
    hurry: Callable[[Place], dict[str, str]] = _nothing
    """Lets it give up a refused request as soon as its settings allow; the variables for that."""
    free: tuple[str, ...] = ()
    """The arguments with which it runs tools in a terminal and asks nothing."""
