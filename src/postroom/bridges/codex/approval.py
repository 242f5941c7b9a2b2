"""What an app-server asks before it runs a command or changes a file, and how each answer is said."""

import shlex
from typing import Any

from postroom.bridges.contract import Option, Question
from postroom.bridges.server.question import question
from postroom.bridges.server.said import rows, table
from postroom.model.message import Json

_NEW, _OLD = ("accept", "acceptForSession", "decline"), ("approved", "approved_for_session", "denied")
_ANSWERS = {  # for each kind of question: yes, yes from now on, no
    "item/commandExecution/requestApproval": _NEW,
    "item/fileChange/requestApproval": _NEW,
    "execCommandApproval": _OLD,
    "applyPatchApproval": _OLD,
}
_FILES = ("item/fileChange/requestApproval", "applyPatchApproval")
_IDS = (  # of what it asks, what tells people nothing
    "threadId", "turnId", "itemId", "callId", "conversationId", "approvalId", "availableDecisions",
)  # fmt: skip
_UNKNOWN = "its app-server has not said which"


def asked(number: str, said: Json, changes: Any = None) -> Question | None:
    """What is asked; None: nothing that can be answered with yes or no. `changes` are those to files that its
    server has told of before, for the item that it asks about.
    """
    method, about = str(said.get("method")), table(said.get("params"))
    answers = _ANSWERS.get(method)
    if answers is None:
        return None
    once, always, no = answers
    options = [Option(once, "yes", "allow_once"), Option(no, "no", "reject_once")]
    if _is_offered(about, always):
        options.insert(1, Option(always, "yes, for the rest of the session", "allow_always"))
    shown = {name: value for name, value in about.items() if name not in _IDS and value}
    if method in _FILES:
        shown["fileChanges"] = about.get("fileChanges") or changes or _UNKNOWN
    what = _what(shown)
    title = f"{what} ({about['reason']})" if about.get("reason") else what
    return question(number, title, shown, tuple(options))


def _what(shown: Json) -> str:
    """What it wants to do, in one line; its reasons are its own."""
    if "fileChanges" in shown:
        return f"change files: {_paths(shown['fileChanges'])}"
    command: Any = shown.get("command")
    if "networkApprovalContext" in shown:
        where = table(shown["networkApprovalContext"])
        reaches = f"reach {where.get('host') or 'the network'}"
        return f"{reaches}: {_line(command)}" if command else reaches
    return _line(command) if command else "do something that its app-server does not name"


def _line(command: Any) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)  # pyright: ignore[reportUnknownArgumentType] - of a server


def _paths(changes: Any) -> str:
    if isinstance(changes, str):
        return changes
    return ", ".join([*table(changes), *(str(one.get("path")) for one in rows(changes))]) or _UNKNOWN


def _is_offered(about: Json, decision: str) -> bool:
    offered: Any = about.get("availableDecisions")
    return isinstance(offered, list) and decision in offered


def answer(said: Json, option: str) -> Json:
    """How an option is said; what is none is a no."""
    answers = _ANSWERS[str(said["method"])]
    return {"decision": option if option in answers else answers[-1]}
