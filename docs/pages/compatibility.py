"""What the tests saw of the agent CLIs."""

import json
import os
from typing import Any

from pages.form import HERE, NOTE
from pages.runtime import Confined, confined, every
from postroom.runtimes import acp
from postroom.runtimes.contract import Kind, Runtime, Wake

POINTS = (
    "start", "prompt", "tool", "stop", "idle wake", "draft kept", "compaction", "clear", "fork", "subagent",
    "sandbox", "spool", "typed idle", "typed busy", "typed at a tool", "pane wake", "interrupt", "acp idle",
    "acp busy", "acp permission", "acp resumed", "server idle", "server busy", "server resumed",
)  # fmt: skip

# For these a terminal is all that a runtime needs.
_TYPED = ("typed idle", "typed busy", "typed at a tool", "interrupt")


def compatibility(found: dict[str, Any] | None = None) -> str:
    """What `make test-agents` saw of each runtime, with the times from send to the model's request."""
    found = _shown() if found is None else found
    known = [one for one in every() if one.name in found]
    rows = [
        f"| {one.title} | {found[one.name]['version']} | "
        + " | ".join(_seen(one, found[one.name]["points"], point) for point in POINTS)
        + " |\n"
        for one in known
    ]
    return (
        "# Compatibility\n\n"
        + NOTE
        + _COMPATIBLE
        + f"| runtime | version | {' | '.join(POINTS)} |\n"
        + f"| --- | --- | {' | '.join('---' for _ in POINTS)} |\n"
        + "".join(rows)
        + "\n"
        + "".join(f"- **{one.title}**: {one.remark}\n" for one in known if one.remark)
        + _numbers({one.title: found[one.name].get("numbers", {}) for one in known})
        + "\nHow each is reached, and what proves it: [runtimes](../explanation/runtimes.md).\n"
    )


_ROUNDS = ("rounds", "approvals", "drafts", "doubles", "lost", "uncertain", "seen")

_TIMES = ("times", "p50", "p95", "own p50", "own p95")


def _numbers(counted: dict[str, dict[str, dict[str, float]]]) -> str:
    """What was counted and measured in panes, where it was."""
    return _numbered(_HOSTILE, "hostile rounds", _ROUNDS, counted) + _numbered(
        _SOON, "typed idle", _TIMES, counted
    )


def _numbered(
    text: str, what: str, columns: tuple[str, ...], counted: dict[str, dict[str, dict[str, float]]]
) -> str:
    rows = [
        f"| {title} | {' | '.join(_number(found[what].get(column)) for column in columns)} |\n"
        for title, found in counted.items()
        if what in found
    ]
    head = f"| runtime | {' | '.join(columns)} |\n| --- | {' | '.join('---' for _ in columns)} |\n"
    return f"{text}{head}{''.join(rows)}" if rows else ""


def _number(value: float | None) -> str:
    if value is None:
        return "not measured"
    return str(value) if isinstance(value, int) else f"{value:.2f} s"


_HOSTILE = """
## Hostile rounds

An agent in a pane, without hooks, and a person who works there at the worst moments while mail comes, by a
schedule made from a seed: sets it to work so that it asks for a permission, types half a sentence, types and
takes it back, scrolls back, has panes synchronised. Claude Code also asks by itself, when a command in the
background has ended. Counted are:

- *approvals*: a tool that asked has run, and nobody had said yes. *drafts*: something that was typed and not
  sent was in a request.
- *doubles*: a message was twice in a request. *lost*: it is neither seen nor waits with a reason; or it is
  seen, and was in no request.
- *uncertain*: it was typed, what became of it could not be proven, and it waits to be looked at.

"""

_SOON = """
## Typed into an idle pane

From `send` to the model's request, with no hooks. *Own* is what the agent itself takes of it: from the Enter
of a person to the request, in the same pane.

"""


def _shown() -> dict[str, Any]:
    with open(os.path.join(HERE, "compatibility.json"), encoding="utf-8") as file:
        return json.load(file)


