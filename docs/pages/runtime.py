"""What is known of the agent CLIs, from their modules."""

import enum
import importlib
import os
from collections.abc import Iterable

from pages.form import HERE, NOTE
from postroom.runtimes import NAMES, wiring
from postroom.runtimes.contract import Kind, Point, Runtime, Wake

LISTED = "../../src/postroom/runtimes/__init__.py"


def listed() -> str:
    """The package of the runtimes, with the names that are asked for before any of them is loaded."""
    with open(os.path.join(HERE, LISTED), encoding="utf-8") as file:
        head, begin, rest = file.read().partition("# listed\n")
        _, end, tail = rest.partition("# /listed\n")
    known = every()
    signs = dict.fromkeys(sign for one in known for sign in one.signs)
    return (
        f"{head}{begin}SESSION_ENV = {{  # the variable that names the session in the shells of its tools\n"
        + "".join(f'    "{one.name}": "{one.session_env}",\n' for one in known)
        + "}\nSIGNS = (  # what else is in the environment of these shells\n"
        + "".join(f'    "{sign}",\n' for sign in signs)
        + f")\n{end}{tail}"
    )


def every() -> list[Runtime]:
    """Whatever has a module, in the order in which they came."""
    folder = os.path.dirname(os.path.join(HERE, LISTED))
    names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py") and name[0] != "_")
    modules = [importlib.import_module(f"postroom.runtimes.{name}") for name in names]
    found: dict[str, Runtime] = {one.RUNTIME.name: one.RUNTIME for one in modules if hasattr(one, "RUNTIME")}
    order = [*(name for name in NAMES if name in found), *(name for name in found if name not in NAMES)]
    return [found[name] for name in order]


def _has_only_tools(one: Runtime) -> bool:
    """Whether nothing reaches it that it does not ask for."""
    found = wiring.of(one.name)
    return found.has_tools and not found.has_hooks


def runtimes() -> str:
    """Every agent CLI: where mail is shown to its model, what proves that, and what wakes it."""
    known = [one for one in every() if not _has_only_tools(one)]
    return (
        "# How each agent is reached\n\n"
        + NOTE.replace("the code instead", "docs/generate.py, or the modules under src/postroom/runtimes")
        + _REACHED
        + "| agent | at its start | with a prompt | after tools | at the end of a turn | when idle |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        + "".join(_reach(one) for one in known)
        + "\n"
        + "".join(f"- **{one.title}**: {one.remark}\n" for one in every() if one.remark)
        + _SANDBOXES
        + "".join(_sandbox(one) for one in known)
        + _FROM_INSIDE
        + _PROVEN
        + "".join(_proof(one) for one in known if one.points)
    )


_REACHED = """\
A message has reached an agent when its text is in a request that the model got. Postroom gets it there by the
agent's own hooks: programs that it runs at its events, and whose words it passes on to its model. While
nothing is due, such a hook is a few lines of shell (or of the agent's own plugin): it leaves a sign of life,
looks at one file, and ends.

All that is known of an agent CLI is in one module under `src/postroom/runtimes/`, and this page is made from
these modules. `postroom setup NAME` wires one, `postroom doctor NAME` says whether it works.

"""

_SANDBOXES = """
## Sandboxes

Which CLIs have a sandbox, on Linux, where our hooks and the server of [our tools](../howto/mcp.md) run then,
and what mail sent from inside it comes to:

| agent | its sandbox | hooks run | tools run | mail from inside | tried by `doctor` |
| --- | --- | --- | --- | --- | --- |
"""

_FROM_INSIDE = """
It is stored where set-up has opened the room to the sandbox, which it does for the first two. A sandbox hides
the processes outside it, so what comes from inside has a name (its session's) and is *unverified*; what was
spooled is verified by the hook that takes it in. Where the server of our tools runs outside, what is sent by
them is stored and verified as without a sandbox. Where hooks cannot work no mail is shown and the agent goes
on; Qwen Code refuses to start with that sandbox and any MCP server. `postroom doctor` tells when the settings
switch such a sandbox on.
"""

