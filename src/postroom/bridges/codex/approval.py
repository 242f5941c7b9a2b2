"""What an app-server asks before it runs a command or changes a file, and how each answer is said."""

from typing import Any

from postroom.bridges.contract import Option, Question
from postroom.bridges.server.question import question
from postroom.bridges.server.said import table
from postroom.model.message import Json

_NEW, _OLD = ("accept", "acceptForSession", "decline"), ("approved", "approved_for_session", "denied")
_ANSWERS = {  # for each kind of question: yes, yes from now on, no
    "item/commandExecution/requestApproval": _NEW,
    "item/fileChange/requestApproval": _NEW,
    "execCommandApproval": _OLD,
    "applyPatchApproval": _OLD,
}
_SHOWN = ("command", "cwd", "reason", "grantRoot", "fileChanges", "networkApprovalContext")


def asked(number: str, said: Json) -> Question | None:
    """What is asked; None: nothing that can be answered with yes or no."""
    answers, about = _ANSWERS.get(str(said.get("method"))), table(said.get("params"))
    if answers is None:
        return None
    once, always, no = answers
    options = [Option(once, "yes", "allow_once"), Option(no, "no", "reject_once")]
    if _is_offered(about, always):
        options.insert(1, Option(always, "yes, for the rest of the session", "allow_always"))
    what = about.get("command") or "change files"
    title = f"{about['reason']}: {what}" if about.get("reason") else str(what)
    shown = {name: about[name] for name in _SHOWN if about.get(name)}
    return question(number, title, shown, tuple(options))


def _is_offered(about: Json, decision: str) -> bool:
    offered: Any = about.get("availableDecisions")
    return isinstance(offered, list) and decision in offered


def answer(said: Json, option: str) -> Json:
    """How an option is said; what is none is a no."""
    answers = _ANSWERS[str(said["method"])]
    return {"decision": option if option in answers else answers[-1]}
