"""How a runtime is set up: what is written where, so that it runs our hooks, or starts the server of our
tools. Pure: nothing is written here.

A runtime's module has a function `wiring()`, so that its hooks do not load this.
"""

import json
from collections.abc import Callable, Mapping
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.model.message import Json

if TYPE_CHECKING:
    from postroom.runtimes.contract import Runtime


class Place(NamedTuple):
    """Where a runtime is set up, and for which room."""

    here: str  # the directory in which it is asked for
    user: str  # the user's home directory
    project: str  # the project's directory; empty: for all that the user does
    room: str  # the room's home
    hook: str  # the program that all hooks run
    commands: Mapping[str, str]  # a shell command for each event
    environment: Mapping[str, str]
    allow: bool = False  # let the agent run our commands without asking
    plugin: str = ""  # the directory for a plugin, if it shall be one
    server: str = ""  # the program that serves our tools, with `mcp` as its argument

    def tools(self, **more: Any) -> Json:
        """How most runtimes are told to start the server of our tools, and `more` of one of them."""
        return {"command": self.server, "args": ["mcp"], "env": {"POSTROOM_HOME": self.room}, **more}


class Purpose(Flag):
    """What a change to a file is for; it may be several."""

    HOOKS = auto()
    SANDBOX = auto()
    ALLOW = auto()
    PLUGIN = auto()
    MARKETPLACE = auto()
    MANIFEST = auto()
    WAKE = auto()
    TOOLS = auto()

    @property
    def sentence(self) -> str:
        """As its user is told."""
        return "; ".join(_SENTENCES[each] for each in self)

    def part(self, hooks: int) -> str:
        """The same in a word or two, where there are so many hooks."""
        return " and ".join(_PARTS[each].format(hooks) for each in self)


_SENTENCES = {
    Purpose.HOOKS: "the hooks that show mail to the agent",
    Purpose.SANDBOX: "lets commands in the sandbox write to the room",
    Purpose.ALLOW: "lets the agent run postroom without asking you",
    Purpose.PLUGIN: "the plugin that shows mail to the agent",
    Purpose.MARKETPLACE: "the marketplace",
    Purpose.MANIFEST: "the plugin",
    Purpose.WAKE: "wakes an idle session, with --experimental",
    Purpose.TOOLS: "the MCP server that gives the agent its mailbox as tools",
}


_PARTS = {
    Purpose.HOOKS: "{} hooks",
    Purpose.SANDBOX: "1 writable directory",
    Purpose.ALLOW: "1 permission",
    Purpose.PLUGIN: "the plugin",
    Purpose.MARKETPLACE: "the marketplace",
    Purpose.MANIFEST: "the plugin's description",
    Purpose.WAKE: "the extension that wakes it",
    Purpose.TOOLS: "the MCP server `postroom`",
}


class Entry(NamedTuple):
    """A member of a document that is ours as a whole, by the names above it and its own."""

    names: tuple[str, ...]
    value: Json


Content = Json | Entry | str  # to be merged into a file (JSON or TOML, by its name); or all of it


class Edit(NamedTuple):
    """A change to one file."""

    path: str
    content: Content
    purpose: Purpose


Read = Callable[[str], str]  # a file's text; empty when it is not there


class Reviews(NamedTuple):
    """Where a runtime keeps that its user has reviewed our hooks: tables in a TOML file."""

    path: str
    parent: tuple[str, ...]  # the table above them
    names: list[str]


class Sandbox(NamedTuple):
    """The sandbox that a runtime has, on Linux, in words."""

    switch: str  # what it is switched on by, and what it needs
    hooks: str = ""  # where hooks run then; empty: nobody has tried
    tools: str = ""  # the same of the server of our tools


def nothing(_: Place) -> list[Edit]:
    return []


class Wiring(NamedTuple):
    """What is known of setting up a runtime."""

    edits: Callable[[Place], list[Edit]] = nothing
    trusted: Callable[[Place, Read], bool | None] | None = None  # whether our hooks may run; None: unknown
    trust: str = ""  # what makes them trusted
    skips: bool = False  # whether it skips them in silence until then
    headless: tuple[str, ...] = ()  # the words that, with a prompt after them, run that and end
    left_to_do: Callable[[Place, Read], list[str]] | None = None  # what only the user can do, and has not
    left_to_undo: Callable[[Place, Read], list[str]] | None = None  # the same, when our files are gone
    reviews: Callable[[Place, Read], "Reviews"] | None = None  # what it keeps of our hooks
    hook_files: Callable[[Place, Read], list[str]] | None = None  # which it takes from elsewhere
    sandbox: Sandbox | None = None
    instead: str = ""  # where nothing can be wired: what to do
    confined: Callable[[Place, Read], tuple[str, ...]] | None = (
        None  # the words that run others in its sandbox
    )
    login_shell: bool = False  # whether its tools run in one, which makes a PATH of its own
    tools: Callable[[Place], list[Edit]] = nothing  # what has it start the server of our tools
    # Why its sandbox keeps our hooks from working, if it does, and what to do.
    hindrance: Callable[[Place, Read], tuple[str, str] | None] | None = None

    @property
    def has_hooks(self) -> bool:
        return self.edits is not nothing

    @property
    def has_tools(self) -> bool:
        return self.tools is not nothing


def served(path: str, *names: str, value: Json) -> list[Edit]:
    """The entry of our server, which is called `postroom` everywhere."""
    return [Edit(path, Entry((*names, "postroom"), value), Purpose.TOOLS)]


def of(name: str) -> Wiring:
    """The wiring of a runtime."""
    module = __import__(f"postroom.runtimes.{name}", fromlist=["wiring"])
    found: Wiring = module.wiring()
    return found


def nested(runtime: "Runtime", place: Place) -> Json:
    """The hooks of a runtime in the form that most of them share: event → groups → commands."""
    hooks: Json = {}
    for point in runtime.points:
        seconds = point.timeout * (1000 if runtime.milliseconds else 1)
        command = {"type": "command", "command": place.commands[point.event], "timeout": int(seconds)}
        group: Json = {"matcher": point.matcher} if point.matcher else {}
        hooks.setdefault(point.event, []).append({**group, "hooks": [command]})
    return hooks


def loose(text: str) -> Json:
    """What a runtime's JSON says, which may have lines that are comments. Raises `ValueError`."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("//"))
    try:
        return json.loads("\n".join(lines) or "{}")
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def is_within(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def is_trusted_folder(place: Place, read: Read, folder: str, *, by_default: bool = False) -> bool | None:
    """Whether a runtime that can ask for trust in each folder, as Gemini CLI does, has it here.

    `by_default`: it asks only if its settings say so.
    """
    import os  # noqa: PLC0415

    try:
        settings = loose(read(f"{folder}/settings.json"))
        if not settings.get("security", {}).get("folderTrust", {}).get("enabled", not by_default):
            return True
        for path, level in loose(read(f"{folder}/trustedFolders.json")).items():
            root = os.path.dirname(path) if level == "TRUST_PARENT" else path
            if level != "DO_NOT_TRUST" and is_within(place.here, root):
                return True
    except (ValueError, AttributeError):
        return None
    return False


def pretty(document: Json) -> str:
    """JSON as people write it."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