_PROVEN = """
## What wakes an idle agent

Somebody who writes to an idle agent need not wait until its user types. Each session that can be woken has a
*ring file*, which every send touches after its commit. Claude Code watches that file itself, and its hook for
that shows the mail. The plugins in opencode and Copilot CLI watch it for those. Codex and Qwen Code cannot:
for them the send starts a small process of its own, which calls the agent by its own means (`codex queue`,
the input file), if it is idle; from inside a sandbox, where nobody outside can be called, that is left to the
sender's next hook. In these four, what is typed is only "Postroom: there is mail for you."; the
hook at that prompt then shows the mail. What a person has half typed stays as it is. A session that works is
left alone: its hooks find the mail. The `turn/steer` of Codex's app-server, which would reach a turn too, is
used only where no hooks carry mail ([by their own servers](../howto/app-servers.md)).

After a compaction at an idle prompt no turn follows, so no mail is handed out there. Claude Code and Qwen
Code run a hook at its end, which starts a process that wakes the agent if something waits. In the middle of a
turn the mail is shown in that turn. When a wake came to nothing (its process was killed, say), the agent is
woken once more: by the next `postroom receipts`, `sent` or `agents`, by a sender that waits, or by the
daemon.

When Gemini CLI is resumed, it restores the history over what a hook said at that start. It is shown its mail
with the next prompt.

## What proves that the model got it

What a hook prints may be dropped, so it is not `seen` when it is printed. It is when the agent's own
*transcript* has it and an answer of the model after it; or, where that cannot be read, when an event comes
that implies a new answer (a *boundary*). With parallel tools the end of one tells nothing of the others, so
it proves nothing. If the transcript has the answer and not the text, the message was lost, and is shown again
in that same event. Gemini CLI can replace all that its transcript has by one line (a restored or a compressed
history): what was not answered before that line and is not in it was lost. A transcript is read from its
end, for half a second and 16 MB at most: what may lie further up is not taken for lost.

| agent | shown at | proven by | the transcript tells |
| --- | --- | --- | --- |
"""


def _sandbox(one: Runtime) -> str:
    known = wiring.of(one.name)
    what = known.sandbox or wiring.Sandbox("none of its own")
    mail = {Confined.OPENED: "stored, or spooled", Confined.HINDERED: "failed when tried"}.get(confined(one))
    tried = "✓" if known.confined else "–"
    cells = (one.title, what.switch, what.hooks or "–", what.tools or "–", mail or "–", tried)
    return f"| {' | '.join(cells)} |\n"


def _reach(one: Runtime) -> str:
    kinds = (Kind.START, Kind.PROMPT, Kind.TOOL, Kind.STOP)
    cells = [", ".join(_names(p for p in one.points if p.kind is kind and p.proven_by)) for kind in kinds]
    idle = {Wake.WATCH: "it watches a file", Wake.CALL: "it is called", Wake.NONE: ""}[one.wake]
    return f"| {one.title} | " + " | ".join(cell or "–" for cell in [*cells, idle]) + " |\n"


def _proof(one: Runtime) -> str:
    rows = ""
    for point in one.points:
        if point.proven_by:
            told = "yes" if one.marks.reply and point.recorded else "no"
            proofs = ", ".join(f"`{event}`" for event in point.proven_by)
            rows += f"| {one.title} | `{point.event}` | {proofs} | {told} |\n"
    return rows or f"| {one.title} | nowhere | | |\n"


def _names(points: Iterable[Point]) -> list[str]:
    return [f"`{point.event}`" for point in points]


class Confined(enum.Enum):
    """What set-up makes of a runtime's sandbox."""

    OPENED = "the room is opened to it"
    HINDERED = "it keeps our hooks from working"
    NONE = "there is none that we know of"


def confined(runtime: Runtime) -> Confined:
    known = wiring.of(runtime.name)
    events = {point.event: "" for point in runtime.points}
    place = wiring.Place("/here", "/user", "", "/room", "/hook", events, {})
    if any(wiring.Purpose.SANDBOX in edit.purpose for edit in known.edits(place)):
        return Confined.OPENED
    return Confined.HINDERED if known.hindrance else Confined.NONE