_COMPATIBLE = """\
`make agents && make test-agents` runs the real CLIs offline against a scripted model, and writes
`compatibility.json`, from which this page is made. A tick: a message was in the model's request exactly once,
and the receipt says *seen*. A time is that from `send` to the request, with all that had to come first:

- *start*: the agent was not running: the time is that of its start, to its first request.
- *prompt*: it was idle and was not woken: the time has the typing of a prompt in it.
- *tool*: it was in one of two parallel tools, which ended at once after the send: nothing had to come first.
- *stop*: the model was giving its last answer, which took 4 s more; these are in the time.
- *idle wake*: nobody typed; a process `postroom send` is in the time. *draft kept*: in the same wake, what
  a person had half typed stayed.
- *compaction*: once with the next prompt after one. *subagent*: not to the subagent that ran meanwhile.
- *typed idle*, *typed busy*, *typed at a tool*: in a pane of tmux, without hooks: the mail itself was typed,
  at once, or after the turn, in which the model took 5 s more, or a tool 6 s. *pane wake*: in a pane, with
  hooks, which carried it; a line was typed where nothing else woke the agent. *interrupt*: `postroom
  interrupt` ended a turn, which was proven, and the model was not asked again.
- *sandbox*: what the agent sent from inside its sandbox was stored. *spool*: what that kept out was taken in
  by the next hook, and reached the other agent once.
- *acp idle*, *acp busy*: spoken to in the Agent Client Protocol: at once, or after the turn, in which the
  model took 5 s more. *acp permission*: what it asked was a gate; a no kept the tool from running, a yes let
  it run. *acp resumed*: killed in a turn, it was started again and went on with its session, and the mail of
  that turn was shown again, labelled. Claude Code and Codex speak it by their adapters.
- *server idle*, *server busy*: in a pane of tmux, without hooks, by the server that has its conversation: at
  once, and a draft stayed; or into the turn of a person, after its tool. *server resumed*: a server that is
  our child was killed in a turn, and went on with its conversation, as above.

Where there is no tick, it says why: the runtime has *no way in* there, *nothing wakes it*, so that *nothing
is typed*; it speaks *no ACP*, or has *no server*; it has *no sandbox* (but containers), or its *hooks do not
work* in the one it has ([sandboxes](../explanation/runtimes.md#sandboxes)); or it could be, and was *not
shown* by these tests on the machine where they ran last.

"""

# What may bring a message into the model's request there. The first request has what is said at the first
# prompt, too.
_WAYS: dict[str, tuple[Kind, ...]] = {
    "start": (Kind.START, Kind.PROMPT),
    "prompt": (Kind.PROMPT,),
    "tool": (Kind.TOOL,),
    "stop": (Kind.STOP,),
}


def _seen(runtime: Runtime, points: dict[str, float | None], point: str) -> str:
    if point not in points:
        return _why_not(runtime, point) or "not shown"
    latency = points[point]
    return "✓" if latency is None else f"✓ {latency:.{1 if latency >= 1 else 2}f} s"


def _why_not(runtime: Runtime, point: str) -> str:
    """Why a message cannot come there, as far as the runtime's module knows; empty: it can."""
    if point in _TYPED:
        return ""
    if point.startswith("acp "):
        return "" if acp.of(runtime.name) else "no ACP"
    if point.startswith("server "):
        return "" if runtime.server else "no server"
    if point in ("idle wake", "draft kept"):
        nothing = {"idle wake": "nothing wakes it", "draft kept": "nothing is typed"}[point]
        return nothing if runtime.wake is Wake.NONE else ""
    if point in ("sandbox", "spool"):
        return {Confined.OPENED: "", Confined.HINDERED: "hooks do not work", Confined.NONE: "no sandbox"}[
            confined(runtime)
        ]
    kinds = _WAYS.get(point, tuple(Kind))
    return "" if any(one.proven_by for one in runtime.points if one.kind in kinds) else "no way in"
