"""What the scripted model answers: directives in the prompt, played one a response.

    [[bash CMD]]               call the shell tool the agent declared
    [[both CMD1 ||| CMD2]]     two such calls in one response, so that they run in parallel
    [[tool NAME {"json": 1}]]  call a tool by name
    [[say TEXT]]               answer with text, which ends the turn
    [[sleep SECONDS]]          wait before the next of these is played
    [[mail CMD]]               whenever mail is shown: call the shell tool, with its handle for %handle%

In the JSON of a tool, ⟦…⟧ stand for [[…]], for the prompt of a subagent, and %name% for what the newest tool
result calls so, for an id that only the agent knows.

The newest text of a user that has directives is the script. How far it was played is read from the history
that each request brings along, so the model keeps no state, and an agent that is resumed or forked goes on.
A script played to its end answers `MODEL-DONE`; a conversation without one, `MODEL-HEARD`.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

_DIRECTIVE = re.compile(r"\[\[(bash|both|tool|say|sleep|mail)\s+(.*?)\]\]", re.DOTALL)
# The line that begins a message: its handle is after its type, or in the command that answers it.
_MAIL = re.compile(r"%%\w{8} from [^\n]*?(?:, (?!thread )\w+ |postroom \w+ )([0-9a-f]{8})\b")
_ANSWERED = "MODEL-ANSWERED "  # what the tool result of such a call ends with, and a handle
_SHELLS = (
    "Bash", "exec_command", "shell_command", "run_shell_command", "bash", "shell", "local_shell",
    "developer__shell",
)  # fmt: skip


class Turn(NamedTuple):
    """A piece of the history: what was said, or the result of one tool call."""

    role: Literal["user", "assistant", "tool", "other"]
    text: str


class Tool(NamedTuple):
    """A tool the agent declared."""

    name: str
    schema: dict[str, Any]


class Asked(NamedTuple):
    """A request, in whichever dialect it came."""

    turns: list[Turn]
    tools: list[Tool]


class Say(NamedTuple):
    text: str


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]


class Reply(NamedTuple):
    """What to answer, and how many seconds to wait before it."""

    acts: list[Say | Call]
    delay: float = 0.0


class _Directive(NamedTuple):
    kind: str
    text: str

    @property
    def results(self) -> int:
        return {"bash": 1, "tool": 1, "both": 2, "mail": 1}.get(self.kind, 0)


def reply(asked: Asked) -> Reply:
    """The next response of the newest script in the history."""
    at, directives = _newest(asked.turns)
    if not directives:
        return Reply([Say("MODEL-HEARD")])
    if not asked.tools and any(directive.results for directive in directives):
        return Reply([Say("A title")])  # a side request that quotes the prompt: titles, summaries
    later = asked.turns[at + 1 :]
    orders = [directive.text for directive in directives if directive.kind == "mail"]
    if orders and (handle := _unanswered(later)):
        command = orders[0].replace("%handle%", handle)
        return Reply([shell(f"{command}; echo {_ANSWERED}{handle}", asked.tools)])
    directives = [directive for directive in directives if directive.kind != "mail"]
    left = _unplayed(directives, [turn for turn in later if _ANSWERED not in turn.text])
    delay = 0.0
    for directive in left:
        if directive.kind != "sleep":
            return Reply(_acts(directive, asked), delay)
        delay = float(directive.text)
    return Reply([Say("MODEL-DONE")], delay)


def _newest(turns: Sequence[Turn]) -> tuple[int, list[_Directive]]:
    for at in range(len(turns) - 1, -1, -1):
        if turns[at].role == "user":
            found = [_Directive(kind, text.strip()) for kind, text in _DIRECTIVE.findall(turns[at].text)]
            if found:
                return at, found
    return -1, []


def _unanswered(later: Sequence[Turn]) -> str:
    """The handle of the first message that was shown and not answered."""
    shown = [handle for turn in later if turn.role != "assistant" for handle in _MAIL.findall(turn.text)]
    results = "".join(turn.text for turn in later if turn.role == "tool")
    return next((handle for handle in shown if _ANSWERED + handle not in results), "")


def _unplayed(directives: list[_Directive], later: Iterable[Turn]) -> list[_Directive]:
    left, results = list(directives), 0
    for turn in later:
        head = next((each for each in left if each.kind != "sleep"), None)
        if head is None:
            return left  # whatever is said from here on takes as long as it says
        if turn.role == "tool":
            results += 1
        played = results == head.results if head.results else head.text in turn.text
        if played and turn.role == ("tool" if head.results else "assistant"):
            left, results = left[left.index(head) + 1 :], 0
    return left


def _acts(directive: _Directive, asked: Asked) -> list[Say | Call]:
    match directive.kind:
        case "bash":
            return [shell(directive.text, asked.tools)]
        case "both":
            return [shell(command.strip(), asked.tools) for command in directive.text.split("|||")]
        case "tool":
            name, _, arguments = directive.text.partition(" ")
            given = _parsed(_filled(arguments, asked.turns) or "{}")
            return [Say(f"MODEL-CANNOT {directive.text}") if given is None else Call(name, given)]
        case _:
            return [Say(directive.text)]


def _parsed(arguments: str) -> dict[str, Any] | None:
    """JSON as it was written, or as an agent quoted it."""
    for text in (arguments, arguments.replace('\\"', '"')):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return None


def _filled(arguments: str, turns: Sequence[Turn]) -> str:
    newest = next((turn.text for turn in reversed(turns) if turn.role == "tool"), "")

    def value(match: re.Match[str]) -> str:
        found = re.search(rf'"?{match[1]}\\?"?\s*:\s*\\?"([^"\\]+)', newest)
        return found[1] if found else match[0]

    return re.sub(r"%(\w+)%", value, arguments.replace("⟦", "[[").replace("⟧", "]]"))


def shell(command: str, tools: Sequence[Tool]) -> Call:
    """A call of whichever shell tool was declared, with all that its schema requires."""
    declared = {tool.name: tool.schema for tool in tools}
    name = next((name for name in _SHELLS if name in declared), "Bash")
    schema = declared.get(name, {})
    fields: dict[str, Any] = schema.get("properties") or {}
    if "cmd" in fields:
        arguments: dict[str, Any] = {"cmd": command}
    elif fields.get("command", {}).get("type") == "array":
        arguments = {"command": ["bash", "-lc", command]}
    else:
        arguments = {"command": command}
    wanted = [*schema.get("required", []), *(["description"] if "description" in fields else [])]
    return Call(name, {field: example(fields.get(field, {})) for field in wanted} | arguments)


def example(schema: dict[str, Any]) -> Any:
    """A value that a schema accepts, for fields about which a test does not care."""
    if choices := schema.get("enum"):
        return choices[0]
    kind = str(schema.get("type", "string")).lower()
    if kind == "object":
        return {name: example(field) for name, field in (schema.get("properties") or {}).items()}
    return {"boolean": False, "integer": 10000, "number": 10000, "array": []}.get(kind, "scripted")


def said(content: Any) -> str:
    """The text in a message's content: a string, or a list of parts, some with content of their own."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict)]
    return "\n".join(part.get("text") or said(part.get("content")) for part in parts)
